/// What is known of the queries that were planned before.
///
/// A part of planning looks only at the outline of a query: which index has the fields of the filter
/// and the order, what a key decides, what is left for the record. It gives the same for every query
/// of the outline, so it is done once. A later query of the outline writes its constants as keys, and
/// reads the statistics that planning without memory would read. So the plan is the same, whatever
/// has changed in the store, and nothing has to be forgotten when records change. The indexes that
/// can answer are compared: after one is built, or a schema has changed, nothing fits that was
/// known before.
///
/// It belongs to one thread at a time.
final class PlanMemory {
  private static let slots = 64
  /// The hash of an outline gives its first place. If another outline is there, one of the next places is
  /// used, so that two queries with the same first place are both remembered.
  private static let ways = 4
  @exclusivity(unchecked) private var known = [Known?](repeating: nil, count: PlanMemory.slots)
  /// Which of its places an outline takes when all are taken: another one each time.
  private var leaving = 0

  /// The start of the plans of one outline.
  final class Known {
    let hash: UInt
    let schema: CollectionSchema
    let usable: UInt64
    let outline: QueryOutline
    /// The scan; nil if constants or statistics decide more.
    let scan: ScanOutline?
    /// The scan, if it is that of one value.
    let key: KeyOutline?
    /// The indexes whose costs decide, if nothing else does.
    let matches: [IndexMatch]?
    /// Whether a key did not have all ids, or every bit of a selected value, so that rows are left to the plan.
    @exclusivity(unchecked) var needsPlan = false
    /// Where the keys have the number that is summed, once that was asked.
    @exclusivity(unchecked) var summed: SummedNumber?

    init(
      _ hash: UInt, _ planner: Planner, _ outline: QueryOutline, _ scan: ScanOutline?,
      _ matches: [IndexMatch]?
    ) {
      self.hash = hash
      schema = planner.schema
      usable = planner.usable
      self.outline = outline
      self.scan = scan
      key = scan.flatMap(KeyOutline.init)
      self.matches = matches
    }
  }

  /// The bytes of a key that is asked for without a plan.
  @exclusivity(unchecked) var keyWriter = KeyWriter()

  /// What is known of an outline with this hash; nil if it is new.
  subscript(hash: UInt) -> Known? {
    for step in 0..<PlanMemory.ways {
      guard let found = known[place(hash, step)] else { return nil }
      if found.hash == hash { return found }
    }
    return nil
  }

  func keep(_ new: Known) {
    for step in 0..<PlanMemory.ways {
      let place = place(new.hash, step)
      if let old = known[place], old.hash != new.hash { continue }
      known[place] = new
      return
    }
    known[place(new.hash, leaving & (PlanMemory.ways - 1))] = new
    leaving &+= 1
  }

  @inline(__always)
  private func place(_ hash: UInt, _ step: Int) -> Int {
    Int((hash &+ UInt(step)) % UInt(PlanMemory.slots))
  }
}

extension Planner {
  /// The plan with the lowest expected cost, as `plan(_:for:statistics:)` makes it.
  ///
  /// - Parameter memory: the outlines that were planned before.
  /// - Throws: as above.
  func plan(
    _ query: QueryDescription, for need: QueryNeed, statistics: some PlanStatistics,
    remembering memory: PlanMemory
  ) throws -> Plan {
    if query.isByRelevance { return try plan(query, for: need, statistics: statistics) }
    try Planner.check(query)
    let filter = try query.filter.normalized()
    if filter.isNever || query.limit == 0 { return Plan.nothing(query) }
    let wanted = query.wanted(for: need)
    guard let traits = QueryOutline.traits(query, need, wanted: wanted),
      let hash = QueryOutline.hash(filter, need, traits)
    else { return try task(filter, query, need).choose(statistics) }
    guard let known = memory[hash], known.schema === schema, known.usable == usable,
      known.outline.fits(filter, query, need, traits)
    else {
      let task = task(filter, query, need)
      if let outline = QueryOutline(filter, query, need, traits) {
        let scan = task.settledOutline(query)
        let matches = scan == nil ? task.settledMatches(query) : nil
        memory.keep(PlanMemory.Known(hash, self, outline, scan, matches))
      }
      return try task.choose(statistics)
    }
    guard let scan = known.scan else {
      let task = task(filter, query, need)
      guard let matches = known.matches else { return try task.choose(statistics) }
      return try task.cheapest(matches, [], nil, statistics)
    }
    var refused: IndexMatch?
    if let candidate = scan.candidate(filter, query, in: schema) {
      guard let match = scan.match else { return candidate.plan(query) }
      if try scan.isSmall(match, candidate.source, wanted: wanted, statistics) {
        return candidate.plan(query)
      }
      refused = match
    }
    return try task(filter, query, need).choose(statistics, without: refused)
  }
}

extension PlanMemory {
  /// What is known of the outline of a query with a normalized filter; nil if it is new.
  func known(
    _ filter: FilterNode, _ query: QueryDescription, for need: QueryNeed, _ planner: Planner
  ) -> Known? {
    guard let traits = QueryOutline.traits(query, need, wanted: query.wanted(for: need)),
      let hash = QueryOutline.hash(filter, need, traits), let known = self[hash],
      known.schema === planner.schema, known.usable == planner.usable,
      known.outline.fits(filter, query, need, traits)
    else { return nil }
    return known
  }
}

extension PlanTask {
  /// The scan of every query of this outline, if its constants fit keys and have few entries; nil if
  /// constants or statistics decide more than that.
  fileprivate func settledOutline(_ query: QueryDescription) -> ScanOutline? {
    // The constants of the filter may be those of the token.
    if query.after != nil, !query.order.isEmpty {
      guard case .terms(let terms, _) = order, terms.count == query.order.count,
        !terms.contains(where: { constant(of: $0.field) != nil })
      else { return nil }
    }
    guard case .values(let fields) = need else { return settledOutline() }
    var task = self
    task.need = .fields(fields)
    guard let outline = task.settledOutline() else { return nil }
    guard let match = outline.match, !outline.isCovering else { return outline }
    // Records are read in the order of their ids. It is the same choice, and the same question.
    task.order = .byID(descends: false)
    guard wanted == nil, let ordered = task.settledOutline(), let other = ordered.match,
      other.isSame(as: match), !ordered.isCovering
    else { return nil }
    return ordered
  }

  /// The indexes whose costs decide for every query of this outline; nil if other access paths, or
  /// constants, do too.
  fileprivate func settledMatches(_ query: QueryDescription) -> [IndexMatch]? {
    // Which terms of the order are left may depend on the token; values are chosen in two steps.
    if query.after != nil || conjuncts.contains(where: { $0.field?.identity == .id }) { return nil }
    if case .values = need { return nil }
    guard case .open(let matches, let lists) = start(nil), lists.isEmpty else { return nil }
    return matches
  }

  private func settledOutline() -> ScanOutline? {
    let ids = boundsOfID()
    let used = ids?.used ?? 0
    // Whether a filter of the id is a bound may depend on its constant.
    for (place, conjunct) in conjuncts.enumerated()
    where conjunct.field?.identity == .id && !used.hasBit(place) {
      return nil
    }
    switch start(ids) {
    case .records:
      if let ids, ids.isPoint || ids.ranges.isEmpty {
        // One constant is at most one id; whether others are depends on them.
        let isOne = conjuncts.indices.contains { place in
          guard used.hasBit(place), case .points(1) = conjuncts[place].shape else { return false }
          return true
        }
        if !isOne { return nil }
      }
      return outline(ofRecords: used)
    case .scan(let match): return outline(match)
    case .list, .open: return nil
    }
  }
}

extension ScanOutline {
  /// The scan for the constants of a query; nil if one of them does not fit a key.
  fileprivate func candidate(
    _ filter: FilterNode, _ query: QueryDescription, in schema: CollectionSchema
  ) -> Candidate? {
    guard let match else {
      guard let ranges = idRanges(filter, schema.idKind) else { return nil }
      return candidate(ofRecords: ranges, residue: filter.conjuncts(residue), after: query.after)
    }
    let index = schema.indexes[match.index]
    let bounds = filter.conjuncts(self.bounds)
    var maker = ScanBounds(index, bounds, pointCount: match.pointCount)
    maker.make()
    if maker.isUnwritable || maker.isCut { return nil }
    return candidate(
      match, index, maker.ranges, bounds, keyFilter: filter.conjuncts(keyFilter),
      residue: filter.conjuncts(residue), after: query.after)
  }

  private func idRanges(_ filter: FilterNode, _ kind: RecordIDKind) -> [KeyRange]? {
    if bounds.isEmpty { return [.everything] }
    var ranges: [KeyRange]?
    for node in filter.conjuncts(bounds) {
      guard let found = IDBounds.ranges(of: node, kind) else { return nil }
      ranges = ranges.map { KeyRange.intersection($0, found) } ?? found
    }
    return ranges
  }
}

extension FilterNode {
  /// The conjuncts of a normalized filter at these places.
  func conjuncts(_ places: [Int]) -> [FilterNode] {
    if places.isEmpty { return [] }
    guard case .all(let nodes) = self else { return [self] }
    return places.map { nodes[$0] }
  }
}

extension Candidate {
  /// The plan with nothing but this scan.
  fileprivate func plan(_ query: QueryDescription) -> Plan {
    if case .nothing = source { return .nothing(query) }
    return Plan(
      source: source, residue: residue, order: order, isCovering: isCovering, after: query.after,
      offset: query.offset, limit: query.limit)
  }
}
