/// Writes values without a Swift type in the forms of `RecordFormat`: the result of `encode(to:)`,
/// a `FieldValue`, an element of JSON. Each implementation describes its values; the forms are
/// here.
///
/// `depth` counts the records, lists and maps around a value.
package protocol RecordFormWriter {
  associatedtype Value
  var output: RecordOutput { get set }
  /// The kind of a value whose place does not have one; nil for null.
  func kind(of value: Value) -> FieldKind?
  /// Appends the slot form of a value that is not a record, list or map.
  mutating func appendScalar(_ value: Value, _ kind: FieldKind) throws
  /// Appends the slot form of a record, list or map: by `appendList`, `appendMap`, `RecordBuilder`.
  mutating func appendContainer(_ value: Value, _ kind: FieldKind, depth: Int) throws
  func tooDeep() -> any Error
  func tooLong() -> any Error
  /// Everything appended until `leave` is inside a list or a map; for errors with a path.
  mutating func enter(_ place: RecordFormPlace)
  mutating func leave()
}

/// A place in a list or a map.
package enum RecordFormPlace {
  case element(Int)
  case entry([UInt8])
}

extension RecordFormWriter {
  package func tooDeep() -> any Error {
    LarchError(
      .encodingFailed, "The values of a record are nested too deeply; make them flatter.")
  }

  package func tooLong() -> any Error {
    LarchError(.recordTooLarge, "The record is longer than 2 GiB; split it.")
  }

  package mutating func enter(_ place: RecordFormPlace) {}
  package mutating func leave() {}

  /// The bytes that `write` appends.
  package mutating func bytes(_ write: (inout Self) throws -> Void) rethrows -> [UInt8] {
    output = RecordOutput()
    defer {
      output.deallocate()
      output = RecordOutput()
    }
    try write(&self)
    return [UInt8](output.bytes)
  }

  package mutating func appendSlot(_ value: Value, _ kind: FieldKind, depth: Int) throws {
    if kind == .tagged { return try appendTagged(value, depth: depth) }
    guard kind.hasLongLength else { return try appendScalar(value, kind) }
    guard depth < RecordFormat.depthLimit else { throw tooDeep() }
    let start = output.count
    try appendContainer(value, kind, depth: depth)
    guard output.count - start <= RecordFormat.lengthLimit else { throw tooLong() }
  }

  package mutating func appendElement(_ value: Value, _ kind: FieldKind, depth: Int) throws {
    if kind == .tagged { return try appendTagged(value, depth: depth) }
    let start = output.count
    // Room for the length, which always has four bytes.
    if kind.hasLongLength { output.append(fixed: UInt32(0)) }
    try appendSlot(value, kind, depth: kind.hasLongLength ? depth + 1 : depth)
    if kind.hasLongLength {
      output.setLength(at: start)
    } else {
      output.insertLength(kind, at: start)
    }
  }

  package mutating func appendTagged(_ value: Value, depth: Int) throws {
    guard let kind = kind(of: value) else { return output.append(0) }
    output.append(kind.rawValue)
    // No value is tagged twice: a writer refuses such a value.
    if kind == .tagged { return try appendScalar(value, kind) }
    try appendElement(value, kind, depth: depth)
  }

  /// Appends the slot form of a list; without a kind, of the common kind of its elements.
  package mutating func appendList(_ values: [Value], of kind: FieldKind? = nil, depth: Int) throws
  {
    let kind = appendHeader(values, kind)
    for (index, value) in values.enumerated() {
      enter(.element(index))
      try appendElement(value, kind, depth: depth)
      leave()
    }
  }

  /// Appends the slot form of a map, its entries sorted by their keys.
  package mutating func appendMap(
    _ entries: [(key: [UInt8], value: Value)], of kind: FieldKind? = nil, depth: Int
  ) throws {
    let entries = entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let kind = appendHeader(entries.map(\.value), kind)
    for (key, value) in entries {
      output.append(varint: key.count)
      key.withUnsafeBytes { output.append($0) }
      enter(.entry(key))
      try appendElement(value, kind, depth: depth)
      leave()
    }
  }

  private mutating func appendHeader(_ values: [Value], _ given: FieldKind?) -> FieldKind {
    let kind = given ?? commonKind(values)
    output.append(values.isEmpty ? 0 : kind.rawValue)
    output.append(varint: values.count)
    return kind
  }

  /// The kind of all these values; `tagged` if there are several kinds or a null.
  private func commonKind(_ values: [Value]) -> FieldKind {
    guard let first = values.first.flatMap(kind(of:)) else { return .tagged }
    return values.allSatisfy { kind(of: $0) == first } ? first : .tagged
  }
}
