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
  /// The share of its rows that filters of the id leave, if these do not bound it.
  var shareOfIDs = 1.0
  /// The number of keys for each entry, where entries are counted and not read.
  var keysForEntry = 1.0
  /// The number of entries of each key, where of a key no more are read than are wanted.
  var entriesOfKey = 1.0
  /// What a sample told of the keys; nil if they were not sampled.
  var keys: KeyFacts?

  /// The number of rows that the keys leave, at most.
  var passing: Double { keys?.passing ?? rows }
  /// The number of entries that are read.
  var entries: Double { keys.map { $0.refused + $0.passing } ?? rows }

  /// The candidate if its keys leave as many entries as they may.
  var atWorst: Candidate {
    guard let keys, keys.passing < keys.mostPassing else { return self }
    var worst = self
    worst.keys?.passing = keys.mostPassing
    return worst
  }
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
    let outline = outline(ofRecords: used)
    return outline.candidate(
      ofRecords: ranges ?? [.everything], residue: nodes(outline.residue), after: after)
  }

  /// A scan of an index; nil if a constant does not fit it.
  func scan(_ match: IndexMatch) -> Candidate? { scanWithOutline(match)?.candidate }

  /// The same, with its outline.
  func scanWithOutline(_ match: IndexMatch) -> (outline: ScanOutline, candidate: Candidate)? {
    guard var outline = outline(match) else { return nil }
    let index = schema.indexes[match.index]
    let bounds = nodes(outline.bounds)
    var maker = ScanBounds(index, bounds, pointCount: match.pointCount)
    maker.make()
    if maker.isUnwritable { return nil }
    if maker.isCut {
      guard let cut = self.outline(match, isCut: true, endsEarly: maker.endsEarly) else {
        return nil
      }
      outline = cut
    }
    let candidate = outline.candidate(
      match, index, maker.ranges, bounds, keyFilter: nodes(outline.keyFilter),
      residue: nodes(outline.residue), after: after)
    return (outline, candidate)
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

  /// Lists of ids that hold all rows: where a record must be in those of known ones, or must have some words.
  var lists: [Candidate] {
    var found = searchCandidates
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
    case .records, .recordValues: false
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
    if case .recordValues = need { return index.record != nil }
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
