/// Where a word stands in one record, as bytes.
///
/// With several fields, a number first whose bits are the fields. Then for each field the places of the word, each
/// as its distance from the one before, times two, plus one if something follows. Places are those of words in the
/// field, with one more between two texts, so that no phrase reaches from one text into the next.
///
/// Of many places the first ones are kept: a distance of 0 ends them, and the number of all follows. Only the record
/// then tells whether a phrase stands behind them.
enum SearchPosting {
  /// The number of places that are kept for a field.
  static let placeLimit = 240

  /// The places of a word in one field.
  struct Places {
    var places: [UInt32] = []
    /// How often the word stands in the field.
    var count = 0
    /// Whether there are more than these.
    var isCut: Bool { count > places.count }
  }

  /// Appends the places of one field.
  ///
  /// - Parameter count: how many there are; `place` gives each, ascending.
  static func append(count: Int, to bytes: inout ByteBuffer, place: (Int) -> UInt32) {
    let kept = min(count, placeLimit)
    var last: UInt32 = 0
    for number in 0..<kept {
      let here = place(number)
      let hasMore = number + 1 < kept || kept < count
      append(UInt64(here &- last) << 1 | (hasMore ? 1 : 0), to: &bytes)
      last = here
    }
    if kept < count {
      append(0, to: &bytes)
      append(UInt64(count), to: &bytes)
    }
  }

  static func append(_ number: UInt64, to bytes: inout ByteBuffer) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }
}

/// Reads the numbers of a block. Every step is checked: the bytes come from a file.
struct SearchBytes {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset: Int

  init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  var isAtEnd: Bool { offset == bytes.count }

  @inline(__always)
  mutating func number() throws -> UInt64 {
    guard offset < bytes.count else { throw SearchBytes.damaged }
    let first = bytes[offset]
    offset &+= 1
    if first < 0x80 { return UInt64(first) }
    if offset < bytes.count, bytes[offset] < 0x80, bytes[offset] != 0 {
      offset &+= 1
      return UInt64(first & 0x7F) | UInt64(bytes[offset &- 1]) << 7
    }
    return try longNumber(first)
  }

  @inline(never)
  private mutating func longNumber(_ first: UInt8) throws -> UInt64 {
    var value = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      guard offset < bytes.count else { throw SearchBytes.damaged }
      let byte = bytes[offset]
      offset += 1
      if shift == 63, byte > 1 { throw SearchBytes.damaged }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard byte != 0 else { throw SearchBytes.damaged }
        return value
      }
      shift += 7
      if shift > 63 { throw SearchBytes.damaged }
    }
  }

  /// Passes some numbers, eight bytes at a time: each number has one byte below 0x80, its last one.
  mutating func skipNumbers(_ count: Int) throws {
    var rest = count
    while rest > 0 {
      if rest >= 8, bytes.count &- offset >= 8 {
        let ends = ~bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        rest &-= (ends & 0x8080_8080_8080_8080).nonzeroBitCount
        offset &+= 8
      } else {
        guard offset < bytes.count else { throw SearchBytes.damaged }
        if bytes[offset] < 0x80 { rest &-= 1 }
        offset &+= 1
      }
    }
  }

  /// The bits of the fields of a posting.
  @inline(__always)  // For each posting that is read or passed.
  mutating func mask(_ search: SearchSchema) throws -> UInt32 {
    if search.wholeMask == 1 { return 1 }
    let mask = try number()
    guard mask != 0, mask <= UInt64(search.wholeMask) else { throw SearchBytes.damaged }
    return UInt32(truncatingIfNeeded: mask)
  }

  /// Passes the places of one field, and calls with each.
  ///
  /// - Returns: how many there are in the text; more than were passed if they are cut.
  @inline(__always)
  mutating func places(_ body: (UInt32) -> Void) throws -> Int {
    var place: UInt64 = 0
    var count = 0
    while true {
      let step = try number()
      if count > 0, step >> 1 == 0 {
        let all = try number()
        guard step == 0, all > UInt64(count), all <= UInt64(Int32.max) else {
          throw SearchBytes.damaged
        }
        return Int(all)
      }
      place += step >> 1
      guard place <= UInt64(UInt32.max), count < SearchPosting.placeLimit else {
        throw SearchBytes.damaged
      }
      body(UInt32(place))
      count += 1
      if step & 1 == 0 { return count }
    }
  }

  /// Passes a posting of a word; the fields in which it stands.
  mutating func skipPosting(_ search: SearchSchema) throws -> UInt32 {
    let mask = try mask(search)
    for _ in 0..<mask.nonzeroBitCount { _ = try places { _ in } }
    return mask
  }

  /// Passes the lengths of a record.
  mutating func skipLengths(_ search: SearchSchema) throws {
    for _ in search.fields { _ = try number() }
  }

  static var damaged: LarchError {
    LarchError(
      .corrupted, "The index of a search is damaged; rebuild the indexes, or restore a backup.")
  }
}
