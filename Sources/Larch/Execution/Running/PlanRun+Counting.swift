extension PlanRun {
  /// The number of rows within offset and limit. The run cannot be used after that.
  package func count() throws -> Int {
    defer { close() }
    do {
      let wanted = plan.limit.map { $0.addingReportingOverflow(plan.offset) }
      let most = wanted.map { $0.overflow ? Int.max : $0.partialValue } ?? .max
      let all = try countAll(upTo: most)
      return min(max(0, all - plan.offset), plan.limit ?? .max)
    } catch {
      throw noted(error)
    }
  }

  /// Whether there is a row within offset and limit. The run cannot be used after that.
  func exists() throws -> Bool {
    defer { close() }
    // No collection has more rows than `Int.max`, and one more could not be counted.
    if plan.limit == 0 || plan.offset == .max { return false }
    do {
      // No collection has so many records that the last number is reached.
      return try plan.offset < .max && countAll(upTo: plan.offset + 1) > plan.offset
    } catch {
      throw noted(error)
    }
  }

  /// If no more rows are wanted, unions and searches give them one by one.
  private static let fewRows = 1000

  /// Counts without offset and limit; may stop at `most`.
  private func countAll(upTo most: Int) throws -> Int {
    if most == 0 { return 0 }
    if plan.after == nil, plan.otherwise == nil {
      if plan.residue.isEmpty {
        if let count = try countWithoutRows(upTo: most) { return count }
      } else if let prefix = reader.prefix, most > PlanRun.fewRows,
        let count = try countIDs(prefix)
      {
        return count
      }
    }
    // The order of rows matters only for the start of a page.
    var unordered = plan
    if plan.after == nil {
      unordered.order = .any
    }
    unordered.isCovering = true
    unordered.offset = 0
    unordered.limit = nil
    if plan.after == nil, plan.otherwise != nil {
      return try countByTurns(unordered, upTo: most)
    }
    let run = PlanRun(unordered, partOf: self)
    defer {
      var counters = run.counters
      counters.recordsExamined -= reader.recordsExamined
      add(counters)
      run.close()
    }
    let rows = try run.makeRows(limit: most == .max ? nil : most)
    defer {
      add(entriesExamined: rows.entriesExamined)
      rows.close()
    }
    var count = 0
    while count < most, try rows.next() { count += 1 }
    return count
  }

  /// The steps of an alternative in the first round.
  private static let firstTurn = 256

  /// Counts the rows of a plan and of its alternatives in turns, until one of them has enough or has
  /// no more. In each round a plan may read a quarter more than in all rounds before; one that has read more
  /// than that waits until the others have read as much.
  private func countByTurns(_ plan: Plan, upTo most: Int) throws -> Int {
    guard let otherwise = plan.otherwise else { return 0 }
    var first = plan
    (first.otherwise, first.others) = (nil, [])
    var counters = [try RowCounter(first, self)]
    for alternative in plan.alternatives {
      var other = first
      (other.source, other.residue) = (alternative.source, alternative.residue)
      counters.append(try RowCounter(other, self, costing: alternative.work))
    }
    defer {
      countedOfAlternatives = []
      for (place, counter) in counters.enumerated() {
        let counted = counter.close()
        add(counted)
        if place > 0 { countedOfAlternatives.append(counted.recordsExamined) }
      }
    }
    if let count = try counters[0].count(upTo: most, reading: otherwise.entries) { return count }
    var spent = otherwise.entries
    var turn = min(otherwise.entries, PlanRun.firstTurn)
    while true {
      for counter in counters where counter.budget < turn && counter.least <= spent {
        let before = counter.budget
        if let count = try counter.count(upTo: most, reading: turn) { return count }
        spent += turn - before
      }
      turn += turn / 4 + 1
    }
  }

  /// Nil if rows must be read.
  private func countWithoutRows(upTo most: Int) throws -> Int? {
    let transaction = try context.transaction()
    switch plan.source {
    case .nothing: return 0
    case .records(let ranges):
      let size = try collection.records.statistics(in: transaction)
      if ranges.count == 1, ranges[0].isEverything { return size.entries }
      if most <= PlanRun.fewRows { return nil }
      // The ids of records do not count as entries of an index.
      return try context.countPages(of: collection.records, in: ranges)?.entries
    case .index(let scan):
      if scan.mayRepeat { return nil }
      if scan.keyFilter.isEmpty, !scan.isPoints {
        let index = try collection.index(at: scan.index)
        let size = try index.database.statistics(in: transaction)
        if scan.ranges.count == 1, scan.ranges[0].isEverything { return size.entries }
        if most > PlanRun.fewRows,
          let count = try context.countPages(of: index.database, in: scan.ranges)
        {
          add(entriesExamined: count.keys)
          return count.entries
        }
      }
      return try count(scan, upTo: most)
    case .list(let scan) where scan.ids.count == 1 && !context.hasUnsavedMembers:
      let scanner = try IndexScanner(scan, in: collection, context: context)
      defer { add(entriesExamined: scanner.entriesExamined) }
      return try scanner.countIDs(upTo: most)
    case .list where most == 1: return nil
    case .search(let scan):
      let search = try SearchEvaluator(scan, reader)
      defer { add(entriesExamined: search.entriesExamined) }
      if let count = try search.countOfBlocks(upTo: most) { return count }
      if most <= PlanRun.fewRows, scan.isReadByWindows(collection.stored.idKind) { return nil }
      return try search.count()
    case .union where most <= PlanRun.fewRows:
      // The first rows of any part are enough, and reading them does not read the others.
      return nil
    case .list, .union, .intersection:
      let collector = IDCollector(reader)
      let list = try collector.collect(plan.source)
      add(entriesExamined: collector.entriesExamined)
      return list.count
    }
  }

  /// The number of ids with a prefix; nil if some of them must be tested.
  private func countIDs(_ prefix: PrefixOfIDs) throws -> Int? {
    guard case .records(let ranges) = plan.source, ranges.count == 1, plan.idBounds.isEmpty,
      prefix.isWhole(ranges[0])
    else { return nil }
    return try context.count(prefix, in: collection)
  }

  private func count(_ scan: Plan.IndexScan, upTo most: Int) throws -> Int {
    let scanner = try IndexScanner(scan, in: collection, context: context)
    defer { add(entriesExamined: scanner.entriesExamined) }
    if scan.keyFilter.isEmpty { return try scanner.countIDs(upTo: most) }
    let filter = try FilterProgram.of(scan.keyFilter, context: context, typed: typed)
    var count = 0
    while count < most, try scanner.nextKey() {
      guard scanner.isUndecided, let filter else {
        count += try scanner.idCount()
        continue
      }
      while try scanner.nextID() {
        let record = try reader.read(scanner.id)
        if try reader.matches(filter, record, scanner.id) { count += 1 }
      }
    }
    return count
  }
}

extension TransactionContext {
  /// The number of ids with a prefix; nil if some of them must be tested.
  func count(_ prefix: PrefixOfIDs, in collection: CollectionHandle) throws -> Int? {
    let (sure, rest) = prefix.parts
    guard let others = try countPages(of: collection.records, in: [rest]), others.entries == 0
    else { return nil }
    return try countPages(of: collection.records, in: [sure])?.entries
  }

  /// The entries in ranges of a tree, from the headers of its pages; nil if these are not in the map,
  /// or not what they should be.
  func countPages(of database: LMDBDatabase, in ranges: [KeyRange]) throws -> MappedTree.Count? {
    guard let tree = try mappedTree(database) else { return nil }
    var all = MappedTree.Count()
    for range in ranges where !range.isEmpty {
      let found = range.lower.withUnsafeBytes { lower in
        guard let upper = range.upper else { return tree.count(from: lower, to: nil) }
        return upper.withUnsafeBytes { tree.count(from: lower, to: $0) }
      }
      guard let found else { return nil }
      all.entries += found.entries
      all.keys += found.keys
    }
    return all
  }
}

/// Counts the rows of a plan, a part at a time.
private final class RowCounter {
  private let run: PlanRun
  private var rows: RowSource?
  private var count = 0
  /// What it was allowed to read.
  private(set) var budget = 0
  /// The cost of a record and its entry.
  private let step: Int
  /// What all plans together must have cost before it begins: nothing stops an intersection before
  /// its first row.
  let least: Int

  /// - Parameter work: the expected cost.
  init(_ plan: Plan, _ owner: PlanRun, costing work: Double = 0) throws {
    if case .intersection = plan.source {
      least = Int(min(work, 1e9))
    } else {
      least = 0
    }
    run = try PlanRun(
      plan, in: owner.collection, context: owner.context, typed: owner.typed)
    run.settings = owner.settings
    step = plan.source.rowWork
  }

  /// The number of rows, or `most`; nil if it may have read too much.
  ///
  /// - Parameter budget: what it may read, with all that it has read before.
  func count(upTo most: Int, reading budget: Int) throws -> Int? {
    self.budget = budget
    run.reader.mostRecords = budget / step
    run.reader.mostEntries = budget
    do {
      let rows = try self.rows ?? run.makeRows(limit: most == .max ? nil : most)
      self.rows = rows
      rows.allow(entries: budget)
      while count < most, try rows.next() { count += 1 }
      return count
    } catch is CostLimitReached {
      return nil
    }
  }

  /// Ends the run.
  ///
  /// - Returns: its cost.
  func close() -> ExecutionCounters {
    defer { run.close() }
    var counters = run.counters
    counters.entriesExamined += rows?.entriesExamined ?? 0
    rows?.close()
    return counters
  }
}
