/// The place of a row in an order: the bytes of its sort key.
struct RowPlace: Comparable, Hashable {
  /// The first eight bytes, which decide most comparisons and are all of many keys.
  private let head: UInt64
  private let count: Int
  private let tail: [UInt8]

  init(_ key: UnsafeRawBufferPointer) {
    head = ByteHead.first(of: key)
    count = key.count
    tail = key.count > 8 ? [UInt8](UnsafeRawBufferPointer(rebasing: key[8...])) : []
  }

  static func < (a: RowPlace, b: RowPlace) -> Bool {
    if a.head != b.head { return a.head < b.head }
    // A key of fewer than eight bytes is filled up with zeros.
    if a.tail.isEmpty || b.tail.isEmpty { return a.count < b.count }
    return a.tail.withUnsafeBytes { a in b.tail.withUnsafeBytes { compareBytes(a, $0) < 0 } }
  }
}

extension [RowPlace] {
  /// The number of places before one.
  func firstPlace(notBefore place: RowPlace) -> Int {
    placeAfter { $0 < place }
  }
}

/// Notes the place of each row of a query while it is read, and if wanted a hash of its records and
/// its id.
final class RowPlaces: RowDigest {
  private let order: SortKey
  /// Whether the id does not give the place.
  let needsRecord: Bool
  private let isHashed: Bool
  private let hasIDs: Bool
  @exclusivity(unchecked) private(set) var places: [RowPlace] = []
  @exclusivity(unchecked) private(set) var hashes: [Int] = []
  @exclusivity(unchecked) private(set) var ids: [[UInt8]] = []
  /// How many related records of the last row follow.
  @exclusivity(unchecked) private var partsLeft = 0

  init(_ order: SortKey, needsRecord: Bool, isHashed: Bool, hasIDs: Bool = false) {
    self.order = order
    self.needsRecord = needsRecord
    self.isHashed = isHashed
    self.hasIDs = hasIDs
  }

  override func add(count: Int) {
    partsLeft = count
    combine(count)
  }

  override func add(content: Int) { combine(content) }

  private func combine(_ part: Int) {
    guard let last = hashes.last else { return }
    hashes[hashes.count - 1] = RecordHash.of(last, part)
  }

  override func add(id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer?) {
    if partsLeft > 0 {
      partsLeft -= 1
      if isHashed, let record { combine(RecordHash.of(id, record)) }
      return
    }
    let nothing = needsRecord ? nil : UnsafeRawBufferPointer(start: nil, count: 0)
    guard let record = record ?? nothing, (try? order.write(record: record, id: id)) != nil else {
      return
    }
    places.append(RowPlace(order.bytes))
    if isHashed { hashes.append(RecordHash.of(id, record)) }
    if hasIDs { ids.append([UInt8](id)) }
  }
}
