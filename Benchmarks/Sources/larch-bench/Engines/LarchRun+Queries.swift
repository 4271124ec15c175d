import Larch
import Workload

extension LarchRun {
  @inline(__always)
  static func find<R: QueriedRecord>(
    _ type: R.Type, emails: [String], in store: Store
  ) throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult(rows: 0, checksum: 0)
      for email in emails {
        guard let person = try R.find(email: email, in: tx) else {
          throw BenchmarkError("no \(type) has the e-mail \(email)")
        }
        result.add(person)
      }
      return result
    }
  }

  /// A query for each of the values, all in one read; the queries are made here, as a user would.
  @inline(__always)
  static func fetch<R: QueriedRecord, Value>(
    _ values: [Value], in store: Store, _ query: (Value) -> Query<R>
  ) throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult(rows: 0, checksum: 0)
      for value in values {
        for person in try tx.fetch(query(value)) { result.add(person) }
      }
      return result
    }
  }

  @inline(__always)
  static func fetch<R: QueriedRecord>(
    in store: Store, _ query: () -> Query<R>
  ) throws -> QueryResult {
    var result = QueryResult(rows: 0, checksum: 0)
    for person in try store.read({ tx in try tx.fetch(query()) }) { result.add(person) }
    return result
  }

  @inline(__always)
  static func count<R: QueriedRecord>(
    in store: Store, _ query: () -> Query<R>
  ) throws -> QueryResult {
    let count = UInt64(try store.read { tx in try tx.count(query()) })
    return QueryResult(rows: count, checksum: count)
  }
}
