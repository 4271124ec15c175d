import CEngines
import Workload

/// SQLite with foreign keys on, each with an index.
final class SQLiteAssociations: AssociationEngine {
  private let store: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    try SQLiteEngine.check(bench_sqlite_links_open(path, &opened))
    guard let opened else { throw BenchmarkError("sqlite: open gave no store") }
    store = opened
  }

  func close() {
    bench_sqlite_links_close(store)
  }

  func addCompanies(_ count: Int) throws {
    try SQLiteEngine.check(bench_sqlite_links_add_companies(store, count))
  }

  func addSchool(students: Int, courses: Int) throws {
    try SQLiteEngine.check(bench_sqlite_links_add_school(store, students, courses))
  }

  func prepare(_ people: [WorkloadPerson]) -> NativePeople {
    NativePeople(people)
  }

  func insert(_ batch: inout NativePeople) throws {
    var last: Int64 = 0
    let people = bench_sqlite_links_people(store)
    try SQLiteEngine.check(
      bench_sqlite_insert(people, batch.people, batch.people.count, &last))
  }

  func settle() throws {
    try SQLiteEngine.check(bench_sqlite_checkpoint(bench_sqlite_links_people(store)))
  }

  func destroy(companies: [Int64]) throws {
    try SQLiteEngine.check(bench_sqlite_links_destroy(store, companies, companies.count))
  }

  func fingerprint() throws -> QueryResult {
    try result { bench_sqlite_links_fingerprint(store, &$0) }
  }

  func fetch(companies: Int) throws -> QueryResult {
    try result { bench_sqlite_links_fetch(store, companies, &$0) }
  }

  func prepare(_ links: [Link]) -> [bench_link] {
    links.map(\.native)
  }

  func add(_ links: [bench_link]) throws {
    try SQLiteEngine.check(bench_sqlite_links_add(store, links, links.count))
  }

  func links() throws -> QueryResult {
    try result { bench_sqlite_links_read(store, &$0) }
  }

  private func result(_ body: (inout bench_result) -> Int32) throws -> QueryResult {
    var result = bench_result()
    try SQLiteEngine.check(body(&result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }
}
