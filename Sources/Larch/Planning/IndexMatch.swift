/// How well an index fits a query: the conjuncts that bound a scan of it, found without writing a
/// key.
///
/// The first components have constants, one more may have bounds: other scans cannot be said.
struct IndexMatch {
  let index: Int
  /// Components with constants.
  private(set) var pointCount = 0
  /// Components, of those, with one constant and nothing but such before them.
  private(set) var singleCount = 0
  /// Whether the component behind them has bounds.
  private(set) var hasRange = false
  /// The conjuncts that became bounds, by bit.
  private(set) var used: UInt64 = 0
  /// How many keys, or beginnings of keys, are looked for.
  private(set) var rangeCount = 1
  /// Rows come in the order that the query wants.
  private(set) var servesOrder = false
  /// At most one record has the key.
  private(set) var isUnique = false
  /// A record may be found several times.
  private(set) var mayRepeat = false

  /// More ranges than these are not made of several components.
  private static let rangeLimit = 1000
  /// Conjuncts behind these are no bounds.
  static let conjunctLimit = 64

  /// nil where the index cannot answer: some records have no entry in it.
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
        // Of several values each may be in another range.
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
          component.isFolded == term.ignoresCase, !component.hasNestedOptionals
        else { return false }
      }
      return !index.hasMultiple
        || !index.fields.dropFirst(singleCount).contains(where: \.isMultiple)
    }
  }

  func uses(_ place: Int) -> Bool { used.hasBit(place) }
}

/// The order that rows are wanted in.
enum WantedOrder {
  case any
  case byID(descends: Bool)
  /// Never empty.
  case terms([OrderTerm], idsDescend: Bool)
}

extension Conjunct {
  /// Whether it says that the field is nil.
  var isNil: Bool {
    if case .field(let filter) = node, case .equal(let values) = filter.test {
      return KeyValue.isNil(values)
    }
    return false
  }
}
