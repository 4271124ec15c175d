/// Room for the numbers of the records of one stored block, which is used again for the next one.
///
/// Reading these numbers is most of the work of a search, so nothing is called or allocated for one.
struct BlockNumbers: ~Copyable {
  private let base: UnsafeMutablePointer<UInt64>
  private(set) var count = 0

  /// Eight records that follow each other, as most of a collection do.
  private static let nextEight: UInt64 = 0x0101_0101_0101_0101

  init() { base = .allocate(capacity: SearchBlock.postingLimit) }

  deinit { base.deallocate() }

  /// Valid until the next block is read.
  @inline(__always)
  var all: UnsafeBufferPointer<UInt64> { UnsafeBufferPointer(start: base, count: count) }

  /// Reads the numbers of a stored block. Every step is checked: the bytes come from a file.
  ///
  /// - Parameter first: the number of its first record.
  /// - Returns: the offset of the first posting.
  mutating func read(first: UInt64, _ value: UnsafeRawBufferPointer) throws -> Int {
    let count = try SearchBlock.count(value)
    self.count = 0
    var number = first
    base[0] = first
    var offset = 1
    var place = 1
    while place < count {
      if count &- place >= 8, value.count &- offset >= 8,
        value.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == Self.nextEight
      {
        let (last, isTooGreat) = number.addingReportingOverflow(8)
        if isTooGreat { throw SearchBytes.damaged }
        for step in 0..<8 { base[place &+ step] = number &+ UInt64(step &+ 1) }
        number = last
        place &+= 8
        offset &+= 8
        continue
      }
      guard offset < value.count else { throw SearchBytes.damaged }
      var distance = UInt64(value[offset])
      if distance < 0x80 {
        offset &+= 1
      } else {
        var bytes = SearchBytes(value, at: offset)
        distance = try bytes.number()
        offset = bytes.offset
      }
      let (next, isTooGreat) = number.addingReportingOverflow(distance)
      guard !isTooGreat, distance != 0 else { throw SearchBytes.damaged }
      number = next
      base[place] = next
      place &+= 1
    }
    self.count = count
    return offset
  }
}
