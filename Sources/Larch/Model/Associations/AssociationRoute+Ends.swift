extension AssociationRoute.Kind {
  /// The type from which the association is seen, and the one at its other end.
  var ends: (owner: AssociatedType, target: AssociatedType) {
    switch self {
    case .parent(let reference), .listed(let reference): (reference.holder, reference.target)
    case .children(let reference): (reference.target, reference.holder)
    case .through(let near, let far): (near.target, far.target)
    case .links(let links): (links.owner, links.target)
    }
  }
}

extension LarchError {
  static func unknownAssociation(_ owner: AssociatedType, _ target: AssociatedType) -> LarchError {
    LarchError(
      .unknownAssociation,
      "No open type lists the association in its schema, so the store does not keep it; list it in the `schema` of one of its two types."
    ) {
      $0.collection = owner.collection
      $0.detail = target.collection
    }
  }
}
