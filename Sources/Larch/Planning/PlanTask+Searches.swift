extension PlanTask {
  /// The searches that hold all rows: those that answer a test of words.
  var searchCandidates: [Candidate] {
    if searches == 0 { return [] }
    var found: [Candidate] = []
    for (place, conjunct) in conjuncts.enumerated() where place < IndexMatch.conjunctLimit {
      guard case .words(let filter) = conjunct.node, let scan = searchScan(of: filter) else {
        continue
      }
      found.append(candidate(scan, at: place))
    }
    return found
  }

  /// The scan that finds all records that pass the test; nil if no search does.
  private func searchScan(of filter: WordsFilter) -> Plan.SearchScan? {
    filter.query.node.isBounded ? schema.searchScan(of: filter, among: searches) : nil
  }

  private func candidate(_ scan: Plan.SearchScan, at place: Int) -> Candidate {
    var residue: [FilterNode] = []
    for (other, conjunct) in conjuncts.enumerated() where other != place {
      residue.append(conjunct.node)
    }
    var used: UInt64 = 0
    used.setBit(place)
    return Candidate(
      source: .search(scan), residue: residue, order: order(isInOrder: order.isAny),
      isCovering: areDecidedByID(residue) && (isByID || isByRelevance) && needsOnlyIDs,
      isInOrder: order.isAny,
      used: used, checked: used, rangeCount: 1)
  }
}

extension CollectionSchema {
  /// The scan of the search with the fewest fields that has all fields of a test, and its words.
  ///
  /// - Parameter usable: the searches that can answer, by bit.
  func searchScan(of filter: WordsFilter, among usable: UInt64) -> Plan.SearchScan? {
    let identities = filter.fields.map(\.identity)
    var best: (scan: Plan.SearchScan, fieldCount: Int)?
    for (number, index) in searches.enumerated() where usable.hasBit(number) {
      guard let search = index.search, filter.query.node.hasOnly(search.rules),
        let mask = search.mask(of: identities)
      else { continue }
      if let best, best.fieldCount <= search.fields.count { continue }
      best = (
        Plan.SearchScan(search: number, filter: filter, mask: mask), search.fields.count
      )
    }
    return best?.scan
  }
}

extension TextQuery.Node {
  /// Whether every record that passes has one of some words, so that an index of words finds all of them.
  var isBounded: Bool {
    switch self {
    case .all(let nodes): nodes.contains(where: \.isBounded)
    case .any(let nodes): nodes.allSatisfy(\.isBounded)
    case .not: false
    case .phrase: true
    }
  }

  /// Whether all words are cut by these rules.
  func hasOnly(_ rules: WordRules) -> Bool {
    switch self {
    case .all(let nodes), .any(let nodes): nodes.allSatisfy { $0.hasOnly(rules) }
    case .not(let node): node.hasOnly(rules)
    case .phrase(let phrase): phrase.rules == rules
    }
  }
}

extension Plan.SearchScan {
  /// Whether some of the records can be found without the others: where numbers have the order of ids, and there
  /// is no list of words to go through.
  func isReadByWindows(_ idKind: RecordIDKind) -> Bool {
    idKind.width == 8 && filter.query.node.isExact
  }
}

extension TextQuery.Node {
  /// Whether no word stands for others.
  fileprivate var isExact: Bool {
    switch self {
    case .all(let nodes), .any(let nodes): nodes.allSatisfy(\.isExact)
    case .not(let node): node.isExact
    case .phrase(let phrase): phrase.words.allSatisfy(\.isExact)
    }
  }
}
