import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Slots of readers")
struct ReaderSlotTests {
  #if os(Linux)
    // A sanitizer makes its own system calls, and waits forever for a thread that was killed in
    // one.
    @Test(
      "Reads after the first make no system call, and read no clock",
      .disabled(if: ProcessInfo.processInfo.environment["LARCH_SANITIZER"] != nil))
    func systemCalls() async throws {
      await #expect(processExitsWith: .success) {
        var options = Store.Options()
        // Using it would read the clock, which the kernel also forbids below.
        options.maximumSnapshotAge = nil
        let store = try Store.temporary(for: Note.self, options: options)
        try store.add(0..<100)
        let snapshot = try store.snapshot()
        let id = RecordID<Note>(Int64(7))
        let round: @Sendable () throws -> Int = {
          var sum = 0
          for _ in 0..<2_000 {
            sum += try store.read { try $0.find(Note.self, id)?.number ?? 0 }
            sum += try snapshot.find(Note.self, id)?.number ?? 0
          }
          return sum
        }
        let warm = try round()
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // Variadic functions of the C library, which Swift does not import. They can be called with
        // fixed arguments.
        let prctl = unsafeBitCast(
          try #require(dlsym(nil, "prctl")),
          to: (@convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32).self)
        let syscall = unsafeBitCast(
          try #require(dlsym(nil, "syscall")), to: (@convention(c) (Int, Int) -> Int).self)
        let exit = ReaderSlotTests.exitCall
        let writing = ends[1]
        Thread {
          var unprepared: UInt8 = 3
          guard let first = try? round(), first == warm,
            // From here on the kernel kills the thread at any call but read, write and exit.
            prctl(22, 1, 0, 0, 0) == 0  // PR_SET_SECCOMP, SECCOMP_MODE_STRICT
          else {
            _ = write(writing, &unprepared, 1)
            return
          }
          let second = try? round()
          var report: UInt8 = second == warm ? 1 : 2
          _ = write(writing, &report, 1)
          _ = syscall(exit, 0)
        }.start()
        // A thread that was killed says nothing.
        var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        try #require(poll(&end, 1, 60_000) == 1)
        var answer: UInt8 = 0
        let count = read(ends[0], &answer, 1)
        try #require(count == 1 && answer == 1)
        _exit(0)
      }
    }

    /// The number of the call that ends one thread.
    fileprivate static var exitCall: Int {
      #if arch(x86_64)
        60
      #else
        93
      #endif
    }
  #endif

  @Test("When all slots are in use, reads wait, and the log names the holders")
  func waiting() throws {
    let messages = Messages()
    var options = messages.options
    options.maximumReaders = 4
    let store = try Store.temporary(for: Note.self, options: options)
    let capacity = try store.environment.info().maxReaders
    let held = try (0..<capacity).map { _ in try store.environment.beginRead(at: CodePlace()) }
    let waiting = Worker {
      let count = try store.count(Note.all)
      try #require(count == 0)
    }
    while store.environment.slotsAwaited == 0 { usleep(200) }
    usleep(20_000)
    held.forEach(store.environment.endRead)
    try waiting.join()
    let told = try #require(messages.of(.readerWait).first)
    #expect(told.level == .warning && messages.of(.readerWait).count == 1)
    let waited = try #require(told.details.waited)
    #expect(waited >= .milliseconds(20))
    #expect(
      told.details.place != nil
        && told.context.detail?.contains("read at LarchReaderTests/") == true)
  }

  @Test("A full table names the reads that are open the longest, with their places")
  func full() throws {
    let directory = try ReaderDirectory()
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.maxReaders = 4
    options.waitLimit = 0.05
    let environment = try LMDBEnvironment.open(path: directory.store, options: options)
    defer { environment.close() }
    let capacity = try environment.info().maxReaders
    let first = try environment.beginRead(at: CodePlace())
    let line = #line - 1
    let held = environment.hold(
      try environment.beginRead(at: CodePlace()), owner: ObjectIdentifier(environment),
      deadline: nil)
    let others = try (0..<(capacity - 2)).map { _ in try environment.beginRead() }
    let error = larchError { try environment.beginRead() }
    #expect(error?.code == .readersFull)
    let detail = error?.context.detail ?? ""
    #expect(detail.contains("read at LarchReaderTests/ReaderSlotTests.swift:\(line), open for "))
    #expect(detail.contains("snapshot at LarchReaderTests/ReaderSlotTests.swift:\(line + 3)"))
    #expect(detail.contains("\(capacity - 3) more here") || capacity == 3, "\(detail)")
    // The end of a snapshot gives its slot to the next read.
    environment.endHeldRead(held)
    let last = try environment.beginRead()
    for reader in others + [first, last] { environment.endRead(reader) }
    #expect(environment.readers.activeUses == 0)
  }

  @Test("Snapshots that are too old free their slots for reads that need one")
  func oldSnapshots() throws {
    let directory = try ReaderDirectory()
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.maxReaders = 4
    let environment = try LMDBEnvironment.open(path: directory.store, options: options)
    defer { environment.close() }
    let capacity = try environment.info().maxReaders
    let held = try (0..<capacity).map { _ in
      environment.hold(
        try environment.beginRead(), owner: ObjectIdentifier(environment),
        deadline: .after(seconds: 0.01))
    }
    usleep(20_000)
    environment.endRead(try environment.beginRead())
    #expect(held.allSatisfy { $0.ending == .tooOld })
  }

  @Test("A store can be opened, written to and watched while the table is full")
  func openingWithFullTable() throws {
    let messages = Messages()
    let directory = try ReaderDirectory()
    var options = messages.options
    options.maximumReaders = 4
    options.oldReadWarning = .milliseconds(1)
    let store = try Store(at: directory.store, for: Note.self, options: options)
    try store.add(0..<10)
    let environment = store.environment
    let capacity = try environment.info().maxReaders
    let held = try (0..<capacity).map { _ in try environment.beginRead() }
    let second = try Store(at: directory.store, for: Note.self, options: options)
    try second.add(10..<20)
    let inWrite = try second.write { try $0.count(Note.all) }
    #expect(inWrite == 20)
    // The reads are listed, but without the space that they keep.
    let reads = try second.openReads()
    #expect(reads.count == capacity && reads.allSatisfy { $0.pinnedBytes == nil })
    held.forEach(environment.endRead)
    #expect(try second.count(Note.all) == 20)
    #expect(try store.openReads().isEmpty)
  }

  @Test("Slots of processes that died in a read are free for the next read")
  func deadReaders() async throws {
    let directory = try ReaderDirectory()
    var options = Store.Options.quick
    options.maximumReaders = 4
    let store = try Store(at: directory.store, for: Note.self, options: options)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = directory.store as String] in
      let other = try Store(at: path, for: Note.self, options: .quick)
      while let reader = other.environment.beginReadWithoutWaiting() {
        try #require(reader.thread != 0)
      }
      kill(getpid(), SIGKILL)
    }
    // No slot is released during this wait, so it throws.
    #expect(try store.count(Note.all) == 0)
  }
}

extension LMDBEnvironment {
  var slotsAwaited: Int {
    readers.mutex.lock()
    defer { readers.mutex.unlock() }
    return readers.slotWaiters
  }
}
