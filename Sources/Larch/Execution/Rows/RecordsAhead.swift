/// The rows of another source, whose records are found ahead, several at once: see `MappedTree.find`.
///
/// A row that was found ahead is verified when it is its turn, and one that was not is read then: so errors
/// come with their rows.
final class RecordsAhead: RowSource {
  private let source: RowSource
  private let tree: MappedTree
  private let width: Int
  // In one piece of memory: the ids of the rows ahead; what is stored under them, empty if it was not
  // found; and the records that the source has read.
  private let ids: UnsafeMutableRawPointer
  private let values: UnsafeMutablePointer<UnsafeRawBufferPointer>
  private let records: UnsafeMutablePointer<UnsafeRawBufferPointer?>
  @exclusivity(unchecked) private var place = 0
  @exclusivity(unchecked) private var count = 0
  /// The rows that may still be wanted.
  @exclusivity(unchecked) private var left: Int
  /// The rows that are looked for the next time. Without a limit the caller may stop at any row: so no more
  /// are read ahead than it has taken.
  @exclusivity(unchecked) private var turn: Int
  /// The rows that are passed over, without their records.
  @exclusivity(unchecked) private var toSkip: Int
  /// Whether the source stopped at a row whose id has another size: its file is damaged. That row comes
  /// after those that were read ahead.
  private var isAtOddRow = false
  /// The error at which the source stopped, after the rows that were read ahead.
  private var failure: (any Error)?

  /// - Parameters:
  ///   - skipping: the number of rows that are passed over at first.
  ///   - limit: the number of rows that are wanted after them; nil if it is not known.
  init(_ source: RowSource, _ tree: MappedTree, width: Int, skipping: Int, limit: Int?) {
    self.source = source
    self.tree = tree
    self.width = width
    toSkip = skipping
    left = limit ?? .max
    turn = limit == nil ? 2 : MappedTree.keysAtOnce
    let most = MappedTree.keysAtOnce
    typealias Value = UnsafeRawBufferPointer
    let sizes = (ids: width * most, values: MemoryLayout<Value>.stride * most)
    ids = .allocate(
      byteCount: sizes.ids + sizes.values + MemoryLayout<Value?>.stride * most, alignment: 16)
    values = (ids + sizes.ids).bindMemory(to: Value.self, capacity: most)
    records = (ids + sizes.ids + sizes.values).bindMemory(to: Value?.self, capacity: most)
    records.initialize(repeating: nil, count: most)
  }

  deinit { ids.deallocate() }

  override func next() throws -> Bool {
    if place == count {
      if toSkip > 0 {
        toSkip -= 1
        return try source.next()
      }
      if !lookAhead() { return try nextBehind() }
    }
    id = UnsafeRawBufferPointer(start: ids + place &* width, count: width)
    record = records[place]
    let value = values[place]
    stored = value.baseAddress == nil ? nil : value
    place &+= 1
    return true
  }

  /// Finds the next rows; false if there is none.
  private func lookAhead() -> Bool {
    (place, count) = (0, 0)
    if isAtOddRow || failure != nil { return false }
    let wanted = min(turn, left)
    if let rows = source as? IDRows {
      count = rows.take(wanted, into: ids)
      records.update(repeating: nil, count: count)
    } else {
      takeRows(wanted)
    }
    if count == 0 { return false }
    tree.find(ids, width: width, count: count, values)
    left &-= count
    turn = min(turn &* 2, MappedTree.keysAtOnce)
    return true
  }

  private func takeRows(_ wanted: Int) {
    do {
      while count < wanted, try source.next() {
        guard source.id.count == width, let id = source.id.baseAddress else {
          isAtOddRow = true
          break
        }
        (ids + count &* width).copyMemory(from: id, byteCount: width)
        records[count] = source.record
        count &+= 1
      }
    } catch {
      failure = error
    }
  }

  /// The row or the error at which the rows ahead ended.
  private func nextBehind() throws -> Bool {
    if let failure { throw failure }
    guard isAtOddRow else { return false }
    isAtOddRow = false
    (id, record, stored) = (source.id, source.record, nil)
    return true
  }

  override func close() {
    source.close()
    count = place
    left = 0
  }

  override var mayRepeatValues: Bool { source.mayRepeatValues }
  override var entriesExamined: Int { source.entriesExamined }
  override var spilledBytes: Int { source.spilledBytes }
}
