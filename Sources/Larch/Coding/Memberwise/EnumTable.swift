/// The encoded bytes of each case of a one-byte enum, and the decoded case for them.
///
/// `RawRepresentable` alone proves nothing: each case is encoded and decoded once, so an enum with
/// its own coding (for example, an unknown raw value that becomes a default case) is also handled
/// correctly. Codable handles what is not in the table.
final class EnumTable: Sendable {
  let kind: FieldKind
  /// The number of cases, and so of valid bytes.
  let caseCount: Int
  /// The byte of `Optional.none`.
  let noneByte: UInt8
  /// The bytes of all cases in order, and the start of each; the last entry is the end.
  nonisolated(unsafe) let bytes: UnsafeMutablePointer<UInt8>
  nonisolated(unsafe) let starts: UnsafeMutablePointer<UInt32>

  init?<Enumeration: Codable>(_ type: Enumeration.Type) {
    guard let count = Reflection.caseCount(of: type), count >= 2, count <= 250,
      MemoryLayout<Enumeration?>.size == 1, Reflection.isTrusted
    else { return nil }
    var values: [SingleValue] = []
    for byte in 0..<UInt8(count) {
      guard let value = Reflection.value(of: type, byte: byte),
        let written = SingleValue(encodedBy: value),
        written.kind == values.first?.kind ?? written.kind,
        let read = written.decoded(as: type), Self.byte(of: read) == byte,
        Self.byte(of: Optional(value)) == byte
      else { return nil }
      values.append(written)
    }
    guard let first = values.first, Set(values).count == count else { return nil }
    let none = Self.byte(of: Enumeration?.none)
    guard none >= count else { return nil }
    kind = first.kind
    caseCount = count
    noneByte = none
    bytes = .allocate(capacity: max(1, values.reduce(0) { $0 + $1.bytes.count }))
    starts = .allocate(capacity: count + 1)
    var offset = 0
    for (index, value) in values.enumerated() {
      starts[index] = UInt32(offset)
      for byte in value.bytes {
        bytes[offset] = byte
        offset += 1
      }
    }
    starts[count] = UInt32(offset)
  }

  deinit {
    bytes.deallocate()
    starts.deallocate()
  }

  /// The bytes of a case; nil for memory that is not a case.
  @inline(__always)
  func bytes(ofCase byte: UInt8) -> UnsafeRawBufferPointer? {
    guard Int(byte) < caseCount else { return nil }
    let start = Int(starts[Int(byte)])
    let end = Int(starts[Int(byte) &+ 1])
    return UnsafeRawBufferPointer(start: bytes + start, count: end &- start)
  }

  /// The case for these bytes; nil if the table has none.
  @inline(__always)
  func find(_ wanted: UnsafeRawBufferPointer) -> UInt8? {
    var start = Int(starts[0])
    for index in 0..<caseCount {
      let end = Int(starts[index &+ 1])
      if end &- start == wanted.count, Self.equal(bytes + start, wanted) {
        return UInt8(truncatingIfNeeded: index)
      }
      start = end
    }
    return nil
  }

  @inline(__always)
  private static func equal(
    _ known: UnsafePointer<UInt8>, _ wanted: UnsafeRawBufferPointer
  ) -> Bool {
    for index in 0..<wanted.count where known[index] != wanted[index] { return false }
    return true
  }

  private static func byte<Value>(of value: Value) -> UInt8 {
    withUnsafeBytes(of: value) { $0.first ?? 0 }
  }
}
