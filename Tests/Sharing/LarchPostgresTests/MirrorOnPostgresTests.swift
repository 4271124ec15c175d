import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("A mirror on PostgreSQL", needsServer)
struct MirrorOnPostgresTests {
  private struct Note: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
    var tags: [String]
    static let schema = Schema<Note> {
      Index(\.text)
      Index(\.tags)
    }
  }

  /// The times, in seconds, between a commit and the moment when the server has it.
  private func lags(_ store: Store, saves: Int, pause: Duration) async throws -> [Double] {
    var lags: [Double] = []
    let clock = ContinuousClock()
    for number in 0..<saves {
      try await store.write { tx in
        var note = Note(text: "note \(number)", tags: ["a", "b \(number % 7)"])
        try tx.save(&note)
      }
      let begin = clock.now
      if number % 20 == 0 {
        try await store.mirror?.settled()
        lags.append((clock.now - begin).inSeconds)
      }
      if pause > .zero { try await Task.sleep(for: pause) }
    }
    return lags
  }

  @Test("Everything arrives, and is restored as it was")
  func roundTrip() async throws {
    let server = try PostgresServer.shared.get()
    let log = ServerLog.postgres(server.url, store: freshName())
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, mirror: log, for: Note.self, options: .quick)
    defer { store.close() }
    let count = ProcessInfo.processInfo.environment["LARCH_MIRROR_SAVES"].flatMap(Int.init) ?? 400
    let lags = try await lags(store, saves: count, pause: .zero).sorted()
    if count > 400 {
      print("lag: median \(lags[lags.count / 2]) s, p99 \(lags[lags.count * 99 / 100]) s")
    }
    _ = try await store.write { try $0.delete(Note.where { $0.text < "note 2" }) }
    try await store.mirror?.settled()
    let copy = ScratchFile.freshPath()
    defer { ScratchFile.remove(copy) }
    try await Store.restore(from: log, to: copy)
    try Store.using(copy, Note.self) { restored throws in
      #expect(try restored.everything(Note.self) == store.everything(Note.self))
      #expect(try restored.verify().isClean)
    }
    #expect(try store.everything(Note.self).count > 100)
  }
}
