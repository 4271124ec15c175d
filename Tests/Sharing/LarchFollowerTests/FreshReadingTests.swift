import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct FreshReadingTests {
  @Test func `a read at a version of the writer has what was written`() async throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    defer { follower.close() }
    for step in 0..<50 {
      try sharing.writer.saveAllBlocking([Note(title: "n\(step)", stars: 1)])
      // As a session carries it.
      let text = try sharing.writer.version.description
      try sharing.ship()
      let version = try #require(StoreVersion(text))
      let count =
        step % 2 == 0
        ? try await follower.read(.atLeast(version)) { tx in try tx.count(Note.all) }
        : try follower.countBlocking(.atLeast(version))
      #expect(count == step + 1)
      let seen = try await follower.read(.atLeast(version)) { tx in try tx.version }
      #expect(seen >= version)
    }
  }

  @Test func `the newest version of a copy is that of its writer, and survives a new opening`()
    throws
  {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try sharing.follow()
    try sharing.expectEqual(follower)
    let version = try sharing.writer.version
    #expect(try follower.version == version)
    #expect(try follower.snapshot().version == version)
    // Changes of the outbox alone are no commit of the store.
    try sharing.writer.environment.restartOutbox()
    #expect(try sharing.writer.version == version)
    follower.close()
    let again = try sharing.follow()
    defer { again.close() }
    #expect(try again.version == version)
  }

  @Test func `on the writer a version of itself needs no wait`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    sharing.server.isUnreachable = true
    let version = try sharing.writer.version
    #expect(
      try sharing.writer.read(.atLeast(version), within: .zero) { try $0.count(Note.all) } == 1)
    #expect(try sharing.writer.read(.fresh, within: .zero) { try $0.count(Note.all) } == 1)
    try sharing.writer.write { tx in
      let inside = try sharing.writer.read(.atLeast(version)) { try $0.count(Note.all) }
      #expect(inside == 1)
    }
  }

  @Test func `a store without a log reads at its own versions, and refuses those of a log`() throws
  {
    let sharing = try Sharing()
    let own = try Store.temporary(for: Note.self, Shelf.self, options: .quick)
    let before = try own.version
    try own.saveAll([Note(title: "one", stars: 1)])
    #expect(try own.read(.atLeast(before)) { try $0.count(Note.all) } == 1)
    #expect(try own.read(.atLeast(own.version)) { try $0.count(Note.all) } == 1)
    #expect(try own.read(.fresh) { try $0.count(Note.all) } == 1)
    let later = caught {
      try own.read(.atLeast(StoreVersion(1_000_000)), within: .milliseconds(20)) { _ in }
    }
    #expect(later?.code == .unavailable)
    let foreign = try sharing.writer.version
    #expect(caught { try own.read(.atLeast(foreign)) { _ in } }?.code == .diverged)
  }

  @Test func `a version that does not come in time is an error that says where the copy is`()
    async throws
  {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    let version = try sharing.writer.version
    do {
      try await follower.read(.atLeast(version), within: .milliseconds(30)) { _ in }
      Issue.record("it must not have it")
    } catch let error as LarchError {
      #expect(error.code == .unavailable)
      #expect(error.context.detail?.contains("at 1") == true, "\(error)")
    }
    let task = Task { try await follower.read(.atLeast(version), within: .seconds(60)) { _ in } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a fresh read asks the server once, and sees what the log has`() throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    defer { follower.close() }
    for step in 1...20 {
      try sharing.writer.saveAll([Note(title: "n\(step)", stars: 1)])
      try sharing.ship()
      let counts = try follower.read(.fresh) { tx in
        (try tx.count(Note.all), try tx.fetch(Note.all).count)
      }
      #expect(counts.0 == step && counts.1 == step)
    }
    // Once it has all, only the question is left: the thread waits, which is not counted.
    try sharing.expectEqual(follower)
    // The thread may still be on its way to wait.
    let counts = try (0..<20).map { _ in
      Thread.sleep(forTimeInterval: 0.02)
      let before = sharing.server.calls
      _ = try follower.read(.fresh) { try $0.count(Note.all) }
      let fresh = sharing.server.calls
      _ = try follower.read { try $0.count(Note.all) }
      return [fresh - before, sharing.server.calls - fresh]
    }
    #expect(counts.contains([1, 0]))
    #expect(counts.allSatisfy { $0[0] >= 1 })
    sharing.server.isUnreachable = true
    #expect(caught { try follower.read(.fresh) { _ in } }?.code == .unavailable)
  }

  @Test func `a copy that is opened without its log can be read, but not freshly`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try sharing.follow()
    try sharing.expectEqual(follower)
    follower.close()
    try Store.using(
      sharing.copyPath, Note.self, Shelf.self,
      options: .quick.with { $0.isReadOnly = true }
    ) { copy throws in
      #expect(try copy.count(Note.all) == 1)
      #expect(try copy.version == sharing.writer.version)
      #expect(try copy.read(.atLeast(sharing.writer.version)) { try $0.count(Note.all) } == 1)
      #expect(caught { try copy.read(.fresh) { _ in } }?.code == .unavailable)
    }
  }
}

extension Store {
  fileprivate func countBlocking(_ freshness: Freshness) throws -> Int {
    try read(freshness) { tx in try tx.count(Note.all) }
  }
}
