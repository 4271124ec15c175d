/// Reads the element forms of `RecordFormat` from arbitrary bytes: every step is checked.
package struct ByteReader {
  let start: UnsafeRawPointer
  let count: Int
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    // An empty buffer may have no address; any non-null address works for no bytes.
    start = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 16)!
    count = bytes.count
  }

  var isAtEnd: Bool { offset >= count }
  var remaining: Int { count &- offset }

  package static func damaged(_ what: StaticString = "record") -> LarchError {
    LarchError(.corrupted, "The bytes of a record are damaged; verify the store, then salvage it.")
    {
      $0.detail = what.description
    }
  }

  @inline(__always)
  mutating func byte() throws -> UInt8 {
    guard offset < count else { throw Self.damaged() }
    defer { offset &+= 1 }
    return start.load(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always)
  mutating func varint() throws -> Int {
    let first = try byte()
    if first < 0x80 { return Int(first) }
    return try longVarint(first)
  }

  private mutating func longVarint(_ first: UInt8) throws -> Int {
    var value = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      let next = try byte()
      value |= UInt64(next & 0x7F) << shift
      if next < 0x80 {
        // A zero at the end would be a longer form of the same number.
        guard next != 0, value <= UInt64(UInt32.max) else { throw Self.damaged("number") }
        return Int(value)
      }
      shift += 7
      guard shift <= 28 else { throw Self.damaged("number") }
    }
  }

  @inline(__always)
  mutating func take(_ length: Int) throws -> UnsafeRawBufferPointer {
    guard length <= remaining else { throw Self.damaged("length") }
    defer { offset &+= length }
    return UnsafeRawBufferPointer(start: start + offset, count: length)
  }

  /// The slot form of the next element; for a tagged one with its kind byte.
  @inline(__always)
  mutating func bytes(_ kind: FieldKind) throws -> UnsafeRawBufferPointer {
    if kind.isFixed { return try take(kind.width) }
    if kind.hasShortLength { return try take(varint()) }
    return try longBytes(kind)
  }

  private mutating func longBytes(_ kind: FieldKind) throws -> UnsafeRawBufferPointer {
    if kind.hasLongLength {
      let length = try take(4).loadUnaligned(as: UInt32.self)
      return try take(Int(length))
    }
    let from = offset
    _ = try tagged()
    return UnsafeRawBufferPointer(start: start + from, count: offset - from)
  }

  /// A tagged value: its kind, nil for null, and its slot form.
  mutating func tagged() throws -> (kind: FieldKind?, bytes: UnsafeRawBufferPointer) {
    let raw = try byte()
    if raw == 0 { return (nil, UnsafeRawBufferPointer(start: start + offset, count: 0)) }
    guard let kind = FieldKind(rawValue: raw), kind != .tagged else {
      throw Self.damaged("kind of a value")
    }
    return (kind, try bytes(kind))
  }

  mutating func skip(_ kind: FieldKind) throws { _ = try bytes(kind) }

  /// The kind and number of the elements of a list or the values of a map. Every element takes at
  /// least `minimum` bytes, so that a damaged count cannot request more memory than the input has
  /// bytes.
  mutating func listHeader(isMap: Bool) throws -> (kind: FieldKind?, count: Int) {
    let raw = try byte()
    let number = try varint()
    guard raw != 0 else {
      guard number == 0 else { throw Self.damaged("list") }
      return (nil, 0)
    }
    guard let kind = FieldKind(rawValue: raw) else { throw Self.damaged("kind of a list") }
    let minimum = (kind.isFixed ? kind.width : kind.hasLongLength ? 4 : 1) + (isMap ? 1 : 0)
    guard number > 0, number <= remaining / minimum else { throw Self.damaged("count of a list") }
    return (kind, number)
  }
}
