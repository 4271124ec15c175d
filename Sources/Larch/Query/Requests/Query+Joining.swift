// There are overloads for two types and two queries, for a reference and any two fields, with a
// kind and without: the compiler (6.3) allows no default for the kind, since the type of the rows
// depends on it.

extension Query {
  /// Joins each record with the record whose id a property holds.
  ///
  /// ```swift
  /// Person.joined(with: Company.self, on: \.companyID, kind: .left)   // (Person, Company?)
  /// ```
  ///
  /// The property may be an id, an optional one, or a list or set of ids; it need not be declared
  /// as an association.
  public func joined<Other: Record, Reference: IDReference, Row>(
    with other: Other.Type, on reference: any KeyPath<R, Reference> & Sendable,
    kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Reference._ReferencedID == Other.ID {
    Join(
      self, other.all, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, kind)
  }

  /// Joins each record with the record of a query whose id a property holds. The query is applied
  /// before the join.
  public func joined<Other: Record, Reference: IDReference, Row>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable,
    kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Reference._ReferencedID == Other.ID {
    Join(
      self, other, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, kind)
  }

  /// Only pairs: the same as `kind: .inner`.
  public func joined<Other: Record, Reference: IDReference>(
    with other: Other.Type, on reference: any KeyPath<R, Reference> & Sendable
  ) -> Join<R, Other, (R, Other)> where Reference._ReferencedID == Other.ID {
    Join(
      self, other.all, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, .inner)
  }

  /// Only pairs: the same as `kind: .inner`.
  public func joined<Other: Record, Reference: IDReference>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable
  ) -> Join<R, Other, (R, Other)> where Reference._ReferencedID == Other.ID {
    Join(
      self, other, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, .inner)
  }

  /// Joins each record with the records in which a field has an equal value.
  ///
  /// ```swift
  /// Person.joined(with: Office.self, on: \.city, equals: \.town, kind: .full)
  /// ```
  ///
  /// Either field may be optional, an array or a set. Values are compared as with `==`; texts are
  /// also equal if different code points form the same characters.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Other.Type, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Value._Entry == OtherValue._Entry {
    Join(
      self, other.all, on: TypedField<R>.joining(field),
      equals: TypedField<Other>.joining(otherField), kind)
  }

  /// Joins with the records of a query by any two fields. The query is applied before the join.
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
    with other: Other.Type, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<R, Other, (R, Other)> where Value._Entry == OtherValue._Entry {
    Join(
      self, other.all, on: TypedField<R>.joining(field),
      equals: TypedField<Other>.joining(otherField), .inner)
  }

  /// Only pairs: the same as `kind: .inner`.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Query<Other>, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<R, Other, (R, Other)> where Value._Entry == OtherValue._Entry {
    Join(
      self, other, on: TypedField<R>.joining(field), equals: TypedField<Other>.joining(otherField),
      .inner)
  }
}

extension Record {
  /// Joins each record with the record whose id a property holds.
  ///
  /// ```swift
  /// Person.joined(with: Company.self, on: \.companyID, kind: .left)   // (Person, Company?)
  /// ```
  ///
  /// The property may be an id, an optional one, or a list or set of ids; it need not be declared
  /// as an association.
  public static func joined<Other: Record, Reference: IDReference, Row>(
    with other: Other.Type, on reference: any KeyPath<Self, Reference> & Sendable,
    kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Reference._ReferencedID == Other.ID {
    all.joined(with: other.all, on: reference, kind: kind)
  }

  /// Joins each record with the record of a query whose id a property holds. The query is applied
  /// before the join.
  public static func joined<Other: Record, Reference: IDReference, Row>(
    with other: Query<Other>, on reference: any KeyPath<Self, Reference> & Sendable,
    kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Reference._ReferencedID == Other.ID {
    all.joined(with: other, on: reference, kind: kind)
  }

  /// Only pairs: the same as `kind: .inner`.
  public static func joined<Other: Record, Reference: IDReference>(
    with other: Other.Type, on reference: any KeyPath<Self, Reference> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Reference._ReferencedID == Other.ID {
    all.joined(with: other.all, on: reference, kind: .inner)
  }

  /// Only pairs: the same as `kind: .inner`.
  public static func joined<Other: Record, Reference: IDReference>(
    with other: Query<Other>, on reference: any KeyPath<Self, Reference> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Reference._ReferencedID == Other.ID {
    all.joined(with: other, on: reference, kind: .inner)
  }

  /// Joins each record with the records in which a field has an equal value.
  ///
  /// ```swift
  /// Person.joined(with: Office.self, on: \.city, equals: \.town, kind: .full)
  /// ```
  ///
  /// Either field may be optional, an array or a set. Values are compared as with `==`; texts are
  /// also equal if different code points form the same characters.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Other.Type, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Value._Entry == OtherValue._Entry {
    all.joined(with: other.all, on: field, equals: otherField, kind: kind)
  }

  /// Joins with the records of a query by any two fields. The query is applied before the join.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Query<Other>, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Value._Entry == OtherValue._Entry {
    all.joined(with: other, on: field, equals: otherField, kind: kind)
  }

  /// Only pairs: the same as `kind: .inner`.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Other.Type, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Value._Entry == OtherValue._Entry {
    all.joined(with: other.all, on: field, equals: otherField, kind: .inner)
  }

  /// Only pairs: the same as `kind: .inner`.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Query<Other>, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Value._Entry == OtherValue._Entry {
    all.joined(with: other, on: field, equals: otherField, kind: .inner)
  }
}
