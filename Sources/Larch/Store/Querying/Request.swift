/// A request for rows of a store: a value that reads nothing until it is run.
///
/// ```swift
/// let adults = Person.where { $0.age >= 18 }           // Query: records
/// let names = adults.select(\.name)                    // Selection: values of their fields
/// let people = acme.related(\Person.companyID)         // Related: records that belong to another
/// let staff = adults.joined(with: Company.all, on: \.companyID)   // Join: pairs
/// let companies = Company.all.with(Company.people)     // WithRelated: records with their own
/// let all = Family<any Vehicle>(Car.all, Truck.all)    // Family: records of several types
/// let cities = adults.sectioned(by: \.city)            // Sectioned: records in sections
/// let sizes = adults.grouped(by: \.city).select(.count)  // Grouped: aggregates of groups
/// let named = adults.changes(of: \.name)               // ChangesOf: records, for an observer
/// ```
///
/// The same verbs run all of them. They are methods of every reader (``RecordReading``) and of the
/// request: `store.fetch(adults)` and `adults.fetch(in: store)` are the same.
///
/// Only these types conform.
///
/// ## Topics
/// - ``fetch(in:)``
/// - ``first(in:)``
/// - ``count(in:)``
/// - ``exists(in:)``
/// - ``forEach(in:_:)``
/// - ``explain(in:counting:running:)``
/// - ``observe(in:every:ignoring:delivery:)``
public protocol Request<Row>: Sendable {
  /// The type of one result: a record, a value, or a tuple.
  associatedtype Row

  /// How it is run. Implemented by Larch; you never call it.
  @_documentation(visibility: private)
  static var _runner: _RequestRunner<Self> { get }
}

/// How Larch runs a request. You never make one and never use one.
@_documentation(visibility: private)
public struct _RequestRunner<Q: Request> {
  @usableFromInline let runs: any RequestRunning<Q>.Type

  @inlinable  // As the verbs below.
  init(_ runs: any RequestRunning<Q>.Type) { self.runs = runs }
}

/// The verbs of a request of one type, as functions of it.
@usableFromInline
protocol RequestRunning<Asked> {
  associatedtype Asked: Request

  static func fetch(_ request: Asked, in tx: ReadTransaction) throws -> [Asked.Row]
  static func fetch(
    _ request: Asked, in tx: ReadTransaction, noting digest: RowDigest
  ) throws -> [Asked.Row]
  static func first(_ request: Asked, in tx: ReadTransaction) throws -> Asked.Row?
  static func count(_ request: Asked, in tx: ReadTransaction) throws -> Int
  static func exists(_ request: Asked, in tx: ReadTransaction) throws -> Bool
  static func forEach(
    _ request: Asked, in tx: ReadTransaction, _ body: (Asked.Row) throws -> Void
  ) throws
  static func explain(
    _ request: Asked, in tx: ReadTransaction, counting: Bool, running: Bool
  ) throws -> String
}

/// What each type of requests does.
@usableFromInline
protocol RunnableRequest: Request {
  /// All rows.
  func allRows(in tx: ReadTransaction) throws -> [Row]

  /// All rows, for an observer. Rows of records are added to the digest as they are stored.
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row]

  /// The first row.
  func firstRow(in tx: ReadTransaction) throws -> Row?

  /// The number of rows.
  func rowCount(in tx: ReadTransaction) throws -> Int

  /// Whether there is a row.
  func hasRow(in tx: ReadTransaction) throws -> Bool

  /// Calls with each row.
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws

  /// The plan as text.
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String
}

/// The verbs of the requests of one type. An existential with a request would copy it to the heap
/// for each run. This has no value, and the compiler of a caller sees through it.
@usableFromInline
enum RequestRuns<Q: RunnableRequest>: RequestRunning {
  @inlinable  // As the verbs below.
  static func fetch(_ request: Q, in tx: ReadTransaction) throws -> [Q.Row] {
    try request.allRows(in: tx)
  }

  @usableFromInline
  static func fetch(
    _ request: Q, in tx: ReadTransaction, noting digest: RowDigest
  ) throws -> [Q.Row] {
    try request.observedRows(in: tx, noting: digest)
  }

  @inlinable  // As the verbs below.
  static func first(_ request: Q, in tx: ReadTransaction) throws -> Q.Row? {
    try request.firstRow(in: tx)
  }

  @inlinable  // As the verbs below.
  static func count(_ request: Q, in tx: ReadTransaction) throws -> Int {
    try request.rowCount(in: tx)
  }

  @inlinable  // As the verbs below.
  static func exists(_ request: Q, in tx: ReadTransaction) throws -> Bool {
    try request.hasRow(in: tx)
  }

  @inlinable  // As the verbs below.
  static func forEach(
    _ request: Q, in tx: ReadTransaction, _ body: (Q.Row) throws -> Void
  ) throws {
    try request.visitRows(in: tx, body)
  }

  @inlinable  // As the verbs below.
  static func explain(
    _ request: Q, in tx: ReadTransaction, counting: Bool, running: Bool
  ) throws -> String {
    try request.planText(in: tx, counting: counting, running: running)
  }
}

// Each verb can be inlined, so that it costs the caller only the request's own code: the caller's
// compiler knows the type of the request, while Larch is compiled once for all types.

extension RecordReading {
  /// The rows of the request, in its order.
  ///
  /// ```swift
  /// let adults = try store.fetch(Person.where { $0.age >= 18 }.sorted(by: \.name))
  /// for (name, age) in try store.fetch(Person.select(\.name, \.age)) { print(name, age) }
  /// ```
  ///
  /// - Throws: `.invalidQuery` for an invalid request, `.checksumMismatch` or `.decodingFailed` for
  ///   a stored record that cannot be read, `.unknownCollection`; for related records
  ///   `.unknownAssociation` if no open type declares the association, and `.unsavedReference` if
  ///   the owner was never saved.
  /// - Complexity: that of the plan (see ``explain(_:counting:running:)``): with a suitable index,
  ///   O(log n) and the rows returned; without one, all records. A list of related records takes
  ///   one search, and one for each record; a join takes the rows of one side, each with one
  ///   look-up on the other. A ``Selection`` decodes no record for standard types, and reads none
  ///   if an index has all the fields. ``WithRelated`` takes a search for each record of the query
  ///   and one for each related record, which is read and decoded once. A ``Family`` takes that of
  ///   its queries.
  @inlinable  // As above.
  public func fetch<Q: Request>(_ request: Q) throws -> [Q.Row] {
    try _reading { try Q._runner.runs.fetch(request, in: $0) }
  }

  /// The first row in the order of the request, or nil.
  ///
  /// ```swift
  /// let oldest = try store.first(Person.all.sorted(by: \.age, .descending))
  /// let company = try store.first(ada.related(Person.company))
  /// ```
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: stops at the first row, if no sort is needed.
  @inlinable  // As above.
  public func first<Q: Request>(_ request: Q) throws -> Q.Row? {
    try _reading { try Q._runner.runs.first(request, in: $0) }
  }

  /// The number of rows that ``fetch(_:)`` would return. Reads no record if an index is enough.
  ///
  /// ```swift
  /// let people = try store.count(Person.all)
  /// ```
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: O(1) for all records of a type; the distinct keys of the range if one index
  ///   answers the whole filter; one search for a list of related records; otherwise that of
  ///   ``fetch(_:)`` without a sort, with decoding only if the filter needs it.
  @inlinable  // As above.
  public func count<Q: Request>(_ request: Q) throws -> Int {
    try _reading { try Q._runner.runs.count(request, in: $0) }
  }

  /// Whether ``fetch(_:)`` would return any row.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: stops at the first match, unless indexes are intersected: then their ids are
  ///   read first.
  @inlinable  // As above.
  public func exists<Q: Request>(_ request: Q) throws -> Bool {
    try _reading { try Q._runner.runs.exists(request, in: $0) }
  }

  /// Calls the closure with each row, in the order of the request.
  ///
  /// It makes no array of all rows. In a write transaction the closure may change records: the loop
  /// visits the records that matched at its beginning, in their current state, without those that
  /// were deleted meanwhile. For a ``Selection``, a ``Join`` and ``WithRelated`` in a write, and
  /// for a ``Family``, all rows are read before the first call.
  ///
  /// - Throws: the errors of `body` and of ``fetch(_:)``.
  /// - Complexity: constant memory if the plan yields the order of the request; otherwise, and for
  ///   the records of a query in every write transaction, the memory of the ids: 8 to 16 bytes per
  ///   record for assigned and integer ids. A sort that is larger than 64 MiB goes through a
  ///   temporary file. A join may hold a table of its inner side in memory, and ``WithRelated`` the
  ///   related records that several share.
  @inlinable  // As above.
  public func forEach<Q: Request>(_ request: Q, _ body: (Q.Row) throws -> Void) throws {
    try _reading { try Q._runner.runs.forEach(request, in: $0, body) }
  }

  /// The plan of the request, as text.
  ///
  /// ```swift
  /// print(try store.explain(query))
  /// print(try store.explain(query, counting: true))  // often from an index alone
  /// ```
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - counting: whether to show the plan of ``count(_:)`` instead of that of ``fetch(_:)``.
  ///   - running: whether to run the request, and to add the numbers of index entries and records
  ///     read and of rows returned.
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: a few searches in the indexes, without running.
  @inlinable  // As above.
  public func explain<Q: Request>(
    _ request: Q, counting: Bool = false, running: Bool = false
  ) throws -> String {
    try _reading {
      try Q._runner.runs.explain(request, in: $0, counting: counting, running: running)
    }
  }
}

extension Request {
  /// The rows, in the order of the request. See ``RecordReading/fetch(_:)``.
  ///
  /// ```swift
  /// let adults = try Person.where { $0.age >= 18 }.fetch(in: store)
  /// ```
  ///
  /// - Throws: the errors of ``RecordReading/fetch(_:)``; `.noDefaultStore` without a store.
  /// - Complexity: that of ``RecordReading/fetch(_:)``.
  @inlinable  // As above.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> [Row] {
    try reader._reading { try Self._runner.runs.fetch(self, in: $0) }
  }

  /// The first row, or nil. See ``RecordReading/first(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: stops at the first row, if no sort is needed.
  @inlinable  // As above.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> Row? {
    try reader._reading { try Self._runner.runs.first(self, in: $0) }
  }

  /// The number of rows. See ``RecordReading/count(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: that of ``RecordReading/count(_:)``.
  @inlinable  // As above.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader._reading { try Self._runner.runs.count(self, in: $0) }
  }

  /// Whether there is any row. See ``RecordReading/exists(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: stops at the first match.
  @inlinable  // As above.
  public func exists(in reader: some RecordReading = AmbientStore()) throws -> Bool {
    try reader._reading { try Self._runner.runs.exists(self, in: $0) }
  }

  /// Calls the closure with each row. See ``RecordReading/forEach(_:_:)``.
  ///
  /// - Throws: the errors of `body` and of ``fetch(in:)``.
  /// - Complexity: that of ``RecordReading/forEach(_:_:)``.
  @inlinable  // As above.
  public func forEach(
    in reader: some RecordReading = AmbientStore(), _ body: (Row) throws -> Void
  ) throws {
    try reader._reading { try Self._runner.runs.forEach(self, in: $0, body) }
  }

  /// The plan of the request, as text. See ``RecordReading/explain(_:counting:running:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  @inlinable  // As above.
  public func explain(
    in reader: some RecordReading = AmbientStore(), counting: Bool = false, running: Bool = false
  ) throws -> String {
    try reader._reading {
      try Self._runner.runs.explain(self, in: $0, counting: counting, running: running)
    }
  }
}
