import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A log is either that of a mirrored store, to which one program appends, or of a shared one.
@Suite("A log of a mirrored store, and a shared store")
struct MirroredLogTests {
  private let server = MemoryServer()
  private let path = ScratchFile.freshPath()
  private let other = ScratchFile.freshPath()

  private func mirrored(_ path: String) throws -> Store {
    try Store(at: path, mirror: server.serverLog, for: Account.self, options: .quick)
  }

  private func shared(_ path: String) throws -> Store {
    try Store(sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
  }

  private func following(_ path: String) throws -> Store {
    try Store(following: server.serverLog, copy: path, for: Account.self, options: .quick)
  }

  private func remove() { [path, other].forEach(ScratchFile.remove) }

  private func code(_ body: () throws -> Void) -> LarchError.Code? {
    do { try body() } catch { return (error as? LarchError)?.code }
    return nil
  }

  /// A mirrored store with a record, whose log has all of it.
  private func settled() async throws -> Store {
    let store = try mirrored(path)
    try store.saveAll([Account(owner: "mirrored", balance: 1)])
    try await store.mirror?.settled()
    return store
  }

  @Test("Sharing at another path is refused while the log is mirrored, and the mirror goes on")
  func isNotTaken() async throws {
    defer { remove() }
    let store = try await settled()
    defer { store.close() }
    let head = try MemoryLog(server).head()
    #expect(code { _ = try shared(other) } == .conflictingOptions)
    #expect(!FileManager.default.fileExists(atPath: other))
    try following(other).close()
    #expect(code { _ = try shared(other) } == .conflictingOptions)
    #expect(try MemoryLog(server).head() == head)
    try store.saveAll([Account(owner: "goes on", balance: 2)])
    try await store.mirror?.settled()
    #expect(try MemoryLog(server).head()?.use == .mirrored)
  }

  @Test("The mirrored file makes its log a shared one, and others join")
  func becomesShared() async throws {
    defer { remove() }
    try await settled().close()
    let first = try shared(path)
    defer { first.close() }
    #expect(try MemoryLog(server).head()?.use == .shared)
    let second = try shared(other)
    defer { second.close() }
    try second.saveAll([Account(owner: "second", balance: 2)])
    try first.saveAll([Account(owner: "first", balance: 3)])
    try expectEqual([first, second], server)
    #expect(try second.everything(Account.self).map(\.balance).sorted() == [1, 2, 3])
  }

  @Test("A mirror that still runs elsewhere loses its place when the log is shared")
  func displaces() async throws {
    defer { remove() }
    let store = try await settled()
    defer { store.close() }
    // The machine of the writer seems lost, and another one takes its place.
    try await Store.takeOver(server.serverLog, to: other)
    let successor = try shared(other)
    defer { successor.close() }
    try store.saveAll([Account(owner: "too late", balance: 9)])
    await #expect(throws: LarchError.self) { try await store.mirror?.settled() }
    #expect(code { try store.saveAll([Account(owner: "refused", balance: 9)]) } == .diverged)
    try successor.saveAll([Account(owner: "successor", balance: 2)])
    try expectEqual([successor], server)
    #expect(try successor.everything(Account.self).map(\.balance).sorted() == [1, 2])
    store.close()
    // It has a commit that nobody else has.
    #expect(code { _ = try shared(path) } == .diverged)
    #expect(try MemoryLog(server).head()?.use == .shared)
  }

  @Test("A mirror notices after a long outage that its log is shared")
  func displacesAfterOutage() async throws {
    defer { remove() }
    try await settled().close()
    try await Store.takeOver(server.serverLog, to: other)
    let successor = try shared(other)
    defer { successor.close() }
    // What the mirror does when more waits than the file may keep.
    let plain = try Store(at: path, for: Account.self, options: .quick)
    try plain.environment.restartOutbox(isPaused: true)
    try plain.saveAll([Account(owner: "too late", balance: 9)])
    plain.close()
    let store = try mirrored(path)
    defer { store.close() }
    await #expect(throws: LarchError.self) { try await store.mirror?.settled() }
    #expect(code { try store.saveAll([Account(owner: "refused", balance: 9)]) } == .diverged)
    #expect(try store.count(Account.all) == 2)
  }

  @Test("A store works on that was given the shared log of others by mistake")
  func givenByMistake() async throws {
    defer { remove() }
    let elsewhere = MemoryServer(seed: 2)
    let own = try Store(at: path, mirror: elsewhere.serverLog, for: Account.self, options: .quick)
    try own.saveAll([Account(owner: "shipped", balance: 1)])
    try await own.mirror?.settled()
    own.close()
    let others = try shared(other)
    defer { others.close() }
    try others.saveAll([Account(owner: "others", balance: 1)])
    let head = try MemoryLog(server).head()
    let store = try mirrored(path)
    defer { store.close() }
    await #expect(throws: LarchError.self) { try await store.mirror?.settled() }
    try store.saveAll([Account(owner: "own", balance: 1)])
    #expect(try MemoryLog(server).head() == head)
  }

  @Test("A mirrored file that has nothing of its own joins a log that was shared meanwhile")
  func joins() async throws {
    defer { remove() }
    try await settled().close()
    try await Store.takeOver(server.serverLog, to: other)
    let successor = try shared(other)
    defer { successor.close() }
    try successor.saveAll([Account(owner: "successor", balance: 2)])
    // Its mirror finds that the log is another's.
    let late = try mirrored(path)
    await #expect(throws: LarchError.self) { try await late.mirror?.settled() }
    late.close()
    let first = try shared(path)
    defer { first.close() }
    try first.saveAll([Account(owner: "first", balance: 3)])
    try expectEqual([first, successor], server)
    #expect(try successor.everything(Account.self).map(\.balance).sorted() == [1, 2, 3])
  }

  @Test("A program that ended between the file and the log shares the log at its next opening")
  func isCompleted() async throws {
    defer { remove() }
    let store = try await settled()
    store.close()
    let environment = try LMDBEnvironment.open(
      path: path, options: Store.Options.quick.forEnvironment(StoreSchema()))
    let place = try #require(try environment.outboxHeader()).place
    try environment.trimOutbox(through: place)
    try environment.setOutboxRole(.shared)
    environment.close()
    let first = try shared(path)
    defer { first.close() }
    #expect(try MemoryLog(server).head()?.use == .shared)
    try first.saveAll([Account(owner: "first", balance: 2)])
    try expectEqual([first], server)
  }

  @Test("Commits that were not shipped keep a mirrored file from sharing its log")
  func notShipped() async throws {
    defer { remove() }
    try await settled().close()
    let plain = try Store(at: path, for: Account.self, options: .quick)
    try plain.saveAll([Account(owner: "waits", balance: 2)])
    plain.close()
    #expect(code { _ = try shared(path) } == .diverged)
    let store = try mirrored(path)
    try await store.mirror?.settled()
    store.close()
    let first = try shared(path)
    defer { first.close() }
    #expect(try first.count(Account.all) == 2)
  }

  @Test("What takes the place of one writer is refused for a shared log, which stays as it is")
  func isNotMirrored() async throws {
    defer { remove() }
    let first = try shared(path)
    defer { first.close() }
    try first.saveAll([Account(owner: "first", balance: 1)])
    let head = try #require(try MemoryLog(server).head())
    #expect(code { _ = try mirrored(path) } == .readOnly)
    await #expect(throws: LarchError.self) {
      try await Store.takeOver(server.serverLog, to: other)
    }
    #expect(!FileManager.default.fileExists(atPath: other))
    let follower = try following(other)
    await #expect {
      try await follower.promote()
    } throws: {
      ($0 as? LarchError)?.code == .conflictingOptions
    }
    follower.close()
    // A follower joins those that write.
    let second = try shared(other)
    try second.saveAll([Account(owner: "second", balance: 2)])
    second.close()
    ScratchFile.remove(other)
    let stranger = try mirrored(other)
    defer { stranger.close() }
    await #expect(throws: LarchError.self) { try await stranger.mirror?.settled() }
    try stranger.mirror?.startOver()
    await #expect(throws: LarchError.self) { try await stranger.mirror?.settled() }
    // The stranger may write to its own file.
    try stranger.saveAll([Account(owner: "stranger", balance: 3)])
    let newest = try #require(try MemoryLog(server).head())
    #expect(newest.folded == head.folded && newest.use == .shared)
    try first.saveAll([Account(owner: "last", balance: 4)])
    try expectEqual([first], server)
    #expect(try first.everything(Account.self).map(\.balance).sorted() == [1, 2, 4])
  }
}
