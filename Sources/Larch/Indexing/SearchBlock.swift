/// Some postings of one word, in the order of records.
///
/// The bytes are the number of further records, then the distance of each from the one before, then the postings of
/// all of them, one after the other. The number of the first record is in the key.
struct SearchBlock: ~Copyable {
  /// The number of postings of a full block.
  static let postingLimit = 128
  /// The size of a full block, unless one posting is larger.
  static let sizeLimit = 1000

  private(set) var numbers: [UInt64] = []
  /// Where each posting begins, and the end of the last one.
  private var bounds: [Int] = [0]
  private var bytes = ByteBuffer(capacity: 0)
  /// The numbers of the stored block that is being appended.
  private var read = BlockNumbers()

  var count: Int { numbers.count }
  var isEmpty: Bool { numbers.isEmpty }
  /// The size of the postings.
  var size: Int { bytes.count }

  func posting(_ place: Int) -> UnsafeRawBufferPointer {
    bytes.bytes(at: bounds[place], count: bounds[place + 1] - bounds[place])
  }

  mutating func removeAll() {
    numbers.removeAll(keepingCapacity: true)
    bounds.removeAll(keepingCapacity: true)
    bounds.append(0)
    bytes.removeAll()
  }

  mutating func append(_ number: UInt64, _ posting: UnsafeRawBufferPointer) {
    numbers.append(number)
    bytes.append(posting)
    bounds.append(bytes.count)
  }

  // MARK: Bytes

  /// Appends the postings of a stored block.
  ///
  /// - Parameters:
  ///   - first: the number of its first record.
  ///   - isOfLengths: whether the postings are lengths.
  mutating func append(
    first: UInt64, _ value: UnsafeRawBufferPointer, isOfLengths: Bool, _ search: SearchSchema
  ) throws {
    // Only damaged blocks are not in order.
    guard numbers.last.map({ $0 < first }) ?? true else { throw SearchBytes.damaged }
    let start = try read.read(first: first, value)
    numbers.append(contentsOf: read.all)
    var reader = SearchBytes(value, at: start)
    for _ in 0..<read.count {
      let from = reader.offset
      if isOfLengths {
        try reader.skipLengths(search)
      } else {
        _ = try reader.skipPosting(search)
      }
      bytes.append(UnsafeRawBufferPointer(rebasing: value[from..<reader.offset]))
      bounds.append(bytes.count)
    }
    guard reader.isAtEnd else { throw SearchBytes.damaged }
  }

  /// The number of records of a stored block.
  static func count(_ value: UnsafeRawBufferPointer) throws -> Int {
    guard let more = value.first, more < UInt8(postingLimit) else { throw SearchBytes.damaged }
    return Int(more) + 1
  }

  /// Writes some of the postings as a block.
  func write(_ places: Range<Int>, to target: inout ByteBuffer) {
    target.removeAll()
    SearchPosting.append(UInt64(places.count - 1), to: &target)
    for place in places.dropFirst() {
      SearchPosting.append(numbers[place] - numbers[place - 1], to: &target)
    }
    target.append(
      bytes.bytes(
        at: bounds[places.lowerBound], count: bounds[places.upperBound] - bounds[places.lowerBound])
    )
  }

  /// The postings from a place on that fill a block, or as many as `most`.
  func full(from start: Int, most: Int = postingLimit) -> Range<Int> {
    let limit = min(numbers.count, start + min(most, SearchBlock.postingLimit))
    var end = start + 1
    // A distance takes ten bytes at most, and mostly one.
    var size = 2 + bounds[end] - bounds[start]
    while end < limit {
      size += bounds[end + 1] - bounds[end] + Varint.width(numbers[end] - numbers[end - 1])
      if size > SearchBlock.sizeLimit { break }
      end += 1
    }
    return start..<end
  }
}
