/// Whether a record has related ones that a filter is true for.
final class RelatedFilter: Sendable {
  /// How the related records are found from the one that is asked.
  let route: AssociationRoute.Kind
  /// The type of the related records.
  let target: AssociatedType
  /// What is asked of them; `.always` to ask only whether there is one.
  let filter: FilterNode

  init(_ route: AssociationRoute.Kind, _ target: AssociatedType, _ filter: FilterNode) {
    self.route = route
    self.target = target
    self.filter = filter
  }
}
