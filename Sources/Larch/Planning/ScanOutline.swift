/// How an index or the records are scanned for a query, as far as no constant decides it.
///
/// It is made once and holds for every query of the same outline. The ranges of keys, and all that
/// depends on them, come from the constants of each query: `candidate` puts them in.
struct ScanOutline: Sendable {
  /// The index that is scanned; nil for the records themselves.
  let match: IndexMatch?
  /// The conjuncts that bound the scan: of an index, component by component.
  let bounds: [Int]
  /// The conjuncts that are tested on the key.
  let keyFilter: [Int]
  /// The conjuncts that are tested on the record.
  let residue: [Int]
  /// The conjuncts that need no test on the rows, by bit.
  let checked: UInt64
  /// The conjuncts that bound the scan, by bit.
  let used: UInt64
  let order: Plan.RowOrder
  let isCovering: Bool
  /// Whether rows come in the required order.
  let isInOrder: Bool
  /// Whether rows of ranges of ids would come as they are wanted.
  let isByID: Bool
  /// Whether every range is one whole key.
  let isPoints: Bool
}

extension PlanTask {
  /// The outline of a scan of an index; nil if no conjunct bounds one of its components.
  ///
  /// - Parameters:
  ///   - isCut: whether a constant is too long for a key, so that each row must be tested.
  ///   - endsEarly: whether keys end in such a constant, so that they do not have the order.
  func outline(_ match: IndexMatch, isCut: Bool = false, endsEarly: Bool = false) -> ScanOutline? {
    let index = schema.indexes[match.index]
    var bounds: [Int] = []
    bounds.reserveCapacity(match.pointCount + 1)
    var checked: UInt64 = 0
    for place in 0..<match.pointCount {
      let component = index.fields[place]
      guard let found = usedConjunct(of: component, match) else { return nil }
      bounds.append(found)
      if conjuncts[found].isExact(for: component) { checked.setBit(found) }
    }
    if match.hasRange {
      let component = index.fields[match.pointCount]
      for place in conjuncts.indices where match.uses(place) {
        guard case .range = conjuncts[place].bound(of: component) else { continue }
        bounds.append(place)
        if conjuncts[place].isExact(for: component) { checked.setBit(place) }
      }
    }
    if isCut { checked = 0 }
    var keyFilter: [Int] = []
    var residue: [Int] = []
    for place in conjuncts.indices where !checked.hasBit(place) {
      if index.decides(conjuncts[place].node) {
        keyFilter.append(place)
        if place < 64 { checked.setBit(place) }
      } else {
        residue.append(place)
      }
    }
    let isInOrder = match.servesOrder && !endsEarly
    return ScanOutline(
      match: match, bounds: bounds, keyFilter: keyFilter, residue: residue, checked: checked,
      used: match.used, order: order(of: match, isInOrder: isInOrder),
      isCovering: areDecidedByID(nodes(residue)) && (isInOrder || isByID) && isAnswered(by: index),
      isInOrder: isInOrder, isByID: isByID, isPoints: match.pointCount == index.fields.count)
  }

  /// The outline of a scan of records.
  ///
  /// - Parameter used: the conjuncts that bound their ids, by bit.
  func outline(ofRecords used: UInt64) -> ScanOutline {
    var bounds: [Int] = []
    var residue: [Int] = []
    var checked: UInt64 = 0
    for (place, conjunct) in conjuncts.enumerated() {
      if used.hasBit(place) { bounds.append(place) }
      if used.hasBit(place), IDBounds.isExact(conjunct.node) {
        checked.setBit(place)
      } else {
        residue.append(place)
      }
    }
    return ScanOutline(
      match: nil, bounds: bounds, keyFilter: [], residue: residue, checked: checked, used: used,
      order: order(isInOrder: isByID),
      isCovering: areDecidedByID(nodes(residue)) && isByID && needsOnlyIDs, isInOrder: isByID,
      isByID: isByID, isPoints: false)
  }

  /// The filters at these places.
  func nodes(_ places: [Int]) -> [FilterNode] {
    if places.isEmpty { return [] }
    return places.map { conjuncts[$0].node }
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
}

extension ScanOutline {
  /// So few rows that reading all of them costs little beside the query.
  private static let fewRows = 128

  /// The scan of an index in these ranges.
  ///
  /// - Parameters:
  ///   - bounds: the filters at the places of `bounds`; the others likewise.
  ///   - after: the position after which rows are wanted.
  func candidate(
    _ match: IndexMatch, _ index: IndexSchema, _ ranges: consuming [KeyRange],
    _ bounds: [FilterNode], keyFilter: [FilterNode], residue: [FilterNode], after: PageToken?
  ) -> Candidate {
    var ranges = ranges
    let rangeCount = ranges.count
    if isInOrder, let after, case .byIndex(_, let descends, _) = order,
      let rest = KeyRange.after(
        after.values, index, points: bounds.prefix(match.singleCount), descends: descends)
    {
      ranges = KeyRange.intersection(ranges, [rest])
    }
    let source: Plan.Source =
      ranges.isEmpty
      ? .nothing
      : .index(
        Plan.IndexScan(
          index: match.index, ranges: ranges, bounds: bounds, keyFilter: keyFilter,
          mayRepeat: match.mayRepeat, isPoints: isPoints))
    return candidate(source, residue, rangeCount)
  }

  /// The scan of records with ids in these ranges.
  func candidate(
    ofRecords ranges: consuming [KeyRange], residue: [FilterNode], after: PageToken?
  ) -> Candidate {
    var ranges = ranges
    let rangeCount = ranges.count
    if case .byID(let descends) = order, let after {
      ranges = KeyRange.intersection(ranges, [.after(after.id, descends: descends)])
    }
    return candidate(ranges.isEmpty ? .nothing : .records(ranges), residue, rangeCount)
  }

  private func candidate(
    _ source: Plan.Source, _ residue: [FilterNode], _ rangeCount: Int
  ) -> Candidate {
    Candidate(
      source: source, residue: residue, order: order, isCovering: isCovering,
      isInOrder: isInOrder, used: used, checked: checked, rangeCount: rangeCount)
  }

  /// For fewer records no statistics are worth their cost. Without a limit, the worst case is a look-up
  /// of each record.
  static var fewRecords: Int { 32 }
  /// So many rows of a frequent value are found sooner by their ids than among all records.
  static var fewWantedRows: Int { 16 }

  /// Whether a scan that looks good is good for these constants: if many records have a value, a
  /// full scan finds the wanted rows sooner. The statistic costs one search.
  ///
  /// - Parameter wanted: how many rows are enough; nil for all.
  func isSmall(
    _ match: IndexMatch, _ source: Plan.Source, wanted: Int?, _ statistics: some PlanStatistics
  ) throws -> Bool {
    if match.isUnique { return true }
    if let wanted {
      // A frequent value is found by the next record as well, which costs less than one by its id.
      let isMany = isByID && !isCovering && wanted > ScanOutline.fewWantedRows
      if isInOrder, residue.isEmpty, !isMany { return true }
    } else if isCovering {
      return true
    }
    guard case .index(let entries) = source else { return true }
    let count = try statistics.recordCount()
    if count < ScanOutline.fewRecords { return true }
    let found = try statistics.estimate(index: entries.index, ranges: entries.ranges)
    guard found <= count / 8 else { return false }
    guard let wanted, !isInOrder else { return true }
    // The wanted rows may also be the first of all records, or of another order.
    if found > ScanOutline.fewRows { return false }
    // A scan in order finds the wanted rows after `wanted * count / found` records.
    return Double(found) * Double(found) <= Double(wanted) * Double(count)
  }
}

extension KeyRange {
  /// The ids that come after one.
  fileprivate static func after(_ id: [UInt8], descends: Bool) -> KeyRange {
    descends
      ? KeyRange(lower: [], upper: id, needsCheck: false)
      : KeyRange(lower: id + [0], upper: nil, needsCheck: false)
  }

  /// The keys that may come after those with these values, which follow the constants.
  fileprivate static func after(
    _ values: [[KeyValue]], _ index: IndexSchema, points: ArraySlice<FilterNode>, descends: Bool
  ) -> KeyRange? {
    var writer = KeyWriter()
    var place = 0
    func append(_ values: [KeyValue], _ writer: inout KeyWriter) -> Bool {
      guard place < index.fields.count else { return false }
      let component = index.fields[place]
      writer.textForm = component.textForm
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
