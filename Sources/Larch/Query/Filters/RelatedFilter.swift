/// Whether a record has related ones that a filter is true for.
///
/// What does not lead to a record relates to nothing: nil, an id whose record is gone.
package final class RelatedFilter: Sendable {
  /// How the related records are found from the one that is asked; never `through`.
  let route: AssociationRoute.Kind
  /// The type of the related records.
  let target: AssociatedType
  /// What is asked of them; `.always` to ask only whether there is one.
  let filter: FilterNode
  /// So many pass, at the least. With more than one, what is asked is only whether they are there.
  let least: Int

  /// A route through join records is made of its two halves: a join record refers to the owner,
  /// and the record that it refers to passes.
  init(
    _ route: AssociationRoute.Kind, _ target: AssociatedType, _ filter: FilterNode, least: Int = 1
  ) {
    self.least = least
    guard case .through(let near, let far) = route else {
      self.route = route
      self.target = target
      self.filter = filter
      return
    }
    self.route = .children(near)
    self.target = near.holder
    self.filter = .related(
      RelatedFilter(far.isList ? .listed(far) : .parent(far), target, filter))
  }

  /// What has the related records.
  var owner: AssociatedType {
    switch route {
    case .parent(let reference), .listed(let reference): reference.holder
    case .children(let reference), .through(let reference, _): reference.target
    case .links(let links): links.owner
    }
  }

  /// What plans call the association: as an inline `related(…)` names it.
  var name: String {
    switch route {
    case .parent(let reference), .listed(let reference): "related(\(reference.name))"
    case .children(let reference), .through(let reference, _):
      "related(\(reference.holder.collection).\(reference.name))"
    case .links(let links): "related(\(links.name))"
    }
  }

  /// Whether there is one related record at most.
  var isToOne: Bool {
    if case .parent = route { return true }
    return false
  }
}

extension ReferenceDeclaration {
  /// The names that lead to the property.
  fileprivate var name: String {
    switch resolve() {
    case .stored(_, let names): names.joined(separator: ".")
    case .computed(let name): name ?? "a reference"
    }
  }
}
