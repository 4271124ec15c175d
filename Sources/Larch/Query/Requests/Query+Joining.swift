// Two types or queries, a reference or any two fields, with a kind or without: the compiler (6.3)
// takes no default for the kind, since the type of the rows depends on it.

extension Query {
  /// With the records that a property refers to: each record with the one whose id it holds.
  ///
  /// ```swift
  /// Person.joined(with: Company.self, on: \.companyID, kind: .left)   // (Person, Company?)
  /// ```
  ///
  /// The property may be an id, an optional one, or a list or set of ids; it need not be declared as
  /// an association.
  public func joined<Other: Record, Reference: IDReference, Row>(
    with other: Other.Type, on reference: any KeyPath<R, Reference> & Sendable,
    kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Reference._ReferencedID == Other.ID {
    Join(
      self, other.all, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, kind)
  }

  /// With the records of a query that a property refers to. What the query says applies before the two are
  /// joined.
  public func joined<Other: Record, Reference: IDReference, Row>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable,
    kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Reference._ReferencedID == Other.ID {
    Join(
      self, other, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, kind)
  }

  /// Pairs alone: as `kind: .inner`.
  public func joined<Other: Record, Reference: IDReference>(
    with other: Other.Type, on reference: any KeyPath<R, Reference> & Sendable
  ) -> Join<R, Other, (R, Other)> where Reference._ReferencedID == Other.ID {
    Join(
      self, other.all, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, .inner)
  }

  /// Pairs alone: as `kind: .inner`.
  public func joined<Other: Record, Reference: IDReference>(
    with other: Query<Other>, on reference: any KeyPath<R, Reference> & Sendable
  ) -> Join<R, Other, (R, Other)> where Reference._ReferencedID == Other.ID {
    Join(
      self, other, on: TypedField<R>.joining(reference), equals: TypedField<Other>.id, .inner)
  }

  /// With the records of which a field has the same value as one of these.
  ///
  /// ```swift
  /// Person.joined(with: Office.self, on: \.city, equals: \.town, kind: .full)
  /// ```
  ///
  /// Either field may be optional, an array or a set. Values are the same as `==` says, texts also
  /// where they are written differently but mean the same characters.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Other.Type, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Value._Entry == OtherValue._Entry {
    Join(
      self, other.all, on: TypedField<R>.joining(field),
      equals: TypedField<Other>.joining(otherField), kind)
  }

  /// With the records of a query by any two fields. What the query says applies before the two are
  /// joined.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Query<Other>, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<R, Other, Row>
  ) -> Join<R, Other, Row> where Value._Entry == OtherValue._Entry {
    Join(
      self, other, on: TypedField<R>.joining(field), equals: TypedField<Other>.joining(otherField),
      kind)
  }

  /// Pairs alone: as `kind: .inner`.
  public func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Other.Type, on field: any KeyPath<R, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<R, Other, (R, Other)> where Value._Entry == OtherValue._Entry {
    Join(
      self, other.all, on: TypedField<R>.joining(field),
      equals: TypedField<Other>.joining(otherField), .inner)
  }

  /// Pairs alone: as `kind: .inner`.
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
  /// With the records that a property refers to: each record with the one whose id it holds.
  ///
  /// ```swift
  /// Person.joined(with: Company.self, on: \.companyID, kind: .left)   // (Person, Company?)
  /// ```
  ///
  /// The property may be an id, an optional one, or a list or set of ids; it need not be declared as
  /// an association.
  public static func joined<Other: Record, Reference: IDReference, Row>(
    with other: Other.Type, on reference: any KeyPath<Self, Reference> & Sendable,
    kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Reference._ReferencedID == Other.ID {
    all.joined(with: other.all, on: reference, kind: kind)
  }

  /// With the records of a query that a property refers to. What the query says applies before the two are
  /// joined.
  public static func joined<Other: Record, Reference: IDReference, Row>(
    with other: Query<Other>, on reference: any KeyPath<Self, Reference> & Sendable,
    kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Reference._ReferencedID == Other.ID {
    all.joined(with: other, on: reference, kind: kind)
  }

  /// Pairs alone: as `kind: .inner`.
  public static func joined<Other: Record, Reference: IDReference>(
    with other: Other.Type, on reference: any KeyPath<Self, Reference> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Reference._ReferencedID == Other.ID {
    all.joined(with: other.all, on: reference, kind: .inner)
  }

  /// Pairs alone: as `kind: .inner`.
  public static func joined<Other: Record, Reference: IDReference>(
    with other: Query<Other>, on reference: any KeyPath<Self, Reference> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Reference._ReferencedID == Other.ID {
    all.joined(with: other, on: reference, kind: .inner)
  }

  /// With the records of which a field has the same value as one of these.
  ///
  /// ```swift
  /// Person.joined(with: Office.self, on: \.city, equals: \.town, kind: .full)
  /// ```
  ///
  /// Either field may be optional, an array or a set. Values are the same as `==` says, texts also
  /// where they are written differently but mean the same characters.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Other.Type, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Value._Entry == OtherValue._Entry {
    all.joined(with: other.all, on: field, equals: otherField, kind: kind)
  }

  /// With the records of a query by any two fields. What the query says applies before the two are
  /// joined.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField, Row>(
    with other: Query<Other>, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable, kind: JoinKind<Self, Other, Row>
  ) -> Join<Self, Other, Row> where Value._Entry == OtherValue._Entry {
    all.joined(with: other, on: field, equals: otherField, kind: kind)
  }

  /// Pairs alone: as `kind: .inner`.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Other.Type, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Value._Entry == OtherValue._Entry {
    all.joined(with: other.all, on: field, equals: otherField, kind: .inner)
  }

  /// Pairs alone: as `kind: .inner`.
  public static func joined<Other: Record, Value: IndexableField, OtherValue: IndexableField>(
    with other: Query<Other>, on field: any KeyPath<Self, Value> & Sendable,
    equals otherField: any KeyPath<Other, OtherValue> & Sendable
  ) -> Join<Self, Other, (Self, Other)> where Value._Entry == OtherValue._Entry {
    all.joined(with: other, on: field, equals: otherField, kind: .inner)
  }
}
