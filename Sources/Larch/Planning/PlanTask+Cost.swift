internal import Foundation

extension PlanTask {
  /// Costs are in steps from one key of an index to the next. They were measured with a million
  /// records and rounded: only large differences decide.
  enum Cost {
    /// A look-up of a record by its id.
    static let record = 10.0
    /// A step to the next record of the collection.
    static let nextRecord = 2.0
    /// A check of a filter on a record.
    static let check = 1.0
    /// A check of words, which cuts the texts of a record.
    static let words = 50.0
    /// A look-up in an index.
    static let range = 10.0
    /// A step of a sort, taken n log n times.
    static let sort = 0.3
    /// A score of a record.
    static let score = 1.0
    /// An id that is sorted, digit by digit.
    static let sortedID = 1.0
    /// A query, beside its rows.
    static let query = 256.0
    /// So little that it is not noticed beside the query.
    static let few = 64.0
  }
}

extension PlanTask {
  /// The cheapest of all plans, by statistics.
  func cheapest(
    _ matches: [IndexMatch], _ lists: [Candidate], _ ids: IDRanges?,
    _ statistics: some PlanStatistics
  ) throws -> Plan {
    let total = Double(try statistics.recordCount())
    let matches = try withoutRivals(matches, statistics)
    var candidates = try candidates(matches, lists, ids, total, statistics)
    var both = intersection(candidates, total)
    let shares = shares(candidates, total)
    var results = results(candidates, total, shares)
    if after != nil, isByID, ids == nil { results *= candidates[0].rows / max(total, 1) }
    var (best, bestCost) = least(of: candidates, results)
    var margin = PlanTask.marginOfProduct
    if let sampled = try sampled(&candidates, and: both, results, best, shares, statistics) {
      results = sampled.results
      both = intersection(candidates, total)
      let shared = sampled.rows(of: both, results)
      both?.shared = shared
      (best, bestCost) = least(of: candidates, results)
      margin = 1
    }
    if wanted != nil { best = surest(best, bestCost, candidates, results) }
    if let both {
      if margin * cost(both, min(results, both.shared)) < bestCost { best = candidates.count }
      return bounded(plan(best, of: candidates + [both], results), by: candidates, total)
    }
    return bounded(plan(best, of: candidates, results), by: candidates, total)
  }

  /// The cheapest candidate.
  func least(of candidates: [Candidate], _ results: Double) -> (place: Int, cost: Double) {
    var best = 0
    var bestCost = cost(candidates[0], results)
    for place in candidates.indices.dropFirst() {
      let cost = cost(candidates[place], results)
      if cost < bestCost
        || (cost == bestCost && isPreferred(candidates[place], candidates[best]))
      {
        (best, bestCost) = (place, cost)
      }
    }
    return (best, bestCost)
  }

  /// Of candidates that cost about as little as the best one, the one that costs least if all wanted
  /// rows come last: a few steps more are nothing beside the query, and a wrong guess may be much.
  private func surest(
    _ best: Int, _ bestCost: Double, _ candidates: [Candidate], _ results: Double
  ) -> Int {
    var surest = best
    var least = most(candidates[best], results)
    for place in candidates.indices where place != best {
      guard cost(candidates[place], results) <= bestCost + Cost.few else { continue }
      let most = most(candidates[place], results)
      if most < least { (surest, least) = (place, most) }
    }
    return surest
  }

  /// The cost if all wanted rows come last. If each row is one of them, they are the first ones.
  func most(_ candidate: Candidate, _ results: Double) -> Double {
    let candidate = candidate.atWorst
    // Of sorted ids, records are read up to the last wanted one, which without a residue are the
    // first.
    if isByID, !candidate.isInOrder {
      return cost(
        candidate, candidate.residue.isEmpty ? results : results / PlanTask.lateness)
    }
    var isExact = candidate.isInOrder && candidate.residue.isEmpty
    if case .index(let scan) = candidate.source {
      isExact = isExact && scan.keyFilter.isEmpty && isInOrderOfKeys(candidate, scan)
    }
    return isExact
      ? cost(candidate, candidate.passing) : cost(candidate, results, upToLimit: false)
  }

  /// Whether no rows of several keys are put into order.
  private func isInOrderOfKeys(_ candidate: Candidate, _ scan: Plan.IndexScan) -> Bool {
    guard case .byIndex(let components, _, _) = candidate.order else { return true }
    return components == schema.indexes[scan.index].fields.count
  }

  /// The entries that are put into order together: most fields have many values, but not all.
  private func sizeOfGroup(_ candidate: Candidate, _ results: Double) -> Double {
    guard case .index(let scan) = candidate.source,
      case .byIndex(let components, _, _) = candidate.order, case .terms(let terms, _) = order
    else { return 1 }
    let fields = schema.indexes[scan.index].fields[..<components].suffix(terms.count)
    let size =
      fields.allSatisfy(\.isBool)
      ? candidate.entries / 2 : candidate.entries.squareRoot()
    guard let wanted, candidate.entriesOfKey > 1 else { return size }
    let share = min(1, max(results, 0.5) / max(candidate.passing, 1))
    return size * min(1, Double(wanted) / share / candidate.entriesOfKey)
  }

  /// Notes how many entries a key has, if groups of keys are put into order that would be large without that.
  private func countEntriesOfKey(
    of candidate: inout Candidate, _ statistics: some PlanStatistics
  ) throws {
    guard wanted != nil, after == nil, candidate.isInOrder,
      case .index(let scan) = candidate.source, !isInOrderOfKeys(candidate, scan),
      sizeOfGroup(candidate, candidate.rows) >= PlanTask.worthSampling
    else { return }
    let keys = try keys(of: scan, entries: candidate.rows, statistics)
    candidate.entriesOfKey = candidate.rows / max(keys, 1)
  }

  /// How many times as many ids as expected may come before the last wanted row.
  private static let lateness = 10.0
  /// The product of two estimates must promise much.
  private static let marginOfProduct = 2.0

  /// Every candidate except intersections, with its number of rows.
  private func candidates(
    _ matches: [IndexMatch], _ lists: [Candidate], _ ids: IDRanges?, _ total: Double,
    _ statistics: some PlanStatistics
  ) throws -> [Candidate] {
    var candidates: [Candidate] = []
    if let ids {
      var candidate = records(ids.ranges, used: ids.used)
      candidate.rows =
        ids.isPoints
        ? min(total, Double(ids.ranges.count)) : Double(try statistics.estimate(ids: ids.ranges))
      candidates.append(candidate)
    } else {
      var candidate = records(nil, used: 0)
      candidate.rows = total
      candidates.append(candidate)
    }
    // Of rows in the order of ids, only those behind the token are read.
    if after != nil, isByID, case .records(let ranges) = candidates[0].source {
      candidates[0].rows = Double(try statistics.estimate(ids: ranges))
    }
    let haveRivals =
      isOfValues && wanted == nil
      && matches.count { isAnswered(by: schema.indexes[$0.index]) } > 1
    for match in matches {
      guard var candidate = scan(match) else { continue }
      candidate.rows = try rows(of: candidate.source, total, statistics)
      if haveRivals { try countKeys(of: &candidate, statistics) }
      try countEntriesOfKey(of: &candidate, statistics)
      candidates.append(candidate)
    }
    for var candidate in lists {
      candidate.rows = try rows(of: candidate.source, total, statistics)
      candidates.append(candidate)
    }
    if let union = try union(total, statistics) { candidates.append(union) }
    if let ids, total > 0 {
      for place in candidates.indices.dropFirst() where candidates[place].used & ids.used == 0 {
        candidates[place].shareOfIDs = min(1, candidates[0].rows / total)
      }
    }
    return candidates
  }

  private func isPreferred(_ a: Candidate, _ b: Candidate) -> Bool {
    if a.rangeCount != b.rangeCount { return a.rangeCount < b.rangeCount }
    guard case .index(let first) = a.source, case .index(let second) = b.source else {
      return false
    }
    return schema.indexes[first.index].name < schema.indexes[second.index].name
  }

  func rows(
    of source: Plan.Source, _ total: Double, _ statistics: some PlanStatistics
  ) throws -> Double {
    switch source {
    case .nothing: 0
    case .records: total
    case .index(let scan):
      scan.ranges.count == 1 && scan.ranges[0].isEverything
        ? total : Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
    case .list(let scan): Double(try statistics.estimate(scan))
    case .search(let scan): Double(try statistics.estimate(scan))
    case .union(let parts):
      try parts.reduce(0) { try $0 + rows(of: $1, total, statistics) }
    case .intersection(let parts):
      try parts.reduce(total) { try min($0, rows(of: $1, total, statistics)) }
    }
  }

  /// - Parameters:
  ///   - results: the number of records for which the whole filter is true.
  ///   - endsEarly: whether reading stops after the wanted rows, if rows come in order.
  ///   - allKeys: whether the filter on the keys leaves all of them, at worst.
  func cost(
    _ candidate: Candidate, _ results: Double, upToLimit endsEarly: Bool = true,
    leavingAllKeys allKeys: Bool = false
  ) -> Double {
    let wanted = wanted.map(Double.init) ?? .infinity
    let part = candidate.isInOrder && endsEarly ? min(1, wanted / max(results, 0.5)) : 1
    var read = candidate.entries * part
    // A group of keys is put into order before its first row is known; how many there are is not.
    if part < 1, case .index(let scan) = candidate.source, !isInOrderOfKeys(candidate, scan) {
      read = max(read, sizeOfGroup(candidate, results))
    }
    var cost = Double(candidate.rangeCount) * Cost.range
    var keysLeft = read
    var sortsIDs = true
    switch candidate.source {
    case .nothing: return 0
    case .records(let ranges):
      if candidate.isCovering, ranges.count == 1, ranges[0].isEverything, order.isAny { return 1 }
      cost += read * Cost.nextRecord
    case .index(let scan):
      cost += read * candidate.keysForEntry
      if let keys = candidate.keys {
        keysLeft = read * keys.passing / max(candidate.entries, 1)
      } else {
        keysLeft =
          allKeys ? read : max(results * part, read * PlanTask.share(of: scan.keyFilter))
      }
    case .search where isByRelevance:
      // All are scored, and then tested in order.
      let tested = endsEarly ? read * min(1, wanted / max(results, 0.5)) : read
      let check = candidate.residue.isEmpty ? 0 : Cost.check
      return cost + read * (1 + Cost.score) + tested * (Cost.record + check)
    case .search(let scan) where isByID && !order.isAny && scan.isReadByWindows(schema.idKind):
      sortsIDs = false
      cost += read * (endsEarly ? min(1, wanted / max(results, 0.5)) : 1)
    case .list, .search: cost += read
    case .union:
      cost += read
      keysLeft = candidate.passing * part
    case .intersection(let parts):
      // The ids of each part are sorted, except those of one whole key.
      cost += candidate.rows * (parts.allSatisfy { $0.isPoint } ? 1 : 1 + Cost.sortedID)
      keysLeft = results
    }
    let found = results * part
    let sorted = keysLeft
    // Ids are sorted before their records are read, so not all of these are read.
    if isByID, !candidate.isInOrder, endsEarly { keysLeft *= min(1, wanted / max(results, 0.5)) }
    if !candidate.residue.isEmpty {
      // Only where an index of words is the alternative does it matter what cutting costs.
      let cutsTexts = searches != 0 && candidate.residue.contains(where: \.readsWords)
      cost += keysLeft * (cutsTexts ? Cost.words : Cost.check)
    }
    // An id that is refused costs no record.
    keysLeft *= candidate.shareOfIDs
    if case .records = candidate.source {
      if !candidate.isInOrder { cost += min(found, wanted) * Cost.record }
    } else if !candidate.isCovering {
      let isReadLate =
        !candidate.isInOrder && candidate.residue.isEmpty
        && (isByID || isSorted(byKeysOf: candidate))
      cost += (isReadLate ? min(keysLeft, wanted) : keysLeft) * Cost.record
    }
    if !candidate.isInOrder {
      cost +=
        isByID
        ? (sortsIDs ? sorted * Cost.sortedID : 0) : found * log2(min(found, wanted) + 2) * Cost.sort
    } else if isOfValues, !candidate.isCovering {
      if isSortedForValues(candidate) { cost += sorted * Cost.sortedID }
    }
    return cost
  }

  /// Whether the keys of the index have all fields of the order, so that only wanted rows are read.
  private func isSorted(byKeysOf candidate: Candidate) -> Bool {
    if isByRelevance { return true }
    guard case .index(let scan) = candidate.source else { return false }
    return isOrder(inKeysOf: schema.indexes[scan.index])
  }

  /// Whether rows are sorted by scores alone, for which no record is read.
  var isByRelevance: Bool {
    guard case .terms(let terms, _) = order else { return false }
    return terms.count == 1 && terms[0].field.weights != nil
  }

  /// Whether the keys of an index have all fields of the order.
  func isOrder(inKeysOf index: IndexSchema) -> Bool {
    guard case .terms(let terms, _) = order else { return false }
    return terms.allSatisfy { term in
      index.fields.contains {
        $0.form.isSingle && !$0.isMultiple && $0.textForm == term.textForm
          && $0.holds(term.field)
      }
    }
  }
}

extension Plan.Source {
  /// One whole key, whose ids are in order.
  fileprivate var isPoint: Bool {
    switch self {
    case .index(let scan): scan.isPoints && scan.ranges.count == 1
    case .list(let scan): scan.ids.count == 1
    case .nothing, .records, .search, .union, .intersection: false
    }
  }
}
