import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A server that alters, cuts, doubles, exchanges and invents entries. `LARCH_HOSTILE_ENTRIES` is the number
/// of lies for each reader of the log, 160.
@Suite("Entries of a hostile server") struct HostileEntriesTests {
  private static let count =
    ProcessInfo.processInfo.environment["LARCH_HOSTILE_ENTRIES"].flatMap(Int.init) ?? 160

  /// What a copy may say of such entries. Anything else would send its user elsewhere.
  private static let codes: Set<LarchError.Code> = [.damagedLog, .newerLog, .diverged]

  /// A log, and the file of a copy that has a part of it.
  private final class Logged {
    let server = MemoryServer()
    let lie = Locked<LyingLog.Lie?>(nil)
    let writer: Store
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-hostile-\(UUID().uuidString)").path
    let others: [LogEntry]
    let part: LogPlace
    let place: LogPlace
    let partDigest: StoreDigest
    let wholeDigest: StoreDigest

    init(_ role: OutboxRole, seed: UInt64) throws {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      let (server, directory) = (server, directory)
      let types: [any Record.Type] = [Note.self, Shelf.self]
      func share(_ server: MemoryServer, _ name: String) throws -> Store {
        try Store(
          sharing: server.serverLog, copy: directory + name, types: types, options: .quick,
          isTemporary: false)
      }
      let other = MemoryServer()
      let stranger = try share(other, "/stranger.larch")
      let writer = try share(server, "/writer.larch")
      var writes = RandomWrites(seed: seed)
      let beginning = try #require(try other.serverLog.open().head()).newest
      for _ in 0..<10 { try writes.write(to: stranger) }
      guard
        case .entries(let others) = try other.serverLog.open().tail(
          after: beginning, limit: .max)
      else { throw Unexpected() }
      self.others = others
      stranger.close()
      for _ in 0..<10 { try writes.write(to: writer) }
      let path = directory + "/part.larch"
      if role == .shared {
        try share(server, "/part.larch").close()
      } else {
        try Store(following: server.serverLog, copy: path, types: types, options: .quick).close()
      }
      (part, partDigest) = try Self.read(path)
      for _ in 0..<12 { try writes.write(to: writer) }
      wholeDigest = try writer.digest()
      place = try #require(try writer.environment.outboxHeader()).place
      self.writer = writer
    }

    deinit {
      writer.close()
      try? FileManager.default.removeItem(atPath: directory)
    }

    /// What a copy has that nobody has open.
    static func read(_ path: String) throws -> (LogPlace, StoreDigest) {
      let store = try Store(
        path: path, types: [], options: .quick.with { $0.isReadOnly = true }, isTemporary: false)
      defer { store.close() }
      return (
        try #require(try store.environment.outboxHeader()).place, try store.digest()
      )
    }

    /// Whether the file at a path has no more than the part. A lie that was believed may be in any tree.
    static func isPart(_ path: String, _ part: LogPlace) -> Bool {
      (try? read(path).0) == part
    }

    /// A new copy, with the part.
    func copy() throws -> String {
      let path = directory + "/copy.larch"
      ScratchFile.remove(path)
      try FileManager.default.copyItem(atPath: directory + "/part.larch", toPath: path)
      return path
    }

    /// Lets the server lie by a seed.
    func lie(_ change: HostileChange, seed: UInt64) {
      let others = others
      lie.withLock {
        $0 = { entries in
          var random = SeededGenerator(seed: seed)
          return change(entries, others: others, &random)
        }
      }
    }
  }

  private struct Unexpected: Error {}

  /// Tells lies, and lets `body` say what became of each: an error, or nil if the lie was believed.
  private func tell(
    _ role: OutboxRole, seed: UInt64, _ body: (Logged, _ comment: Comment) throws -> LarchError?
  ) throws {
    let logged = try Logged(role, seed: seed)
    var random = SeededGenerator(seed: seed)
    var noticed: [LarchError.Code: Int] = [:]
    for number in 0..<Self.count {
      let change = HostileChange.allCases[number % HostileChange.allCases.count]
      let lieSeed = UInt64.random(in: 0 ... .max, using: &random)
      let comment: Comment = "seed \(seed), lie \(number), \(change)"
      logged.lie(change, seed: lieSeed)
      let error = try body(logged, comment)
      if let error {
        noticed[error.code, default: 0] += 1
        // An entry that was believed is one that the log does not have, when a restoration reads on.
        let isTyped =
          Self.codes.contains(error.code) || error.code == .unavailable && !change.mustBeNoticed
        #expect(isTyped, "\(comment.rawValue): \(error)")
      } else {
        #expect(!change.mustBeNoticed, comment)
      }
    }
    #expect(noticed.values.reduce(0, +) > Self.count / 2, "\(noticed)")
    #expect(Self.codes.allSatisfy { noticed[$0] != nil }, "\(noticed)")
  }

  /// A copy that noticed must be what it was, and go on once the server tells the truth.
  private func expectUnharmed(
    _ path: String, _ logged: Logged, _ comment: Comment, open: () throws -> Store
  ) throws {
    let (place, digest) = try Logged.read(path)
    #expect(place == logged.part && digest == logged.partDigest, comment)
    logged.lie.withLock { $0 = nil }
    let store = try open()
    defer { store.close() }
    try store.wait(for: StoreVersion(logged.place), within: .seconds(60))
    #expect(try store.digest() == logged.wholeDigest, comment)
    #expect(try store.verify().isClean, comment)
    #expect(store.movedAside == nil && store.follower?.status.keptAside == nil, comment)
  }

  @Test("A shared copy that opens tells each of them, and is as it was")
  func shared() throws {
    try tell(.shared, seed: 1) { logged, comment in
      let path = try logged.copy()
      let log = LyingLog.server(logged.server, logged.lie)
      func open() throws -> Store {
        try Store(
          sharing: log, copy: path, types: [Note.self, Shelf.self], options: .quick,
          isTemporary: false)
      }
      let error = caught {
        let store = try open()
        defer { store.close() }
        Self.use(store)
      }
      guard Logged.isPart(path, logged.part) else { return nil }
      try expectUnharmed(path, logged, comment, open: open)
      return error
    }
  }

  @Test("A follower tells each of them, and is as it was")
  func follower() throws {
    try tell(.follower, seed: 2) { logged, comment in
      let path = try logged.copy()
      let log = LyingLog.server(logged.server, logged.lie)
      func open() throws -> Store {
        try Store(
          following: log, copy: path, types: [Note.self, Shelf.self], options: .quick)
      }
      let store = try open()
      var error: LarchError?
      // By attempts and not by time: see `eventually`.
      for _ in 0..<100_000 {
        error = store.follower?.status.error
        // A lie that was believed may be in the catalog, too.
        if error != nil || (try? store.version.position) != logged.part.position { break }
        usleep(200)
      }
      Self.use(store)
      store.close()
      guard Logged.isPart(path, logged.part) else { return nil }
      try expectUnharmed(path, logged, comment, open: open)
      if let error { return error }
      throw Unexpected()
    }
  }

  @Test("A restoration tells each of them, and leaves no file")
  func restoration() throws {
    try tell(.follower, seed: 3) { logged, comment in
      let path = logged.directory + "/restored.larch"
      let log = LyingLog.server(logged.server, logged.lie)
      func restore() throws { try Store.restore(from: log, to: path) }
      defer { ScratchFile.remove(path) }
      let error = caught(restore)
      guard let error else {
        _ = caught {
          let store = try Store(
            path: path, types: [Note.self, Shelf.self], options: .quick, isTemporary: false)
          defer { store.close() }
          Self.use(store)
        }
        return nil
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: logged.directory)
      #expect(!names.contains { $0.hasPrefix("restored") }, "\(comment.rawValue): \(names)")
      logged.lie.withLock { $0 = nil }
      try restore()
      let store = try Store(
        path: path, types: [Note.self, Shelf.self], options: .quick, isTemporary: false)
      defer { store.close() }
      #expect(try store.dump() == logged.writer.dump(), comment)
      return error
    }
  }

  /// The bytes of a lie may be in the copy: reading and writing them must not end the process.
  private static func use(_ store: Store) {
    _ = try? store.dump()
    _ = try? store.verify()
    _ = try? store.fetch(Note.where { $0.stars > 1 })
  }
}
