import CLMDB
import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

#if canImport(Glibc)
  import Glibc
#endif

/// What happens to a log when its store, another store or another program does something unexpected.
@Suite("Commit logs and what lies beside them", .serialized)
struct LogCompanionTests {
  private func open(
    _ path: String, _ durability: Store.Options.Durability = .logged,
    _ change: (inout Store.Options) -> Void = { _ in }
  ) throws -> Store {
    try Store.forCrashes(at: path) {
      $0.durability = durability
      $0.logLimits = .forPowerFailures
      $0.logLimits.idle = .seconds(60)
      change(&$0)
    }
  }

  private func save(_ id: String, _ store: Store) throws {
    try store.write { tx throws in
      var entry = Entry(id: id, owner: 7, text: id)
      try tx.save(&entry)
    }
  }

  private func hasLog(_ path: String) -> Bool { access(path + "-log", F_OK) == 0 }

  /// The files of a store that was open when its process ended.
  ///
  /// - Parameter isLarge: whether the last commit was too large for the log, which is clean then.
  private func crashed(
    _ directory: CrashDirectory, _ ids: [String], isLarge: Bool = false
  ) throws -> StoreImage {
    let path = directory.path + "/crashed.larch"
    let store = try open(path)
    for id in ids { try save(id, store) }
    if isLarge {
      try store.write { tx throws in
        var entry = Entry(id: "large", owner: 7, text: String(repeating: "x", count: 2 << 20))
        try tx.save(&entry)
      }
      let log = try #require(try CommitLogFile.open(for: path))
      defer { log.close() }
      #expect(try log.header()?.state == .clean)
    }
    let image = try StoreImage(of: path)
    store.close()
    return image
  }

  private func logsAside(_ directory: CrashDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path)
      .filter { $0.contains("-aside-") }.map { directory.path + "/" + $0 }
  }

  @Test(
    "A store that was moved without its log gets it back after a new one was made at its path",
    arguments: [false, true])
  func movedWithoutLog(isLarge: Bool) throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let moved = directory.path + "/moved.larch"
    try crashed(directory, ["kept"], isLarge: isLarge).write(to: path)
    guard rename(path, moved) == 0 else { throw Mismatch("rename: \(errno)") }
    let messages = Locked<[LogMessage]>([])
    let new = try open(path) { $0.log = { message in messages.withLock { $0.append(message) } } }
    try save("new", new)
    #expect(try new.count(Entry.all) == 1)
    new.close()
    let aside = try #require(try logsAside(directory).first)
    let told = messages.withLock { $0.filter { $0.event == .movedAside } }
    #expect(told.count == 1 && told[0].context.detail?.contains(aside) == true)
    // Without its log the moved store is refused; with it, everything is there.
    #expect(caught { try open(moved, .durable).close() }?.code == .corrupted)
    guard rename(aside, moved + "-log") == 0 else { throw Mismatch("rename: \(errno)") }
    let found = try open(moved, .durable)
    defer { found.close() }
    #expect(try found.find(Entry.self, "kept") != nil)
  }

  @Test(
    "The log of another store is kept when a store has none, and a log that nobody needs is not")
  func foreignLog() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    try open(path, .durable).close()
    var image = try StoreImage(of: path)
    let foreign = try crashed(directory, ["foreign"])
    image.log = foreign.log
    try image.write(to: path)
    try open(path, .durable).close()
    let aside = try #require(try logsAside(directory).first)
    #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: aside))) == foreign.log)
    #expect(!hasLog(path))
    unlink(aside)
    // One that was being made, and one whose store has everything.
    var clean = CommitLogHeader(identity: 7, salt: 1, halfSize: 4096, pageSize: 4096)
    clean.number = 2
    let zeros = [UInt8](repeating: 0, count: CommitLogFormat.firstHalf)
    for log in [[], zeros, clean.bytes + zeros] {
      image.log = log
      try image.write(to: path)
      try open(path, .durable).close()
      #expect(try logsAside(directory).isEmpty)
      #expect(!hasLog(path))
      // And where no store is.
      for suffix in ["", "-lock"] { unlink(path + suffix) }
      try Data(log).write(to: URL(fileURLWithPath: path + "-log"))
      try open(path, .durable).close()
      #expect(try logsAside(directory).isEmpty)
      #expect(!hasLog(path))
    }
  }

  @Test("A header without a possible state of the store is refused, and nothing is changed")
  func impossibleState() throws {
    let directory = try CrashDirectory()
    let image = try crashed(directory, (0..<20).map { "kept \($0)" })
    let header = try #require(image.header)
    let copy = directory.path + "/copy.larch"
    for place in stride(from: 0, to: CommitLogFormat.metaSize, by: 4) {
      var forged = header
      forged.number += 2
      forged.meta.replaceSubrange(place..<place + 4, with: [0xFF, 0xFF, 0xFF, 0x7F])
      var damaged = image
      let start = Int(forged.number & 1) * CommitLogFormat.headerDistance
      damaged.log?.replaceSubrange(start..<start + CommitLogFormat.headerSize, with: forged.bytes)
      try damaged.write(to: copy)
      let error = caught {
        let store = try open(copy, .durable) { $0.isVerified = true }
        defer { store.close() }
        // What LMDB does not look at may be anything.
        #expect(try store.find(Entry.self, "kept 19") != nil)
      }
      // A sanitizer leaves less address space than the largest map that is possible.
      let isTooLarge = isSanitized && error?.code == .outOfResources
      #expect(
        error == nil || error?.code == .corrupted || error?.code == .truncated || isTooLarge,
        "byte \(place): \(String(describing: error))")
    }
  }

  @Test("With `isVerified`, pages are checked before what is in the log is put into them")
  func verifiedRecovery() throws {
    let directory = try CrashDirectory()
    let image = try crashed(directory, (0..<60).map { "kept \($0)" })
    let pageSize = try #require(image.header?.pageSize)
    let copy = directory.path + "/copy.larch"
    var refused = 0
    for page in 2..<image.data.count / pageSize {
      var damaged = image
      // The kind of page, and where its entries begin and end.
      damaged.data.replaceSubrange(
        page * pageSize + 10..<page * pageSize + 16, with: [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
      try damaged.write(to: copy)
      let error = caught {
        let store = try open(copy, .durable) { $0.isVerified = true }
        defer { store.close() }
        #expect(try store.find(Entry.self, "kept 59") != nil)
      }
      // A page that the state of the checkpoint does not have may be anything.
      if let error {
        #expect(error.code == .corrupted, "page \(page): \(error)")
        #expect(hasLog(copy), "page \(page)")
        refused += 1
      }
    }
    #expect(refused > 0)
  }

  @Test("An idle checkpoint that cannot begin is not tried all the time")
  func failingCheckpoint() throws {
    let directory = try CrashDirectory()
    let store = try open(directory.store) {
      $0.logLimits.idle = .milliseconds(20)
      $0.logLimits.faults = .noCheckpoints
    }
    defer { store.close() }
    try save("one", store)
    let log = try #require(store.environment.commitLog)
    func attempts() -> Int {
      log.mutex.lock()
      defer { log.mutex.unlock() }
      return log.attempts
    }
    let end = MonotonicTime.now.nanoseconds + 60_000_000_000
    while attempts() < 3, MonotonicTime.now.nanoseconds < end { usleep(1000) }
    let before = (attempts(), MonotonicTime.now.nanoseconds)
    usleep(200_000)
    let passed = MonotonicTime.now.nanoseconds - before.1
    #expect(before.0 >= 3)
    // At most one in each 20 ms, whatever else the machine does.
    #expect(attempts() - before.0 <= Int(passed / 20_000_000) + 2)
    try save("two", store)
    #expect(try store.find(Entry.self, "two") != nil)
  }

  @Test("Compaction fills the pages of a store whose commits are logged")
  func compaction() throws {
    let directory = try CrashDirectory()
    var sizes: [Int] = []
    for durability in [Store.Options.Durability.durable, .logged] {
      let path = directory.path + "/\(durability).larch"
      let store = try open(path, durability)
      defer { store.close() }
      var random = SeededGenerator(seed: 7)
      for _ in 0..<40 {
        try store.write { tx throws in
          for _ in 0..<25 {
            let number = UInt64.random(in: 0 ... .max, using: &random)
            var entry = Entry(id: "\(number)", owner: 7, text: "text \(number)")
            try tx.save(&entry)
          }
        }
      }
      // The log is in use.
      try save("last", store)
      #expect(store.environment.commitLog?.isInUse == (durability == .logged ? true : nil))
      try store.compact()
      try save("after", store)
      #expect(try store.count(Entry.all) == 1002)
      #expect(try store.verify().isClean)
      sizes.append(try StoreImage(of: path).data.count)
    }
    #expect(sizes[1] <= sizes[0] + 8 * 4096, "\(sizes)")
  }

  @Test("A store that cannot be locked when it closes keeps its log")
  func closedWithoutLock() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let kept = directory.path + "/kept.larch"
    let store = try open(path)
    try save("kept", store)
    // A link is no store, so that the place cannot be locked: as when no more files can be opened.
    guard rename(path, kept) == 0, symlink(kept, path) == 0 else {
      throw Mismatch("rename: \(errno)")
    }
    store.close()
    #expect(hasLog(path))
    guard unlink(path) == 0, rename(kept, path) == 0 else { throw Mismatch("rename: \(errno)") }
    let again = try open(path, .durable)
    defer { again.close() }
    #expect(!hasLog(path))
    #expect(try again.find(Entry.self, "kept") != nil)
    #expect(try again.verify().isClean)
  }

  @Test("A program that knows no logs and had the file open before may commit in between")
  func plainWriter() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    try open(path).close()
    // Nothing is to be made any more, so that nothing is committed.
    let store = try open(path)
    defer { store.close() }
    let beacon = try Beacon(path: directory.beacon)
    // Before the first commit the file says nothing of a log.
    let child = try Child(
      ["watched-plain", path, directory.beacon, "1", "plain", "1"], in: directory.path)
    try child.waitUntilStarted(beacon, 1)
    var saved = 0
    for round in 1...4 {
      for _ in 0..<round {
        try save("\(saved)", store)
        saved += 1
      }
      beacon[.attempted(1)] = round
      try child.wait("a commit") { beacon[.acknowledged(1)] >= round }
      for _ in 0..<2 {
        try save("\(saved)", store)
        saved += 1
      }
      let copy = directory.path + "/copy.larch"
      try StoreImage(of: path).write(to: copy)
      let copied = try open(copy, .durable)
      defer { copied.close() }
      #expect(try copied.count(Entry.all) == saved)
      #expect(try copied.verify().isClean)
    }
    child.signal(SIGKILL)
    try child.killHard()
  }

  @Test("Where no store is, destroying and a backup leave a log that a moved store may need")
  func noStore() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let moved = directory.path + "/moved.larch"
    try crashed(directory, ["kept"]).write(to: path)
    guard rename(path, moved) == 0 else { throw Mismatch("rename: \(errno)") }
    #expect(try !Store.destroy(at: path))
    #expect(hasLog(path))
    let other = try Store.temporary(for: Entry.self)
    defer { other.close() }
    try other.backup(to: path, replacing: true)
    #expect(hasLog(path))
    try open(path, .durable).close()
    let aside = try #require(try logsAside(directory).first)
    guard rename(aside, moved + "-log") == 0 else { throw Mismatch("rename: \(errno)") }
    let found = try open(moved, .durable)
    #expect(try found.find(Entry.self, "kept") != nil)
    found.close()
    #expect(try Store.destroy(at: moved))
    #expect(!hasLog(moved))
  }

  @Test(
    "So they do with the log of another store beside one that has none, though it is damaged",
    arguments: [false, true])
  func logOfAnother(isDamaged: Bool) throws {
    let directory = try CrashDirectory()
    let path = directory.store
    try open(path, .durable).close()
    var image = try StoreImage(of: path)
    image.log = try crashed(directory, ["foreign"], isLarge: true).log
    if isDamaged {
      for place in 0..<CommitLogFormat.firstHalf { image.log?[place] ^= 0x55 }
    }
    try image.write(to: path)
    let other = try Store.temporary(for: Entry.self)
    defer { other.close() }
    try other.backup(to: path, replacing: true)
    #expect(hasLog(path))
    try image.write(to: path)
    #expect(try Store.destroy(at: path))
    #expect(hasLog(path))
  }

  @Test("A log that cannot be opened is an error, and nothing is removed")
  func unreadableLog() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    try open(path, .durable).close()
    let image = try StoreImage(of: path)
    guard symlink("elsewhere", path + "-log") == 0 else { throw Mismatch("symlink: \(errno)") }
    let other = try Store.temporary(for: Entry.self)
    defer { other.close() }
    #expect(caught { try other.backup(to: path, replacing: true) } != nil)
    #expect(caught { _ = try Store.destroy(at: path) } != nil)
    #expect(try StoreImage(of: path).data == image.data)
    unlink(path + "-log")
    #expect(try Store.destroy(at: path))
  }

  @Test("A commit without free reader slots for the log is an ordinary one")
  func noReaderSlots() throws {
    let directory = try CrashDirectory()
    // The lock file keeps the number with which it was made.
    try open(directory.store) { $0.maximumReaders = 16 }.close()
    let store = try open(directory.store) { $0.maximumReaders = 16 }
    defer { store.close() }
    let log = try #require(store.environment.commitLog)
    var held: [LMDBTransaction] = []
    for _ in 0..<1000 {
      guard let reader = try? LMDBTransaction.begin(log.handle, MDB_RDONLY) else { break }
      held.append(reader)
    }
    defer { for reader in held { reader.abort() } }
    try #require((1..<1000).contains(held.count))
    try store.environment.write { (transaction: LMDBTransaction) throws -> Void in
      _ = try LMDBDatabase.open("extra", .create, in: transaction)
    }
    #expect(!log.isInUse)
    #expect(!log.hasFailed)
    for reader in held { reader.abort() }
    held = []
    try save("later", store)
    #expect(log.isInUse)
    #expect(try store.find(Entry.self, "later") != nil)
  }

  @Test("A checkpoint marks the store again that a reader has left without its mark")
  func markedAgain() throws {
    let directory = try CrashDirectory()
    let store = try open(directory.store) { $0.logLimits.idle = .milliseconds(1) }
    defer { store.close() }
    try save("one", store)
    let log = try #require(store.environment.commitLog)
    // What a reader has done that was killed while it opened the store.
    var plain = UInt8(truncatingIfNeeded: PageLayout.version >> 24)
    for slot in 0..<2 {
      let place: Int = slot * log.mark.pageSize + LogMark.versionPlace + 3
      let written = pwrite(log.mark.descriptor, &plain, 1, off_t(place))
      #expect(written == 1)
    }
    try save("two", store)
    var isMarked = false
    for _ in 0..<20_000 {
      isMarked = try log.mark.isSet()
      if isMarked { break }
      usleep(500)
    }
    #expect(isMarked)
  }

  // Swift hides `fork` for good reasons; the C library of Linux has it under this name.
  #if os(Linux)
    @Test("A forked child does not end its parent's lock on the log")
    func fork() async throws {
      await #expect(processExitsWith: .success) {
        let directory = try CrashDirectory()
        let path = directory.store
        let log = try CommitLogFile.create(for: path, halfSize: 4096)
        let symbol = try #require(dlsym(nil, "fork"))
        // The type that the system declares it with.
        let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
        let child = fork()
        if child == 0 {
          alarm(60)
          log.close()
          _exit(0)
        }
        var status: Int32 = -1
        try #require(waitpid(child, &status, 0) == child)
        try #require(status == 0)
        let other = try #require(try CommitLogFile.open(for: path))
        try #require(!other.lock())
        log.close()
        try #require(other.lock())
      }
    }
  #endif
}
