import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("A server whose failover may lose commits", needsServer)
struct FailoverRiskTests {
  private struct Note: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
  }

  /// The details of the messages about it while a store is opened at a path and used.
  private func details(_ log: ServerLog, _ path: String, writes: Bool) async throws -> [String?] {
    let messages = Locked<[LogMessage]>([])
    var options = Store.Options.quick
    options.log = { message in messages.withLock { $0.append(message) } }
    let store = try Store(sharing: log, copy: path, for: Note.self, options: options)
    defer { store.close() }
    func count() -> Int {
      messages.withLock { $0.count { $0.event == .failoverMayLose } }
    }
    let atOpening = count()
    // Neither a second store on the copy, nor work, nor further connections tell it again.
    let second = try Store(sharing: log, copy: path, for: Note.self, options: options)
    defer { second.close() }
    if writes { try store.saveAll([Note(text: "one")]) }
    try await store.follower?.settled(within: .seconds(60))
    _ = try await store.read(.fresh) { try $0.count(Note.all) }
    #expect(count() == atOpening)
    return messages.withLock { messages in
      messages.filter { $0.event == .failoverMayLose }.map { message in
        #expect(message.level == .notice && message.context.path == path)
        return message.context.detail
      }
    }
  }

  @Test("A shared store logs it once when it opens, unless a standby has each commit")
  func told() async throws {
    let server = try PostgresServer()
    // A role for each case, since a change of a role is a commit, too.
    try server.run(
      """
      CREATE ROLE safe LOGIN PASSWORD 'secret'; CREATE ROLE near LOGIN PASSWORD 'secret';
      ALTER ROLE near SET synchronous_commit = local
      """)
    for role in ["safe", "near"] { try ServerLog.preparePostgres(server.url, for: role) }
    let name = freshName()
    func log(_ role: String) -> ServerLog {
      .postgres(
        "postgres://\(role):secret@127.0.0.1:\(server.port)/postgres?sslmode=require", store: name)
    }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let local = ServerLog.postgres(server.url, store: name)
    #expect(try await details(local, path, writes: true) == [])
    let found = try await details(log("safe"), path, writes: true)
    #expect(found.count == 1)
    #expect(found.first??.contains("synchronous_standby_names is empty") == true)
    #expect(found.first??.contains("secret") == false)

    // No such standby exists, so from now on commits wait, except those of one role.
    try server.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    try server.run("SELECT pg_reload_conf()")
    while try server.text("current_setting('synchronous_standby_names')") != "standby" {
      usleep(1000)
    }
    #expect(try await details(log("safe"), path, writes: false) == [])
    let second = try await details(log("near"), path, writes: true)
    #expect(second.count == 1 && second.first??.contains("synchronous_commit is local") == true)
  }
}
