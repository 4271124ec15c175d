/// Whether a record has related records for which a filter is true.
///
/// A nil or dangling reference has no related record.
package final class RelatedFilter: Sendable {
  /// How to find the related records of a record; never `through`.
  let route: AssociationRoute.Kind
  /// The type of the related records.
  let target: AssociatedType
  /// The filter on the related records; `.always` tests only whether there is one.
  let filter: FilterNode
  /// The minimum number of records for which the filter is true. If it is above one, the filter is
  /// `.always`.
  let least: Int
  /// Whether it asks for the records in the lists of one known record, which has these lists before
  /// it is saved.
  let isOfOwner: Bool

  /// A route through join records has two halves: a join record refers to the owner, and the filter
  /// is true for the record that it refers to.
  init(
    _ route: AssociationRoute.Kind, _ target: AssociatedType, _ filter: FilterNode,
    least: Int = 1, isOfOwner: Bool = false
  ) {
    self.least = least
    self.isOfOwner = isOfOwner
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

  /// The type that has the related records.
  var owner: AssociatedType { route.ends.owner }

  /// The name of the association in plans, as an inline `related(…)` writes it.
  var name: String {
    switch route {
    case .parent(let reference), .listed(let reference): "related(\(reference.name))"
    case .children(let reference), .through(let reference, _):
      "related(\(reference.holder.collection).\(reference.name))"
    case .links(let links): "related(\(links.name))"
    }
  }

  /// Whether there is at most one related record.
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
