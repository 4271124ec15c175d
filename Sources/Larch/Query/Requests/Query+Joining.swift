// There are overloads for a reference and any two fields, with a kind and without: the compiler (6.3)
// allows no default for the kind, since the type of the rows depends on it.

extension Query {
  /// Joins each record with the record of a query whose id a property holds. The query is applied
  /// before the join.
  ///
  /// ```swift
  /// Person.all.joined(with: Company.all, on: \.companyID, kind: .left)   // (Person, Company?)
  /// ```
  ///
  /// The property may be an id, an optional one, or a list or set of ids; it need not be declared
  /// as an association.
  public func joined<Other: Record, Reference: IDReference, Row>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable,
    kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Reference._ReferencedID == Other.ID {
    Join(
      self, other, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, kind)
  }

  /// Only pairs: the same as `kind: .inner`.
  public func joined<Other: Record, Reference: IDReference>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable
  ) -> Join<R, Other, (R, Other)> where Reference._ReferencedID == Other.ID {
    joined(with: other, on: reference, kind: .inner)
  }

  /// Joins each record with the records of a query in which a field has an equal value. The query is
  /// applied before the join.
  ///
  /// ```swift
  /// Person.all.joined(with: Office.all, on: \.city, equals: \.town, kind: .full)
  /// ```
  ///
  /// Either field may be optional, an array or a set. Values are compared as with `==`; texts are
  /// also equal if different code points form the same characters.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Query<Other>, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Value._Entry == OtherValue._Entry {
    Join(
      self, other, on: TypedField<R>.joining(field), equals: TypedField<Other>.joining(otherField),
      kind)
  }

  /// Only pairs: the same as `kind: .inner`.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Query<Other>, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<R, Other, (R, Other)> where Value._Entry == OtherValue._Entry {
    joined(with: other, on: field, equals: otherField, kind: .inner)
  }
}
