/// The keys of the tree of a search.
///
/// | First byte | Key | Value |
/// |---|---|---|
/// | `00` | `00`, number | a block of lengths: the numbers of words in each field, for every record |
/// | `01` | `01`, id | the number of the record, where ids are no integers |
/// | `02` | `02`, number | the id of the record |
/// | `03` | `03` | the last number that was given |
/// | `04` | `04` | the word that the sweep over these entries has reached: see `PendingEntry` |
/// | `04` | `04`, number | the words of a record that have changed since the blocks were written: see `PendingEntry` |
/// | `05` | `05` | the number of records, and of the words of all in each field |
/// | others | word, `00`, number | a block of postings of the word |
///
/// The key of a block has the number of its first record. Lengths are the postings of a word without bytes, so that
/// they are kept in the same way. A word is letters and digits: it contains no byte below `30`.
enum SearchKey {
  static let ids: UInt8 = 1
  static let numbers: UInt8 = 2
  static let lastNumber: UInt8 = 3
  static let pending: UInt8 = 4
  static let totals: UInt8 = 5
  /// What the keys of words are not less than.
  static let firstOfWord: UInt8 = 0x30

  /// The number of a record with an id of eight bytes: numbers are in the order of ids.
  @inline(__always)
  static func number(ofID id: UnsafeRawBufferPointer) -> UInt64 {
    // Who reads ids of a file checks their length; nothing behind an id is read.
    id.count == 8 ? UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)) : .max
  }

  /// Appends a number as few bytes, which sort as numbers do: a byte that tells how many follow, then these.
  ///
  /// - Parameter base: the number of the id 0.
  static func append(_ number: UInt64, base: UInt64, to bytes: inout ByteBuffer) {
    let isNegative = number < base
    let distance = isNegative ? base &- 1 &- number : number &- base
    let width = (UInt64.bitWidth - distance.leadingZeroBitCount + 7) / 8
    bytes.append(UInt8(truncatingIfNeeded: isNegative ? 8 - width : 9 + width))
    for place in 0..<width {
      let byte = UInt8(truncatingIfNeeded: distance >> UInt64(8 * (width - 1 - place)))
      bytes.append(isNegative ? ~byte : byte)
    }
  }

  /// The number in all of these bytes; nil if `append` did not write them.
  static func number(in bytes: UnsafeRawBufferPointer, base: UInt64) -> UInt64? {
    guard let head = bytes.first, head <= 17 else { return nil }
    let isNegative = head <= 8
    let width = isNegative ? 8 - Int(head) : Int(head) - 9
    guard bytes.count == width + 1 else { return nil }
    var distance: UInt64 = 0
    for place in 0..<width {
      let byte = bytes[place + 1]
      distance = distance << 8 | UInt64(isNegative ? ~byte : byte)
    }
    // The shortest form only: a number has one key.
    guard width == 0 || distance >> UInt64(8 * (width - 1)) != 0 else { return nil }
    if isNegative {
      return base > 0 && distance <= base - 1 ? base - 1 - distance : nil
    }
    return distance <= UInt64.max - base ? base + distance : nil
  }

  /// The word and the number in the key of a block; nil if the bytes are no such key.
  static func parts(
    of key: UnsafeRawBufferPointer, base: UInt64
  ) -> (word: UnsafeRawBufferPointer, number: UInt64)? {
    guard let end = key.firstZero, end <= WordRules.longestWord,
      end == 0 || key[0] >= firstOfWord,
      let number = number(in: UnsafeRawBufferPointer(rebasing: key[(end + 1)...]), base: base)
    else { return nil }
    return (UnsafeRawBufferPointer(rebasing: key[..<end]), number)
  }
}
