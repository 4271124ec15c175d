/// The records of a query, each with its related records of an association.
///
/// ```swift
/// for (company, people) in try store.fetch(Company.all.with(Company.people)) {
///   print(company.name, people.count)
/// }
/// ```
///
/// Created by `Query.with(_:from:)`. Everything is read in one pass over one snapshot. The related
/// records come in the order of their ids, or in the order of the list if the record itself has a
/// list of ids. Missing records are skipped. Through join records, each comes once.
public struct WithRelated<Owner: Record, Target: Record, Row>: Sendable {
  var query: Query<Owner>
  let route: AssociationRoute.Kind
  let targets: Query<Target>
  /// Makes the rows. It is one call for all of them: in code that is compiled once for all types,
  /// each call would look up the type of a row in the runtime.
  private let rows: @Sendable (RelatedRows<Owner, Target>) throws -> [Row]
  private let forEachRow:
    @Sendable (RelatedRows<Owner, Target>, (Row) throws -> Void) throws -> Void

  fileprivate init(
    _ query: Query<Owner>, _ route: AssociationRoute, _ targets: Query<Target>,
    rows: @escaping @Sendable (RelatedRows<Owner, Target>) throws -> [Row],
    forEachRow:
      @escaping @Sendable (RelatedRows<Owner, Target>, (Row) throws -> Void) throws -> Void
  ) {
    self.query = query
    self.route = route.kind
    self.targets = targets
    self.rows = rows
    self.forEachRow = forEachRow
  }
}

extension Query {
  /// The records, each with its related records of an association, as pairs of a record and an
  /// array.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records: its condition, order, limit and offset apply to
  ///     those of each record. It must not have a page token.
  public func with<A: ToManyAssociation>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<R, A.Target, (R, [A.Target])> where A.Owner == R {
    WithRelated(
      self, association._route, targets, rows: { try $0.withMany() },
      forEachRow: { try $0.forEachWithMany($1) })
  }

  /// The records, each with its related record of an association, or nil.
  ///
  /// ```swift
  /// for (person, company) in try store.fetch(Person.all.with(Person.company)) {
  ///   print(person.name, company?.name ?? "-")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records: a record that is not in this query becomes nil.
  public func with<A: ToOneAssociation>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<R, A.Target, (R, A.Target?)> where A.Owner == R {
    WithRelated(
      self, association._route, targets, rows: { try $0.withOne() },
      forEachRow: { try $0.forEachWithOne($1) })
  }
}

extension WithRelated: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension WithRelated: RunnableRequest {
  /// The pairs.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] {
    try tx.run(query, along: route, from: targets, rows)
  }

  /// The pairs, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try tx.run(query, along: route, from: targets) { related in
      related.digest = digest
      return try rows(related)
    }
  }

  /// The first pair.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    let first = query.with { $0 = $0.limitedToOne }
    return try tx.run(first, along: route, from: targets, rows).first
  }

  /// The number of pairs, which is that of the records of the query.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    try tx.check(query, along: route, from: targets)
    return try query.rowCount(in: tx)
  }

  /// Whether there is a pair.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    try tx.check(query, along: route, from: targets)
    return try query.hasRow(in: tx)
  }

  /// Calls with each pair; in a write all are read first, since the closure may change records.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for row in try allRows(in: tx) { try body(row) }
      return
    }
    try tx.run(query, along: route, from: targets) { try forEachRow($0, body) }
  }

  /// The plan of the query, and how it finds the related records.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try tx.check(query, along: route, from: targets)
    if counting { return try tx.explain(query, for: .count, running: running) }
    let text = try tx.explain(query, for: .records, running: false) + "\n" + relatedText
    guard running else { return text }
    return try tx.run(query, along: route, from: targets) { related in
      try forEachRow(related) { _ in }
      return text + "\n" + related.ownCounters.text + "\nrelated "
        + related.counters.examinedText
    }
  }

  private var relatedText: String {
    var lines = ["with \(Target.collectionName)"]
    let details = targets.details
    if !details.filter.isAlways { lines.append("filter " + details.filter.text) }
    if !details.order.isEmpty || details.idsDescend { lines.append("sort those of each record") }
    if details.offset > 0 { lines.append("offset \(details.offset) of each record") }
    if let limit = details.limit { lines.append("limit \(limit) for each record") }
    return lines.joined(separator: "\n  ")
  }
}

extension RelatedRows {
  fileprivate func withMany() throws -> [(Owner, [Target])] {
    let rows = RecordBuffer<(Owner, [Target])>()
    while try next() {
      let targets = try targets()
      rows.next().initialize(to: (try owner(), targets))
      rows.filled()
    }
    return rows.takeArray()
  }

  fileprivate func forEachWithMany(_ body: ((Owner, [Target])) throws -> Void) throws {
    while try next() {
      let targets = try targets()
      try body((try owner(), targets))
    }
  }

  fileprivate func withOne() throws -> [(Owner, Target?)] {
    let offset = Self.offset(of: Target?.self)
    let rows = RecordBuffer<(Owner, Target?)>()
    while try next() {
      let target = try target()
      let row = UnsafeMutableRawPointer(rows.next())
      try makeOwner(at: row)
      target.copy(to: row + offset)
      rows.filled()
    }
    return rows.takeArray()
  }

  fileprivate func forEachWithOne(_ body: ((Owner, Target?)) throws -> Void) throws {
    let offset = Self.offset(of: Target?.self)
    let memory = UnsafeMutablePointer<(Owner, Target?)>.allocate(capacity: 1)
    defer { memory.deallocate() }
    while try next() {
      let target = try target()
      let row = UnsafeMutableRawPointer(memory)
      try makeOwner(at: row)
      target.copy(to: row + offset)
      defer { memory.deinitialize(count: 1) }
      try body(memory.pointee)
    }
  }
}
