/// A declared relation between records of two types: ``BelongsTo``, ``HasMany``, ``HasOne`` or
/// ``ManyToMany``.
///
/// Only these types conform. Keep the value as a static property, so that you can name it again
/// when you read related records:
///
/// ```swift
/// static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
/// static let schema = Schema<Company> { people }
/// ```
public protocol Association<Owner, Target>: SchemaEntry where R == Owner {
  /// The type that declares the association.
  associatedtype Owner: Record
  /// The type at its other end.
  associatedtype Target: Record
  /// The schema is that of the type that declares the association.
  associatedtype R = Owner

  /// How the other end is found. Implemented by Larch.
  var _route: AssociationRoute { get }
}

/// An association to one record, or none.
public protocol ToOneAssociation<Owner, Target>: Association {}

/// An association to any number of records.
public protocol ToManyAssociation<Owner, Target>: Association {}

/// Declares that a property holds the id of a record of another type.
///
/// ```swift
/// BelongsTo(\.companyID, to: Company.self)
/// ```
///
/// The property is indexed, so that the related records can be found from the other end. Saving a
/// record with a dangling reference is an error. The index costs the same as ``Index``; the check
/// of a new reference is one search in the tree of the other type.
public struct BelongsTo<Owner: Record, Target: Record>: ToOneAssociation {
  /// How the other end is found. Implemented by Larch.
  public let _route: AssociationRoute

  /// Declares the reference.
  ///
  /// - Parameters:
  ///   - field: a stored property with an id, or an optional one.
  ///   - target: the type of the record with the id.
  ///   - onDelete: what happens to the other record when the one with the property is deleted;
  ///     nothing by default.
  public init<Value: IDReference>(
    _ field: any KeyPath<Owner, Value> & Sendable, to target: Target.Type = Target.self,
    onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Target.ID {
    let reference = TypedReference(field, to: target, onDelete, from: .holder)
    _route = AssociationRoute(.parent(reference), [.reference(reference, isOne: true)])
  }

  /// Not available: a property of the other type.
  @available(
    *, unavailable,
    message:
      "the property is one of the other type: here it is `HasMany` or `HasOne` of that property; `BelongsTo` is for the type that has it"
  )
  @_disfavoredOverload
  public init<Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) {
    _route = AssociationRoute(
      .links(LinksDeclaration(Owner.self, Target.self, name: "refused", isInverse: false)), [])
  }
}

/// Declares that records of another type refer to records of this type, or that a record of this
/// type has a list of ids.
///
/// ```swift
/// HasMany(\Person.companyID, onDelete: .nullify)      // people hold the id of a company
/// HasMany(Tag.self, in: \.tagIDs)                     // the record itself holds the ids
/// HasMany(Course.self, through: \Enrolment.studentID, \Enrolment.courseID)
/// ```
///
/// The association works from both ends, whichever end declares it.
public struct HasMany<Owner: Record, Target: Record>: ToManyAssociation {
  /// How the other end is found. Implemented by Larch.
  public let _route: AssociationRoute

  /// Declares the property by which records of another type refer to this one.
  ///
  /// - Parameters:
  ///   - field: a property of the other type with an id of this type, an optional id, or a list of
  ///     ids.
  ///   - onDelete: what happens to the other records when a record of this type is deleted; by
  ///     default the reference is set to nil if that is possible, and deleting is refused if not.
  public init<Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID {
    let reference = TypedReference(field, to: Owner.self, onDelete, from: .target)
    _route = AssociationRoute(.children(reference), [.reference(reference, isOne: false)])
  }

  /// Declares a list of ids that the record itself has, in its own order.
  ///
  /// - Parameters:
  ///   - target: the type of the records with the ids.
  ///   - field: an array or a set of ids.
  ///   - onDelete: what happens to the records in the list when the one with the list is deleted;
  ///     nothing by default.
  public init<Value: IDReference>(
    _ target: Target.Type = Target.self, in field: any KeyPath<Owner, Value> & Sendable,
    onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Target.ID {
    let reference = TypedReference(field, to: target, onDelete, from: .holder)
    _route = AssociationRoute(.listed(reference), [.reference(reference, isOne: false)])
  }

  /// Declares that a join record, which may have fields of its own, leads to the other type.
  ///
  /// - Parameters:
  ///   - target: the type at the other end.
  ///   - field: the property of the join record with the id of this type.
  ///   - other: its property with the id of the other type.
  ///   - onDelete: what happens to join records when a record of either end is deleted; by default
  ///     they are deleted; another rule can be given here, or declared for one of the fields.
  public init<Join: Record, Value: IDReference, Other: IDReference>(
    _ target: Target.Type = Target.self, through field: any KeyPath<Join, Value> & Sendable,
    _ other: any KeyPath<Join, Other> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID, Other._ReferencedID == Target.ID {
    let near = TypedReference(field, to: Owner.self, onDelete, from: .target)
    let far = TypedReference(other, to: target, from: .target)
    _route = AssociationRoute(.through(near, far), [.join(near), .join(far)])
  }

  /// Not available: a property of this type.
  @available(
    *, unavailable,
    message:
      "the property is one of this type: here it is `BelongsTo` for an id, or `HasMany(in:)` for a list of ids; `HasMany` of a property is for the other type"
  )
  @_disfavoredOverload
  public init<Value: IDReference>(
    _ field: any KeyPath<Owner, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) {
    _route = AssociationRoute(
      .links(LinksDeclaration(Owner.self, Target.self, name: "refused", isInverse: false)), [])
  }
}

/// Declares that at most one record of another type refers to each record of this type.
///
/// ```swift
/// HasOne(\Profile.userID, onDelete: .destroy)
/// ```
///
/// Like ``HasMany``, with a unique index: saving a second record that refers to the same one throws
/// `.uniqueConflict`.
public struct HasOne<Owner: Record, Target: Record>: ToOneAssociation {
  /// How the other end is found. Implemented by Larch.
  public let _route: AssociationRoute

  /// Declares the property by which the other record refers to one of this type. For the parameters
  /// see ``HasMany``.
  public init<Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID {
    let reference = TypedReference(field, to: Owner.self, onDelete, from: .target)
    _route = AssociationRoute(.children(reference), [.reference(reference, isOne: true)])
  }

  /// Not available: a property of this type.
  @available(
    *, unavailable,
    message:
      "the property is one of this type: here it is `BelongsTo`; `HasOne` of a property is for the other type"
  )
  @_disfavoredOverload
  public init<Value: IDReference>(
    _ field: any KeyPath<Owner, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) {
    _route = AssociationRoute(
      .links(LinksDeclaration(Owner.self, Target.self, name: "refused", isInverse: false)), [])
  }
}

/// Declares a many-to-many association, which the store keeps as lists of ids in both directions,
/// without a join record.
///
/// ```swift
/// static let members = ManyToMany<Project, Person>(named: "members")
/// ```
///
/// Both types may declare it, each with its own rule; the name and the two types identify the lists
/// in the file. Between records of one type the lists have a direction: the other end is the same
/// declaration with `isInverse`. A list is a set; adding or removing a member costs two searches.
public struct ManyToMany<Owner: Record, Target: Record>: ToManyAssociation {
  /// How the other end is found. Implemented by Larch.
  public let _route: AssociationRoute

  /// Declares the lists.
  ///
  /// - Parameters:
  ///   - target: the type at the other end.
  ///   - name: the name of the lists: 1 to 64 of the characters `A-Z a-z 0-9 _ . -`.
  ///   - isInverse: whether this is the other end of lists between records of one type.
  ///   - onDelete: what happens to the records at the other end when one of this type is deleted;
  ///     by default only the links are removed.
  public init(
    _ target: Target.Type = Target.self, named name: String, isInverse: Bool = false,
    onDelete: DeleteRule = .automatic
  ) {
    let links = LinksDeclaration(
      Owner.self, target, name: name, isInverse: isInverse, rule: onDelete)
    _route = AssociationRoute(.links(links), [.links(links)])
  }
}

/// How an association finds the records at its other end. Created by Larch.
@_documentation(visibility: private)
public struct AssociationRoute: Sendable {
  enum Kind: Sendable {
    /// The owner has one id.
    case parent(ReferenceDeclaration)
    /// The owner has a list of ids.
    case listed(ReferenceDeclaration)
    /// The target has the id of the owner.
    case children(ReferenceDeclaration)
    /// A join record has the id of the owner and that of the target.
    case through(ReferenceDeclaration, ReferenceDeclaration)
    case links(LinksDeclaration)
  }

  let kind: Kind
  /// What the line of the schema declares.
  let declared: [DeclaredAssociation]

  init(_ kind: Kind, _ declared: [DeclaredAssociation]) {
    self.kind = kind
    self.declared = declared
  }
}
