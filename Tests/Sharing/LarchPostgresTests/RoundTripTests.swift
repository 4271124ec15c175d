import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("Round trips to PostgreSQL", needsServer)
struct RoundTripTests {
  private struct Note: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
    static let schema = Schema<Note> {
      Index(\.text)
    }
  }

  /// Every client that stores open, in its order.
  private final class Clients: Sendable {
    let all = Locked<[PostgresLog]>([])

    func log(_ url: String, _ store: String) -> ServerLog {
      ServerLog(name: store) { [all] in
        let log = try PostgresLog(url, store: store, PostgresOptions())
        all.withLock { $0.append(log) }
        return log
      }
    }
  }

  /// Saves in another copy, on a thread of its own.
  private func saveElsewhere(_ store: Store) throws {
    let failure = Locked<(any Error)?>(nil)
    onThreads(1) { _ in
      do {
        try store.environment.catchUpWithLog()
        try store.saveAll([Note(text: "faster")])
      } catch { failure.withLock { $0 = error } }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  @Test("A read is none, a fresh read and a write are one, and one after a lost place is two")
  func counts() async throws {
    let server = try PostgresServer.shared.get()
    let name = freshName()
    let clients = Clients()
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let store = try Store(
      sharing: clients.log(server.url, name), copy: paths[0], for: Note.self, options: .quick)
    let other = try Store(
      sharing: .postgres(server.url, store: name), copy: paths[1], for: Note.self, options: .quick)
    defer {
      store.close()
      other.close()
    }
    // The client of commits asks for nothing else; the one that follows asks all the time.
    let commits = try #require(store.environment.sharedOrder?.log as? PostgresLog)
    var questions: PostgresLog?
    func expect(
      _ count: Int, _ what: Comment, _ body: () async throws -> Void
    ) async throws {
      let before = commits.roundTrips + (questions?.roundTrips ?? 0)
      try await body()
      #expect(commits.roundTrips + (questions?.roundTrips ?? 0) - before == count, what)
    }
    func save(_ text: String, _ store: Store) async throws {
      try await store.write { tx in
        var note = Note(text: text)
        try tx.save(&note)
      }
    }
    try await save("first", store)
    try await expect(0, "reads") {
      for _ in 0..<10 { _ = try store.read { tx in try tx.fetch(Note.all) } }
    }
    try await expect(1, "a save") { try await save("second", store) }
    try await expect(1, "many in one write") {
      try await store.write { tx in
        for number in 0..<20 {
          var note = Note(text: "\(number)")
          try tx.save(&note)
        }
      }
    }
    try await expect(0, "a write that changes nothing") {
      try await store.write { tx in _ = try tx.count(Note.all) }
    }
    // The first question makes its client.
    _ = try await store.read(.fresh) { tx in try tx.count(Note.all) }
    questions = clients.all.withLock { $0.last }
    try #require(questions !== commits)
    try await expect(1, "a fresh read of many things") {
      try await store.read(.fresh) { tx in
        for _ in 0..<10 { _ = try tx.fetch(Note.all) }
      }
    }
    var rounds = 0
    var isDone = false
    while !isDone {
      rounds += 1
      // What the other has committed meanwhile: the append that loses, then the turn with what came between,
      // and the append in it.
      let runs = Locked(0)
      let start = MonotonicTime.now.nanoseconds
      try await expect(1 + 2, "a write after a lost place") {
        try await store.write { tx in
          let run = runs.withLock { runs in
            runs += 1
            return runs
          }
          if run == 1 { try self.saveElsewhere(other) }
          var note = Note(text: "mine")
          try tx.save(&note)
        }
      }
      #expect(runs.withLock { $0 } == 2)
      // For a second it takes turns: the turn with what came between, then the append.
      let before = commits.roundTrips
      try await save("third", store)
      isDone = MonotonicTime.now.nanoseconds - start < CommitOrder.turnTime
      if isDone { #expect(commits.roundTrips - before == 2, "a write in its turn") }
      // A busy machine may take longer than that, but after the second the first write takes a turn no more.
      if !isDone { try await Task.sleep(for: .seconds(1)) }
    }
    let count = try await other.read(.fresh) { tx in try tx.count(Note.all) }
    #expect(count == 22 + 3 * rounds)
  }
}
