import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

@Suite("Plans that the server keeps for a connection", needsServer)
struct KeptPlansTests {
  /// A log on a server of its own, so that nobody else uses its connections.
  private func withLog(_ body: (PostgresLog) throws -> Void) throws {
    let server = try PostgresServer()
    let log = try server.log("main")
    defer { log.close() }
    try #require(try log.beginSome())
    try body(log)
  }

  /// The statements with names that the connection has, and how often a plan of them was used.
  private func kept(_ log: PostgresLog) throws -> [Int] {
    try log.call { connection in
      let rows = try connection.run(
        """
        SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE name LIKE 'larch%'
        ORDER BY 1
        """)
      return try (0..<rows.count).map { try rows.int($0, 0) }
    }
  }

  @Test("An append is planned once, and remains one round trip")
  func planned() throws {
    try withLog { log throws in
      var place = LogPlace.start
      func append(_ count: Int) throws -> Int {
        let next = entries(count, after: place)
        let before = log.roundTrips
        #expect(try log.append(next))
        place = try #require(next.last).place
        return log.roundTrips - before
      }
      #expect(try kept(log) == [])
      for _ in 0..<4 { #expect(try append(1) == 1) }
      #expect(try kept(log) == [3])
      for _ in 0..<3 { #expect(try append(7) == 1) }
      #expect(try kept(log) == [2, 3])
      // Now and then the server plans again.
      for _ in 0..<600 { #expect(try append(1) == 1) }
      #expect(try kept(log) == [2, 603])
      #expect(try log.allEntries().map(\.place.position) == (1...625).map { $0 })
      // Two by two, what loses its place is refused.
      #expect(try !log.append(entries(1, after: .start)))
      #expect(try !log.append(entries(3, after: .start)))
    }
  }

  @Test("Where a name is lost, the statement is run without one")
  func lost() throws {
    try withLog { log throws in
      let some = entries(6, after: .start)
      for entry in some[..<3] { #expect(try log.append([entry])) }
      // As a pooler does that nobody has noticed.
      try log.call { try $0.script("DEALLOCATE ALL") }
      for entry in some[3...] { #expect(try log.append([entry])) }
      #expect(try kept(log) == [])
      #expect(try log.allEntries().map(\.place) == some.map(\.place))
    }
  }

  @Test("A name that the session has already is used")
  func known() throws {
    try withLog { log throws in
      let some = entries(6, after: .start)
      for entry in some[..<3] { #expect(try log.append([entry])) }
      try log.call { $0.plans.forget() }
      for entry in some[3...] { #expect(try log.append([entry])) }
      #expect(try kept(log) == [2 + 2])
      #expect(try log.allEntries().map(\.place) == some.map(\.place))
    }
  }

  @Test("Tables that were made again are used with the same plan")
  func made() throws {
    try withLog { log throws in
      let some = entries(4, after: .start)
      for entry in some { #expect(try log.append([entry])) }
      try log.call { try $0.script("DROP SCHEMA larch CASCADE") }
      #expect(try !log.append(entries(1, after: some[3].place)))
      try #require(try log.beginSome())
      for entry in some { #expect(try log.append([entry])) }
      #expect(try log.allEntries().map(\.place) == some.map(\.place))
    }
  }
}
