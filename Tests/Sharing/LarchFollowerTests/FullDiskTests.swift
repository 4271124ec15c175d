import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A copy whose disk has no room for what its log has. Files of the whole process are limited, so each
/// test has a process of its own.
@Suite("A copy on a full disk") struct FullDiskTests {
  @Test("A follower says so, stays as it is, and goes on by itself when there is room")
  func follower() async {
    await #expect(processExitsWith: .success) {
      let sharing = try Sharing()
      let messages = Locked<[LogMessage.Event]>([])
      func follow() throws -> Store {
        try sharing.follow(
          options: .quick.with {
            $0.log = { message in messages.withLock { $0.append(message.event) } }
          })
      }
      let first = try follow()
      try sharing.writer.saveAllBlocking([Note(title: "before", stars: 1)])
      try sharing.ship()
      try sharing.expectEqual(first)
      let (place, digest) = (try first.version, try first.digest())
      // More than the copy has free pages for.
      let count = 3000
      first.close()
      try sharing.writer.saveAllBlocking(
        (0..<count).map { Note(title: "\($0) " + String(repeating: "x", count: 300), stars: $0) })
      try sharing.ship()
      try limitFiles(to: fileSize(sharing.copyPath))
      let follower = try follow()
      try waitFor { follower.follower?.status.error != nil }
      let error = try #require(follower.follower?.status.error)
      try #require(error.code == .diskFull, "\(error)")
      try #require(follower.follower?.status.activity == .interrupted)
      try #require(try follower.version == place && follower.digest() == digest)
      try #require(try follower.isSound)
      try waitFor { messages.withLock { $0.contains(.followingInterrupted) } }
      try limitFiles(to: nil)
      try sharing.expectEqual(follower)
      try #require(try follower.count(Note.all) == count + 1)
      try #require(try follower.digest() == sharing.writer.digest())
      try #require(try follower.isSound)
      try waitFor { follower.follower?.status.error == nil }
      try waitFor { messages.withLock { $0.contains(.followingResumed) } }
      follower.close()
    }
  }

  /// The first write of a process claims ids in the log. When the copy had no room for that claim, the program was
  /// told that its write was committed and must not be repeated, and the records were never saved.
  @Test("A write of a shared copy happens once or not at all, and its error says which")
  func shared() async {
    await #expect(processExitsWith: .success) {
      let server = MemoryServer()
      let paths = (ScratchFile.freshPath(), ScratchFile.freshPath())
      func open(_ path: String) throws -> Store {
        try Store(
          sharing: server.serverLog, copy: path, types: [Note.self, Shelf.self], options: .quick,
          isTemporary: false)
      }
      let (small, other) = (try open(paths.0), try open(paths.1))
      // More ids than the process has; and then large records, for which it has ids.
      let refusals = [
        ((0..<2000).map { Note(title: "\($0)", stars: $0) }, LarchError.Code.diskFull),
        (
          (0..<40).map { Note(title: String(repeating: "\($0)", count: 20_000), stars: $0) },
          .ioFailure
        ),
      ]
      var expected = 0
      for (notes, code) in refusals {
        try small.saveAllBlocking((0..<3).map { Note(title: "before \($0)", stars: 1) })
        expected += 3
        try other.environment.catchUpWithLog()
        try limitFiles(to: fileSize(small.path))
        let error = try #require(caught { try small.saveAllBlocking(notes) })
        try #require(error.code == code, "\(error)")
        try #require(try small.count(Note.all) == expected && small.isSound)
        try limitFiles(to: nil)
        if code == .diskFull {
          // It says that nothing was changed, and to retry.
          try other.environment.catchUpWithLog()
          try #require(try other.count(Note.all) == expected)
          try small.saveAllBlocking(notes)
        }
        expected += notes.count
        for store in [small, other] {
          try store.environment.catchUpWithLog()
          let count = try store.count(Note.all)
          try #require(count == expected, "\(count) of \(expected), \(error)")
          try #require(try store.isSound)
        }
        try #require(try other.digest() == small.digest())
      }
      try small.saveAllBlocking([Note(title: "after", stars: 1)])
      try #require(try small.count(Note.all) == expected + 1)
      for store in [small, other] { store.close() }
      ScratchFile.remove(paths.0)
      ScratchFile.remove(paths.1)
    }
  }
}

private func fileSize(_ path: String) throws -> UInt64 {
  var status = stat()
  guard stat(path, &status) == 0 else { throw CocoaError(.fileReadUnknown) }
  return UInt64(status.st_size)
}

/// Limits the size of the files of this process; writes beyond it fail.
private func limitFiles(to size: UInt64?) throws {
  signal(SIGXFSZ, SIG_IGN)
  #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
    let resource = RLIMIT_FSIZE
  #endif
  var limit = rlimit()
  getrlimit(resource, &limit)
  limit.rlim_cur = size.map { rlim_t($0) } ?? limit.rlim_max
  guard setrlimit(resource, &limit) == 0 else { throw CocoaError(.fileWriteUnknown) }
}

/// Waits for what a thread does, by attempts and not by time.
private func waitFor(_ condition: () throws -> Bool) throws {
  for _ in 0..<100_000 {
    if try condition() { return }
    usleep(200)
  }
  throw CocoaError(.userCancelled)
}
