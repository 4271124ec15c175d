import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

@Suite("larch server", needsServer)
struct ServerCommandTests {
  private func run(_ arguments: [String]) throws -> LarchCommand.Result {
    try LarchCommand.run(["server"] + arguments)
  }

  @Test("init makes the tables and gives a user his rights, again and for others too")
  func prepare() throws {
    let server = try PostgresServer.shared.get()
    let (schema, role, reader) = (freshName(), freshName("role"), freshName("role"))
    try server.run("CREATE ROLE \(role) LOGIN; CREATE ROLE \(reader) LOGIN")
    var result = try run(["init", server.url, "--schema", schema])
    #expect(
      result.code == 0 && result.output == "the tables are in the schema \(schema)\n", "\(result)")
    result = try run(["init", server.url, "--role", role, "--schema", schema])
    #expect(
      result.code == 0 && result.output.contains("\(role) may read and write them"), "\(result)")
    result = try run(["init", server.url, "--role", reader, "--read-only", "--schema", schema])
    #expect(result.code == 0 && result.output.contains("\(reader) may read them"), "\(result)")
    // PostgreSQL only warns those who may not give rights.
    let other = freshName("role")
    try server.run("CREATE ROLE \(other) LOGIN")
    result = try run(["init", server.url(user: reader), "--role", other, "--schema", schema])
    #expect(result.code == 2 && result.errors.contains("lacks the right"), "\(result)")
    let log = try server.log("main", at: server.url(user: role)) { $0.schema = schema }
    let readerLog = try server.log("main", at: server.url(user: reader)) { $0.schema = schema }
    defer {
      log.close()
      readerLog.close()
    }
    #expect(try log.beginSome())
    #expect(try readerLog.head()?.newest == .start)
    #expect(caught { _ = try readerLog.append(entries(1, after: .start)) }?.code == .serverRefused)
  }

  @Test("Errors are one line, without the password")
  func errors() throws {
    let server = try PostgresServer.shared.get()
    let unknown = try run(["init", server.url, "--role", "no such role"])
    #expect(unknown.errors.contains("server_refused: The PostgreSQL server has no such user."))
    let cases = [
      ["init", server.url, "--role", "no such role"],
      ["init", "postgres://u:sEcReT@/nowhere"], ["postgres://u:sEcReT@h/d", "init"],
      ["init", "postgres://larch_nobody:sEcReT@127.0.0.1:\(server.port)/postgres"],
      ["init", server.url, "--read-only"],
    ]
    for arguments in cases {
      let result = try run(arguments)
      #expect(result.code == 2 && result.output.isEmpty, "\(arguments): \(result)")
      #expect(result.errors.hasPrefix("larch: ") && result.errors.filter { $0 == "\n" }.count == 1)
      #expect(!result.errors.contains("sEcReT"), "\(result)")
    }
  }

  @Test("list shows the stores of a database, and none where no tables are")
  func list() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName()
    var result = try run(["list", server.url, "--schema", schema])
    #expect(
      result.code == 0 && result.output == "there are no tables of Larch in the schema \(schema)\n",
      "\(result)")
    #expect(try run(["list", server.url, "--schema", schema, "--json"]).output.contains("[]"))
    #expect(try run(["init", server.url, "--schema", schema]).code == 0)
    #expect(
      try run(["list", server.url, "--schema", schema]).output == "the server has no store\n")
    for name in ["two", "one"] {
      let log = try server.log(name) { $0.schema = schema }
      defer { log.close() }
      #expect(try log.beginSome())
      #expect(try log.append(entries(name == "one" ? 3 : 1, after: .start)))
    }
    result = try run(["list", server.url, "--schema", schema])
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 3 && lines[1].hasPrefix("one "), "\(result)")
    result = try run(["list", server.url, "--schema", schema, "--json"])
    let found = try #require(
      JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]])
    #expect(found.map { $0["name"] as? String } == ["one", "two"])
    #expect(found.map { $0["first"] as? Int } == [0, 0])
    #expect(found.map { $0["last"] as? Int } == [3, 1])
    #expect(found.map { $0["use"] as? String } == ["mirrored", "mirrored"])
    #expect(try run(["list", server.url, "--role", "x"]).code == 2)
  }
}
