/// Writes values without a Swift type in the forms of `RecordFormat`: what a type's `encode(to:)` said,
/// a `FieldValue`, an element of JSON. Each says what its values are; the forms are here.
///
/// `depth` counts the records, lists and maps that a value is inside of.
package protocol RecordFormWriter {
  associatedtype Value
  var output: RecordOutput { get set }
  /// The kind that a value has where its place does not tell it; nil for null.
  func kind(of value: Value) -> FieldKind?
  /// Appends the slot form of a value that is no record, list or map.
  mutating func appendScalar(_ value: Value, _ kind: FieldKind) throws
  /// Appends the slot form of a record, list or map: by `appendList`, `appendMap`, `RecordBuilder`.
  mutating func appendContainer(_ value: Value, _ kind: FieldKind, depth: Int) throws
  func tooDeep() -> any Error
  func tooLong() -> any Error
  /// What is appended until `leave` is inside of a list or a map; for whoever names places in errors.
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
    // Room for the length, which is of four bytes whatever it is.
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
    // No value is tagged twice: a writer that meets such a value refuses it.
    if kind == .tagged { return try appendScalar(value, kind) }
    try appendElement(value, kind, depth: depth)
  }

  /// The slot form of a list; of the kind that all elements have where none is given.
  package mutating func appendList(_ values: [Value], of kind: FieldKind? = nil, depth: Int) throws
  {
    let kind = appendHeader(values, kind)
    for (index, value) in values.enumerated() {
      enter(.element(index))
      try appendElement(value, kind, depth: depth)
      leave()
    }
  }

  /// The slot form of a map, its entries in the order of their keys.
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

  /// The kind of all these values, `tagged` when there are several or a null.
  private func commonKind(_ values: [Value]) -> FieldKind {
    guard let first = values.first.flatMap(kind(of:)) else { return .tagged }
    return values.allSatisfy { kind(of: $0) == first } ? first : .tagged
  }
}
