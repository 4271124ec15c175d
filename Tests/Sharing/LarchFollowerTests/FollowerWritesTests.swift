import Foundation
import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct FollowerWritesTests {
  @Test func `every way to write a follower is refused with what to do, and changes nothing`()
    async throws
  {
    let sharing = try Sharing()
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let before = try follower.dump()
    let version = try follower.version

    try refused { _ = try follower.saveNote() }
    try refused { try follower.eraseNotes() }
    try refused { try follower.rebuildBlocking() }
    try refused {
      _ = try Store.using(
        sharing.copyPath, Note.self, Shelf.self, options: .quick.with { $0.durability = .none }
      ) { try $0.saveAll([Note(title: "x", stars: 1)]) }
    }
    await #expect(throws: LarchError.self) {
      try await follower.write { tx in
        var note = Note(title: "x", stars: 1)
        try tx.save(&note)
      }
    }
    await #expect(throws: LarchError.self) {
      try await follower.importJSON(Note.self, from: .text(#"[{"title": "x", "stars": 1}]"#))
    }
    let work = follower.work()
    let draft = try work.draft(Note.self, try #require(try follower.first(Note.all)).id)
    draft?.edit { $0.stars = 9 }
    await #expect(throws: LarchError.self) { try await work.commit() }
    #expect(try follower.dump() == before)
    #expect(try follower.version == version)
    // What changes nothing of the store is allowed.
    try follower.compactBlocking()
    #expect(try follower.dump() == before)
    #expect(try follower.version == version)
    #expect(try follower.verifyBlocking().isClean)
    try follower.backupBlocking(to: sharing.directory + "/backup.larch")
    // It still follows.
    try sharing.writer.saveAllBlocking([Note(title: "two", stars: 2)])
    try sharing.ship()
    try sharing.expectEqual(follower)
  }

  private func refused(
    _ work: () throws -> Void, location: SourceLocation = #_sourceLocation
  ) throws {
    let error = caught(work)
    #expect(error?.code == .readOnly, "\(String(describing: error))", sourceLocation: location)
    #expect(error?.message.contains("promote") == true, sourceLocation: location)
  }
}

// Synchronous forms, from an asynchronous test.
extension Store {
  fileprivate func saveNote() throws -> Note {
    try write { tx in
      var note = Note(title: "x", stars: 1)
      try tx.save(&note)
      return note
    }
  }

  fileprivate func eraseNotes() throws { try write { tx in try tx.delete(Note.all) } }
  fileprivate func compactBlocking() throws { try compact() }
  fileprivate func rebuildBlocking() throws { try rebuild() }
  fileprivate func verifyBlocking() throws -> VerificationReport { try verify() }
  fileprivate func backupBlocking(to path: String) throws { try backup(to: path) }
}
