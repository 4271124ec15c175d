/// Statistics from LMDB's own counts and a few seeks.
///
/// A range of few keys is counted. For a longer one the share is estimated from the positions of its
/// bounds in the tree.
struct IndexStatistics: PlanStatistics {
  /// The number of ranges that are sampled, evenly spread, if there are more.
  static let rangesLooked = 16

  let collection: CollectionHandle
  let context: TransactionContext

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
      let handle = try collection.index(at: index)
      return try estimate(
        ranges, handle.database, hasDuplicates: true)
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  func pagesOfKeys(index: Int) throws -> Int {
    do {
      return try collection.index(at: index).database.statistics(in: try context.transaction())
        .leafPages
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

  /// The approximate number of records in ranges of ids.
  func estimate(ids ranges: [KeyRange]) throws -> Int {
    do {
      return try estimate(
        ranges, collection.records, hasDuplicates: false)
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  private func estimate(
    _ ranges: [KeyRange], _ database: LMDBDatabase, hasDuplicates: Bool
  ) throws -> Int {
    let transaction = try context.transaction()
    let size = try database.statistics(in: transaction)
    if size.entries == 0 { return 0 }
    var counter = RangeCounter(
      try LMDBCursor(database, in: transaction), size.entries, hasDuplicates: hasDuplicates)
    let looked = min(ranges.count, Self.rangesLooked)
    var sum = 0
    for place in 0..<looked {
      let found = try counter.count(ranges[place * ranges.count / looked])
      if let found {
        sum += found
      } else {
        sum += try counter.estimate(context.mappedTree(database))
      }
    }
    if looked < ranges.count { sum = Int(Double(sum) * Double(ranges.count) / Double(looked)) }
    return min(sum, size.entries)
  }
}

extension TransactionContext {
  /// The pages of a database, if all of them are in the map.
  func mappedTree(_ database: LMDBDatabase) throws -> MappedTree? {
    guard isReading else { return nil }
    let transaction = try transaction()
    if transaction.isWatched { database.tellRead(in: transaction) }
    return trees.tree(of: database, in: transaction, isOften: true)
  }
}

/// Counts the entries of ranges of keys, and estimates the number of those that it does not count.
private struct RangeCounter: ~Copyable {
  /// The number of keys that are counted before anything is estimated.
  private static let countedKeys = 32

  private var cursor: LMDBCursor
  private let total: Int
  private let hasDuplicates: Bool
  // What is known of a range that is not counted to its end.
  private var range = KeyRange.none
  private var counted = 0
  /// The first key, where it is stored: nothing changes while ranges are counted.
  private var first = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The first key that was not counted.
  private var next: [UInt8] = []

  init(_ cursor: consuming LMDBCursor, _ total: Int, hasDuplicates: Bool) {
    self.cursor = cursor
    self.total = total
    self.hasDuplicates = hasDuplicates
  }

  /// Nil if there are many keys; `estimate` then tells how many entries these have.
  mutating func count(_ range: KeyRange) throws -> Int? {
    if range.isEmpty { return 0 }
    if range.isEverything { return total }
    var entry =
      try range.lower.isEmpty
      ? cursor.first() : range.lower.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    guard let start = entry else { return 0 }
    first = start.key
    counted = 0
    var keys = 0
    let isOneKey = range.isOneKey
    while let here = entry, range.contains(here.key) {
      if keys == RangeCounter.countedKeys {
        self.range = range
        next = [UInt8](here.key)
        return nil
      }
      counted += hasDuplicates ? try cursor.duplicateCount() : 1
      keys += 1
      if isOneKey { break }
      entry = try cursor.nextKey()
    }
    return counted
  }

  /// The approximate number of entries in the last range.
  mutating func estimate(_ tree: MappedTree?) throws -> Int {
    var rest: Double?
    if let tree {
      rest = next.withUnsafeBytes { next in
        guard let upper = range.upper else { return tree.entries(from: next, to: nil) }
        return upper.withUnsafeBytes { tree.entries(from: next, to: $0) }
      }
    }
    guard let rest else { return try interpolate() }
    // In a damaged file it may be any number.
    return min(total, counted + Int(min(rest, Double(total))))
  }

  /// The same in a write, whose pages may be anywhere: from the keys as numbers, as if they were
  /// spread evenly between the first and the last one.
  private mutating func interpolate() throws -> Int {
    let first = [UInt8](first)
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
    let whole = RangeCounter.number(greatest, common) - RangeCounter.number(least, common)
    let part = RangeCounter.number(last, common) - RangeCounter.number(first, common)
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
