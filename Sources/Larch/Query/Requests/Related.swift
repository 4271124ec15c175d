/// The records at the other end of an association, for one record.
///
/// ```swift
/// extension Company {
///   var people: Related<Company, Person> { related(\Person.companyID) }
/// }
/// let adults = try store.fetch(acme.people.where { $0.age >= 18 })
/// try store.add(ada.id, to: acme.people)
/// ```
///
/// It is a value: nothing is read until it is used with a store or a transaction. Records that
/// refer to this one, and the lists of ``ManyToMany``, always come from the file. Ids that the
/// record itself holds come from your copy of it, so fetch it again after a change of them through
/// the store.
public struct Related<Owner: Record, Target: Record>: Sendable {
  let owner: Owner
  let route: AssociationRoute.Kind

  init(_ owner: Owner, _ route: AssociationRoute) {
    self.owner = owner
    self.route = route.kind
  }

  /// The records as a query, which you can refine like any other.
  ///
  /// They come in the order of their ids, even if the record has a list of ids; for the order of
  /// the list use `RecordReading.find(_:_:)` with the list. Running it throws `.unsavedReference`
  /// if the record was never saved and other records would have to refer to it.
  public var query: Query<Target> { Query().with { $0.filter = filter } }

  private var filter: FilterNode {
    switch route {
    case .parent(let reference), .listed(let reference):
      guard let reference = reference as? TypedReference<Owner> else { return foreign }
      return held(by: reference)
    case .children(let reference):
      if owner.id._isUnassigned { return unsaved }
      guard let reference = reference as? TypedReference<Target> else { return foreign }
      return .field(FieldFilter(reference.field, .equal(Owner.ID.values(of: owner.id))))
    case .links(let links):
      if owner.id._isUnassigned { return unsaved }
      return linked(by: .links(links.seenFromTarget(Owner.self, Target.self)))
    case .through(let near, let far):
      if owner.id._isUnassigned { return unsaved }
      return linked(by: .through(far, near))
    }
  }

  private func held(by reference: TypedReference<Owner>) -> FilterNode {
    var ids: [[KeyValue]] = []
    reference.forEachValue(owner) {
      ids.append($0.list)
      return true
    }
    let field = FieldNode<Target, Target.ID>.id().indexKey().field
    return .field(
      FieldFilter(field, ids.count == 1 ? .equal(ids[0]) : .oneOf(anyOrder: ids)))
  }

  /// The records that the owner is related to, described from their side.
  private func linked(by route: AssociationRoute.Kind) -> FilterNode {
    let field = FieldNode<Owner, Owner.ID>.id().indexKey().field
    let isOwner = FilterNode.field(FieldFilter(field, .equal(Owner.ID.values(of: owner.id))))
    return .related(
      RelatedFilter(route, AssociatedType(Owner.self), isOwner, isOfOwner: true))
  }

  private var unsaved: FilterNode {
    .record(
      RecordTest<Target>(
        text: "related to an unsaved record", error: unsavedOwner, matches: { _ in false }))
  }

  private var foreign: FilterNode {
    .record(
      RecordTest<Target>(
        text: "related by an unknown association", error: unknownAssociation,
        matches: { _ in false }))
  }

  var unsavedOwner: LarchError {
    LarchError(
      .unsavedReference,
      "The record was never saved, so it has no related records; save it first."
    ) { $0.collection = Owner.collectionName }
  }

  var unknownAssociation: LarchError {
    LarchError.unknownAssociation(AssociatedType(Owner.self), AssociatedType(Target.self))
  }
}

extension LinksDeclaration {
  /// The same lists, as the type at the other end declares them.
  fileprivate func seenFromTarget<Owner: Record, Target: Record>(
    _ owner: Owner.Type, _ target: Target.Type
  ) -> LinksDeclaration {
    // Between two types the names give the direction; between records of one type this does.
    LinksDeclaration(target, owner, name: name, isInverse: !isInverse)
  }
}

extension Record {
  /// The records at the other end of a declared association.
  ///
  /// ```swift
  /// extension Project {
  ///   static let members = ManyToMany<Project, Person>(named: "members")
  ///   static let schema = Schema<Project> { members }
  ///   var members: Related<Project, Person> { related(Project.members) }
  /// }
  /// ```
  public func related<A: Association>(_ association: A) -> Related<Self, A.Target>
  where A.Owner == Self {
    Related(self, association._route)
  }

  /// The records of another type whose property holds the id of this one.
  ///
  /// ```swift
  /// try store.count(acme.related(\Person.companyID))
  /// ```
  ///
  /// The association must be listed in the schema of one of the two types.
  public func related<Child: Record, Value: IDReference>(
    _ field: any KeyPath<Child, Value> & Sendable
  ) -> Related<Self, Child> where Value._ReferencedID == ID {
    Related(self, HasMany<Self, Child>(field)._route)
  }
}
