import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

#if canImport(Glibc)
  import Glibc
#endif

/// A log that somebody removes while its store is open.
@Suite("Commit logs that are removed", .serialized)
struct RemovedLogTests {
  enum Removal: CaseIterable { case removed, replaced, renamed }

  /// What looks for the file of the log.
  enum Look: CaseIterable { case pause, fullHalf, largeCommit, useAgain, close }

  @Test(
    "A log that was removed is missed at the next checkpoint, and the store goes on whole without it",
    arguments: Removal.allCases, Look.allCases)
  func removed(_ removal: Removal, _ look: Look) throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let messages = Locked<[LogMessage]>([])
    func open() throws -> Store {
      try Store.forCrashes(at: path) {
        $0.durability = .logged
        $0.logLimits = .forPowerFailures
        $0.logLimits.idle = look == .pause ? .milliseconds(1) : .seconds(600)
        $0.log = { message in messages.withLock { $0.append(message) } }
      }
    }
    let store = try open()
    defer { store.close() }
    var count = 0
    func save(_ text: String = "") throws {
      try store.write { tx throws in
        var entry = Entry(id: "\(count)", owner: 7, text: "\(count) \(text)")
        try tx.save(&entry)
      }
      count += 1
    }
    let large = String(repeating: "large ", count: 4_000)
    for _ in 0..<10 { try save() }
    if look == .useAgain { try save(large) }
    let log = path + "-log"
    switch removal {
    case .removed: try #require(unlink(log) == 0)
    case .renamed: try #require(rename(log, log + "-elsewhere") == 0)
    case .replaced:
      try #require(unlink(log) == 0)
      try Data("another file".utf8).write(to: URL(fileURLWithPath: log))
    }
    func told() -> [LogMessage] {
      messages.withLock { $0.filter { $0.event == .logRemoved } }
    }
    let commits = try #require(store.environment.commitLog)
    switch look {
    case .pause: try save()
    case .fullHalf:
      for _ in 0..<200 where commits.isInUse { try save(String(repeating: "text ", count: 100)) }
    case .largeCommit: try save(large)
    case .useAgain: try save()
    case .close: store.close()
    }
    for _ in 0..<60_000 where told().isEmpty { usleep(1000) }
    try #require(told().count == 1)
    #expect(told().first?.level == .error)
    #expect(told().first?.context.path == path)
    #expect(told().first?.context.detail?.contains(log) == true)
    // A process that is killed leaves these files.
    func expectWhole() throws {
      var image = try StoreImage(of: path)
      if removal != .replaced { #expect(image.log == nil) }
      if removal == .replaced { #expect(image.log == [UInt8]("another file".utf8)) }
      let copy = directory.path + "/copy.larch"
      for hasLog in [true, false] {
        if !hasLog { image.log = nil }
        try image.write(to: copy)
        let copied = try Store.forCrashes(at: copy) { $0.isVerified = true }
        #expect(try copied.count(Entry.all) == count)
        copied.close()
      }
    }
    try expectWhole()
    if look != .close {
      for _ in 0..<5 {
        try save()
        try expectWhole()
      }
      try save(large)
      try expectWhole()
      store.close()
      #expect(told().count == 1)
    }
    if removal == .replaced {
      // The other file is not the store's to remove.
      #expect(access(log, F_OK) == 0)
    }
    // The next opening has a log again.
    let again = try open()
    defer { again.close() }
    #expect(try again.count(Entry.all) == count)
    try again.write { tx throws in
      var entry = Entry(id: "again", owner: 7, text: "again")
      try tx.save(&entry)
    }
    #expect(again.environment.commitLog?.isInUse == true)
    #expect(access(log, F_OK) == 0)
  }
}
