import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What queries look like when they are printed, and selections that are refined.
@Suite("Queries as text, selections as queries, plans as files")
struct QueryTextTests {
  struct Reader: Record {
    var id = RecordID<Reader>()
    var name: String
    var age: Int
    var city: String
    static let schema = Schema<Reader> { Index(\.city, \.age) }
  }

  private static func store() throws -> Store {
    let store = try Store.checked(for: Reader.self)
    try store.write { tx in
      for n in 0..<40 {
        var reader = Reader(name: "N\(n % 7)", age: n * 11 % 40, city: n % 3 == 0 ? "Oslo" : "Rome")
        try tx.insert(&reader)
      }
    }
    return store
  }

  @Test("A query is printed as it was written")
  func printed() throws {
    #expect("\(Reader.all)" == "Reader")
    #expect("\(Reader.all.reversed())" == "Reader\n  sort by id descending")
    let query = Reader.where { $0.city == "Oslo" && $0.age >= 18 }
      .sorted(by: \.age, .descending).offset(3).limit(20)
    #expect(
      query.description == """
        Reader
          filter city == "Oslo" && age >= 18
          sort by age descending
          offset 3
          limit 20
        """)
    #expect(
      query.select(\.name, \.age).distinct().description == query.description
        + "\n  select distinct name, age")
    let store = try Self.store()
    let token = try #require(try store.page(Reader.all.sorted(by: \.age).limit(1)).next)
    #expect(
      Reader.all.sorted(by: \.age).after(token).description
        == "Reader\n  sort by age\n  after 0, id 1")
    #expect(
      PlanText.withoutValues { query.after(token).description } == """
        Reader
          filter city == … && age >= …
          sort by age descending
          after …
          limit 20
        """)
  }

  @Test("What a query can say can be said after select too")
  func selections() throws {
    let store = try Self.store()
    let query = Reader.where { $0.city == "Rome" }
    let before = query.sorted(by: \.name, .descending).then(by: \.age).reversed().offset(2).limit(5)
      .select(\.name, \.age)
    let behind = Reader.select(\.name, \.age).where { $0.city == "Rome" }
      .sorted(by: \.name, .descending).then(by: \.age).reversed().offset(2).limit(5)
    let wanted = try store.fetch(before)
    let found = try store.fetch(behind)
    #expect(wanted.count == 5)
    #expect(found.map(\.0) == wanted.map(\.0) && found.map(\.1) == wanted.map(\.1))
    #expect(try store.fetch(Reader.select(\.age).sorted(by: \.age).limit(3)) == [0, 1, 2])
    #expect(try store.count(Reader.select(\.age).limit(3)) == 3)
    let token = try #require(try store.page(Reader.all.sorted(by: \.age).limit(4)).next)
    #expect(
      try store.fetch(Reader.select(\.age).sorted(by: \.age).after(token).limit(2)) == [4, 5])
    // Distinct results are counted.
    #expect(
      try store.fetch(Reader.select(\.city).distinct().sorted(by: \.city).limit(2)).count == 2)
  }

  @Test("A plan is written by one run and compared by the next ones")
  func recordedPlans() throws {
    let store = try Self.store()
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("plans-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let test = folder.appendingPathComponent("SomeTests.swift").path
    let oslo = Reader.where { $0.city == "Oslo" }.sorted(by: \.age).limit(3)
    func expect(_ query: Query<Reader>, isRecording: Bool = false) throws {
      try store.expectPlan(
        of: query, matches: "oslo.plan", isRecording: isRecording, file: test, line: 7)
    }
    let missing = try #require(throws: PlanDifference.self) { try expect(oslo) }
    #expect(missing.description.contains("SomeTests.swift:7"))
    #expect(missing.description.contains("LARCH_RECORD_PLANS=1"))
    try expect(oslo, isRecording: true)
    try expect(oslo)
    #expect(
      try String(contentsOf: folder.appendingPathComponent("Snapshots/oslo.plan"), encoding: .utf8)
        == store.explain(oslo, running: true) + "\n")
    let other = try #require(throws: PlanDifference.self) { try expect(oslo.limit(4)) }
    #expect(other.description.contains("limit 4"))
  }
}
