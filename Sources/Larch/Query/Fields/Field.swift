/// The properties of a record type, as a filter names them: `$0` in `Person.where { $0.age >= 18 }`.
///
/// Every property of the record is there under its own name, as a ``Field``.
@dynamicMemberLookup
public struct Fields<Root: Record>: Sendable {
  init() {}

  /// The id, which records are stored under and found by first of all.
  public var id: Field<Root, Root.ID> { Field(node: .id()) }

  // Associations are static properties of the record type: `static let people = HasMany<…>(…)`. They
  // come before properties, since Swift tries the members in this order, and takes an association for
  // a property at first, of which it then tries all operators.

  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { Root.self[keyPath: keyPath]._related }

  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, ManyToMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { Root.self[keyPath: keyPath]._related }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, BelongsTo<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Root.self[keyPath: keyPath]._related }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasOne<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Root.self[keyPath: keyPath]._related }

  /// The property that a key path reads.
  public subscript<Value>(
    dynamicMember keyPath: any KeyPath<Root, Value> & Sendable
  ) -> Field<Root, Value> { Field(node: .of(keyPath)) }

  /// The property that a key path reads: for key paths that are values of the program, and to
  /// name a computed property behind an optional (`$0[\.home?.label]`) as an index over it does.
  public subscript<Value>(
    _ keyPath: any KeyPath<Root, Value> & Sendable
  ) -> Field<Root, Value> { Field(node: .of(keyPath)) }

  /// Asks any closure over the whole record: what the operators cannot say.
  ///
  /// Every record that all other conditions leave is decoded for it. Write what can be written
  /// with fields that way, and only the rest so.
  public func satisfies(_ condition: @escaping @Sendable (Root) -> Bool) -> Filter<Root> {
    Filter(.record(RecordTest(text: "a closure", matches: condition)))
  }
}

/// A property of a record in a filter, to be compared with a value or with another field.
///
/// The operators say what Swift's say about the values; for strings, `<` is the order of their
/// NFC bytes. A type of your own that is an ``IndexKey`` is compared by its index value; another
/// one is read from the decoded record.
///
/// Properties of its value are fields too: `$0.address.city`, also where `address` is optional,
/// and computed ones as `$0.name.count`.
@dynamicMemberLookup
public struct Field<Root, Value>: Sendable {
  let node: FieldNode<Root, Value>

  /// A property of the value.
  public subscript<Member>(
    dynamicMember keyPath: any KeyPath<Value, Member> & Sendable
  ) -> Field<Root, Member> { Field<Root, Member>(node: node.member(keyPath)) }

  /// A property of the value in an optional; nil where there is none.
  public subscript<Wrapped, Member>(
    dynamicMember keyPath: any KeyPath<Wrapped, Member> & Sendable
  ) -> Field<Root, Member?> where Value == Wrapped? {
    Field<Root, Member?>(node: node.optionalMember(keyPath))
  }

  /// An optional property of the value in an optional; nil where either is nil.
  public subscript<Wrapped, Member>(
    dynamicMember keyPath: any KeyPath<Wrapped, Member?> & Sendable
  ) -> Field<Root, Member?> where Value == Wrapped? {
    Field<Root, Member?>(node: node.flatMember(keyPath))
  }
}
