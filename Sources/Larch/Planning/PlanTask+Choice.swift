extension PlanTask {
  /// The cheapest plan. Statistics are read only if the query alone does not settle the choice.
  ///
  /// - Parameter refused: an index of which it is known that it has too many entries.
  func choose(
    _ statistics: some PlanStatistics, without refused: IndexMatch? = nil
  ) throws -> Plan {
    if let fields = need.groupedFields { return try choose(by: fields, statistics) }
    if case .values(let fields) = need { return try choose(valuesOf: fields, statistics) }
    let ids = boundsOfID()
    var refused = refused
    while true {
      switch start(ids, without: refused) {
      case .records: return plan(records(ids?.ranges, used: ids?.used ?? 0))
      case .list(let list): return plan(list)
      case .scan(let match):
        if let (outline, scan) = scanWithOutline(match),
          try outline.isSmall(match, scan.source, wanted: wanted, statistics)
        {
          return plan(scan)
        }
        refused = match
      case .open(let matches, let lists): return try cheapest(matches, lists, ids, statistics)
      }
    }
  }

  /// What the query alone settles.
  enum Start {
    /// Records, in the ranges of the filters of the id.
    case records
    case list(Candidate)
    /// The scan of an index, if there are not too many entries for its constants.
    case scan(IndexMatch)
    /// Nothing: the costs decide between these.
    case open([IndexMatch], [Candidate])
  }

  /// The choice that needs no statistics.
  ///
  /// - Parameter refused: a match that was `scan` before, and has too many entries.
  func start(_ ids: IDRanges?, without refused: IndexMatch? = nil) -> Start {
    if let ids, ids.isPoint || ids.ranges.isEmpty { return .records }
    // An index whose first field has no condition is never perfect, so those come later.
    var matches = matches(among: usable & promising)
    let hasRivals = hasRivalsByKeys
    if ids == nil, refused == nil, !hasRivals, let best = perfect(matches) { return .scan(best) }
    if order.isAny { matches = self.matches(among: usable) }
    // For the first rows of any, the order of entries matters, which every index has its own.
    let all = order.isAny && wanted != nil || hasRivals ? matches : []
    if matches.count > 1 { removeNeedless(&matches) }
    let lists = lists
    if ids == nil, conjuncts.count == 1, lists.count == 1, isByID { return .list(lists[0]) }
    if ids == nil, lists.isEmpty, matches.count == 1, !hasRivals, isSurelyGood(matches[0]),
      !(refused.map { $0.isSame(as: matches[0]) } ?? false)
    {
      return .scan(matches[0])
    }
    if matches.isEmpty, lists.isEmpty, !hasBranches { return .records }
    return .open(all.isEmpty ? matches : all, lists)
  }

  // MARK: Ids

  struct IDRanges {
    var ranges: [KeyRange]
    var used: UInt64
    /// Whether there is at most one id.
    var isPoint: Bool
    /// Whether every range is one id.
    var isPoints: Bool
  }

  /// The ranges that the filters of the id leave; nil if there are no such filters.
  func boundsOfID() -> IDRanges? {
    var found: IDRanges?
    for place in 0..<min(conjuncts.count, IndexMatch.conjunctLimit)
    where conjuncts[place].identityHash == Conjunct.idHash {
      guard conjuncts[place].field?.identity == .id,
        let ranges = IDBounds.ranges(of: conjuncts[place].node, schema.idKind)
      else { continue }
      var isPoints = false
      if case .points = conjuncts[place].shape { isPoints = true }
      let both = found.map { KeyRange.intersection($0.ranges, ranges) } ?? ranges
      var used = found?.used ?? 0
      used.setBit(place)
      isPoints = isPoints || found?.isPoints ?? false
      found = IDRanges(
        ranges: both, used: used, isPoint: isPoints && both.count <= 1, isPoints: isPoints)
    }
    return found
  }

  // MARK: Indexes

  /// The indexes that bound a scan, give the order, or have all needed fields in their keys.
  func matches(among indexes: UInt64) -> [IndexMatch] {
    if conjuncts.isEmpty, isByID, !isOfValues { return [] }
    var matches: [IndexMatch] = []
    matches.reserveCapacity(indexes.nonzeroBitCount)
    var rest = indexes
    while rest != 0 {
      let number = rest.trailingZeroBitCount
      rest &= rest &- 1
      let index = schema.indexes[number]
      guard let match = IndexMatch(number, index, conjuncts, order) else { continue }
      if match.isUnique { return [match] }
      if match.used != 0 || isWorthwhileUnbounded(match, index) { matches.append(match) }
      if index.hasMultiple { addOthers(match, index, to: &matches) }
    }
    return matches
  }

  /// The indexes whose first field has a condition, by bit.
  var promising: UInt64 {
    var found: UInt64 = 0
    for place in conjuncts.indices where conjuncts[place].field != nil {
      add(conjuncts[place].identityHash, to: &found)
    }
    if case .terms(let terms, _) = order { add(terms[0].field.identityHash, to: &found) }
    return found
  }

  private func add(_ identityHash: Int, to found: inout UInt64) {
    for place in 0..<min(schema.leadingFields.count, UInt64.bitWidth)
    where schema.leadingFields[place] == identityHash {
      found.setBit(place)
    }
  }

  /// Only one of several tests of elements bounds a scan, so each is tried.
  private func addOthers(
    _ match: IndexMatch, _ index: IndexSchema, to matches: inout [IndexMatch]
  ) {
    var last = match
    var unused: UInt64 = 0
    for _ in 0..<PlanTask.othersLimit {
      let before = unused
      for (place, conjunct) in conjuncts.enumerated()
      where last.uses(place) && conjunct.field?.isMultiple == true {
        unused.setBit(place)
      }
      guard unused != before,
        let next = IndexMatch(last.index, index, conjuncts, order, without: unused)
      else { return }
      matches.append(next)
      last = next
    }
  }

  private static let othersLimit = 4

  /// Whether values in any order are needed, for groups: then the smallest source is the best.
  var isOfValues: Bool {
    if order.isAny, case .fields = need { return true }
    return false
  }

  /// Whether several indexes have all values and bound their scans by the whole filter. Each key is
  /// read once, and one of them may have few.
  private var hasRivalsByKeys: Bool {
    guard isOfValues, wanted == nil else { return false }
    let rivals = matches(among: usable).count { match in
      let index = schema.indexes[match.index]
      return match.used.nonzeroBitCount == conjuncts.count && !match.mayRepeat
        && match.pointCount < index.fields.count && isAnswered(by: index)
    }
    return rivals > 1
  }

  private func isWorthwhileUnbounded(_ match: IndexMatch, _ index: IndexSchema) -> Bool {
    switch order {
    case .terms: return match.servesOrder
    case .any:
      // It is smaller than the records, if only keys are read.
      return (!conjuncts.isEmpty || isOfValues) && isAnswered(by: index)
        && conjuncts.allSatisfy { index.decides($0.node) }
    case .byID: return false
    }
  }

  /// The index in which every conjunct bounds the scan and which gives the order, if there is one.
  private func perfect(_ matches: [IndexMatch]) -> IndexMatch? {
    var best: IndexMatch?
    for match in matches {
      guard match.used.nonzeroBitCount == conjuncts.count, match.servesOrder || isByID,
        isSurelyGood(match)
      else { continue }
      if let other = best {
        let isCovering = isAnswered(by: schema.indexes[match.index])
        let isOtherCovering = isAnswered(by: schema.indexes[other.index])
        if isCovering != isOtherCovering ? isOtherCovering : comesBefore(other, match) { continue }
      }
      best = match
    }
    return best
  }

  /// Removes indexes for which another one is at least as good in every respect. Of two that are equally
  /// good, both stay if the number of their keys may matter, which is a statistic.
  private func removeNeedless(_ matches: inout [IndexMatch]) {
    var merits: [Merit] = []
    for match in matches { merits.append(Merit(match, self)) }
    var kept: [IndexMatch] = []
    for (place, match) in matches.enumerated() {
      let isNeedless = matches.indices.contains { other in
        other != place && merits[other].isAsGood(as: merits[place])
          && (!merits[place].isAsGood(as: merits[other])
            || (comesBefore(matches[other], match) && !areRivals(match, merits[place])))
      }
      if !isNeedless { kept.append(match) }
    }
    matches = kept
  }

  /// Whether an index can be much better than another one of the same merit: each of its keys is
  /// tested, or some rows of each are put into order.
  private func areRivals(_ match: IndexMatch, _ merit: Merit) -> Bool {
    (merit.servesOrder && !merit.servesRows && wanted != nil)
      || (merit.isCovering && merit.decided != merit.used) && !isSurelyGood(match)
  }

  /// Of indexes with the same merit, only the one with the fewest keys.
  func withoutRivals(
    _ matches: [IndexMatch], _ statistics: some PlanStatistics
  ) throws -> [IndexMatch] {
    if matches.count < 2 { return matches }
    let merits = matches.map { Merit($0, self) }
    var kept: [(match: IndexMatch, merit: Merit, pages: Int)] = []
    for (match, merit) in zip(matches, merits) {
      guard areRivals(match, merit) else {
        kept.append((match, merit, 0))
        continue
      }
      let pages = try statistics.pagesOfKeys(index: match.index)
      let rival = kept.firstIndex {
        $0.match.rangeCount == match.rangeCount && $0.merit.isAsGood(as: merit)
          && merit.isAsGood(as: $0.merit)
      }
      guard let rival else {
        kept.append((match, merit, pages))
        continue
      }
      let isBetter =
        pages == kept[rival].pages
        ? comesBefore(match, kept[rival].match) : pages < kept[rival].pages
      if isBetter { kept[rival] = (match, merit, pages) }
    }
    return kept.map(\.match)
  }

  private struct Merit {
    let used: UInt64
    let decided: UInt64
    let servesOrder: Bool
    /// Whether it gives the order row by row: the rows of several keys need not be put into order.
    let servesRows: Bool
    let isCovering: Bool
    /// Whether rows can be sorted by the keys, so that only the wanted records are read.
    let hasOrder: Bool

    init(_ match: IndexMatch, _ task: PlanTask) {
      let index = task.schema.indexes[match.index]
      used = match.used
      var decided = match.used
      for (place, conjunct) in task.conjuncts.enumerated()
      where place < 64 && index.decides(conjunct.node) {
        decided.setBit(place)
      }
      self.decided = decided
      servesOrder = match.servesOrder
      var servesRows = match.servesOrder
      if servesRows, case .byIndex(let components, _, _) = task.order(of: match, isInOrder: true) {
        servesRows = components == index.fields.count
      }
      self.servesRows = servesRows
      isCovering = task.isAnswered(by: index)
      hasOrder = task.isOrder(inKeysOf: index)
    }

    func isAsGood(as other: Merit) -> Bool {
      used & other.used == other.used && decided & other.decided == other.decided
        && (servesOrder || !other.servesOrder) && (servesRows || !other.servesRows)
        && (isCovering || !other.isCovering) && (hasOrder || !other.hasOrder)
    }
  }

  /// The order of equally good indexes.
  private func comesBefore(_ a: IndexMatch, _ b: IndexMatch) -> Bool {
    if a.rangeCount != b.rangeCount { return a.rangeCount < b.rangeCount }
    let first = schema.indexes[a.index]
    let second = schema.indexes[b.index]
    if first.fields.count != second.fields.count { return first.fields.count < second.fields.count }
    return first.name < second.name
  }

  /// Whether the only index is good whatever the statistics are.
  private func isSurelyGood(_ match: IndexMatch) -> Bool {
    if match.isUnique { return true }
    let index = schema.indexes[match.index]
    // Half of all records may have true.
    if match.pointCount > 0, match.rangeCount <= 16,
      index.fields.prefix(match.pointCount).contains(where: { !$0.isBool })
    {
      return true
    }
    guard match.servesOrder, !isByID || order.isAny else { return false }
    // Of the keys that are wanted, many others may come first.
    if isAnswered(by: index), match.used != 0,
      wanted == nil || conjuncts.indices.allSatisfy({ match.uses($0) })
    {
      return true
    }
    // The first rows are the wanted ones.
    guard let wanted, wanted <= PlanTask.fewWanted else { return false }
    return conjuncts.indices.allSatisfy { match.uses($0) }
  }

  /// The greatest number of rows for which an order is worth a scan that nothing bounds.
  static let fewWanted = 1000

  /// Whether a part of the filter could be a union.
  private var hasBranches: Bool {
    conjuncts.contains {
      if case .any = $0.node { return true }
      return false
    }
  }
}

extension WantedOrder {
  var isAny: Bool {
    if case .any = self { return true }
    return false
  }
}
