public import Foundation

/// The properties of a record type in a filter: `$0` in `Person.where { $0.age >= 18 }`.
///
/// Every property of the record is available under its own name, as a ``Field``.
@dynamicMemberLookup
public struct Fields<Root: Record>: Sendable {
  @usableFromInline
  init() {}

  /// The id, under which the record is stored.
  public var id: Field<Root, Root.ID> { Field(node: .id()) }

  // Associations are static properties of the record type: `static let people = HasMany<…>(…)`.
  // They come before properties: Swift tries the members in this order, and would first take an
  // association for a property and then try all operators on it.

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

  /// The property of a key path.
  public subscript<Value>(
    dynamicMember keyPath: any KeyPath<Root, Value> & Sendable
  ) -> Field<Root, Value> { Field(node: .of(keyPath)) }

  /// The property of a key path that is a value of the program. Also names a computed property of
  /// an optional (`$0[\.home?.label]`) in the same way as an index over it.
  public subscript<Value>(
    _ keyPath: any KeyPath<Root, Value> & Sendable
  ) -> Field<Root, Value> { Field(node: .of(keyPath)) }

  /// Tests the whole record with a closure, for conditions that the operators cannot express.
  ///
  /// Larch decodes every record that passes all other conditions. So write as much as possible with
  /// fields, and only the rest as a closure.
  public func satisfies(_ condition: @escaping @Sendable (Root) -> Bool) -> Filter<Root> {
    Filter(.record(RecordTest(text: "a closure", matches: condition)))
  }

  /// Tests the whole record with a predicate of Foundation, which may also be a value of the program.
  ///
  /// ```swift
  /// Person.where { $0.tags.contains("swift") && $0.satisfies(predicate) }
  /// ```
  ///
  /// The same as `where(_:)` with a predicate, where other conditions are joined with it.
  public func satisfies(_ predicate: Predicate<Root>) -> Filter<Root> { Filter(predicate) }
}

/// A property of a record in a filter, which can be compared with a value or with another field.
///
/// The operators mean the same as in Swift, except that `<` compares strings by their NFC bytes. A
/// type of your own that is an ``IndexKey`` is compared by its index value; any other type is
/// compared in the decoded record.
///
/// The properties of the value are fields too: `$0.address.city`, even if `address` is optional,
/// and computed ones such as `$0.name.count`.
@dynamicMemberLookup
public struct Field<Root, Value>: Sendable {
  let node: FieldNode<Root, Value>

  /// A property of the value.
  public subscript<Member>(
    dynamicMember keyPath: any KeyPath<Value, Member> & Sendable
  ) -> Field<Root, Member> { Field<Root, Member>(node: node.member(keyPath)) }

  /// A property of an optional value; nil if there is no value.
  public subscript<Wrapped, Member>(
    dynamicMember keyPath: any KeyPath<Wrapped, Member> & Sendable
  ) -> Field<Root, Member?> where Value == Wrapped? {
    Field<Root, Member?>(node: node.optionalMember(keyPath))
  }

  /// An optional property of an optional value; nil if either is nil.
  public subscript<Wrapped, Member>(
    dynamicMember keyPath: any KeyPath<Wrapped, Member?> & Sendable
  ) -> Field<Root, Member?> where Value == Wrapped? {
    Field<Root, Member?>(node: node.flatMember(keyPath))
  }
}
