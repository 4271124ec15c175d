/// Sets and dictionaries, whose own `encode(to:)` has an order that differs between processes:
/// Larch writes them in the order of their bytes, so that equal values have equal bytes.
protocol SortedEncodable {
  /// Writes the value of this type at `pointer` as the list or map of the frame.
  static func encodeSorted(_ pointer: UnsafeRawPointer, into frame: EncodeFramePointer) throws
}

extension Set: SortedEncodable where Element: Encodable {
  static func encodeSorted(_ pointer: UnsafeRawPointer, into frame: EncodeFramePointer) throws {
    guard frame.beginList() else { return }
    let plan = frame.plan(for: Element.self)
    for element in pointer.assumingMemoryBound(to: Self.self).pointee {
      try frame.write(element, plan: plan, slot: EncodeFrame.elementSlot)
    }
    try frame.sortElements(inPairs: false)
  }
}

extension Dictionary: SortedEncodable where Key: Encodable, Value: Encodable {
  static func encodeSorted(_ pointer: UnsafeRawPointer, into frame: EncodeFramePointer) throws {
    let dictionary = pointer.assumingMemoryBound(to: Self.self).pointee
    let plan = frame.plan(for: Value.self)
    guard let text = keyText() else {
      guard frame.beginList() else { return }
      let keyPlan = frame.plan(for: Key.self)
      for (key, value) in dictionary {
        try frame.write(key, plan: keyPlan, slot: EncodeFrame.elementSlot)
        try frame.write(value, plan: plan, slot: EncodeFrame.elementSlot)
      }
      return try frame.sortElements(inPairs: true)
    }
    var entries: [(key: [UInt8], value: Value)] = []
    entries.reserveCapacity(dictionary.count)
    for (key, value) in dictionary { entries.append((Array(text(key).utf8), value)) }
    entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
    guard frame.beginList(isMap: true) else { return }
    var last: [UInt8]?
    // Two keys may have the same coding key; only one of them is kept, as in every coder.
    for (key, value) in entries where key != last {
      key.withUnsafeBytes { frame.beginEntry($0) }
      try frame.write(value, plan: plan, slot: EncodeFrame.elementSlot)
      last = key
    }
  }

  /// How the keys become map keys; nil if Codable writes the dictionary as a list.
  private static func keyText() -> ((Key) -> String)? {
    if Key.self == String.self { return { Leaf.bits($0, as: String.self) } }
    if Key.self == Int.self { return { String(Leaf.bits($0, as: Int.self)) } }
    if Key.self is any CodingKeyRepresentable.Type {
      return { ($0 as? any CodingKeyRepresentable)?.codingKey.stringValue ?? "" }
    }
    return nil
  }
}

extension EncodeFramePointer {
  /// Sorts the elements, or the pairs, in the list of this frame by their bytes.
  fileprivate func sortElements(inPairs: Bool) throws {
    let state = pointee.state
    guard pointee.count > (inPairs ? 2 : 1), let kind = FieldKind(rawValue: pointee.elementKind)
    else { return }
    let first = pointee.start + 2
    let bytes = [UInt8](
      UnsafeRawBufferPointer(start: state.pointee.base + first, count: state.pointee.end - first))
    try bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      var pieces: [(key: Range<Int>, end: Int)] = []
      while !reader.isAtEnd {
        let from = reader.offset
        try reader.skip(kind)
        let key = from..<reader.offset
        if inPairs { try reader.skip(kind) }
        pieces.append((key, reader.offset))
      }
      pieces.sort { bytes[$0.key].lexicographicallyPrecedes(bytes[$1.key]) }
      state.pointee.end = first
      for piece in pieces {
        state.pointee.output.append(
          UnsafeRawBufferPointer(rebasing: bytes[piece.key.lowerBound..<piece.end]))
      }
    }
  }
}

/// Gives the kind of a type's values without a value, so that nil also has it.
protocol StaticKindProvider {
  static var fieldKind: FieldKind? { get }
}

extension Array: StaticKindProvider {
  static var fieldKind: FieldKind? { .list }
}
extension Set: StaticKindProvider {
  static var fieldKind: FieldKind? { .list }
}
extension Dictionary: StaticKindProvider {
  static var fieldKind: FieldKind? {
    if Key.self == String.self || Key.self == Int.self
      || Key.self is any CodingKeyRepresentable.Type
    {
      return .map
    }
    return .list
  }
}

extension EncodePlan {
  /// The kind of the values of a type, if known; for a raw-value enum that of its raw value, which
  /// is correct unless it has its own `encode(to:)`.
  static func kind(of type: any Any.Type) -> FieldKind? {
    switch Leaf.strategy(of: type) {
    case .date: return .date
    case .uuid: return .uuid
    case .data: return .data
    case .url: return .url
    case .decimal: return .decimal
    case .string: return .string
    case .int64: return .int64
    case .strings, .ints, .doubles: return .list
    default: break
    }
    if let known = type as? any StaticKindProvider.Type { return known.fieldKind }
    if let raw = type as? any RawRepresentable.Type { return rawKind(raw) }
    return StandardType.primitiveKind(type)
  }

  private static func rawKind<R: RawRepresentable>(_ type: R.Type) -> FieldKind? {
    StandardType.primitiveKind(R.RawValue.self)
  }
}
