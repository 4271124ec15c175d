/// How well an index fits a query: the conjuncts that bound its scan, found without writing a key.
///
/// The first components have constants, and one more may have bounds; other scans are not possible.
struct IndexMatch: Sendable {
  let index: Int
  /// The number of components with constants.
  private(set) var pointCount = 0
  /// The number of these with one constant, counted up to the first that has more.
  private(set) var singleCount = 0
  /// Whether the next component has bounds.
  private(set) var hasRange = false
  /// The conjuncts that became bounds, by bit.
  private(set) var used: UInt64 = 0
  /// The number of keys, or prefixes of keys, to search.
  private(set) var rangeCount = 1
  /// Whether rows come in the order of the query.
  private(set) var servesOrder = false
  /// Whether at most one record has the key.
  private(set) var isUnique = false
  /// Whether a record may be found several times.
  private(set) var mayRepeat = false

  /// The maximum number of ranges from several components.
  private static let rangeLimit = 1000
  /// The maximum number of conjuncts that can be bounds.
  static let conjunctLimit = 64

  /// nil if the index cannot answer, because some records have no entry in it.
  ///
  /// - Parameter unused: conjuncts that must not be bounds, by bit.
  init?(
    _ number: Int, _ index: IndexSchema, _ conjuncts: [Conjunct], _ order: WantedOrder,
    without unused: UInt64 = 0
  ) {
    self.index = number
    var isSingle = true
    var hasNil = false
    scan: for component in index.fields {
      if component.hasNestedOptionals { break }
      var best: (place: Int, count: Int)?
      var ranges: UInt64 = 0
      for place in 0..<min(conjuncts.count, IndexMatch.conjunctLimit)
      where !unused.hasBit(place) {
        switch conjuncts[place].bound(of: component) {
        case .none: continue
        case .points(let count): if best.map({ count < $0.count }) ?? true { best = (place, count) }
        // Each of several values may be in another range.
        case .range: if ranges == 0 || !component.isMultiple { ranges.setBit(place) }
        }
      }
      if let best,
        best.count == 1 || rangeCount == 1
          || rangeCount * best.count <= IndexMatch.rangeLimit
      {
        used.setBit(best.place)
        pointCount += 1
        rangeCount *= best.count
        isSingle = isSingle && best.count == 1
        if isSingle { singleCount += 1 }
        if !isSingle, component.isMultiple { mayRepeat = true }
        if conjuncts[best.place].isNil { hasNil = true }
        continue
      }
      if ranges != 0 {
        used |= ranges
        hasRange = true
        if component.isMultiple { mayRepeat = true }
      }
      break
    }
    let bound = pointCount + (hasRange ? 1 : 0)
    if index.hasMultiple, index.fields.dropFirst(bound).contains(where: \.isMultiple) { return nil }
    isUnique = index.isUnique && singleCount == index.fields.count && !hasNil
    servesOrder = isInOrder(index, order)
  }

  private func isInOrder(_ index: IndexSchema, _ order: WantedOrder) -> Bool {
    switch order {
    case .any: return true
    case .byID: return singleCount == index.fields.count
    case .terms(let terms, _):
      guard singleCount + terms.count <= index.fields.count else { return false }
      for (place, term) in terms.enumerated() {
        let component = index.fields[singleCount + place]
        guard term.descends == terms[0].descends, component.holds(term.field),
          component.textForm == term.textForm, !component.hasNestedOptionals
        else { return false }
      }
      return !index.hasMultiple
        || !index.fields.dropFirst(singleCount).contains(where: \.isMultiple)
    }
  }

  func uses(_ place: Int) -> Bool { used.hasBit(place) }

  /// Whether both are the same scan.
  func isSame(as other: IndexMatch) -> Bool { index == other.index && used == other.used }
}

/// The required order of rows.
enum WantedOrder {
  case any
  case byID(descends: Bool)
  /// Never empty.
  case terms([OrderTerm], idsDescend: Bool)
}

extension Conjunct {
  /// Whether it tests that the field is nil.
  var isNil: Bool {
    if case .field(let filter) = node, case .equal(let values) = filter.test {
      return KeyValue.isNil(values)
    }
    return false
  }
}
