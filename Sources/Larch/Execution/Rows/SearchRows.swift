/// The records that a search finds, in the order of their ids, as they are wanted.
///
/// The records of the collection are looked at window by window: first as many as probably have the wanted rows,
/// then each time twice as many. So the first rows of a common word cost no more than those of a rare one.
final class SearchRows: RowSource {
  private let evaluator: SearchEvaluator
  private let query: TextQuery.Node
  private let reader: RowReader
  private let descends: Bool
  /// The blocks of lengths of the next window: each has the records of its part of the collection.
  @exclusivity(unchecked) private var blocks: Int
  /// The blocks that are read without windows: one of as many blocks would save nothing.
  private let blocksOfWords: Int
  /// The records that no window has had; nil after the last one.
  @exclusivity(unchecked) private var rest: ClosedRange<UInt64>?
  /// The records of this window that are left, the next one at the end.
  @exclusivity(unchecked) private var numbers: [UInt64] = []
  @exclusivity(unchecked) private var idBuffer = ByteBuffer(capacity: 8)

  /// Nil if the records of the search are not found by windows.
  ///
  /// - Parameter after: the id after which rows begin.
  init?(
    _ scan: Plan.SearchScan, descends: Bool, after: [UInt8]?, wanted: Int, _ reader: RowReader
  ) throws {
    guard scan.isReadByWindows(reader.collection.stored.idKind) else { return nil }
    evaluator = try SearchEvaluator(scan, reader)
    query = scan.filter.query.node
    self.reader = reader
    self.descends = descends
    rest = 0...UInt64.max
    if let after {
      let last = after.withUnsafeBytes { SearchKey.number(ofID: $0) }
      if descends {
        rest = last == 0 ? nil : 0...last - 1
      } else {
        rest = last == .max ? nil : last + 1...UInt64.max
      }
    }
    let statistics = IndexStatistics(reader.collection, reader.context)
    let found = max(1, try statistics.estimate(scan))
    let share = Double(try statistics.recordCount()) / Double(found)
    let records = min(share * Double(wanted), 1e9)
    blocks = 1 + Int(records) / SearchBlock.postingLimit
    blocksOfWords = try evaluator.blockCount(found: found)
  }

  override func next() throws -> Bool {
    while true {
      while let number = numbers.popLast() {
        idBuffer.removeAll()
        idBuffer.append(bigEndian: number)
        id = idBuffer.bytes
        if try passesResidue(reader) { return true }
        if reader.recordsExamined > reader.mostRecords { throw CostLimitReached() }
      }
      guard try readWindow() else { return false }
    }
  }

  /// Finds the records of the next window; false after the last one.
  private func readWindow() throws -> Bool {
    guard let rest else { return false }
    let window: ClosedRange<UInt64>
    if blocks <= blocksOfWords, let bound = try bound(of: rest) {
      window = descends ? bound...rest.upperBound : rest.lowerBound...bound - 1
      self.rest = descends ? rest.lowerBound...bound - 1 : bound...rest.upperBound
    } else {
      window = rest
      self.rest = nil
    }
    evaluator.window = window
    // A write may have changed the list since the last window.
    if !reader.context.isReading { evaluator.tree.pending.forget() }
    numbers = try evaluator.records(query, among: nil)
    if !descends { numbers.reverse() }
    blocks = blocks.multipliedReportingOverflow(by: 2).partialValue
    return true
  }

  /// The record with which the next window begins, if rows descend, or the one after it, otherwise; nil if the
  /// window has all the rest.
  private func bound(of rest: ClosedRange<UInt64>) throws -> UInt64? {
    let tree = evaluator.tree
    var key = ByteBuffer(capacity: 16)
    key.append(UInt8(0))
    SearchKey.append(descends ? rest.upperBound : rest.lowerBound, base: tree.base, to: &key)
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var entry = try cursor.seek(atOrAfter: key.bytes)
    if descends { entry = entry == nil ? try cursor.last() : try cursor.previous() }
    var passed = 1
    while let here = entry, here.key[0] == 0 {
      let first = try tree.block(here).first
      if passed > blocks || (descends && passed == blocks) {
        return first > rest.lowerBound && first <= rest.upperBound ? first : nil
      }
      passed += 1
      entry = descends ? try cursor.previous() : try cursor.next()
    }
    return nil
  }

  override func close() {
    numbers = []
    rest = nil
  }

  override var entriesExamined: Int { evaluator.entriesExamined }
}
