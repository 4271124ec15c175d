/// The condition that an id begins with a text, which the bytes of most ids decide.
///
/// In normal form, each character of an ASCII text is a byte, except CR LF. So an id that begins with
/// these bytes begins with these characters, unless a mark follows them.
struct PrefixOfIDs {
  /// The bytes with which the ids begin.
  let bytes: [UInt8]

  /// Nil if the filters are not just such a condition on ids that are texts.
  init?(_ filters: [FilterNode], _ kind: RecordIDKind) {
    guard kind == .string, filters.count == 1, case .field(let filter) = filters[0],
      filter.field.identity == .id, case .text(let text) = filter.test, text.kind == .hasPrefix,
      !text.textForm.isFolded, filters[0].isDecided(byID: kind)
    else { return nil }
    var wanted = text.text
    let bytes = wanted.withUTF8 { wanted -> [UInt8] in
      let wanted = UnsafeRawBufferPointer(wanted)
      guard !wanted.isEmpty, wanted.isASCII, !wanted.contains(0x0D) else { return [] }
      return [UInt8](unsafeUninitializedCapacity: wanted.count + 1) { bytes, count in
        bytes[0] = 1
        UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[1...])
          .copyMemory(from: wanted)
        count = wanted.count + 1
      }
    }
    if bytes.isEmpty { return nil }
    self.bytes = bytes
  }

  /// Whether the bytes show that the id begins with the text. If not, it may nevertheless.
  @inline(__always)
  func isSurely(in id: UnsafeRawBufferPointer) -> Bool {
    guard id.count >= bytes.count else { return false }
    return bytes.withUnsafeBytes { wanted in
      id.begins(with: wanted) && (id.count == wanted.count || id[wanted.count] < 0x80)
    }
  }

  /// Whether a range has exactly the ids that may begin with the text.
  func isWhole(_ range: KeyRange) -> Bool {
    range.lower == bytes && range.upper == KeyRange.successor(ofPrefix: bytes)
  }

  /// The ids that surely begin with the text, and those that must be tested.
  var parts: (sure: KeyRange, rest: KeyRange) {
    let middle = bytes + [0x80]
    return (
      KeyRange(lower: bytes, upper: middle, needsCheck: false),
      KeyRange(lower: middle, upper: KeyRange.successor(ofPrefix: bytes), needsCheck: true)
    )
  }
}
