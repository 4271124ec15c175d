/// The records of a query in sections: those with the same value of a field together.
///
/// ```swift
/// for city in try store.fetch(Person.all.sectioned(by: \.city)) {
///   print(city.value, city.count)
/// }
/// ```
///
/// Created by `Query.sectioned(by:_:)`. Its rows are sections, so `count` gives their number.
public struct Sectioned<R: Record, Value: IndexKey & Sendable>: Sendable {
  /// Sorted by the field first.
  let query: Query<R>
  let field: any KeyPath<R, Value> & Sendable
  /// How the values of sections are compared.
  let order = ValueOrder<Value>()
}

/// The records of a request that have the same value of a field: a collection of them.
public struct RecordSection<R: Record, Value: IndexKey & Sendable>: Sendable {
  /// The value that all records of the section have; of values that are equal, that of its first
  /// record.
  public let value: Value
  /// The records, in the order of the query. There is at least one.
  public internal(set) var records: [R]
  /// Equal for the same section of two results.
  let key: [KeyValue]
}

extension RecordSection: RandomAccessCollection {
  /// The place of the first record.
  public var startIndex: Int { records.startIndex }
  /// The place after the last record.
  public var endIndex: Int { records.endIndex }
  /// The record at a place.
  public subscript(place: Int) -> R { records[place] }
}

extension RecordSection: Equatable where R: Equatable {
  /// Whether the value and all records are equal.
  public static func == (first: RecordSection, second: RecordSection) -> Bool {
    first.order(to: second) == 0 && first.records == second.records
  }
}

extension RecordSection {
  /// Below, above or equal to zero as its value comes before, after or at that of another section.
  func order(to other: RecordSection) -> Int { KeyValue.compare(key, other.key) }
}

extension Query {
  /// The records in sections, one for each value of a field.
  ///
  /// The sections come in the order of the field: nil first, and NaN after all numbers; reversed if
  /// descending. The records of a section have the order of this query. Values that are equal make
  /// one section, as do all NaN. A limit and an offset count records, not sections.
  ///
  /// An index that begins with the field gives the sections without a sort.
  public func sectioned<Value: IndexKey & Sendable>(
    by field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Sectioned<R, Value> {
    Sectioned(query: sorted(by: field, direction), field: field)
  }

  /// Not available: a field of a related record.
  @available(
    *, unavailable,
    message:
      "only a field of the record itself makes sections; for those of related records, sort by the field and group the records in Swift"
  )
  @_disfavoredOverload
  public func sectioned<Value>(
    by field: KeyPath<RelatedFields<R>, Value>, _ direction: SortDirection = .ascending
  ) -> Sectioned<R, R.ID> { Sectioned(query: self, field: \.id) }
}
