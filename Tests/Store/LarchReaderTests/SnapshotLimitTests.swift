import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("What ends snapshots")
struct SnapshotLimitTests {
  @Test("A snapshot above the limit is refused, with the place of the oldest one")
  func number() throws {
    var options = Store.Options()
    options.maximumSnapshots = 3
    let store = try Store.temporary(for: Note.self, options: options)
    let oldest = try store.snapshot()
    let line = #line - 1
    let others = try (0..<2).map { _ in try store.snapshot() }
    let error = larchError { try store.snapshot() }
    #expect(error?.code == .tooManySnapshots)
    let detail = error?.context.detail ?? ""
    #expect(
      detail.hasPrefix(
        "3 open, the oldest taken at LarchReaderTests/SnapshotLimitTests.swift:\(line), "),
      "\(detail)")
    #expect(detail.hasSuffix(" ms ago"), "\(detail)")
    oldest.end()
    let next = try store.snapshot()
    #expect(try next.count(Note.all) == 0 && others.count == 2)
  }

  @Test("Snapshots leave half of the slots to reads")
  func half() throws {
    var options = Store.Options()
    options.maximumReaders = 8
    let store = try Store.temporary(for: Note.self, options: options)
    let held = try (0..<4).map { _ in try store.snapshot() }
    #expect(larchError { try store.snapshot() }?.code == .tooManySnapshots)
    #expect(try store.count(Note.all) == 0)
    #expect(held.allSatisfy { $0.isOpen })
  }

  @Test("A snapshot that is too old is ended by its next use, which says so")
  func oldAtUse() throws {
    let messages = Messages()
    var options = messages.options
    options.maximumSnapshotAge = .milliseconds(30)
    let store = try Store.temporary(for: Note.self, options: options)
    let snapshot = try store.snapshot()
    let line = UInt(#line - 1)
    usleep(50_000)
    #expect(!snapshot.isOpen)
    let error = larchError { try snapshot.count(Note.all) }
    #expect(error?.code == .snapshotEnded)
    #expect(error?.message.contains("maximumSnapshotAge") == true)
    #expect(try store.openReads().isEmpty)
    let told = try #require(messages.of(.snapshotEnded).first)
    #expect(told.level == .warning && told.details.place?.line == line)
    let age = try #require(told.details.ran)
    #expect(age >= .milliseconds(30))
    // Those that are too old make room for new ones.
    #expect(messages.of(.snapshotEnded).count == 1)
  }

  @Test("A snapshot that is too old is ended by the next commit, and makes room for another one")
  func oldAtCommit() throws {
    var options = Store.Options()
    options.maximumSnapshotAge = .milliseconds(30)
    options.maximumSnapshots = 1
    let store = try Store.temporary(for: Note.self, options: options)
    let first = try store.snapshot()
    usleep(100_000)
    try store.add([1])
    #expect(try store.openReads().isEmpty)
    #expect(larchError { try first.count(Note.all) }?.code == .snapshotEnded)
    let second = try store.snapshot()
    usleep(50_000)
    // There is room for one; otherwise this would throw.
    _ = try store.snapshot()
    #expect(!second.isOpen)
  }

  @Test("All stores of a file together hold at most half of the slots")
  func stores() throws {
    var options = Store.Options.quick
    options.maximumReaders = 12
    let store = try Store.temporary(for: Note.self, options: options)
    let other = try Store(at: store.path, for: Note.self, options: options)
    defer { other.close() }
    let snapshots = try (0..<6).map { try ($0 % 2 == 0 ? store : other).snapshot() }
    for one in [store, other] {
      let error = larchError { try one.snapshot() }
      #expect(error?.code == .tooManySnapshots)
      #expect(error?.message.contains("`Options.maximumReaders`") == true)
      #expect(error?.context.detail?.hasPrefix("6 open, the oldest taken at ") == true)
    }
    #expect(try other.count(Note.all) == 0)
    snapshots[0].end()
    let last = try other.snapshot()
    #expect(last.isOpen && store.environment.readers.activeUses == 0)
  }

  @Test("Threads that take snapshots at once get no more than are allowed")
  func threads() throws {
    var options = Store.Options.quick
    options.maximumSnapshots = 1
    let store = try Store.temporary(for: Note.self, options: options)
    let (open, most, taken) = (Locked(0), Locked(0), Locked(0))
    DispatchQueue.concurrentPerform(iterations: 3) { _ in
      for _ in 0..<20_000 {
        guard let snapshot = try? store.snapshot() else { continue }
        let number = open.withLock { number in
          number += 1
          return number
        }
        most.withLock { $0 = max($0, number) }
        taken.withLock { $0 += 1 }
        open.withLock { $0 -= 1 }
        snapshot.end()
      }
    }
    #expect(most.withLock { $0 } == 1)
    #expect(taken.withLock { $0 } > 100)
  }

  @Test("A snapshot without a limit of its age stays")
  func anyAge() throws {
    var options = Store.Options()
    options.maximumSnapshotAge = nil
    let store = try Store.temporary(for: Note.self, options: options)
    let snapshot = try store.snapshot()
    usleep(60_000)
    try store.add([1])
    #expect(try snapshot.count(Note.all) == 0)
  }

  @Test("The map grows: an unused snapshot is ended with the reason, and the write continues")
  func growth() throws {
    let messages = Messages()
    var options = messages.options
    options.initialMapSize = 256 << 10
    let store = try Store.temporary(for: Note.self, options: options)
    let snapshot = try store.snapshot()
    try store.add(0..<100, size: 10_000)
    #expect(try store.count(Note.all) == 100)
    let error = larchError { try snapshot.count(Note.all) }
    #expect(error?.code == .snapshotEnded)
    #expect(error?.message.contains("had to grow") == true)
    #expect(messages.of(.snapshotEnded).count == 1)
    #expect(!messages.of(.mapGrown).isEmpty)
  }

  @Test("The map grows only when a use of a snapshot on another thread has ended")
  func growthUnderUse() throws {
    var options = Store.Options.quick
    options.initialMapSize = 256 << 10
    let store = try Store.temporary(for: Note.self, options: options)
    try store.add([7])
    let snapshot = try store.snapshot()
    let isReading = DispatchSemaphore(value: 0)
    let reader = Worker {
      try snapshot.read { tx throws in
        isReading.signal()
        // The writer is held back until this ends.
        while !store.environment.isMovingMap { usleep(200) }
        usleep(20_000)
        try #require(try tx.count(Note.all) == 1)
        try #require(try snapshot.count(Note.all) == 1)
      }
    }
    isReading.wait()
    try store.add(0..<100, size: 10_000)
    try reader.join()
    #expect(try store.count(Note.all) == 101)
    #expect(larchError { try snapshot.count(Note.all) }?.code == .snapshotEnded)
  }

  @Test("A map that cannot grow because of another read costs no snapshot")
  func failedGrowth() throws {
    var options = Store.Options.quick
    options.initialMapSize = 256 << 10
    let store = try Store.temporary(for: Note.self, options: options)
    let snapshot = try store.snapshot()
    try store.read { _ throws in
      #expect(larchError { try store.add(0..<100, size: 10_000) }?.code == .mapFull)
    }
    #expect(try snapshot.count(Note.all) == 0)
  }

  #if os(Linux)
    @Test("After a disk failure the store continues, and a snapshot gives the reason for its end")
    func reopened() throws {
      let directory = try ReaderDirectory()
      let store = try Store(at: directory.store, for: Note.self)
      try store.add([1])
      let snapshot = try store.snapshot()
      try breakHeaderWrites(of: store.environment)
      #expect(larchError { try store.add([2]) }?.code == .ioFailure)
      let error = larchError { try snapshot.count(Note.all) }
      #expect(error?.code == .snapshotEnded)
      #expect(error?.message.contains("disk failure") == true)
      try store.add([3])
      #expect(try store.snapshot().count(Note.all) == 2)
    }

    /// Replaces LMDB's descriptor for headers by one that cannot be written.
    private func breakHeaderWrites(of environment: LMDBEnvironment) throws {
      let found = openDescriptors().filter { descriptor in
        var status = stat()
        return fstat(descriptor, &status) == 0 && FileIdentity(status) == environment.file
          && fcntl(descriptor, F_GETFL) & O_DSYNC != 0
      }
      try #require(found.count == 1, "LMDB has not the descriptor that the test is about")
      let replacement = open("/dev/null", O_RDONLY | O_CLOEXEC)
      try #require(replacement >= 0)
      try #require(dup2(replacement, found[0]) == found[0])
      close(replacement)
    }

    @Test("A forked child gets an error for the parent's snapshot, and does not damage it")
    func fork() async throws {
      await #expect(processExitsWith: .success) {
        let store = try Store.temporary(for: Note.self)
        try store.add([1])
        var snapshot: Snapshot? = try store.snapshot()
        // Swift hides `fork` for good reasons, but the C libraries of a process may call it.
        let symbol = try #require(dlsym(nil, "fork"))
        // The type that the system declares it with.
        let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
        let child = fork()
        if child == 0 {
          // Of the threads of the parent only this one is here; a lock that another one has stays locked.
          alarm(60)
          let code = larchError { () throws in try snapshot?.count(Note.all) }?.code
          let isOpen = snapshot?.isOpen
          snapshot?.end()
          snapshot = nil
          _exit(code == .forked && isOpen == false ? 0 : 1)
        }
        var status: Int32 = -1
        try #require(waitpid(child, &status, 0) == child)
        try #require(status == 0)
        try store.add([2])
        let count = try snapshot?.count(Note.all)
        try #require(count == 1)
        store.close()
      }
    }
  #endif

  @Test("Threads take turns; one that waits too long inside a transaction gets an error")
  func turns() throws {
    let directory = try ReaderDirectory()
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.waitLimit = 0.1
    let environment = try LMDBEnvironment.open(path: directory.store, options: options)
    defer { environment.close() }
    let held = environment.hold(
      try environment.beginRead(), owner: ObjectIdentifier(environment), deadline: nil)
    let isUsed = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let user = Worker {
      _ = try environment.beginUse(of: held, isBounded: false)
      isUsed.signal()
      mayEnd.wait()
      environment.endUse(of: held)
    }
    isUsed.wait()
    let error = larchError { try environment.beginUse(of: held, isBounded: true) }
    #expect(error?.code == .busy)
    let waiter = Worker {
      let transaction = try environment.beginUse(of: held, isBounded: false)
      try #require(transaction != nil)
      try #require(try environment.beginUse(of: held, isBounded: true) == nil, "an inner use")
      environment.endUse(of: held)
      environment.endUse(of: held)
    }
    usleep(20_000)
    mayEnd.signal()
    try user.join()
    try waiter.join()
    environment.endHeldRead(held)
    #expect(environment.readers.activeUses == 0 && environment.readers.held.isEmpty)
    #expect(environment.readers.all.count == environment.readers.parked.count)
  }

  @Test("Two threads that use each other's snapshots inside their own do not deadlock")
  func embrace() throws {
    let store = try Store.temporary(for: Note.self)
    let first = try store.snapshot()
    let second = try store.snapshot()
    let codes = Locked<[LarchError.Code?]>([])
    let firstIsUsed = DispatchSemaphore(value: 0)
    let secondIsUsed = DispatchSemaphore(value: 0)
    let one = Worker {
      try first.read { _ throws in
        firstIsUsed.signal()
        secondIsUsed.wait()
        let code = larchError { try second.count(Note.all) }?.code
        codes.withLock { $0.append(code) }
      }
    }
    let two = Worker {
      try second.read { _ throws in
        secondIsUsed.signal()
        firstIsUsed.wait()
        let code = larchError { try first.count(Note.all) }?.code
        codes.withLock { $0.append(code) }
      }
    }
    try one.join()
    try two.join()
    // The first one that gives up lets the other one continue, or both give up.
    #expect(codes.withLock { $0.contains(.busy) && $0.allSatisfy { $0 == nil || $0 == .busy } })
  }
}

extension LMDBEnvironment {
  var isMovingMap: Bool {
    readers.mutex.lock()
    defer { readers.mutex.unlock() }
    return readers.blockers.contains(.exclusive)
  }
}
