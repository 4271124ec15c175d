import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("A killed program with a mirror on PostgreSQL", needsServer)
struct KilledMirrorTests {
  /// By hand: LARCH_MIRROR_KILLS=1000.
  private static let kills =
    ProcessInfo.processInfo.environment["LARCH_MIRROR_KILLS"].flatMap(Int.init) ?? 25

  @Test("What is restored is always what the store had at one of its commits, and in the end all")
  func kills() async throws {
    let server = try PostgresServer.shared.get()
    let name = freshName()
    let log = ServerLog.postgres(server.url, store: name)
    let reader = try server.log(name)
    defer { reader.close() }
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "larch-mirror-\(UUID())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/store.larch"
    let beacon = try Beacon(path: directory + "/beacon")
    var random = SeededGenerator(seed: 17)
    let seed: UInt64 = 5
    var restored = 0
    for round in 0..<Self.kills {
      let child = try Child(
        ["mirror-writer", path, directory + "/beacon", "0", "\(seed)", server.url, name],
        in: directory)
      try child.waitUntilStarted(beacon, 0)
      // Otherwise no child might live long enough to begin the log.
      if round == 0 { try child.wait("has begun the log") { try reader.head() != nil } }
      #expect(!child.ends(within: Int.random(in: 0...60_000, using: &random)))
      try child.killHard()
      if round % 8 == 7 || round == Self.kills - 1 {
        let acknowledged = beacon[.acknowledged(0)]
        let copy = directory + "/copy.larch"
        do {
          try await Store.restore(from: log, to: copy, replacing: true)
        } catch let error as LarchError where error.code == .logNotFound {
          continue
        }
        let store = try Store.forCrashes(at: copy)
        defer { store.close() }
        // Throws if the state is none of the writer's.
        let model = try state(of: store, seed)
        // One more may have been committed, and even shipped, before it was acknowledged.
        #expect(model.progress.transactions <= acknowledged + 1)
        #expect(try await store.verify().isClean)
        restored += 1
      }
    }
    #expect(restored > 0)
    let store = try Store.forCrashes(at: path, mirror: log)
    defer { store.close() }
    try await store.mirror?.settled()
    let copy = directory + "/last.larch"
    try await Store.restore(from: log, to: copy)
    let last = try Store.forCrashes(at: copy)
    defer { last.close() }
    let models = try [store, last].map { try state(of: $0, seed).progress.transactions }
    #expect(models[0] == models[1] && models[0] >= beacon[.acknowledged(0)])
    #expect(try store.everything(Item.self).map(\.id) == last.everything(Item.self).map(\.id))
    #expect(try store.everything(Entry.self).count == last.everything(Entry.self).count)
  }

  private func state(of store: Store, _ seed: UInt64) throws -> WriterModel {
    try store.read { try WriterModel.read(0, seed: seed, in: $0) }
  }
}
