/// Records of several types in one request, merged by their common order.
///
/// The types share a protocol that refines ``Record``. What they have in common is written once, as a
/// method of that protocol, so the compiler checks it for each type, and each uses its own indexes:
///
/// ```swift
/// protocol Vehicle: Record {
///   var wheels: Int { get }
///   static var wheelsField: any KeyPath<Self, Int> & Sendable { get }
/// }
/// extension Vehicle {
///   static func withWheels(_ least: Int) -> Query<Self> {
///     Self.where { $0[wheelsField] >= least }.sorted(by: wheelsField)
///   }
/// }
/// let vehicles = Family<any Vehicle>(Car.withWheels(4), Truck.withWheels(4)).limit(10)
/// for vehicle in try store.fetch(vehicles) { print(vehicle.wheels) }
/// ```
///
/// The queries must have the same order: the same number of fields, of the same types and in the same
/// directions. Records that are equal in it come in the order of the queries, and those of one query in
/// its own order. Limits and offsets of a query count its own records, before they are merged.
public struct Family<Row>: Sendable {
  let members: [FamilyMember<Row>]
  private(set) var limit: Int?
  private(set) var offset = 0

  /// The records of these queries.
  ///
  /// Running it throws `.invalidQuery` if the queries have different orders, or if a record is no
  /// `Row`.
  public init<each R: Record>(_ queries: repeat Query<each R>) {
    var members: [FamilyMember<Row>] = []
    repeat members.append(QueriedMember(each queries))
    self.members = members
  }

  private init(_ members: [FamilyMember<Row>], limit: Int?, offset: Int) {
    self.members = members
    self.limit = limit
    self.offset = offset
  }

  /// Keeps only the records for which a closure returns true, as ``Query/filter(_:)`` of each query
  /// does; it decodes each record that passes the other conditions.
  public func filter(_ isIncluded: @escaping @Sendable (Row) -> Bool) -> Family {
    Family(members.map { $0.filtered(isIncluded) }, limit: limit, offset: offset)
  }

  /// Limits the number of records of all types together; replaces an earlier limit. A negative number
  /// makes the request throw `.invalidQuery` when it runs.
  public func limit(_ count: Int) -> Family { Family(members, limit: count, offset: offset) }

  /// Skips the first records of all types together; replaces an earlier offset. A negative number
  /// makes the request throw `.invalidQuery` when it runs.
  public func offset(_ count: Int) -> Family { Family(members, limit: limit, offset: count) }
}

extension Family: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Family: RunnableRequest {
  /// The records.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] { try merged(in: tx, noting: nil) }

  /// The records, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try merged(in: tx, noting: digest)
  }

  /// The first record.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    try limit(min(limit ?? 1, 1)).merged(in: tx, noting: nil).first
  }

  /// The number of records.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    try check()
    let all = try members.reduce(0) { try $0 + $1.count(in: tx) }
    return min(max(0, all - offset), limit ?? .max)
  }

  /// Whether there is a record.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    try check()
    if limit == 0 { return false }
    if offset > 0 { return try rowCount(in: tx) > 0 }
    return try members.contains { try $0.exists(in: tx) }
  }

  /// Calls with each record; all are read first.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    for row in try allRows(in: tx) { try body(row) }
  }

  /// The plan of each query, and how they are merged.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try check()
    var lines: [String] = []
    for member in members {
      lines.append(member.collection)
      let plan = try member.explain(in: tx, atMost: reach, counting: counting, running: running)
      lines += plan.split(separator: "\n").map { "  " + $0 }
    }
    if counting { return lines.joined(separator: "\n") }
    let names = members.first?.order.map(\.field.name) ?? []
    lines.append(
      names.isEmpty ? "one after the other" : "merged by " + names.joined(separator: ", "))
    if offset > 0 { lines.append("offset \(offset)") }
    if let limit { lines.append("limit \(limit)") }
    return lines.joined(separator: "\n")
  }

  /// How many records of one type can be among the results.
  private var reach: Int? {
    guard let limit else { return nil }
    let (reach, isTooLarge) = limit.addingReportingOverflow(offset)
    return isTooLarge ? nil : reach
  }

  private func check() throws {
    guard limit ?? 0 >= 0, offset >= 0 else {
      throw LarchError(.invalidQuery, "A limit or an offset is negative; use 0 or more.")
    }
    guard let first = members.first else { return }
    for other in members where !other.isOrdered(as: first) {
      let names = (first.collection, other.collection)
      throw LarchError(
        .invalidQuery,
        "The queries of a family have different orders; sort each by fields of the same types, in the same directions."
      ) {
        $0.collection = names.0
        $0.detail = names.1
      }
    }
  }

  private func merged(in tx: ReadTransaction, noting digest: RowDigest?) throws -> [Row] {
    try check()
    var sources = try members.map {
      try $0.rows(in: tx, atMost: reach, isNoting: digest != nil)[...]
    }
    var rows: [Row] = []
    var toSkip = offset
    while rows.count < limit ?? .max {
      var next: Int?
      for place in sources.indices {
        guard let candidate = sources[place].first else { continue }
        if let best = next, let first = sources[best].first, candidate.key >= first.key { continue }
        next = place
      }
      guard let next, let row = sources[next].popFirst() else { break }
      if toSkip > 0 {
        toSkip -= 1
        continue
      }
      rows.append(row.value)
      digest?.add(count: next)
      digest?.add(content: row.hash)
    }
    return rows
  }
}
