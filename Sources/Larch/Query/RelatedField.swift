/// The records at the other end of an association, in a filter: `$0.people` in
/// `Company.where { $0.people.contains { $0.age > 30 } }`.
public struct RelatedRecords<Root: Record, Target: Record>: Sendable {
  let route: AssociationRoute.Kind
  /// From a filter on what has the related records to one on the root.
  let wrap: (@Sendable (FilterNode) -> FilterNode)?

  init(
    _ route: AssociationRoute.Kind, wrap: (@Sendable (FilterNode) -> FilterNode)? = nil
  ) {
    self.route = route
    self.wrap = wrap
  }

  /// A condition is true for one of them.
  ///
  /// ```swift
  /// Company.where { $0.people.contains { $0.age > 30 } }
  /// ```
  ///
  /// What does not lead to a record relates to nothing.
  public func contains<Condition: FilterExpression>(
    where condition: (Fields<Target>) -> Condition
  ) -> Filter<Root> where Condition.Root == Target {
    filter(condition(Fields())._filter.node)
  }

  /// The record with this id is one of them.
  public func contains(_ id: Target.ID) -> Filter<Root> {
    contains { $0.id == id }
  }

  /// There is none.
  public var isEmpty: Filter<Root> { !filter(.always) }

  private func filter(_ node: FilterNode) -> Filter<Root> {
    let related = FilterNode.related(RelatedFilter(route, AssociatedType(Target.self), node))
    return Filter(wrap?(related) ?? related)
  }
}

/// The record at the other end of an association with one, or none, in a filter: `$0.company` in
/// `Person.where { $0.company.matches { $0.name == "Acme" } }`.
public struct RelatedRecord<Root: Record, Target: Record>: Sendable {
  let route: AssociationRoute.Kind

  init(_ route: AssociationRoute.Kind) { self.route = route }

  /// The record is there, and a condition is true for it.
  public func matches<Condition: FilterExpression>(
    _ condition: (Fields<Target>) -> Condition
  ) -> Filter<Root> where Condition.Root == Target {
    filter(condition(Fields())._filter.node)
  }

  /// There is no such record.
  public var isNil: Filter<Root> { !filter(.always) }

  /// There is one.
  public var isNotNil: Filter<Root> { filter(.always) }

  private func filter(_ node: FilterNode) -> Filter<Root> {
    Filter(.related(RelatedFilter(route, AssociatedType(Target.self), node)))
  }
}

// Found by static properties of the record type: `static let people = HasMany<Company, Person>(…)`.

extension Fields {
  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { related(Root.self[keyPath: keyPath]) }

  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, ManyToMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { related(Root.self[keyPath: keyPath]) }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, BelongsTo<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { related(Root.self[keyPath: keyPath]) }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasOne<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { related(Root.self[keyPath: keyPath]) }

  /// The records that refer to this one by a property.
  ///
  /// ```swift
  /// Company.where { !$0.related(\Person.companyID).isEmpty }
  /// ```
  public func related<Target, Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable
  ) -> RelatedRecords<Root, Target> where Value._ReferencedID == Root.ID {
    related(HasMany(field))
  }

  /// The records at the other end of an association that is no static property.
  public func related<Target>(
    _ association: some ToManyAssociation<Root, Target>
  ) -> RelatedRecords<Root, Target> { RelatedRecords(association._route.kind) }

  /// The record at the other end of an association that is no static property.
  public func related<Target>(
    _ association: some ToOneAssociation<Root, Target>
  ) -> RelatedRecord<Root, Target> { RelatedRecord(association._route.kind) }
}
