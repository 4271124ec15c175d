/// Whether the schemas of the open types list an association.
///
/// Only then the store checks its references, follows its delete rules and keeps its lists, so a
/// program that forgot the line in the schema must hear of it. The check asks the declarations, not
/// the file: a read-only file may not have the association yet.
extension Catalog {
  /// - Throws: `.unknownAssociation` unless the association is listed, with its delete rule.
  func checkListed(_ route: AssociationRoute.Kind) throws {
    switch route {
    case .parent(let reference), .listed(let reference), .children(let reference):
      try checkListed(reference, route)
    case .through(let near, let far):
      try checkListed(near, route)
      try checkListed(far, route)
    case .links(let links): try checkListed(links)
    }
  }

  private func checkListed(
    _ reference: ReferenceDeclaration, _ route: AssociationRoute.Kind
  ) throws {
    var known: AssociationSchema?
    for association in declared {
      guard case .reference(let schema) = association.kind else { continue }
      if schema.declaration === reference { return }
      if schema.declaration.isSame(as: reference) { known = association }
    }
    guard let known else {
      let (owner, target) = route.ends
      throw LarchError.unknownAssociation(owner, target)
    }
    let followed = reference.end == .holder ? known.firstRule : known.secondRule
    guard reference.rule == .automatic || reference.rule == followed else {
      throw unlistedRule(known)
    }
  }

  private func checkListed(_ links: LinksDeclaration) throws {
    let key = links.key
    guard let known = declared.first(where: { $0.key == key }), case .links = known.kind else {
      throw LarchError.unknownAssociation(links.owner, links.target)
    }
    let followed = links.isInverse ? known.secondRule : known.firstRule
    guard links.rule == .automatic || links.rule == followed else { throw unlistedRule(known) }
  }

  private func unlistedRule(_ association: AssociationSchema) -> LarchError {
    LarchError(
      .unknownAssociation,
      "An association declares a delete rule, but the schema of its type does not list it, so the rule would not be followed; list it in `schema`."
    ) {
      $0.collection = association.first.collection
      $0.field = association.key
    }
  }
}
