/// The records at the other end of an association, in a filter: `$0.people` in
/// `Company.where { $0.people.contains { $0.age > 30 } }`.
public struct RelatedRecords<Root: Record, Target: Record>: Sendable {
  private let route: AssociationRoute.Kind
  private let origin: RelatedRecordOrigin?

  init(_ route: AssociationRoute.Kind, after origin: RelatedRecordOrigin? = nil) {
    self.route = route
    self.origin = origin
  }

  /// A condition is true for one of the records.
  ///
  /// ```swift
  /// Company.where { $0.people.contains { $0.age > 30 } }
  /// ```
  ///
  /// A nil or dangling reference has no related record.
  public func contains<Condition: FilterExpression>(
    where condition: (Fields<Target>) -> Condition
  ) -> Filter<Root> where Condition.Root == Target {
    filter(condition(Fields())._filter.node)
  }

  /// One of the records has this id.
  public func contains(_ id: Target.ID) -> Filter<Root> {
    contains { $0.id == id }
  }

  /// There are no records.
  public var isEmpty: Filter<Root> { !filter(.always) }

  /// The number of records.
  ///
  /// ```swift
  /// Company.where { $0.people.count > 2 }
  /// ```
  public var count: RelatedCount<Root> {
    RelatedCount { filter(.always, least: $0).node }
  }

  private func filter(_ node: FilterNode, least: Int = 1) -> Filter<Root> {
    let related = FilterNode.related(
      RelatedFilter(route, AssociatedType(Target.self), node, least: least))
    return Filter(origin?.wrap(related, false) ?? related)
  }
}

/// The record at the other end of an association to one record, in a filter: `$0.company` in
/// `Person.where { $0.company.name == "Acme" }`.
///
/// Its properties are fields. They have a value if the record exists, and are nil if it does not,
/// like those of `companies[person.companyID]?`: `$0.company.name != "Acme"` is also true for
/// people without a company. Use `matches { … }` for several conditions on the same record.
@dynamicMemberLookup
public struct RelatedRecord<Root: Record, Target: Record>: Sendable {
  private let wrap: RelatedWrap
  /// Distinguishes it from other records that are related to the same one.
  private let path: [String]

  init(_ route: AssociationRoute.Kind, after outer: RelatedRecordOrigin? = nil) {
    let target = AssociatedType(Target.self)
    path = (outer?.path ?? []) + [RelatedFilter(route, target, .always).name]
    wrap = { node, isTrueForNone in
      let related = RelatedFilter(route, target, isTrueForNone ? node.negated : node)
      let own = isTrueForNone ? FilterNode.related(related).negated : .related(related)
      return outer?.wrap(own, isTrueForNone) ?? own
    }
  }

  /// The record exists, and a condition is true for it.
  public func matches<Condition: FilterExpression>(
    _ condition: (Fields<Target>) -> Condition
  ) -> Filter<Root> where Condition.Root == Target {
    Filter(wrap(condition(Fields())._filter.node, false))
  }

  /// The record does not exist: the reference is nil or dangling.
  public static func == (record: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    !(record != none)
  }

  /// The record exists.
  public static func != (record: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    Filter(record.wrap(.always, false))
  }

  /// The id of the record; nil if it does not exist.
  public var id: Field<Root, Target.ID?> {
    Field(node: .ofTarget(.value(FieldNode<Target, Target.ID>.id()), wrap, path))
  }

  // Associations before properties, as in `Fields`.

  /// The records at the other end of an association of that record; none if it does not exist.
  public subscript<Next>(
    dynamicMember keyPath: any KeyPath<Target.Type, HasMany<Target, Next>> & Sendable
  ) -> RelatedRecords<Root, Next> {
    RelatedRecords(Target.self[keyPath: keyPath]._route.kind, after: origin)
  }

  /// The records at the other end of an association of that record; none if it does not exist.
  public subscript<Next>(
    dynamicMember keyPath: any KeyPath<Target.Type, ManyToMany<Target, Next>> & Sendable
  ) -> RelatedRecords<Root, Next> {
    RelatedRecords(Target.self[keyPath: keyPath]._route.kind, after: origin)
  }

  /// The record at the other end of an association of that record.
  public subscript<Next>(
    dynamicMember keyPath: any KeyPath<Target.Type, BelongsTo<Target, Next>> & Sendable
  ) -> RelatedRecord<Root, Next> {
    RelatedRecord<Root, Next>(Target.self[keyPath: keyPath]._route.kind, after: origin)
  }

  /// The record at the other end of an association of that record.
  public subscript<Next>(
    dynamicMember keyPath: any KeyPath<Target.Type, HasOne<Target, Next>> & Sendable
  ) -> RelatedRecord<Root, Next> {
    RelatedRecord<Root, Next>(Target.self[keyPath: keyPath]._route.kind, after: origin)
  }

  /// A property of the record; nil if the record does not exist.
  @_disfavoredOverload
  public subscript<Value>(
    dynamicMember keyPath: any KeyPath<Target, Value> & Sendable
  ) -> Field<Root, Value?> {
    Field(node: .ofTarget(.value(FieldNode<Target, Value>.of(keyPath)), wrap, path))
  }

  /// An optional property of the record; nil if the record does not exist.
  public subscript<Value>(
    dynamicMember keyPath: any KeyPath<Target, Value?> & Sendable
  ) -> Field<Root, Value?> {
    Field(node: .ofTarget(.optional(FieldNode<Target, Value?>.of(keyPath)), wrap, path))
  }

  private var origin: RelatedRecordOrigin { RelatedRecordOrigin(wrap: wrap, path: path) }
}

/// The record at which an association begins, if it is itself a related record.
struct RelatedRecordOrigin: Sendable {
  let wrap: RelatedWrap
  let path: [String]
}

extension Fields {
  /// The records of which a property refers to this one.
  ///
  /// ```swift
  /// Company.where { !$0.related(\Person.companyID).isEmpty }
  /// ```
  ///
  /// The association must be listed in the schema of one of the two types.
  public func related<Target, Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable
  ) -> RelatedRecords<Root, Target> where Value._ReferencedID == Root.ID {
    RelatedRecords(HasMany<Root, Target>(field)._route.kind)
  }

  /// The records at the other end of an association that is not a static property.
  public func related<A: ToManyAssociation>(_ association: A) -> RelatedRecords<Root, A.Target>
  where A.Owner == Root { RelatedRecords(association._route.kind) }

  /// The record at the other end of an association that is not a static property.
  public func related<A: ToOneAssociation>(_ association: A) -> RelatedRecord<Root, A.Target>
  where A.Owner == Root { RelatedRecord(association._route.kind) }
}
