/// The records of a query, of which only some fields matter to an observer. Created by
/// ``Query/changes(of:_:)``.
///
/// To `fetch`, `count` and all other verbs it is the query itself.
public struct ChangesOf<R: Record>: Sendable {
  let query: Query<R>
  /// Their names, for `explain`.
  let names: [String]
  /// Whether these fields of two records are equal.
  let areSame: @Sendable (R, R) -> Bool
}

extension Query {
  /// The same records, for an observer to which only changes of these fields matter.
  ///
  /// ```swift
  /// for try await people in store.observe(Person.all.changes(of: \.name, \.city)) {
  ///   list.show(people.rows)
  /// }
  /// ```
  ///
  /// A value comes if records come, go or change their places, or if one of these fields of a record
  /// has changed. A change of another field alone gives no value; the next value has it. Fields are
  /// compared by `==`.
  ///
  /// If nothing but these fields is shown, observe them alone, `query.select(\.name, \.city)`: that
  /// decodes no records.
  public func changes<First: Equatable & Sendable, each Rest: Equatable & Sendable>(
    of first: any KeyPath<R, First> & Sendable, _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> ChangesOf<R> {
    let fields = ComparedFields(first, repeat each rest)
    return ChangesOf(query: self, names: fields.names, areSame: fields.areSame)
  }
}

/// Fields of records that are compared.
struct ComparedFields<R: Record> {
  private(set) var names: [String]
  let areSame: @Sendable (R, R) -> Bool

  init<First: Equatable & Sendable, each Rest: Equatable & Sendable>(
    _ first: any KeyPath<R, First> & Sendable, _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) {
    names = [FieldNode.of(first).name]
    for field in repeat each rest { names.append(FieldNode.of(field).name) }
    areSame = { (old: R, new: R) in
      guard old[keyPath: first] == new[keyPath: first] else { return false }
      for field in repeat each rest {
        guard old[keyPath: field] == new[keyPath: field] else { return false }
      }
      return true
    }
  }
}

extension ChangesOf: Request {
  /// A record.
  public typealias Row = R

  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension ChangesOf: RunnableRequest {
  /// The records.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [R] { try query.allRows(in: tx) }

  /// The records, for an observer, which compares them.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [R] {
    try allRows(in: tx)
  }

  /// The first record.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> R? { try query.firstRow(in: tx) }

  /// The number of records.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int { try query.rowCount(in: tx) }

  /// Whether there is a record.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool { try query.hasRow(in: tx) }

  /// Calls with each record.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (R) throws -> Void) throws {
    try query.visitRows(in: tx, body)
  }

  /// The plan of the query.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try query.planText(in: tx, counting: counting, running: running)
  }
}

/// A request whose records are compared by some fields.
protocol FieldwiseRequest {
  var names: [String] { get }
}

extension ChangesOf: FieldwiseRequest {}

extension ChangesOf: ComparedRequest, PatchedQuery, PatchedRows {
  var details: QueryDescription { query.details }

  /// Records are the same rows if their ids and these fields are equal.
  var rowComparison: ValueComparison<[R]> { .equality(FieldEquality(areSame: areSame)) }

  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [R] {
    try self.query.rows(of: query, in: tx, noting: places)
  }

  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> R {
    query.maker(access)
  }
}

/// Compares lists of records by their ids and some fields.
private struct FieldEquality<R: Record>: MemoryEquality {
  let areSame: @Sendable (R, R) -> Bool

  func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
    let old = a.assumingMemoryBound(to: [R].self).pointee
    let new = b.assumingMemoryBound(to: [R].self).pointee
    return old.elementsEqual(new) { $0.id == $1.id && areSame($0, $1) }
  }
}
