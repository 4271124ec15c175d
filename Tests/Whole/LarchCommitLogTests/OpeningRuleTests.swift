import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Who may open a store whose commits are logged, and what is left of its log.
@Suite("Opening a store with a commit log", .serialized)
struct OpeningRuleTests {
  private func open(
    _ path: String, _ durability: Store.Options.Durability = .logged,
    _ change: (inout Store.Options) -> Void = { _ in }
  ) throws -> Store {
    try Store.forCrashes(at: path) {
      $0.durability = durability
      $0.logLimits = .forPowerFailures
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

  /// Opens the store in another process, and waits until it writes.
  private func writer(_ directory: CrashDirectory) throws -> Child {
    let child = try Child(
      ["crash-logged", directory.store, directory.beacon, "\(runSeed)", "stays"],
      in: directory.path)
    try child.waitUntilStarted(try Beacon(path: directory.beacon), 0)
    return child
  }

  @Test("Another process that would write is refused, until the first one is gone")
  func otherProcess() throws {
    let directory = try CrashDirectory()
    let child = try writer(directory)
    for durability in [Store.Options.Durability.logged, .durable, .relaxed] {
      #expect(caught { try open(directory.store, durability).close() }?.code == .busy)
    }
    child.signal(SIGKILL)
    try child.killHard()
    #expect(hasLog(directory.store))
    let store = try open(directory.store)
    defer { store.close() }
    try save("later", store)
    #expect(try store.find(Entry.self, "later") != nil)
  }

  @Test("A store that another process has open logs nothing until that one is gone")
  func openElsewhere() throws {
    let directory = try CrashDirectory()
    try open(directory.store, .durable).close()
    let reader = try Child(
      ["crash-reader", directory.store, directory.beacon, "1", "\(runSeed)", "1"],
      in: directory.path)
    try reader.waitUntilStarted(try Beacon(path: directory.beacon), 1)
    #expect(caught { try open(directory.store).close() }?.code == .busy)
    #expect(!hasLog(directory.store))
    // Without a log both may write, as ever.
    let store = try open(directory.store, .durable)
    try save("shared", store)
    store.close()
    reader.signal(SIGKILL)
    try reader.killHard()
    try open(directory.store).close()
  }

  @Test("A killed process leaves a log that everybody follows", arguments: [true, false])
  func killed(isReadOnly: Bool) throws {
    let directory = try CrashDirectory()
    let child = try writer(directory)
    let beacon = try Beacon(path: directory.beacon)
    try child.wait("writes") { beacon[.acknowledged(0)] > 30 }
    child.signal(SIGKILL)
    try child.killHard()
    #expect(hasLog(directory.store))
    let store = try open(directory.store, .durable) { $0.isReadOnly = isReadOnly }
    defer { store.close() }
    #expect(!hasLog(directory.store))
    let found = try store.read { try WriterModel.read(0, seed: runSeed, in: $0) }
    let acknowledged = beacon[.acknowledged(0)]
    #expect((acknowledged...acknowledged + 1).contains(found.progress.transactions))
    #expect(try store.verify().isClean)
  }

  @Test("A log is followed with more trees than the program knows")
  func manyTrees() throws {
    let directory = try CrashDirectory()
    let copy = directory.path + "/copy.larch"
    let store = try open(directory.store)
    try save("kept", store)
    for suffix in ["-log", ""] {
      try FileManager.default.copyItem(atPath: directory.store + suffix, toPath: copy + suffix)
    }
    store.close()
    do {
      guard let place = try PlaceLock(copy, isExclusive: true) else { throw Mismatch("no copy") }
      var options = LMDBEnvironment.Options()
      options.maxDatabases = 1
      let settling = LogSettling(path: copy, options: options, file: place.file)
      #expect(try settling.run(place) == .nothing)
    }
    #expect(!hasLog(copy))
    let copied = try open(copy, .durable)
    defer { copied.close() }
    #expect(try copied.find(Entry.self, "kept") != nil)
  }

  /// The end of a log takes the lock on the file. Who has that one, to replace or remove the store, asks whether this
  /// process has it open.
  @Test(
    "A store that waits for the lock on its file to close is in use meanwhile, and nobody waits for it"
  )
  func closingBesideLock() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let store = try open(path)
    try save("kept", store)
    let location = try StoreLocation(path)
    let isClosed = DispatchSemaphore(value: 0)
    let isAsked = DispatchSemaphore(value: 0)
    let answers = Locked<[Bool?]>([])
    do {
      guard let place = try PlaceLock(path, isExclusive: true) else { throw Mismatch("no store") }
      defer { withExtendedLifetime(place) {} }
      Thread.detachNewThread {
        store.close()
        isClosed.signal()
      }
      Thread.detachNewThread {
        for _ in 0..<400 {
          let answer = try? location.isInUse()
          answers.withLock { $0.append(answer) }
          usleep(500)
        }
        isAsked.signal()
      }
      #expect(isAsked.wait(timeout: .now() + 60) == .success)
      #expect(isClosed.wait(timeout: .now()) == .timedOut)
    }
    isClosed.wait()
    #expect(answers.withLock { $0 } == Array(repeating: true, count: 400))
    #expect(try !location.isInUse())
    #expect(!hasLog(path))
    #expect(try open(path, .durable).find(Entry.self, "kept") != nil)
  }

  @Test("A forged header that asks for too much gives an error or the store")
  func forgedHeader() throws {
    let directory = try CrashDirectory()
    let store = try open(directory.store)
    for number in 0..<20 { try save("kept \(number)", store) }
    for halfSize in [1, 1 << 40] {
      let copy = directory.path + "/copy-\(halfSize).larch"
      for suffix in ["-log", ""] {
        try FileManager.default.copyItem(atPath: directory.store + suffix, toPath: copy + suffix)
      }
      do {
        let log = try #require(try CommitLogFile.open(for: copy))
        defer { log.close() }
        var header = try #require(try log.header())
        header.halfSize = halfSize
        header.number = .max
        try log.write(header)
      }
      // Without a block of the disk, and as long as the header says.
      if halfSize > 1, truncate(copy + "-log", off_t(2 * halfSize)) != 0 {
        throw Mismatch("truncate: \(errno)")
      }
      let error = caught {
        let copied = try open(copy, .durable)
        defer { copied.close() }
        #expect(try copied.find(Entry.self, "kept 19") != nil)
      }
      #expect(error == nil || error?.code == .corrupted)
    }
    store.close()
  }

  @Test("In one process the ways to commit do not mix")
  func conflict() throws {
    let directory = try CrashDirectory()
    for (first, second) in [
      (Store.Options.Durability.logged, .durable), (.durable, Store.Options.Durability.logged),
    ] {
      let store = try open(directory.store, first)
      defer { store.close() }
      #expect(caught { try open(directory.store, second).close() }?.code == .conflictingOptions)
      // The same way shares the log.
      let same = try open(directory.store, first)
      try save("from the second", same)
      same.close()
      #expect(try store.find(Entry.self, "from the second") != nil)
      #expect(hasLog(directory.store) == (first == .logged))
    }
    #expect(!hasLog(directory.store))
  }

  @Test("A closed store is an ordinary file")
  func closed() throws {
    let directory = try CrashDirectory()
    let store = try open(directory.store)
    for number in 0..<20 { try save("entry \(number)", store) }
    // What LMDB itself would see, and a program that knows nothing of logs.
    #expect(hasLog(directory.store))
    #expect(try isMarked(directory.store))
    store.close()
    #expect(!hasLog(directory.store))
    #expect(try !isMarked(directory.store))
    let image = try StoreImage(of: directory.store)
    #expect(image.log == nil)
    #expect(try identity(directory.store) == 0)
    let again = try open(directory.store, .durable) { $0.isVerified = true }
    defer { again.close() }
    #expect(try again.count(Entry.all) == 20)
    #expect(try again.verify().isClean)
  }

  @Test("A store in use says that it needs its log, and one that does not say it is found out")
  func mark() throws {
    let directory = try CrashDirectory()
    for faults in [CommitLogFaults.noMark, []] {
      let store = try open(directory.store) { $0.logLimits.faults = faults }
      defer { store.close() }
      for number in 0..<20 { try save("entry \(faults) \(number)", store) }
      var image = try StoreImage(of: directory.store)
      image.log = nil
      let copy = directory.path + "/copy.larch"
      try image.write(to: copy)
      let error = caught { try open(copy, .durable).close() }
      // A store without the mark is opened, and may have lost anything.
      #expect(error?.code == (faults.isEmpty ? .corrupted : nil))
      try image.remove(from: copy)
    }
  }

  private func isMarked(_ path: String) throws -> Bool { try withMark(path) { try $0.isSet() } }

  private func identity(_ path: String) throws -> UInt64 {
    try withMark(path) { try $0.identity() }
  }

  private func withMark<T>(_ path: String, _ body: (LogMark) throws -> T) throws -> T {
    let descriptor = Foundation.open(path, O_RDONLY)
    defer { Foundation.close(descriptor) }
    let pageSize = try #require(try LogMark.pageSize(descriptor))
    return try body(LogMark(descriptor: descriptor, pageSize: pageSize))
  }
}
