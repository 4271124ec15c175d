import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

@Suite("Slow operations in the log")
struct SlowOperationTests {
  private let messages = Messages()

  /// A store that logs every operation, since each takes longer than zero.
  private func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options.quick
    options.log = { [messages] in messages.add($0) }
    options.slowWrite = .zero
    options.slowRead = .zero
    change(&options)
    let store = try Store.temporary(for: Person.self, Club.self, options: options)
    _ = messages.take()
    return store
  }

  private func save(_ count: Int, into store: Store, city: String = "Quito") throws {
    try store.write { tx throws in
      for number in 0..<count {
        var person = Person(name: "N\(number)", email: "\(UUID())", city: city)
        try tx.save(&person)
      }
    }
  }

  @Test("A slow write logs its place, the time of its parts, and its changes")
  func slowWrite() throws {
    let store = try store()
    let line: UInt = #line + 1
    try store.write { tx throws in
      for number in 0..<5 {
        var person = Person(name: "Secret", email: "\(number)", city: "Quito")
        try tx.save(&person)
      }
      try tx.delete(Person.where { $0.city == "Nowhere" })
    }
    let message = try #require(messages.all(.slowWrite).first)
    #expect(messages.all(.slowWrite).count == 1 && message.level == .warning)
    #expect(message.details.place?.line == line)
    #expect(message.details.place?.file == "LarchLogTests/SlowOperationTests.swift")
    #expect(message.details.ran != nil && message.details.committed != nil)
    #expect(message.details.waited != nil && message.details.changes == 5)
    #expect(message.context.path == store.path && message.context.collection == "Person")
    // The query by which records were to be deleted.
    #expect(message.details.plan?.hasPrefix("index city […]") == true)
    #expect(!message.description.contains("Nowhere") && !message.description.contains("Secret"))
  }

  @Test("A slow read logs its place, with the plan and the counts of its slowest query")
  func slowRead() throws {
    let store = try store()
    try save(40, into: store)
    _ = messages.take()
    let line: UInt = #line + 1
    let found = try store.read { tx throws in
      try tx.fetch(Person.where { $0.city == "Quito" && $0.notes == "Marker" }).count
    }
    #expect(found == 0)
    let message = try #require(messages.take().first)
    #expect(message.event == .slowRead && message.level == .warning)
    #expect(message.details.place?.line == line && message.details.ran != nil)
    #expect(
      message.details.plan == """
        all records
          filter city == …
          filter notes == …
        examined 0 index entries, 40 records; returned 0
        """)
    #expect(message.context.collection == "Person" && message.context.detail == nil)
  }

  @Test("A slow verification is named in the log")
  func slowVerification() throws {
    let store = try store()
    try save(3, into: store)
    _ = messages.take()
    #expect(try store.verify().isClean)
    // The lists are read before it.
    #expect(messages.take().last?.message == "A verification took long.")
    _ = try store.count(Person.all)
    #expect(messages.take().map(\.message) == ["A read took long."])
  }

  @Test("A verification in a task reports progress, and ends if the task is cancelled")
  func verificationOfTask() async throws {
    let store = try store()
    try save(2500, into: store)
    let steps = Steps()
    let report = try await store.verify { steps.add($0) }
    #expect(report.isClean && report.recordCount == 2500)
    #expect(steps.all.map(\.recordsDone) == [1000, 2000, 2500])
    #expect(steps.all.allSatisfy { $0.recordsExpected == 2500 })
    #expect(steps.all.last?.fraction == 1)
    struct Enough: Error {}
    await #expect(throws: Enough.self) { try await store.verify { _ in throw Enough() } }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.verify()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await store.verify().isClean)
  }

  private final class Steps: Sendable {
    private let steps = Mutex<[Store.VerificationProgress]>([])
    var all: [Store.VerificationProgress] { steps.withLock { $0 } }
    func add(_ step: Store.VerificationProgress) { steps.withLock { $0.append(step) } }
  }

  @Test("A read of several queries logs their number, and a read without queries has no plan")
  func severalQueries() throws {
    let store = try store()
    try save(3, into: store)
    _ = messages.take()
    try store.read { tx throws in
      _ = try tx.count(Person.where { $0.city == "Quito" })
      _ = try tx.fetch(Person.all)
      _ = try tx.ids(Club.all)
    }
    let several = try #require(messages.take().first)
    #expect(several.context.detail?.hasPrefix("3 queries, the slowest for ") == true)
    #expect(several.details.plan?.isEmpty == false)
    _ = try store.read { tx throws in try tx.count(Person.all) }
    let none = try #require(messages.take().first)
    #expect(none.details.plan == nil && none.context.detail == nil && none.details.ran != nil)
  }

  @Test("Single calls, streams, joins and snapshots are reads too, each logged once")
  func kinds() throws {
    let store = try store()
    try save(5, into: store)
    _ = messages.take()
    func expectOne(_ plan: String, sourceLocation: SourceLocation = #_sourceLocation) {
      let found = messages.take()
      #expect(found.map(\.event) == [.slowRead], sourceLocation: sourceLocation)
      #expect(
        found.first?.details.plan?.contains(plan) == true, "\(found)",
        sourceLocation: sourceLocation)
    }
    _ = try store.fetch(Person.where { $0.name == "N1" })
    // Called through an operation that knows no place.
    #expect(messages.all.first?.details.place == nil)
    expectOne("filter name == …")
    try store.forEach(Person.where { $0.name == "N1" }) { _ in }
    expectOne("filter name == …")
    try store.read { tx throws in
      let cursor = try tx.cursor(Person.where { $0.name != "N1" })
      _ = try cursor.next()
    }
    expectOne("filter name != …")
    let snapshot = try store.snapshot()
    _ = try snapshot.fetch(Person.where { $0.city == "Quito" })
    snapshot.end()
    #expect(messages.take().first?.details.plan?.hasPrefix("index city […]") == true)
  }

  @Test("A closure that throws is logged like one that returns")
  func throwing() throws {
    let store = try store()
    #expect(throws: CancellationError.self) {
      try store.write { _ throws in throw CancellationError() }
    }
    let write = try #require(messages.take().first { $0.event == .slowWrite })
    #expect(write.details.committed == nil)
    #expect(write.details.changes == 0)
    #expect(throws: CancellationError.self) {
      try store.read { _ throws in throw CancellationError() }
    }
    #expect(messages.take().map(\.event) == [.slowRead])
  }

  @Test("Operations that are not slow are not logged, and none without a limit")
  func fast() throws {
    for limit in [Duration.seconds(3600), .seconds(Int64.max), nil] {
      let store = try store {
        $0.slowWrite = limit
        $0.slowRead = limit
      }
      try save(3, into: store)
      _ = try store.fetch(Person.all)
      #expect(messages.take().isEmpty)
    }
  }

  @Test("Without a log, nothing is timed")
  func off() throws {
    let silent = try Store.temporary(for: Person.self, Club.self, options: .quick)
    #expect(silent.writeTimer("", 0) == nil && silent.readTimer("", 0) == nil)
    #expect(silent.post == nil && silent.environment.post == nil)
    let half = try store { $0.slowRead = nil }
    #expect(half.writeTimer("", 0) != nil && half.readTimer("", 0) == nil)
    try half.read { tx throws in #expect(tx.context.timer == nil) }
    try store().read { tx throws in #expect(tx.context.timer != nil) }
  }

  @Test("A write that waited logs the write that had the lock, and how many came before")
  func waiting() throws {
    let store = try store { $0.slowRead = nil }
    let isInside = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    func onThread(_ body: @escaping @Sendable () throws -> Void) {
      ended.enter()
      Thread {
        do { try body() } catch { Issue.record(error) }
        ended.leave()
      }.start()
    }
    func awaitWriters(_ count: Int) {
      while store.environment.writeQueue.waitingCount < count { usleep(500) }
    }
    let holder: UInt = #line + 2
    onThread {
      try store.write { _ in
        isInside.signal()
        mayEnd.wait()
      }
    }
    isInside.wait()
    let lines = [#line + 1, #line + 3] as [UInt]
    onThread { try store.write { _ in } }
    awaitWriters(1)
    onThread { try store.write { _ in } }
    awaitWriters(2)
    mayEnd.signal()
    ended.wait()
    let waits = messages.all(.writerWait).filter { $0.details.holder != nil }
    #expect(Set(waits.compactMap { $0.details.place?.line }) == Set(lines))
    for message in waits {
      #expect(message.level == .warning && message.details.waited != nil)
      #expect(message.details.holder?.line == holder)
      let before = message.details.place?.line == lines[1] ? "1 write before it" : nil
      #expect(message.context.detail == before)
    }
  }

  @Test("Asynchronous writes are logged like others, each with its own place")
  func asynchronous() async throws {
    let store = try store()
    let line: UInt = #line + 4
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          try await store.write { tx throws in
            var club = Club(name: "\(number)")
            try tx.save(&club)
          }
        }
      }
      try await group.waitForAll()
    }
    await #expect(throws: CancellationError.self) {
      try await store.write { _ throws in throw CancellationError() }
    }
    // Messages are delivered after the group has ended and its writes have resumed, and before the
    // next group.
    try await store.write { _ in }
    while messages.all(.slowWrite).count < 10 { await Task.yield() }
    let slow = messages.all(.slowWrite)
    #expect(slow.filter { $0.details.place?.line == line }.count == 8)
    #expect(slow.filter { $0.details.changes == 1 && $0.details.committed != nil }.count >= 1)
    #expect(messages.all(.writerWait).allSatisfy { $0.details.waited != nil })
  }
}
