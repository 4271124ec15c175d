extension PlanTask {
  /// The plan of a query that needs groups: a scan of an index whose keys begin with the fields,
  /// unless reading each row costs less.
  func choose(by fields: [FieldReference], _ statistics: some PlanStatistics) throws -> Plan {
    guard let grouped = try cheapestGroups(of: fields, statistics) else {
      return try chooseRows(fields, statistics)
    }
    guard case .index(let scan) = grouped.source else { return grouped }
    let entries = Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
    let comparesKeys = try hasManyKeys(grouped, scan, entries, statistics)
    // Unless the filter bounds another source, nothing else costs less than a scan of all of an index.
    if conjuncts.isEmpty, !comparesKeys { return grouped }
    let plain = try chooseRows(fields, statistics)
    let work =
      try comparesKeys ? keyWork(of: plain, statistics) : plain.expectedCost(statistics).work
    if work >= PlanTask.groupWork(entries) { return grouped }
    // With few keys it may still be less.
    return try work < PlanTask.groupWork(keys(of: scan, entries: entries, statistics))
      ? plain : grouped
  }

  /// Whether groups are counted key by key, and so many keys that those of another index are worth samples: they
  /// may be fewer, though they do not begin with the fields.
  private func hasManyKeys(
    _ grouped: Plan, _ scan: Plan.IndexScan, _ entries: Double, _ statistics: some PlanStatistics
  ) throws -> Bool {
    let many = 4 * PlanTask.worthSampling
    guard grouped.groups?.reading == .counting, entries >= many else { return false }
    let hasRival = schema.indexes.indices.contains {
      usable.hasBit($0) && $0 != scan.index && isAnswered(by: schema.indexes[$0])
    }
    return try hasRival && keys(of: scan, entries: entries, statistics) >= many
  }

  /// The cost of a plan without groups, each of whose keys may be read once.
  private func keyWork(of plain: Plan, _ statistics: some PlanStatistics) throws -> Double {
    let work = try plain.expectedCost(statistics).work
    guard plain.isCovering, plain.residue.isEmpty, plain.limit == nil, plain.otherwise == nil,
      case .index(let scan) = plain.source, scan.keyFilter.isEmpty
    else { return work }
    let entries = Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
    return min(work, try PlanTask.groupWork(keys(of: scan, entries: entries, statistics)))
  }

  private func chooseRows(
    _ fields: [FieldReference], _ statistics: some PlanStatistics
  ) throws -> Plan {
    if order.isAny { return try choose(valuesOf: fields, statistics) }
    var rows = self
    rows.need = .fields(fields)
    return try rows.choose(statistics)
  }

  /// The plan for values in any order. Records are read in the order of their ids, in which they
  /// are stored; keys are not sorted for it.
  func choose(
    valuesOf fields: [FieldReference], _ statistics: some PlanStatistics
  ) throws -> Plan {
    var task = self
    task.need = .fields(fields)
    var plan = try task.choose(statistics)
    if plan.isCovering { return plan }
    if case .records = plan.source { return plan }
    // What that costs is a part of the cost of each scan without its values.
    plan.order = .byID(descends: false)
    return plan
  }

  /// The number of keys of a scan, each of which is read once however many entries it has; that of its
  /// entries where it is not known.
  func keys(
    of scan: Plan.IndexScan, entries: Double, _ statistics: some PlanStatistics
  ) throws -> Double {
    if scan.isPoints { return min(entries, Double(scan.ranges.count)) }
    if entries < PlanTask.worthSampling || scan.mayRepeat { return entries }
    guard let sample = try statistics.sample(.index(scan), [], rows: 0), sample.keys > 0 else {
      return entries
    }
    return min(entries, sample.keyCount)
  }

  /// Notes how many keys a candidate has that reads each key once.
  func countKeys(of candidate: inout Candidate, _ statistics: some PlanStatistics) throws {
    guard candidate.isCovering, case .index(let scan) = candidate.source, scan.keyFilter.isEmpty
    else { return }
    let keys = try keys(of: scan, entries: candidate.rows, statistics)
    candidate.keysForEntry = keys / max(candidate.rows, 1)
  }

  /// Whether ids are sorted though any order will do: records with values are read as they are stored.
  func isSortedForValues(_ candidate: Candidate) -> Bool {
    switch candidate.source {
    case .nothing, .records, .list, .search, .intersection: false
    case .index(let scan): !scan.isPoints || scan.ranges.count > 1
    case .union: true
    }
  }

  /// The cost of a scan that reads group by group.
  private static func groupWork(_ keys: Double) -> Double { 10 + keys }

  /// The best scan that reads group by group.
  private func cheapestGroups(
    of fields: [FieldReference], _ statistics: some PlanStatistics
  ) throws -> Plan? {
    let scans = groupScans(of: fields)
    if scans.count < 2 { return scans.first?.plan }
    var best: (plan: Plan, cost: Double, fields: Int)?
    for (plan, index) in scans {
      var cost = 0.0
      if case .index(let scan) = plan.source {
        let entries = Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
        cost = try PlanTask.groupWork(keys(of: scan, entries: entries, statistics))
      }
      // Of equal costs, the shortest keys.
      if let best, (best.cost, best.fields) <= (cost, index.fields.count) { continue }
      best = (plan, cost, index.fields.count)
    }
    return best?.plan
  }

  /// All scans that read group by group, each with its index.
  func groupScans(of fields: [FieldReference]) -> [(plan: Plan, index: IndexSchema)] {
    if after != nil { return [] }
    var found: [(plan: Plan, index: IndexSchema)] = []
    for number in schema.indexes.indices where usable.hasBit(number) {
      let index = schema.indexes[number]
      guard let match = IndexMatch(number, index, conjuncts, order),
        let components = components(of: fields, match, index), let scan = scan(match),
        scan.residue.isEmpty, let plan = plan(scan, match, components)
      else { continue }
      found.append((plan, index))
    }
    return found
  }

  /// The number of first components of the keys that are equal exactly where the fields are; nil if
  /// the keys do not tell.
  private func components(
    of fields: [FieldReference], _ match: IndexMatch, _ index: IndexSchema
  ) -> Int? {
    if match.mayRepeat { return nil }
    var left = Set(fields.indices)
    for (place, component) in index.fields.enumerated() {
      if left.isEmpty { return place }
      let isGrouped = component.form.isSingle && !component.isMultiple && !component.isFolded
      let found = fields.indices.filter {
        isGrouped && fields[$0].isStandard && component.holds(fields[$0])
      }
      if found.isEmpty, place >= match.singleCount { return nil }
      left.subtract(found)
    }
    return left.isEmpty ? index.fields.count : nil
  }

  private func plan(_ found: Candidate, _ match: IndexMatch, _ components: Int) -> Plan? {
    var plan = plan(found)
    plan.isCovering = true
    if case .nothing = plan.source { return plan }
    var reading = Plan.Groups.Reading.skipping
    switch need {
    case .counts: reading = .counting
    case .distinctCount: break
    default:
      switch order {
      case .any: break
      case .byID: reading = .byID
      case .terms:
        // The groups are in order only if the order has all their components.
        guard case .byIndex(let ordered, _, _) = found.order, ordered >= components else {
          return nil
        }
      }
    }
    // A constant that is cut ends the key, so the components behind it are not in it.
    if case .index(let scan) = found.source, scan.ranges.contains(where: \.needsCheck) {
      return nil
    }
    plan.groups = Plan.Groups(components: components, reading: reading)
    return plan
  }
}
