/// Aggregates of the records of a query, group by group: those with the same values of some fields are a
/// group.
///
/// ```swift
/// let cities = Person.where { $0.age >= 18 }
///   .grouped(by: \.city)
///   .select(.count, .average(\.age))
///   .having { $0.1 >= 10 }
///   .sorted { $0.1 > $1.1 }
/// for (city, count, age) in try store.fetch(cities) { print(city, count, age ?? 0) }
/// ```
///
/// A row is a tuple of the `key`, which is the value of the field or a tuple of the values of several, and
/// the aggregates. Rows come in the order of the fields, each ascending. Running it keeps all groups in memory.
///
/// Created by `Grouping.select`.
public struct Grouped<R: Record, Row>: Sendable {
  let query: Query<R>
  let parts: GroupParts<R, Row>
  private(set) var conditions: [@Sendable (Row) throws -> Bool] = []
  private(set) var areInOrder: (@Sendable (Row, Row) throws -> Bool)?
  private(set) var limit: Int?
  private(set) var offset = 0

  fileprivate init(_ query: Query<R>, _ parts: GroupParts<R, Row>) {
    self.query = query
    self.parts = parts
  }

  /// Keeps only the groups whose row meets the condition, which is any Swift.
  public func having(_ condition: @escaping @Sendable (Row) throws -> Bool) -> Grouped {
    with { $0.conditions.append(condition) }
  }

  /// Sorts the rows as `sorted(by:)` of an array does; replaces an earlier order. Rows of which neither
  /// comes first stay in the order of the fields.
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Row, Row) throws -> Bool
  ) -> Grouped {
    with { $0.areInOrder = areInIncreasingOrder }
  }

  /// Limits the number of groups, after conditions and order; replaces an earlier limit. A negative number
  /// makes the request throw `.invalidQuery` when it runs.
  public func limit(_ count: Int) -> Grouped { with { $0.limit = count } }

  /// Skips the first groups; replaces an earlier offset. A negative number makes the request throw
  /// `.invalidQuery` when it runs.
  public func offset(_ count: Int) -> Grouped { with { $0.offset = count } }

  private func with(_ change: (inout Grouped) -> Void) -> Grouped {
    var grouped = self
    change(&grouped)
    return grouped
  }
}

/// The records of a query in groups, of which `select` chooses the aggregates: up to six.
///
/// Created by ``Query/grouped(by:)``.
public struct Grouping<R: Record, Key>: Sendable {
  fileprivate let query: Query<R>
  fileprivate let fields: [FieldReference]
  /// How two keys are compared.
  fileprivate let equality: GroupEquality<Key>
  /// Begins a run; returns what makes the key of a group.
  fileprivate let begin: @Sendable (inout GroupColumns<R>) -> (Int) throws -> Key

  fileprivate init(
    query: Query<R>, fields: [FieldReference], equality: GroupEquality<Key>,
    begin: @escaping @Sendable (inout GroupColumns<R>) -> (Int) throws -> Key
  ) {
    self.query = query
    self.fields = fields
    self.equality = equality
    self.begin = begin
  }

  /// - Parameter makeRow: begins a run; returns what makes the row of a group.
  fileprivate func request<Row>(
    _ aggregates: [AggregateDescription],
    _ makeRow:
      @escaping @Sendable (
        _ key: @escaping (Int) throws -> Key, _ columns: inout GroupColumns<R>
      ) -> (Int) throws -> Row
  ) -> Grouped<R, Row> {
    let begin = begin
    return Grouped(
      query,
      GroupParts(
        fields: fields, aggregates: aggregates, comparison: equality.rows(aggregates.map(\.type))
      ) {
        var columns = GroupColumns<R>()
        let key = begin(&columns)
        let row = makeRow(key, &columns)
        return GroupRun(table: GroupTable(columns.fields, columns.aggregates), row: row)
      })
  }
}

extension Grouping {
  /// An aggregate of each group.
  ///
  /// ```swift
  /// let sales = Order.all.grouped(by: \.city).select(.sum(\.amount))
  /// for (city, sum) in try store.fetch(sales) { print(city, sum) }
  /// ```
  public func select<A: Sendable>(
    _ a: GroupAggregate<R, A>
  ) -> Grouped<R, (key: Key, A)> {
    request([a.described]) { key, columns in
      let a = columns.begin(a)
      return { (key: try key($0), try a.value(of: $0)) }
    }
  }

  /// Two aggregates of each group.
  public func select<A: Sendable, B: Sendable>(
    _ a: GroupAggregate<R, A>, _ b: GroupAggregate<R, B>
  ) -> Grouped<R, (key: Key, A, B)> {
    request([a.described, b.described]) { key, columns in
      let (a, b) = (columns.begin(a), columns.begin(b))
      return { (key: try key($0), try a.value(of: $0), try b.value(of: $0)) }
    }
  }

  /// Three aggregates of each group.
  public func select<A: Sendable, B: Sendable, C: Sendable>(
    _ a: GroupAggregate<R, A>, _ b: GroupAggregate<R, B>, _ c: GroupAggregate<R, C>
  ) -> Grouped<R, (key: Key, A, B, C)> {
    request([a.described, b.described, c.described]) { key, columns in
      let (a, b, c) = (columns.begin(a), columns.begin(b), columns.begin(c))
      return { (key: try key($0), try a.value(of: $0), try b.value(of: $0), try c.value(of: $0)) }
    }
  }

  /// Four aggregates of each group.
  public func select<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ a: GroupAggregate<R, A>, _ b: GroupAggregate<R, B>, _ c: GroupAggregate<R, C>,
    _ d: GroupAggregate<R, D>
  ) -> Grouped<R, (key: Key, A, B, C, D)> {
    request([a.described, b.described, c.described, d.described]) { key, columns in
      let (a, b, c, d) = (columns.begin(a), columns.begin(b), columns.begin(c), columns.begin(d))
      return {
        (
          key: try key($0), try a.value(of: $0), try b.value(of: $0), try c.value(of: $0),
          try d.value(of: $0)
        )
      }
    }
  }

  /// Five aggregates of each group.
  public func select<A: Sendable, B: Sendable, C: Sendable, D: Sendable, E: Sendable>(
    _ a: GroupAggregate<R, A>, _ b: GroupAggregate<R, B>, _ c: GroupAggregate<R, C>,
    _ d: GroupAggregate<R, D>, _ e: GroupAggregate<R, E>
  ) -> Grouped<R, (key: Key, A, B, C, D, E)> {
    request([a.described, b.described, c.described, d.described, e.described]) { key, columns in
      let (a, b, c, d, e) = (
        columns.begin(a), columns.begin(b), columns.begin(c), columns.begin(d), columns.begin(e)
      )
      return {
        (
          key: try key($0), try a.value(of: $0), try b.value(of: $0), try c.value(of: $0),
          try d.value(of: $0), try e.value(of: $0)
        )
      }
    }
  }

  /// Six aggregates of each group.
  public func select<A: Sendable, B: Sendable, C: Sendable, D: Sendable, E: Sendable, F: Sendable>(
    _ a: GroupAggregate<R, A>, _ b: GroupAggregate<R, B>, _ c: GroupAggregate<R, C>,
    _ d: GroupAggregate<R, D>, _ e: GroupAggregate<R, E>,
    _ f: GroupAggregate<R, F>
  ) -> Grouped<R, (key: Key, A, B, C, D, E, F)> {
    request([a.described, b.described, c.described, d.described, e.described, f.described]) {
      key, columns in
      let (a, b, c, d, e, f) = (
        columns.begin(a), columns.begin(b), columns.begin(c), columns.begin(d), columns.begin(e),
        columns.begin(f)
      )
      return {
        (
          key: try key($0), try a.value(of: $0), try b.value(of: $0), try c.value(of: $0),
          try d.value(of: $0), try e.value(of: $0), try f.value(of: $0)
        )
      }
    }
  }
}

extension Query {
  /// The records with the same value of a field, as a group each. `select` then chooses the aggregates of each
  /// group.
  ///
  /// ```swift
  /// let sales = Order.all.grouped(by: \.city).select(.count, .sum(\.amount))
  /// for (city, count, sum) in try store.fetch(sales) { print(city, count, sum) }
  /// ```
  ///
  /// Nil counts as a value, and all NaN as one. Values that are equal are one group, and the group has the
  /// value of their keys: 0.0 for -0.0, and a text in its composed form. A limit and an offset of this query
  /// count records; those after `select` count groups.
  public func grouped<First: IndexKey & Sendable>(
    by first: any KeyPath<R, First> & Sendable
  ) -> Grouping<R, First> {
    let first = GroupField(first)
    return Grouping(query: self, fields: [first.reference], equality: .key(First.self)) { columns in
      let first = columns.begin(first)
      return { first.values[$0] }
    }
  }

  /// The records with the same values of two fields, as a group each, whose key is a tuple of them.
  /// Otherwise like ``grouped(by:)``.
  ///
  /// ```swift
  /// let sales = Order.all.grouped(by: \.city, \.year).select(.count)
  /// for ((city, year), count) in try store.fetch(sales) { print(city, year, count) }
  /// ```
  public func grouped<First: IndexKey & Sendable, Second: IndexKey & Sendable>(
    by first: any KeyPath<R, First> & Sendable,
    _ second: any KeyPath<R, Second> & Sendable
  ) -> Grouping<R, (First, Second)> {
    let first = GroupField(first)
    let second = GroupField(second)
    return Grouping(
      query: self, fields: [first.reference, second.reference],
      equality: .tuple(of: [First.self, Second.self])
    ) { columns in
      let (first, second) = (columns.begin(first), columns.begin(second))
      return { (first.values[$0], second.values[$0]) }
    }
  }

  /// The records with the same values of three fields, as a group each, whose key is a tuple of them.
  /// Otherwise like ``grouped(by:)``.
  public func grouped<
    First: IndexKey & Sendable, Second: IndexKey & Sendable, Third: IndexKey & Sendable
  >(
    by first: any KeyPath<R, First> & Sendable,
    _ second: any KeyPath<R, Second> & Sendable,
    _ third: any KeyPath<R, Third> & Sendable
  ) -> Grouping<R, (First, Second, Third)> {
    let first = GroupField(first)
    let second = GroupField(second)
    let third = GroupField(third)
    return Grouping(
      query: self, fields: [first.reference, second.reference, third.reference],
      equality: .tuple(of: [First.self, Second.self, Third.self])
    ) { columns in
      let (first, second, third) = (
        columns.begin(first), columns.begin(second), columns.begin(third)
      )
      return { (first.values[$0], second.values[$0], third.values[$0]) }
    }
  }

  /// The records with the same values of four fields, as a group each, whose key is a tuple of them.
  /// Otherwise like ``grouped(by:)``.
  public func grouped<
    First: IndexKey & Sendable, Second: IndexKey & Sendable, Third: IndexKey & Sendable,
    Fourth: IndexKey & Sendable
  >(
    by first: any KeyPath<R, First> & Sendable,
    _ second: any KeyPath<R, Second> & Sendable,
    _ third: any KeyPath<R, Third> & Sendable,
    _ fourth: any KeyPath<R, Fourth> & Sendable
  ) -> Grouping<R, (First, Second, Third, Fourth)> {
    let first = GroupField(first)
    let second = GroupField(second)
    let third = GroupField(third)
    let fourth = GroupField(fourth)
    return Grouping(
      query: self, fields: [first.reference, second.reference, third.reference, fourth.reference],
      equality: .tuple(of: [First.self, Second.self, Third.self, Fourth.self])
    ) { columns in
      let (first, second, third, fourth) = (
        columns.begin(first), columns.begin(second), columns.begin(third), columns.begin(fourth)
      )
      return { (first.values[$0], second.values[$0], third.values[$0], fourth.values[$0]) }
    }
  }

  /// Not available: a field of a related record.
  @available(
    *, unavailable,
    message:
      "only fields of the record itself make groups; for those of related records, fetch the records `with` the association and group them in Swift"
  )
  @_disfavoredOverload
  public func grouped<Value>(by field: KeyPath<RelatedFields<R>, Value>) -> Grouping<R, R.ID> {
    grouped(by: \.id)
  }
}

extension RecordReading {
  /// Not available: groups of which nothing is chosen.
  @available(
    *, unavailable,
    message:
      "say what is wanted of each group, as in `grouped(by: \\.city).select(.count)`; for its records, use `sectioned(by:)`"
  )
  @_disfavoredOverload
  public func fetch<R: Record, Key>(_ groups: Grouping<R, Key>) throws -> [(Key, [R])] { [] }
}

/// A field by which records are grouped.
struct GroupField<R: Record, Value: IndexKey & Sendable>: Sendable {
  let keyPath: any KeyPath<R, Value> & Sendable
  let reference: FieldReference

  init(_ keyPath: any KeyPath<R, Value> & Sendable) {
    self.keyPath = keyPath
    reference = TypedField.of(keyPath)
  }
}

/// What is begun for a run.
struct GroupColumns<R: Record> {
  private(set) var fields: [AnyGroupColumn] = []
  private(set) var aggregates: [AnyAggregateColumn] = []

  mutating func begin<Value>(_ field: GroupField<R, Value>) -> GroupColumn<R, Value> {
    let column = GroupColumn(field)
    fields.append(column)
    return column
  }

  mutating func begin<Value>(_ aggregate: GroupAggregate<R, Value>) -> AggregateColumn<Value> {
    let column = aggregate.makeColumn()
    aggregates.append(column)
    return column
  }
}

/// What a request for groups is made of, beside its query.
final class GroupParts<R: Record, Row>: Sendable {
  let fields: [FieldReference]
  let aggregates: [AggregateDescription]
  let comparison: ValueComparison<[Row]>
  /// Begins with no groups.
  let make: @Sendable () -> GroupRun<R, Row>

  /// Whether the order of the records matters to an aggregate.
  var needsOrder: Bool { aggregates.contains { $0.needsOrder } }

  init(
    fields: [FieldReference], aggregates: [AggregateDescription],
    comparison: ValueComparison<[Row]>,
    make: @escaping @Sendable () -> GroupRun<R, Row>
  ) {
    self.fields = fields
    self.aggregates = aggregates
    self.comparison = comparison
    self.make = make
  }
}

/// The groups of one run, and how a row is made of one.
struct GroupRun<R: Record, Row> {
  let table: GroupTable
  let row: (Int) throws -> Row
  /// What was read for them.
  var counters = ExecutionCounters()
}
