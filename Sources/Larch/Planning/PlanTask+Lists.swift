extension PlanTask {
  /// Lists of ids that contain all rows: if a record must be in the lists of known records.
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
      isCovering: residue.isEmpty && isByID && needsOnlyIDs, isInOrder: isInOrder, used: used,
      checked: used, rangeCount: scan.ids.count)
  }
}

extension RelatedFilter {
  /// The ids of the related records, if the filter tests nothing else and the store keeps lists for
  /// them; nil if not.
  var listedBy: [[KeyValue]]? {
    guard case .links = route else { return nil }
    var node = filter
    while case .all(let nodes) = node, nodes.count == 1 { node = nodes[0] }
    guard case .field(let filter) = node, filter.field.identity == .id else { return nil }
    return filter.test.constants
  }
}
