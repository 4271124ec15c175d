/// A way to answer, ready to be a plan.
struct Candidate {
  var source: Plan.Source
  /// The filters to test on its rows.
  var residue: [FilterNode]
  var order: Plan.RowOrder
  var isCovering: Bool
  /// Whether rows already come in the required order.
  var isInOrder: Bool
  /// The conjuncts that bound the source, by bit.
  var used: UInt64
  /// The conjuncts that need no test on its rows, by bit.
  var checked: UInt64
  var rangeCount: Int
  /// The number of rows of the source, if it was estimated.
  var rows = 0.0
  /// For an intersection: the estimated number of rows in all sources.
  var shared = Double.infinity
}

// MARK: - Building

extension PlanTask {
  func plan(_ candidate: Candidate) -> Plan {
    if case .nothing = candidate.source { return nothing }
    return Plan(
      source: candidate.source, residue: candidate.residue, order: candidate.order,
      isCovering: candidate.isCovering, after: after, offset: offset, limit: limit)
  }

  var nothing: Plan {
    Plan(
      source: .nothing, residue: [], order: .any, isCovering: true, after: nil, offset: offset,
      limit: limit)
  }

  /// All records, or those in some ranges of ids.
  ///
  /// - Parameters:
  ///   - ranges: the ranges; nil for all records.
  ///   - used: the conjuncts that the ranges were made from.
  func records(_ ranges: [KeyRange]?, used: UInt64) -> Candidate {
    var residue: [FilterNode] = []
    var checked: UInt64 = 0
    for (place, conjunct) in conjuncts.enumerated() {
      if used.hasBit(place), IDBounds.isExact(conjunct.node) {
        checked.setBit(place)
      } else {
        residue.append(conjunct.node)
      }
    }
    var ranges = ranges ?? [.everything]
    let rangeCount = ranges.count
    if case .byID(let descends) = order, let after { narrow(&ranges, after.id, descends) }
    return Candidate(
      source: ranges.isEmpty ? .nothing : .records(ranges), residue: residue,
      order: order(isInOrder: isByID),
      isCovering: areDecidedByID(residue) && isByID && needsOnlyIDs,
      isInOrder: isByID, used: used, checked: checked, rangeCount: rangeCount)
  }

  private func narrow(_ ranges: inout [KeyRange], _ id: [UInt8], _ descends: Bool) {
    let rest =
      descends
      ? KeyRange(lower: [], upper: id, needsCheck: false)
      : KeyRange(lower: id + [0], upper: nil, needsCheck: false)
    ranges = KeyRange.intersection(ranges, [rest])
  }

  /// A scan of an index; nil if a constant does not fit it.
  func scan(_ match: IndexMatch) -> Candidate? {
    let index = schema.indexes[match.index]
    var bounds: [FilterNode] = []
    bounds.reserveCapacity(match.pointCount + 1)
    var checked: UInt64 = 0
    for place in 0..<match.pointCount {
      let component = index.fields[place]
      guard let found = usedConjunct(of: component, match) else { return nil }
      bounds.append(conjuncts[found].node)
      if conjuncts[found].isExact(for: component) { checked.setBit(found) }
    }
    if match.hasRange {
      let component = index.fields[match.pointCount]
      for place in conjuncts.indices where match.uses(place) {
        guard case .range = conjuncts[place].bound(of: component) else { continue }
        bounds.append(conjuncts[place].node)
        if conjuncts[place].isExact(for: component) { checked.setBit(place) }
      }
    }
    var maker = ScanBounds(index, bounds, pointCount: match.pointCount)
    maker.make()
    if maker.isUnwritable { return nil }
    if maker.isCut { checked = 0 }
    var keyFilter: [FilterNode] = []
    var residue: [FilterNode] = []
    for place in conjuncts.indices where !checked.hasBit(place) {
      let node = conjuncts[place].node
      if index.decides(node) {
        keyFilter.append(node)
        if place < 64 { checked.setBit(place) }
      } else {
        residue.append(node)
      }
    }
    let isInOrder = match.servesOrder && !maker.endsEarly
    var ranges = maker.ranges
    let rangeCount = ranges.count
    let rowOrder = order(of: match, isInOrder: isInOrder)
    if isInOrder, let after, case .byIndex(_, let descends, _) = rowOrder,
      let rest = KeyRange.after(
        after.values, index, points: bounds.prefix(match.singleCount), descends: descends)
    {
      ranges = KeyRange.intersection(ranges, [rest])
    }
    let scan = Plan.IndexScan(
      index: match.index, ranges: ranges, bounds: bounds, keyFilter: keyFilter,
      mayRepeat: match.mayRepeat, isPoints: match.pointCount == index.fields.count)
    return Candidate(
      source: ranges.isEmpty ? .nothing : .index(scan), residue: residue, order: rowOrder,
      isCovering: areDecidedByID(residue) && (isInOrder || isByID) && isAnswered(by: index),
      isInOrder: isInOrder, used: match.used, checked: checked, rangeCount: rangeCount)
  }

  private func usedConjunct(of component: IndexFieldSchema, _ match: IndexMatch) -> Int? {
    var best: (place: Int, count: Int)?
    // The usual case: nothing else can bound it.
    if conjuncts.count == 1 { return match.uses(0) ? 0 : nil }
    for place in conjuncts.indices where match.uses(place) {
      if case .points(let count) = conjuncts[place].bound(of: component),
        best.map({ count < $0.count }) ?? true
      {
        best = (place, count)
      }
    }
    return best?.place
  }

  func order(isInOrder: Bool) -> Plan.RowOrder {
    switch order {
    case .any: .any
    case .byID(let descends): .byID(descends: descends)
    case .terms(let terms, let idsDescend): .sorted(terms, idsDescend: idsDescend)
    }
  }

  func order(
    of match: IndexMatch, isInOrder: Bool
  ) -> Plan.RowOrder {
    guard isInOrder, case .terms(let terms, let idsDescend) = order else {
      return order(isInOrder: isInOrder)
    }
    return .byIndex(
      components: match.singleCount + terms.count, descends: terms[0].descends,
      idsDescend: idsDescend)
  }

  // MARK: Lists

  /// Lists of ids that hold all rows: where a record must be in those of known ones.
  var lists: [Candidate] {
    var found: [Candidate] = []
    for (place, conjunct) in conjuncts.enumerated() where place < IndexMatch.conjunctLimit {
      guard case .related(let filter) = conjunct.node, let ids = filter.listedBy else { continue }
      found.append(list(Plan.ListScan(filter: filter, ids: ids), at: place))
    }
    return found
  }

  private func list(_ scan: Plan.ListScan, at place: Int) -> Candidate {
    var residue: [FilterNode] = []
    for (other, conjunct) in conjuncts.enumerated() where other != place {
      residue.append(conjunct.node)
    }
    var used: UInt64 = 0
    used.setBit(place)
    let isInOrder = order.isAny || (isByID && scan.ids.count == 1)
    return Candidate(
      source: .list(scan), residue: residue, order: order(isInOrder: isInOrder),
      isCovering: areDecidedByID(residue) && isByID && needsOnlyIDs, isInOrder: isInOrder,
      used: used, checked: used, rangeCount: scan.ids.count)
  }

  // MARK: Covering

  /// Whether no record is read for these filters.
  func areDecidedByID(_ residue: [FilterNode]) -> Bool {
    residue.allSatisfy { $0.isDecided(byID: schema.idKind) }
  }

  var needsOnlyIDs: Bool {
    switch need {
    case .records: false
    case .ids, .count, .exists: true
    case .fields(let fields), .values(let fields), .distinct(let fields),
      .distinctCount(let fields):
      fields.allSatisfy { $0.identity == .id }
    case .counts(let field): field.identity == .id
    }
  }

  /// Whether the keys and ids have everything that is needed.
  func isAnswered(by index: IndexSchema) -> Bool {
    let fields: [FieldReference]
    if case .fields(let needed) = need {
      fields = needed
    } else if let grouped = need.groupedFields {
      fields = grouped
    } else {
      return needsOnlyIDs
    }
    return fields.allSatisfy { field in
      if field.identity == .id { return true }
      guard field.isStandard else { return false }
      return index.fields.contains {
        $0.form.isSingle && !$0.isMultiple && !$0.isFolded && $0.holds(field)
      }
    }
  }
}

extension RelatedFilter {
  /// The ids of the related records, if the filter only compares these ids and the store keeps
  /// lists for the association; otherwise nil.
  var listedBy: [[KeyValue]]? {
    guard case .links = route else { return nil }
    var node = filter
    while case .all(let nodes) = node, nodes.count == 1 { node = nodes[0] }
    guard case .field(let filter) = node, filter.field.identity == .id else { return nil }
    return filter.test.constants
  }
}

extension KeyRange {
  /// The keys that may come after those with these values, which follow the constants.
  fileprivate static func after(
    _ values: [[KeyValue]], _ index: IndexSchema, points: ArraySlice<FilterNode>, descends: Bool
  ) -> KeyRange? {
    var writer = KeyWriter()
    var place = 0
    func append(_ values: [KeyValue], _ writer: inout KeyWriter) -> Bool {
      guard place < index.fields.count else { return false }
      let component = index.fields[place]
      writer.foldsCase = component.isFolded
      place += 1
      return writer.append(values, as: component.form, isLast: place == index.fields.count)
    }
    for node in points {
      guard case .field(let filter) = node else { return nil }
      switch filter.test {
      case .equal(let values): if !append(values, &writer) { return nil }
      case .text(let text): if !append([.string(text.wanted)], &writer) { return nil }
      case .oneOf, .within: return nil
      }
    }
    for list in values where !append(list, &writer) { return nil }
    let range = KeyRange.equal(to: KeyPrefix(writer), isComplete: place == index.fields.count)
    return descends
      ? KeyRange(lower: [], upper: range.upper, needsCheck: false)
      : KeyRange(lower: range.lower, upper: nil, needsCheck: false)
  }
}
