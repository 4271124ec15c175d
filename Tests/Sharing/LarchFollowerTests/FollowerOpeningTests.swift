import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct FollowerOpeningTests {
  private func files(_ sharing: Sharing) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: sharing.directory)
      .filter { !$0.hasPrefix("writer") }.sorted()
  }

  @Test func `without a copy and without a server nothing is made`() throws {
    let sharing = try Sharing()
    sharing.server.isUnreachable = true
    let error = caught {
      _ = try Store(
        following: sharing.server.serverLog, copy: sharing.copyPath, for: Note.self,
        Shelf.self)
    }
    #expect(error?.code == .unavailable)
    #expect(try files(sharing).isEmpty)
  }

  @Test func `a log without a store gets an error that says so`() throws {
    let sharing = try Sharing(begins: false)
    let error = caught {
      _ = try Store(
        following: sharing.server.serverLog, copy: sharing.copyPath, for: Note.self,
        Shelf.self)
    }
    #expect(error?.code == .logNotFound)
    #expect(error?.message.contains("`mirror:` first") == true)
    #expect(try files(sharing).isEmpty)
  }

  @Test func `a new copy has what the log has, though its state is old`() throws {
    let sharing = try Sharing()
    for number in 0..<20 {
      var note = Note(title: "note \(number)", stars: 1)
      try sharing.writer.write { tx in try tx.save(&note) }
      try sharing.ship()
    }
    let follower = try sharing.follow()
    defer { follower.close() }
    #expect(try follower.count(Note.all) == 20)
  }

  @Test func `a new copy of a shared store has its collections`() throws {
    let server = MemoryServer()
    let paths = (0..<2).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    let shared = try Store(
      sharing: server.serverLog, copy: paths[0], for: Note.self, Shelf.self, options: .quick)
    defer { shared.close() }
    for number in 0..<20 {
      var note = Note(title: "note \(number)", stars: 1)
      try shared.save(&note)
    }
    let follower = try Store(
      following: server.serverLog, copy: paths[1], for: Note.self, Shelf.self, options: .quick)
    defer { follower.close() }
    #expect(try follower.count(Note.all) == 20)
  }

  @Test func `a copy whose maker ended early is completed before it is read`() throws {
    let sharing = try Sharing()
    var note = Note(title: "note", stars: 1)
    try sharing.writer.write { tx in try tx.save(&note) }
    try sharing.ship()
    try FollowedCopy.makeIfMissing(
      at: sharing.copyPath, from: sharing.server.serverLog, Store.Options.quick)
    sharing.server.isUnreachable = true
    let error = caught {
      _ = try Store(
        following: sharing.server.serverLog, copy: sharing.copyPath, for: Note.self, Shelf.self,
        options: .quick)
    }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("does not have all") == true)
    sharing.server.isUnreachable = false
    for isUnreachable in [false, true] {
      sharing.server.isUnreachable = isUnreachable
      let follower = try sharing.follow()
      defer { follower.close() }
      #expect(try follower.count(Note.all) == 1)
    }
  }

  @Test func `a copy that is there opens at once without the server, and goes on when it comes`()
    async throws
  {
    let sharing = try Sharing()
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    try sharing.ship()
    let first = try sharing.follow()
    try await sharing.expectEqualSoon(first)
    first.close()
    try sharing.writer.saveAllBlocking([Note(title: "two", stars: 2)])
    try sharing.ship()
    sharing.server.isUnreachable = true
    let messages = Locked<[LogMessage]>([])
    var options = Store.Options.quick
    options.log = { message in messages.withLock { $0.append(message) } }
    let follower = try sharing.follow(options: options)
    defer { follower.close() }
    #expect(try follower.fetch(Note.all).map(\.title) == ["one"])
    await eventually { follower.follower?.status.activity == .interrupted }
    #expect(follower.follower?.status.error?.code == .unavailable)
    #expect(follower.follower?.status.newestPosition == nil)
    let part = try #require(follower.follower)
    await #expect(throws: LarchError.self) { try await part.settled(within: .seconds(1)) }
    sharing.server.isUnreachable = false
    try await sharing.expectEqualSoon(follower)
    let status = try #require(follower.follower?.status)
    #expect(status.activity == .following && status.error == nil && status.commitsBehind == 0)
    let events = messages.withLock { $0.map(\.event) }
    #expect(events.filter { $0 == .followingInterrupted }.count == 1)
    #expect(events.filter { $0 == .followingResumed }.count == 1)
  }

  @Test func `a file that is no copy is refused and stays as it is`() throws {
    let sharing = try Sharing()
    let own = sharing.directory + "/own.larch"
    try Store.using(own, Note.self, Shelf.self) { try $0.saveAll([Note(title: "mine", stars: 1)]) }
    for path in [own, sharing.writer.path] {
      let error = caught {
        _ = try Store(
          following: sharing.server.serverLog, copy: path, for: Note.self, Shelf.self,
          options: .quick)
      }
      #expect(error?.code == .unsuitableFile, "\(String(describing: error))")
    }
    #expect(
      try Store.using(own, Note.self, Shelf.self) { try $0.fetch(Note.all).map(\.title) } == [
        "mine"
      ])
  }

  @Test func `the making of a copy is reported, and told in the log`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll((0..<8000).map { Note(title: "n\($0)", stars: $0 % 5) })
    try sharing.begin()
    let steps = Locked<[Store.CopyProgress]>([])
    let messages = Locked<[LogMessage.Event]>([])
    var options = Store.Options.quick
    options.copyProgress = { step in steps.withLock { $0.append(step) } }
    options.log = { message in messages.withLock { $0.append(message.event) } }
    let follower = try sharing.follow(options: options)
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let found = steps.withLock { $0 }
    #expect(found.count > 3)
    #expect(zip(found, found.dropFirst()).allSatisfy { $0.keys <= $1.keys && $0.bytes <= $1.bytes })
    #expect((found.last?.keys ?? 0) > 24_000)
    #expect(messages.withLock { $0.contains(.copied) })
  }

  @Test func `an asynchronous function can open a follower and wait for it`() async throws {
    let sharing = try Sharing()
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try await Store(
      following: sharing.server.serverLog, copy: sharing.copyPath, for: Note.self, Shelf.self,
      options: .quick)
    defer { follower.close() }
    try await follower.follower?.settled()
    #expect(try follower.count(Note.all) == 1)
  }

  @Test func `types that do not fit the copy are refused, as with a read-only store`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let first = try sharing.follow()
    try sharing.expectEqual(first)
    first.close()
    struct Other: Record {
      static let collectionName = "Note"
      var id = RecordID<Other>()
      var title: [Int]
    }
    let error = caught { _ = try sharing.follow([Other.self]) }
    #expect(error?.code == .schemaMismatch)
    let pending = caught {
      _ = try sharing.follow(
        options: .quick.with {
          $0.migrations = [Migration("later") { _ in }]
        })
    }
    #expect(pending?.code == .migrationPending)
    // Both left the copy usable.
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
  }

  @Test func `a closed follower stops, and says so to those who wait`() async throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    let part = try #require(follower.follower)
    let version = StoreVersion(
      LogPlace(position: 1_000, token: LogToken(random: 1, checksum: 1)))
    let waiting = Task { try await follower.read(.atLeast(version), within: .seconds(60)) { _ in } }
    try await Task.sleep(for: .milliseconds(20))
    follower.close()
    await #expect(throws: LarchError.self) { try await waiting.value }
    #expect(part.status.activity == .stopped)
    await #expect(throws: LarchError.self) { try await part.settled(within: .seconds(1)) }
  }
}

extension Store {
  /// `saveAll`, from an asynchronous test.
  func saveAllBlocking<R: Record>(_ records: [R]) throws { try saveAll(records) }
}
