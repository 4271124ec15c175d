import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

@Suite("Rights on the server", needsServer)
struct RightsTests {
  /// A schema of its own with the tables, and a role with rights on them.
  private struct Prepared {
    let server: PostgresServer
    let schema = freshName()
    let role = freshName("role \"x\" ")
    var quoted: String { "\"" + role.replacing("\"", with: "\"\"") + "\"" }

    init(readsOnly: Bool = false, isPrepared: Bool = true) throws {
      server = try PostgresServer.shared.get()
      try server.run("CREATE ROLE \(quoted) LOGIN")
      if isPrepared {
        var options = PostgresOptions()
        options.schema = schema
        try ServerLog.preparePostgres(
          server.url, for: role, readsOnly: readsOnly, options: options)
      }
    }

    func log(_ store: String = "main") throws -> PostgresLog {
      let role = role.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
      let schema = schema
      return try server.log(store, at: server.url(user: role)) { $0.schema = schema }
    }
  }

  @Test("A user with SELECT, INSERT, UPDATE and DELETE on the tables can do all that a log does")
  func writer() throws {
    let prepared = try Prepared()
    let clients = try (0..<2).map { _ in try prepared.log() }
    defer { for client in clients { client.close() } }
    try SharedLogConformance(seed: 9, clients).run(steps: 120)
    // And nothing else there.
    for statement in [
      "CREATE TABLE \(prepared.schema).other (id int)", "CREATE SCHEMA \(freshName())",
      "DROP TABLE \(prepared.schema).log", "TRUNCATE \(prepared.schema).log",
      "ALTER TABLE \(prepared.schema).log ADD COLUMN a int",
    ] {
      let error = caught { try clients[0].call { try $0.script(statement) } }
      #expect(error?.code == .serverRefused, "\(statement): \(String(describing: error))")
    }
    // Once more is no error, and changes nothing.
    var options = PostgresOptions()
    options.schema = prepared.schema
    try ServerLog.preparePostgres(prepared.server.url, for: prepared.role, options: options)
    #expect(try clients[0].head() != nil)
  }

  @Test("A user with SELECT alone can follow and restore, and each write says what is missing")
  func reader() throws {
    let prepared = try Prepared(readsOnly: true)
    let schema = prepared.schema
    let owner = try prepared.server.log("main") { $0.schema = schema }
    let log = try prepared.log()
    defer {
      owner.close()
      log.close()
    }
    try #require(try owner.beginSome())
    let first = entries(3, after: .start)
    try #require(try owner.append(first))
    #expect(try log.head() == owner.head())
    #expect(try log.allEntries().map(\.place) == first.map(\.place))
    #expect(try log.stateText() == owner.stateText())
    try log.wait(after: 2, seconds: 60)
    for error in [
      caught { _ = try log.append(entries(1, after: first[2].place)) },
      caught { _ = try log.append(entries(2, after: first[2].place)) },
      caught { _ = try log.beginSome(expecting: first[2].place) },
      caught { _ = try log.fold(through: 2) },
    ] {
      #expect(error?.code == .serverRefused)
      #expect(error?.message.contains("larch server init") == true)
    }
    #expect(try owner.head()?.newest == first[2].place)
  }

  @Test(
    "Without the tables, a user who may not make them is told what to run, and one who may is not")
  func missing() throws {
    let prepared = try Prepared(isPrepared: false)
    let log = try prepared.log()
    defer { log.close() }
    #expect(try log.head() == nil)
    let error = caught { _ = try log.beginSome() }
    #expect(error?.code == .serverRefused)
    #expect(error?.message.contains("larch server init") == true)
    try prepared.server.run("GRANT CREATE ON DATABASE postgres TO \(prepared.quoted)")
    #expect(try log.beginSome())
    #expect(try log.append(entries(1, after: .start)))
  }

  @Test("Many make the tables at the same moment, and each begins its store")
  func together() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName()
    onThreads(6) { number in
      do {
        let log = try server.log("store \(number)") { $0.schema = schema }
        defer { log.close() }
        #expect(try log.beginSome())
      } catch { Issue.record(error) }
    }
    #expect(try server.text("SELECT count(*) FROM \(schema).store") == "6")
  }

  @Test("Who has waited for another to make the tables sees them, though it saw none before")
  func afterTheOther() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName()
    let tables = PostgresTables(schema: schema)
    let (first, second) = (try server.log("none"), try server.log("none"))
    defer {
      first.close()
      second.close()
    }
    let hasLock = DispatchSemaphore(value: 0)
    let isWaiting = DispatchSemaphore(value: 0)
    onThreads(2) { number in
      do {
        let log = number == 0 ? first : second
        try log.call { connection in
          // From now on the server's process for this connection knows all that it needs for the statements,
          // and that nothing is there.
          try PostgresTables(schema: freshName()).create(connection)
          let nothing = try connection.runOnTables("SELECT FROM \(tables("store"))", [])
          #expect(nothing == nil)
          if number == 0 {
            try connection.script(
              "BEGIN; SELECT pg_advisory_xact_lock(\(PostgresTables.lock("tables " + tables.schema)))"
            )
            hasLock.signal()
            isWaiting.wait()
            usleep(200_000)
            // The lock may be taken twice by the same one.
            try tables.create(connection)
          } else {
            hasLock.wait()
            isWaiting.signal()
            try tables.create(connection)
          }
        }
      } catch { Issue.record(error) }
    }
    #expect(try server.text("SELECT count(*) FROM \(schema).store") == "0")
  }

  @Test("A server that acknowledges commits before they are on its disk is refused")
  func asynchronous() throws {
    let server = try PostgresServer.shared.get()
    let log = try server.log(
      freshName(), at: server.url + "&options=-c%20synchronous_commit%3Doff")
    defer { log.close() }
    let error = caught { _ = try log.head() }
    #expect(error?.code == .serverRefused)
    #expect(error?.message.contains("synchronous_commit") == true)
  }

  @Test("A server that takes no writes is passed over, for one that does")
  func standby() throws {
    let server = try PostgresServer.shared.get()
    let role = freshName("role")
    try server.run(
      "CREATE ROLE \(role) LOGIN; ALTER ROLE \(role) SET default_transaction_read_only = on")
    let readOnly = try server.log(freshName(), at: server.url(user: role))
    defer { readOnly.close() }
    #expect(caught { _ = try readOnly.head() }?.code == .unavailable)
    // The first of the hosts does not exist, the second one is the server.
    let hosts = try server.log(
      freshName(), at: server.url.replacing("host=", with: "host=/nowhere,"))
    defer { hosts.close() }
    #expect(try hosts.beginSome())
  }
}
