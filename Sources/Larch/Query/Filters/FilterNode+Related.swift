extension FilterNode {
  /// Whether any part tests related records.
  var asksRelated: Bool {
    switch self {
    case .all(let nodes), .any(let nodes):
      for node in nodes where node.asksRelated { return true }
      return false
    case .not(let node): return node.asksRelated
    case .related: return true
    case .field, .pair, .words, .record: return false
    }
  }

  /// The filter with each test of related records replaced by the answer that lets most records
  /// through.
  func withoutRelated(isNegated: Bool = false) -> FilterNode {
    switch self {
    case .all(let nodes): .all(nodes.map { $0.withoutRelated(isNegated: isNegated) })
    case .any(let nodes): .any(nodes.map { $0.withoutRelated(isNegated: isNegated) })
    case .not(let node): .not(node.withoutRelated(isNegated: !isNegated))
    case .related: isNegated ? .never : .always
    case .field, .pair, .words, .record: self
    }
  }
}
