import Foundation
import LarchCrashSupport
import Testing

@testable import Larch

/// A store with file and folder that a user may only read threw `.access_denied`, also read-only:
/// LMDB wants to write who reads into the lock file.
@Suite("A user who may only read", .serialized)
struct ReadOnlyUserTests {
  private static let isRoot = getuid() == 0

  private struct Place {
    let directory: CrashDirectory
    /// Where the children write.
    let others: CrashDirectory
    let beacon: Beacon

    init(keepsLockFile: Bool) throws {
      directory = try CrashDirectory()
      try SharedBank(seed: runSeed).make(at: directory.store)
      others = try CrashDirectory()
      beacon = try Beacon(path: others.beacon)
      let lock = directory.store + "-lock"
      if keepsLockFile {
        try #require(chmod(lock, 0o444) == 0)
      } else {
        try #require(unlink(lock) == 0)
      }
      try #require(chmod(directory.store, 0o444) == 0)
      try #require(chmod(directory.path, 0o555) == 0)
    }

    func reader() throws -> Child {
      try Child(["read-as", "65534", directory.store, others.beacon], in: others.path)
    }

    func end() { chmod(directory.path, 0o755) }
  }

  @Test("Opens the store read-only, with a lock file or without", arguments: [false, true])
  func reads(keepsLockFile: Bool) throws {
    let place = try Place(keepsLockFile: keepsLockFile)
    defer { place.end() }
    let reader = try place.reader()
    try reader.wait("reads") { place.beacon[.acknowledged(0)] > 3 }
    // Several at once.
    let other = try place.reader()
    let before = place.beacon[.acknowledged(0)]
    try other.wait("reads") { place.beacon[.acknowledged(0)] > before + 3 }
    try reader.killHard()
    try other.killHard()
    #expect(place.directory.names.contains("store.larch-lock") == keepsLockFile)
  }

  @Test(
    "A writer that comes while the user reads is refused, and told who reads",
    .enabled(if: isRoot), arguments: [false, true])
  func writerComes(keepsLockFile: Bool) throws {
    let place = try Place(keepsLockFile: keepsLockFile)
    defer { place.end() }
    let reader = try place.reader()
    try reader.wait("reads") { place.beacon[.acknowledged(0)] > 0 }
    let error = #expect(throws: LarchError.self) {
      _ = try SharedBank.open(at: place.directory.store)
    }
    #expect(error?.code == .busy)
    #expect(error?.message.contains("reads the file without the lock file") == true)
    #expect(error?.context.detail?.contains("process \(reader.id) ") == true, "\(error as Any)")
    try reader.killHard()
    try SharedBank.open(at: place.directory.store).close()
  }

  @Test("While somebody has the store open to write, the user is refused", .enabled(if: isRoot))
  func writerIsThere() throws {
    let place = try Place(keepsLockFile: true)
    defer { place.end() }
    let store = try SharedBank.open(at: place.directory.store)
    let refused = try place.reader()
    #expect(try refused.wait() == .exit(1))
    #expect(refused.output.contains("busy: "), "\(refused.output)")
    #expect(refused.output.contains("process \(getpid())"), "\(refused.output)")
    store.close()
    let reader = try place.reader()
    try reader.wait("reads") { place.beacon[.acknowledged(0)] > 0 }
    try reader.killHard()
  }
}
