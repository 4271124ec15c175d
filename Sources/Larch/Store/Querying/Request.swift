/// A request for rows of a store: a value that reads nothing until it is run.
///
/// ```swift
/// let adults = Person.where { $0.age >= 18 }           // Query: records
/// let names = adults.select(\.name)                    // Selection: values of their fields
/// let people = acme.related(\Person.companyID)         // Related: records that belong to another
/// let staff = adults.joined(with: Company.self, on: \.companyID)   // Join: pairs
/// let companies = Company.all.with(Company.people)     // WithRelated: records with their own
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
public protocol Request<Row>: Sendable {
  /// What one result is: a record, a value, or a tuple.
  associatedtype Row

  /// All rows. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _fetch(in tx: ReadTransaction) throws -> [Row]

  /// The first row. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _first(in tx: ReadTransaction) throws -> Row?

  /// The number of rows. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _count(in tx: ReadTransaction) throws -> Int

  /// Whether there is a row. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _exists(in tx: ReadTransaction) throws -> Bool

  /// One row after the other. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _forEach(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws

  /// The plan as text. Met by Larch; never called by you.
  @_documentation(visibility: private)
  func _explain(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String
}

// Each verb can be inlined, so that it costs a caller nothing beside the request's own code: his
// compiler knows the type of the request, and Larch, which is compiled once for all, does not.

extension RecordReading {
  /// The rows of the request, in its order.
  ///
  /// ```swift
  /// let adults = try store.fetch(Person.where { $0.age >= 18 }.sorted(by: \.name))
  /// for (name, age) in try store.fetch(Person.select(\.name, \.age)) { print(name, age) }
  /// ```
  ///
  /// - Throws: `.invalidQuery` for a request that cannot be run as written, `.checksumMismatch` or
  ///   `.decodingFailed` for a stored record that cannot be read, `.unknownCollection`; for related
  ///   records `.unknownAssociation` when no open type declares the association, and
  ///   `.unsavedReference` when the owner was never saved.
  /// - Complexity: what the plan says (see ``explain(_:counting:running:)``): with an index that
  ///   fits, the logarithm of the collection and the rows returned; without, all records. A list
  ///   of related records takes one search, and one for each record; a join the rows of one side,
  ///   each with one look-up on the other. A ``Selection`` decodes no record for standard types, and
  ///   reads none where an index holds all the fields. ``WithRelated`` takes a search for each
  ///   record of the query and one for each related record, which is read and decoded once.
  @inlinable  // As above.
  public func fetch<Q: Request>(_ request: Q) throws -> [Q.Row] {
    try _reading { try request._fetch(in: $0) }
  }

  /// The first row in the order of the request, or nil.
  ///
  /// ```swift
  /// let oldest = try store.first(Person.all.sorted(by: \.age, .descending))
  /// let company = try store.first(ada.related(Person.company))
  /// ```
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: stops at the first row, where no sort is needed.
  @inlinable  // As above.
  public func first<Q: Request>(_ request: Q) throws -> Q.Row? {
    try _reading { try request._first(in: $0) }
  }

  /// How many rows ``fetch(_:)`` would return. Reads no record where an index tells.
  ///
  /// ```swift
  /// let people = try store.count(Person.all)
  /// ```
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: O(1) for all records of a type; the distinct keys of the range where one index
  ///   answers the whole filter; one search for a list of related records; else that of
  ///   ``fetch(_:)`` without any sort, but nothing is decoded that the filter need not decode.
  @inlinable  // As above.
  public func count<Q: Request>(_ request: Q) throws -> Int {
    try _reading { try request._count(in: $0) }
  }

  /// Whether ``fetch(_:)`` would return any row.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: stops at the first match, unless indexes are intersected: then their ids come
  ///   first.
  @inlinable  // As above.
  public func exists<Q: Request>(_ request: Q) throws -> Bool {
    try _reading { try request._exists(in: $0) }
  }

  /// Calls the closure with each row in the order of the request, one after the other.
  ///
  /// No array of all rows is made. In a write transaction the closure may change records: those
  /// that are visited are the ones that matched when the loop began, as they are when their turn
  /// comes, without those that were deleted meanwhile. The rows of a ``Selection``, a ``Join`` and
  /// ``WithRelated`` are all read before the first call there.
  ///
  /// - Throws: what `body` throws, and the errors of ``fetch(_:)``.
  /// - Complexity: constant memory where rows come in the order of the request; else, and for the
  ///   records of a query in every write transaction, the ids, which are 8 to 16 bytes a record for
  ///   assigned and integer ones. A sort that is larger than 64 MiB goes through a temporary file.
  ///   A join may hold a table of its inner side in memory, and ``WithRelated`` the related records
  ///   that several share.
  @inlinable  // As above.
  public func forEach<Q: Request>(_ request: Q, _ body: (Q.Row) throws -> Void) throws {
    try _reading { try request._forEach(in: $0, body) }
  }

  /// How the request would be answered, as text.
  ///
  /// ```swift
  /// print(try store.explain(query))
  /// print(try store.explain(query, counting: true))  // often from an index alone
  /// ```
  ///
  /// - Parameters:
  ///   - request: what is asked.
  ///   - counting: shows the plan of ``count(_:)`` in place of that of ``fetch(_:)``.
  ///   - running: runs the request, and tells how many index entries and records were looked at,
  ///     and how many rows returned.
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: a few searches in the indexes, without running.
  @inlinable  // As above.
  public func explain<Q: Request>(
    _ request: Q, counting: Bool = false, running: Bool = false
  ) throws -> String {
    try _reading { try request._explain(in: $0, counting: counting, running: running) }
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
    try reader._reading { try _fetch(in: $0) }
  }

  /// The first row, or nil. See ``RecordReading/first(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: stops at the first row, where no sort is needed.
  @inlinable  // As above.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> Row? {
    try reader._reading { try _first(in: $0) }
  }

  /// The number of rows. See ``RecordReading/count(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: that of ``RecordReading/count(_:)``.
  @inlinable  // As above.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader._reading { try _count(in: $0) }
  }

  /// Whether there is any row. See ``RecordReading/exists(_:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: stops at the first match.
  @inlinable  // As above.
  public func exists(in reader: some RecordReading = AmbientStore()) throws -> Bool {
    try reader._reading { try _exists(in: $0) }
  }

  /// Calls the closure with each row. See ``RecordReading/forEach(_:_:)``.
  ///
  /// - Throws: what `body` throws, and the errors of ``fetch(in:)``.
  /// - Complexity: that of ``RecordReading/forEach(_:_:)``.
  @inlinable  // As above.
  public func forEach(
    in reader: some RecordReading = AmbientStore(), _ body: (Row) throws -> Void
  ) throws {
    try reader._reading { try _forEach(in: $0, body) }
  }

  /// How the request would be answered. See ``RecordReading/explain(_:counting:running:)``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  @inlinable  // As above.
  public func explain(
    in reader: some RecordReading = AmbientStore(), counting: Bool = false, running: Bool = false
  ) throws -> String {
    try reader._reading { try _explain(in: $0, counting: counting, running: running) }
  }
}
