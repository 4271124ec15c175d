/// A declared link between records of two types: ``BelongsTo``, ``HasMany``, ``HasOne`` or
/// ``ManyToMany``.
///
/// Only these conform. A value of one can be kept as a static property, to be named again where
/// related records are asked for:
///
/// ```swift
/// static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
/// static let schema = Schema<Company> { people }
/// ```
public protocol Association<Owner, Target>: Sendable {
  /// The type that declares the association.
  associatedtype Owner: Record
  /// The type at its other end.
  associatedtype Target: Record

  /// How the other end is found. Met by Larch.
  var _route: AssociationRoute { get }
}

/// An association with one record, or none, at its other end.
public protocol ToOneAssociation<Owner, Target>: Association {}

/// An association with any number of records at its other end.
public protocol ToManyAssociation<Owner, Target>: Association {}

/// Declares that a property holds the id of a record of another type.
///
/// ```swift
/// BelongsTo(\.companyID, to: Company.self)
/// ```
///
/// The property is indexed, so the other end knows its list at any time, and saving a record that
/// refers to one which is not there is an error. The index costs what ``Index`` does, the check a
/// search in the tree of the other type where the reference is new.
public struct BelongsTo<Owner: Record, Target: Record>: ToOneAssociation {
  /// How the other end is found. Met by Larch.
  public let _route: AssociationRoute

  /// Declares the reference.
  ///
  /// - Parameters:
  ///   - field: a stored property with an id, or an optional one.
  ///   - target: the type that the id is of.
  ///   - onDelete: what happens to the other record when the one with the property is deleted;
  ///     nothing unless given.
  public init<Value: IDReference>(
    _ field: any KeyPath<Owner, Value> & Sendable, to target: Target.Type = Target.self,
    onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Target.ID {
    let reference = TypedReference(field, to: target)
    _route = AssociationRoute(
      .parent(reference), [.reference(reference, .holder, onDelete, isOne: true)])
  }
}

/// Declares that records of another type refer to those of this one, or that this one keeps a
/// list of ids.
///
/// ```swift
/// HasMany(\Person.companyID, onDelete: .nullify)      // people hold the id of a company
/// HasMany(Tag.self, in: \.tagIDs)                     // the record itself holds the ids
/// HasMany(Course.self, through: \Enrolment.studentID, \Enrolment.courseID)
/// ```
///
/// It works from either end, wherever it is declared.
public struct HasMany<Owner: Record, Target: Record>: ToManyAssociation {
  /// How the other end is found. Met by Larch.
  public let _route: AssociationRoute

  /// Declares the property by which others refer to records of this type.
  ///
  /// - Parameters:
  ///   - field: a property of the other type with an id of this one, an optional one, or a list
  ///     of them.
  ///   - onDelete: what happens to the others when a record of this type is deleted; unless
  ///     given, the reference is set to nil where that can be, else deleting is refused.
  public init<Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID {
    let reference = TypedReference(field, to: Owner.self)
    _route = AssociationRoute(
      .children(reference), [.reference(reference, .target, onDelete, isOne: false)])
  }

  /// Declares a list of ids that a record itself keeps, in its order.
  ///
  /// - Parameters:
  ///   - target: the type that the ids are of.
  ///   - field: an array or a set of ids.
  ///   - onDelete: what happens to the records in the list when the one with the list is
  ///     deleted; nothing unless given.
  public init<Value: IDReference>(
    _ target: Target.Type = Target.self, in field: any KeyPath<Owner, Value> & Sendable,
    onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Target.ID {
    let reference = TypedReference(field, to: target)
    _route = AssociationRoute(
      .listed(reference), [.reference(reference, .holder, onDelete, isOne: false)])
  }

  /// Declares that a join record, which may have fields of its own, leads to the other type.
  ///
  /// - Parameters:
  ///   - target: the type at the other end.
  ///   - field: the property of the join record with the id of this type.
  ///   - other: its property with the id of the other type.
  ///   - onDelete: what happens to join records when a record of either end is deleted; they are
  ///     destroyed unless another rule is given here, or declared for a field by itself.
  public init<Join: Record, Value: IDReference, Other: IDReference>(
    _ target: Target.Type = Target.self, through field: any KeyPath<Join, Value> & Sendable,
    _ other: any KeyPath<Join, Other> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID, Other._ReferencedID == Target.ID {
    let near = TypedReference(field, to: Owner.self)
    let far = TypedReference(other, to: target)
    _route = AssociationRoute(
      .through(near, far), [.join(near, onDelete), .join(far, .automatic)])
  }
}

/// Declares that one record of another type at most refers to each record of this one.
///
/// ```swift
/// HasOne(\Profile.userID, onDelete: .destroy)
/// ```
///
/// As ``HasMany``, with a unique index: saving a second record that refers to the same one is a
/// `.uniqueConflict`.
public struct HasOne<Owner: Record, Target: Record>: ToOneAssociation {
  /// How the other end is found. Met by Larch.
  public let _route: AssociationRoute

  /// Declares the property by which the other refers to a record of this type. For the
  /// parameters see ``HasMany``.
  public init<Value: IDReference>(
    _ field: any KeyPath<Target, Value> & Sendable, onDelete: DeleteRule = .automatic
  ) where Value._ReferencedID == Owner.ID {
    let reference = TypedReference(field, to: Owner.self)
    _route = AssociationRoute(
      .children(reference), [.reference(reference, .target, onDelete, isOne: true)])
  }
}

/// Declares lists of ids that the store keeps for two types, in both directions, without a join
/// record.
///
/// ```swift
/// static let members = ManyToMany<Project, Person>(named: "members")
/// ```
///
/// Both types may declare it, each with its own rule; the name, together with the two types, says
/// which lists are meant, and the file keeps them under it. Between records of one type the lists
/// have a direction: the other end is the same declaration with `isInverse`. Membership is a set,
/// adding and removing costs two searches.
public struct ManyToMany<Owner: Record, Target: Record>: ToManyAssociation {
  /// How the other end is found. Met by Larch.
  public let _route: AssociationRoute

  /// Declares the lists.
  ///
  /// - Parameters:
  ///   - target: the type at the other end.
  ///   - name: what the lists are called: 1 to 64 of the characters `A-Z a-z 0-9 _ . -`.
  ///   - isInverse: the other end of lists between records of one type.
  ///   - onDelete: what happens to the records at the other end when one of this type is
  ///     deleted; only taken off the lists unless given.
  public init(
    _ target: Target.Type = Target.self, named name: String, isInverse: Bool = false,
    onDelete: DeleteRule = .automatic
  ) {
    let links = LinksDeclaration(Owner.self, target, name: name, isInverse: isInverse)
    _route = AssociationRoute(
      .links(links), [.links(links, onDelete)])
  }
}

/// How an association finds the records at its other end. Made by Larch.
@_documentation(visibility: private)
public struct AssociationRoute: Sendable {
  enum Kind: Sendable {
    /// The owner holds one id.
    case parent(ReferenceDeclaration)
    /// The owner holds a list of ids.
    case listed(ReferenceDeclaration)
    /// The target holds the id of the owner.
    case children(ReferenceDeclaration)
    /// A join record holds the id of the owner, and that of the target.
    case through(ReferenceDeclaration, ReferenceDeclaration)
    case links(LinksDeclaration)
  }

  let kind: Kind
  /// What the line of a schema declares.
  let declared: [DeclaredAssociation]

  init(_ kind: Kind, _ declared: [DeclaredAssociation]) {
    self.kind = kind
    self.declared = declared
  }
}
