import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Compaction")
struct CompactionTests {
  @Test("A compacted store has the same contents and is smaller, and open stores continue")
  func whole() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let other = try Store(at: directory.store, for: IndexedBook.self)
    defer { other.close() }
    let before = try store.dump()
    let size = fileSize(directory.store)
    let number = try store.environment.info().lastTransactionID
    let steps = Steps()
    let result = try store.compact { steps.take($0) }
    #expect(result.bytesBefore == size && result.bytesAfter == fileSize(directory.store))
    #expect(result.bytesAfter < size)
    steps.expectWhole(result.bytesAfter)
    #expect(try store.dump() == before)
    #expect(try other.dump() == before)
    let report = try FileCheck.verify(path: directory.store)
    #expect(report.freePages == 0 && report.lostPages == 0)
    #expect(try store.verify().isClean)
    // A program that keeps the number of a transaction must not see it again.
    #expect(report.transaction > number)
    #expect(directory.names.filter { $0.contains("compact") } == [])
    // Ids continue above all assigned ones.
    let id = try other.write { tx throws in
      guard var book = try tx.find(IndexedBook.self, RecordID(3)) else { throw Mismatch("3") }
      book.id = RecordID()
      book.title = "new"
      book.isbn = "new"
      try tx.insert(&book)
      return book.id
    }
    #expect(id.rawValue == 601)
    #expect(try store.read { try $0.find(IndexedBook.self, id)?.title } == "new")
    let third = try Store(at: directory.store, for: IndexedBook.self)
    #expect(third.environment === store.environment)
    third.close()
  }

  @Test("Pages that random writes left half empty are full after a compaction")
  func fullPages() throws {
    var random = SeededGenerator(seed: 21)
    let directory = try CrashDirectory()
    let store = try Store(at: directory.store, for: Sample.self)
    defer { store.close() }
    for _ in 0..<150 {
      try store.write { tx throws in
        for _ in 0..<40 {
          let long = random.next() % 50 == 0
          var sample = Sample(
            id: String(random.next(), radix: 36), value: Int(random.next() >> 2),
            group: Int(random.next() % 9),
            text: String(repeating: "t", count: long ? 5_000 : Int(random.next() % 60)))
          try tx.insert(&sample)
        }
      }
    }
    func leaves() throws -> Int {
      let found = try #require(try store.statistics().collections.first)
      return found.indexes.reduce(found.tree.leafPages) { $0 + $1.tree.leafPages }
    }
    let before = try store.dump()
    let half = try leaves()
    let steps = Steps()
    let result = try store.compact { steps.take($0) }
    steps.expectWhole(result.bytesAfter)
    // Random writes fill two thirds.
    let full = try leaves()
    #expect(full * 10 < half * 8, "\(half) leaves, then \(full)")
    #expect(try store.dump() == before)
    #expect(try store.verify().isClean)
    let report = try FileCheck.verify(path: directory.store)
    #expect(report.freePages == 0 && report.lostPages == 0)
    #expect(directory.names.filter { $0.contains("larch-new") } == [])
    // Full pages are copied as they are, and the store can be written further.
    #expect(try store.compact().bytesAfter == result.bytesAfter)
    #expect(try leaves() == full)
    try store.saveAll([Sample(id: "0", value: 1, group: 1, text: "")])
    #expect(try store.verify().isClean)
  }

  struct Sample: Record {
    var id: String
    var value: Int
    var group: Int
    var text: String

    static let schema = Schema<Sample> {
      Index(\.value)
      Index(\.group)
    }
  }

  @Test("While pages are filled, the work can be stopped at each point, and leaves nothing")
  func stoppedFilling() throws {
    var random = SeededGenerator(seed: 22)
    let directory = try CrashDirectory()
    let store = try Store(at: directory.store, for: Sample.self, options: .quick)
    defer { store.close() }
    for _ in 0..<150 {
      try store.write { tx throws in
        for _ in 0..<40 {
          var sample = Sample(
            id: String(random.next(), radix: 36), value: Int(random.next() >> 2),
            group: Int(random.next() % 9), text: "text")
          try tx.insert(&sample)
        }
      }
    }
    var ticks = 0
    do {
      let packed = try PackedCopy.make(of: store.path) { ticks += 1 }
      try #require(packed != nil)
    }
    #expect(ticks > 4)
    for last in 1...max(1, ticks) {
      var left = last
      let tick = {
        left -= 1
        if left == 0 { throw Stopped() }
      }
      let stopped = code { _ = try PackedCopy.make(of: store.path, tick: tick) }
      #expect(stopped?.rawValue == "Stopped()")
      #expect(directory.names.filter { $0.contains("larch-new") } == [])
    }
    // It is no reason to copy the pages as they are.
    var copy = SpaceCopy(into: -1, path: store.path, nil)
    let stopped = code { try copy.copyPacked(store.environment) { throw Stopped() } }
    #expect(stopped?.rawValue == "Stopped()")
    #expect(copy.bytesDone == 0)
  }

  @Test("Again and again, with changes in between", arguments: [false, true])
  func manyTimes(isRelaxed: Bool) throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store, count: 60) {
      if isRelaxed { $0.durability = .relaxed }
    }
    defer { store.close() }
    for round in 0..<20 {
      try store.write { tx throws in
        guard var book = try tx.find(IndexedBook.self, RecordID(3)) else { throw Mismatch("3") }
        book.id = RecordID()
        book.isbn = "round \(round)"
        try tx.insert(&book)
      }
      try store.compact()
      #expect(try store.read { try $0.count(IndexedBook.all) } == 21 + round)
    }
    #expect(try store.verify().isClean)
    store.close()
    let again = try Store(at: directory.store, for: IndexedBook.self)
    #expect(try again.verify().isClean)
    again.close()
  }

  @Test("A temporary store is compacted too, and leaves no file")
  func temporary() throws {
    let store = try Store.temporary(for: Account.self)
    try store.write { tx throws in
      for id in 0..<500 {
        var account = Account(id: id, balance: id)
        try tx.insert(&account)
      }
    }
    try store.write { tx throws in try tx.delete(Account.where { $0.id > 10 }) }
    try store.compact()
    #expect(try store.read { try $0.count(Account.all) } == 11)
    let path = store.path
    store.close()
    for suffix in ["", "-lock", "-compact"] { #expect(access(path + suffix, F_OK) != 0) }
  }

  @Test("If a compaction is impossible, it is refused and changes nothing")
  func refusals() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    let before = try Data(contentsOf: URL(fileURLWithPath: directory.store))
    #expect(code { try store.write { _ in _ = try store.compact() } } == .nestedWrite)
    #expect(code { try store.read { _ in _ = try store.compact() } } == .busy)
    #expect(code { _ = try store.compact { _ in throw Stopped() } }?.rawValue == "Stopped()")
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.store)) == before)
    #expect(directory.names.filter { $0.contains("compact") } == [])
    store.close()
    #expect(code { _ = try store.compact() } == .closed)
    var options = Store.Options()
    options.isReadOnly = true
    let readOnly = try Store(at: directory.store, for: IndexedBook.self, options: options)
    #expect(code { _ = try readOnly.compact() } == .readOnly)
    readOnly.close()
  }

  @Test("A read that stays open is named after the wait, and one that ends is waited for")
  func openReads() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let isReading = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let read: @Sendable () throws -> Int = {
      try store.read { tx throws in
        isReading.signal()
        mayEnd.wait()
        return try tx.count(IndexedBook.all)
      }
    }
    let long = Work(read)
    isReading.wait()
    let before = fileSize(directory.store)
    #expect(code { _ = try store.compact() } == .busy)
    #expect(fileSize(directory.store) == before)
    #expect(directory.names.filter { $0.contains("compact") } == [])
    // The store is as it was for everybody.
    try store.write { tx throws in try tx.delete(IndexedBook.self, RecordID(3)) }
    let compaction = Work { try store.compact() }
    usleep(20_000)
    mayEnd.signal()
    #expect(try long.wait() == 200)
    #expect(try compaction.wait().bytesAfter < before)
    #expect(try store.read { try $0.count(IndexedBook.all) } == 199)
  }

  @Test("A compaction ends unused snapshots, whose next use gives the reason")
  func snapshots() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let snapshot = try store.snapshot()
    #expect(try snapshot.read { try $0.count(IndexedBook.all) } == 200)
    // A compaction that is stopped leaves it alone.
    #expect(code { _ = try store.compact { _ in throw Stopped() } }?.rawValue == "Stopped()")
    #expect(try snapshot.read { try $0.count(IndexedBook.all) } == 200)
    try store.compact()
    #expect(code { _ = try snapshot.read { try $0.count(IndexedBook.all) } } == .snapshotEnded)
    #expect(!snapshot.isOpen)
    #expect(try store.snapshot().read { try $0.count(IndexedBook.all) } == 200)
  }

  @Test("Tasks wait without blocking; a cancelled one changes nothing")
  func tasks() async throws {
    let directory = try CrashDirectory()
    let store = try await Work { try makeHollowStore(at: directory.store, count: 6000) }.value
    let size = fileSize(directory.store)
    let task = Task {
      try await store.compact { _ in withUnsafeCurrentTask { $0?.cancel() } }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(fileSize(directory.store) == size)
    let steps = Steps()
    let result = try await store.compact { steps.take($0) }
    steps.expectWhole(result.bytesAfter)
    #expect(result.bytesAfter < size)
    store.close()
  }

  @Test("Threads that read and write while it is compacted see every change and no other")
  func threads() throws {
    let directory = try CrashDirectory()
    try Bank.make(at: directory.store)
    let store = try Bank.open(at: directory.store)
    defer { store.close() }
    let isOver = Locked(false)
    let writers = (0..<2).map { number in
      Work {
        let own = try Bank.open(at: directory.store)
        defer { own.close() }
        var done = 0
        while !isOver.withLock({ $0 }) {
          done += 1
          try own.write { tx throws in
            for (id, change) in [(number, 1), (number + 10, -1)] {
              guard var account = try tx.find(Account.self, id) else { throw Mismatch("\(id)") }
              account.balance += change
              try tx.update(account)
            }
          }
        }
        return done
      }
    }
    let readers = (0..<2).map { _ in
      Work {
        var done = 0
        while !isOver.withLock({ $0 }) {
          try store.read { try Bank.check($0) }
          done += 1
        }
        return done
      }
    }
    for _ in 0..<30 { try store.compact() }
    isOver.withLock { $0 = true }
    let done = try writers.map { try $0.wait() }
    for reader in readers { #expect(try reader.wait() > 0) }
    for (number, done) in done.enumerated() {
      #expect(try store.read { try $0.find(Account.self, number)?.balance } == 1000 + done)
    }
    try store.read { try Bank.check($0) }
    #expect(try store.verify().isClean)
  }
}
