extension PlanTask {
  /// The plan of a query that needs groups: a scan of an index whose keys begin with the fields,
  /// unless reading each row costs less.
  func choose(by fields: [FieldReference], _ statistics: some PlanStatistics) throws -> Plan {
    guard let grouped = try cheapestGroups(of: fields, statistics) else {
      return try chooseRows(fields, statistics)
    }
    // Nothing costs less than a scan of all of an index, unless the filter bounds another source.
    if conjuncts.isEmpty { return grouped.plan }
    let plain = try chooseRows(fields, statistics)
    return try plain.expectedCost(statistics).work < grouped.cost ? plain : grouped.plan
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
    let plan = try task.choose(statistics)
    if plan.isCovering { return plan }
    if case .records = plan.source { return plan }
    task.order = .byID(descends: false)
    return try task.choose(statistics)
  }

  /// The best scan that reads group by group.
  private func cheapestGroups(
    of fields: [FieldReference], _ statistics: some PlanStatistics
  ) throws -> (plan: Plan, cost: Double)? {
    if after != nil { return nil }
    var best: (plan: Plan, cost: Double, fields: Int)?
    for number in schema.indexes.indices where usable.hasBit(number) {
      let index = schema.indexes[number]
      guard let match = IndexMatch(number, index, conjuncts, order),
        let components = components(of: fields, match, index), let found = scan(match),
        found.residue.isEmpty, let plan = plan(found, match, components)
      else { continue }
      var cost = 0.0
      if case .index(let scan) = found.source {
        cost =
          10 + Double(try statistics.estimate(index: number, ranges: scan.ranges))
      }
      // Of equal costs, the shortest keys.
      if let best, (best.cost, best.fields) <= (cost, index.fields.count) { continue }
      best = (plan, cost, index.fields.count)
    }
    return best.map { ($0.plan, $0.cost) }
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
