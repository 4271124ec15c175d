/// Statistics from LMDB's own counts and a few seeks.
///
/// A range of few keys is counted. For a longer one the share is estimated from the keys as
/// numbers, as if they were spread evenly between the first and the last one.
struct IndexStatistics: PlanStatistics {
  /// The number of keys that are counted before anything is estimated.
  private static let countedKeys = 32
  /// The number of ranges that are sampled, evenly spread, if there are more.
  private static let rangesLooked = 16

  private let collection: CollectionHandle
  private let context: TransactionContext

  init(_ collection: CollectionHandle, _ context: TransactionContext) {
    self.collection = collection
    self.context = context
  }

  func recordCount() throws -> Int {
    do {
      return try collection.records.statistics(in: try context.transaction()).entries
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  func estimate(index: Int, ranges: [KeyRange]) throws -> Int {
    do {
      let database = try collection.index(at: index).database
      let transaction = try context.transaction()
      let total = try database.statistics(in: transaction).entries
      if total == 0 { return 0 }
      var cursor = try LMDBCursor(database, in: transaction)
      let looked = min(ranges.count, Self.rangesLooked)
      var sum = 0
      for place in 0..<looked {
        sum += try Self.estimate(ranges[place * ranges.count / looked], total, &cursor)
      }
      if looked < ranges.count { sum = Int(Double(sum) * Double(ranges.count) / Double(looked)) }
      return min(sum, total)
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  func estimate(_ lists: Plan.ListScan) throws -> Int {
    do {
      let (database, ranges) = try RelatedRoute.lists(lists, context)
      var cursor = try LMDBCursor(database, in: try context.transaction())
      let looked = min(ranges.count, Self.rangesLooked)
      var sum = 0
      for place in 0..<looked {
        let key = ranges[place * ranges.count / looked].lower
        if try key.withUnsafeBytes({ try cursor.seek(exactly: $0) }) != nil {
          sum += try cursor.duplicateCount()
        }
      }
      return looked < ranges.count
        ? Int(Double(sum) * Double(ranges.count) / Double(looked)) : sum
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  private static func estimate(
    _ range: KeyRange, _ total: Int, _ cursor: inout LMDBCursor
  ) throws -> Int {
    if range.isEmpty { return 0 }
    if range.lower.isEmpty, range.upper == nil { return total }
    let lower = range.lower
    var entry =
      try lower.isEmpty
      ? cursor.first() : lower.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    guard let start = entry else { return 0 }
    let first = [UInt8](start.key)
    var count = 0
    var keys = 0
    while let here = entry, range.contains(here.key) {
      if keys == countedKeys { return try interpolate(range, first, count, total, &cursor) }
      count += try cursor.duplicateCount()
      keys += 1
      entry = try cursor.nextKey()
    }
    return count
  }

  /// - Parameter counted: the entries of the first `countedKeys` keys.
  private static func interpolate(
    _ range: KeyRange, _ first: [UInt8], _ counted: Int, _ total: Int,
    _ cursor: inout LMDBCursor
  ) throws -> Int {
    guard let least = try cursor.first().map({ [UInt8]($0.key) }),
      let greatest = try cursor.last().map({ [UInt8]($0.key) })
    else { return counted }
    var last = greatest
    if let upper = range.upper {
      let beyond = try upper.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
      if beyond != nil { last = try cursor.previousKey().map { [UInt8]($0.key) } ?? first }
    }
    // The numbers after the common prefix of all keys.
    var common = 0
    while common < least.count, common < greatest.count, least[common] == greatest[common] {
      common += 1
    }
    let whole = number(greatest, common) - number(least, common)
    let part = number(last, common) - number(first, common)
    guard whole > 0 else { return max(counted, total / 2) }
    return min(total, max(counted, Int(Double(total) * part / whole)))
  }

  private static func number(_ key: [UInt8], _ start: Int) -> Double {
    var value = 0.0
    for place in start..<start + 8 {
      value = value * 256 + (place < key.count ? Double(key[place]) : 0)
    }
    return value
  }
}
