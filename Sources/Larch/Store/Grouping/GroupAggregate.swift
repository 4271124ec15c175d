/// An aggregate of a group of records: their number, or the sum, the mean, the least or the greatest value of
/// a field.
///
/// ```swift
/// let sales = Order.all.grouped(by: \.city).select(.count, .sum(\.amount), .max(\.placedAt))
/// ```
public struct GroupAggregate<R: Record, Value: Sendable>: Sendable {
  let described: AggregateDescription
  /// Makes what the aggregates of all groups are collected in.
  let makeColumn: @Sendable () -> AggregateColumn<Value>

  fileprivate init(
    _ name: String, _ field: FieldReference? = nil, needsOrder: Bool = false,
    _ makeColumn: @escaping @Sendable () -> AggregateColumn<Value>
  ) {
    described = AggregateDescription(
      name: name, type: Value.self, field: field, needsOrder: needsOrder)
    self.makeColumn = makeColumn
  }
}

/// An aggregate without its type.
struct AggregateDescription: Sendable {
  /// Its name in plans.
  let name: String
  let type: Any.Type
  /// Nil for the number of records.
  let field: FieldReference?
  /// Whether the order of the records matters.
  let needsOrder: Bool
}

extension GroupAggregate where Value == Int {
  /// The number of records of the group.
  public static var count: GroupAggregate { GroupAggregate("count") { CountColumn() } }
}

extension GroupAggregate {
  /// The sum of a field; zero if no record of the group has a value.
  ///
  /// Sums are those of ``RecordReading/sum(_:of:)``: whole numbers exact, or the error `.overflow`; others
  /// added in the order of the query.
  public static func sum<Field: SummableKey>(
    _ field: any KeyPath<R, Field> & Sendable
  ) -> GroupAggregate where Value == Field.Sum {
    total("sum", field) { total in
      guard let sum = Field.sum(total) else { throw KeyTotal.overflow(of: R.self) }
      return sum
    }
  }

  /// The mean of a field; nil if no record of the group has a value.
  public static func average<Field: SummableKey>(
    _ field: any KeyPath<R, Field> & Sendable
  ) -> GroupAggregate where Value == Double? {
    total("average", field) { $0.mean }
  }

  private static func total<Field: SummableKey>(
    _ name: String, _ field: any KeyPath<R, Field> & Sendable,
    _ value: @escaping @Sendable (KeyTotal) throws -> Value
  ) -> GroupAggregate {
    let reference = TypedField.of(field)
    return GroupAggregate(
      "\(name)(\(reference.name))", reference, needsOrder: !reference.form.isWholeNumber
    ) { TotalColumn<R, Field, Value>(field, value) }
  }
}

extension GroupAggregate {
  /// The least value of a field; nil if no record of the group has one.
  ///
  /// Nil and NaN are skipped. The value is that of an index key: 0.0 for -0.0, and a text in its composed
  /// form.
  public static func min<Field: IndexKey & Sendable>(
    _ field: any KeyPath<R, Field> & Sendable
  ) -> GroupAggregate where Value == Field? {
    extreme("min", field, descends: false)
  }

  /// The greatest value of a field; nil if no record of the group has one. Otherwise like
  /// `min`.
  public static func max<Field: IndexKey & Sendable>(
    _ field: any KeyPath<R, Field> & Sendable
  ) -> GroupAggregate where Value == Field? {
    extreme("max", field, descends: true)
  }

  /// The least value of an optional field; nil if no record of the group has one.
  public static func min<Wrapped: IndexKey & Sendable>(
    _ field: any KeyPath<R, Wrapped?> & Sendable
  ) -> GroupAggregate where Value == Wrapped? {
    unwrapped("min", field, descends: false)
  }

  /// The greatest value of an optional field; nil if no record of the group has one.
  public static func max<Wrapped: IndexKey & Sendable>(
    _ field: any KeyPath<R, Wrapped?> & Sendable
  ) -> GroupAggregate where Value == Wrapped? {
    unwrapped("max", field, descends: true)
  }

  private static func extreme<Field: IndexKey & Sendable>(
    _ name: String, _ field: any KeyPath<R, Field> & Sendable, descends: Bool
  ) -> GroupAggregate where Value == Field? {
    let reference = TypedField.of(field)
    return GroupAggregate("\(name)(\(reference.name))", reference) {
      ExtremeColumn(field, descends: descends) { $0 }
    }
  }

  private static func unwrapped<Wrapped: IndexKey & Sendable>(
    _ name: String, _ field: any KeyPath<R, Wrapped?> & Sendable, descends: Bool
  ) -> GroupAggregate where Value == Wrapped? {
    let reference = TypedField.of(field)
    return GroupAggregate("\(name)(\(reference.name))", reference) {
      ExtremeColumn(field, descends: descends) { $0 ?? nil }
    }
  }
}
