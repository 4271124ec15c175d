import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Blob: Record {
  var id = RecordID<Blob>()
  var bytes: Data
}

@Suite("Asynchronous writes that wait share a commit")
struct GroupCommitTests {
  @Test("waiting writes share one commit, in the order of their calls")
  func oneCommit() async throws {
    let store = try Store.temporary(for: Entry.self)
    store.asyncWriter.group.maximumTime = .max
    let held = HeldWriter(store)
    let before = try store.lastCommit()
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<50 {
      tasks.append(Task { try await store.insert(number) })
      try await store.untilWaiting(number + 1)
    }
    held.end()
    for task in tasks { try await task.value }
    #expect(try store.lastCommit() == before + 1)
    #expect(try store.numbers() == Array(0..<50))
  }

  @Test("one that throws is undone alone, and its error goes to its own caller")
  func isolation() async throws {
    let store = try Store.temporary(for: Entry.self)
    store.asyncWriter.group.maximumTime = .max
    let held = HeldWriter(store)
    let before = try store.lastCommit()
    var tasks: [Task<Int, any Error>] = []
    for number in 0..<60 {
      tasks.append(
        Task {
          try await store.write { tx in
            var entry = Entry(number: number)
            try tx.insert(&entry)
            if number % 3 == 0 { throw Stop(number: number) }
            return number
          }
        })
      try await store.untilWaiting(number + 1)
    }
    held.end()
    for (number, task) in tasks.enumerated() {
      let result = await task.result
      if number % 3 == 0 {
        #expect(throws: Stop(number: number)) { try result.get() }
      } else {
        #expect(try result.get() == number)
      }
    }
    #expect(try store.numbers() == (0..<60).filter { $0 % 3 != 0 })
    #expect(try store.lastCommit() == before + 1)
    #expect(try await store.verify().isClean)
  }

  /// After one of them had been undone, the ids of those before it were taken for those of deleted
  /// records.
  @Test("if the shared commit is repeated, the ids of the first run belong to new records")
  func repetition() async throws {
    let store = try Store.temporary(
      for: Blob.self, options: Store.Options().with { $0.initialMapSize = 128 << 10 })
    store.asyncWriter.group.maximumTime = .max
    // Each write is stored twice then, and the second time at the commit of all, where the map is full.
    try store.environment.beginOutbox(role: .writer, place: .start)
    let made = Locked<[Blob]>([])
    for _ in 0..<8 {
      let held = HeldWriter(store)
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<6 {
        tasks.append(
          Task {
            try await store.write { tx in
              var blob = Blob(bytes: Data(count: 6_000))
              try tx.insert(&blob)
              made.withLock { [blob] in $0.append(blob) }
              if number == 3 { throw Stop() }
            }
          })
        try await store.untilWaiting(number + 1)
      }
      held.end()
      for task in tasks { _ = await task.result }
    }
    let stored = Set(try store.fetch(Blob.all).map(\.id))
    #expect(stored.count == 40)
    let all = made.withLock { $0 }
    #expect(all.count > 48, "No commit was repeated.")
    for blob in all {
      #expect(try store.state(of: blob) == (stored.contains(blob.id) ? .unchanged : .new))
    }
  }

  @Test("each sees the changes of earlier ones, except those that threw")
  func sight() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    var tasks: [Task<Int, any Error>] = []
    for number in 0..<20 {
      tasks.append(
        Task {
          try await store.write { tx in
            let count = try tx.count(Entry.all)
            var entry = Entry(number: number)
            try tx.insert(&entry)
            if number % 2 == 0 { throw Stop() }
            return count
          }
        })
      try await store.untilWaiting(number + 1)
    }
    held.end()
    for (number, task) in tasks.enumerated() where number % 2 == 1 {
      #expect(try await task.value == number / 2)
    }
  }

  @Test("a unique value of another write in the group is a conflict")
  func conflict() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let first = Task { try await store.insert(7, text: "first") }
    try await store.untilWaiting(1)
    let second = Task { try await store.insert(7, text: "second") }
    try await store.untilWaiting(2)
    held.end()
    try await first.value
    let error = await second.result.failure as? LarchError
    #expect(error?.code == .uniqueConflict)
    #expect(try store.read { tx throws in try tx.all(Entry.self).map(\.text) } == ["first"])
  }

  @Test("no caller continues before the data is committed")
  func acknowledgement() async throws {
    let store = try Store.temporary(for: Entry.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          try await store.insert(number)
          let isThere = try store.read { tx throws in
            try tx.exists(Entry.where { $0.number == number })
          }
          #expect(isThere)
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.numbers().sorted() == Array(0..<200))
  }

  @Test("a synchronous write between two asynchronous ones runs between them")
  func strictOrder() async throws {
    let store = try Store.temporary(for: Entry.self)
    store.asyncWriter.group.maximumTime = .max
    let held = HeldWriter(store)
    let before = try store.lastCommit()
    let order = Locked<[String]>([])
    @Sendable func note(_ name: String) { order.withLock { $0.append(name) } }
    let first = Task { try await store.write { tx in note("first \(try tx.count(Entry.all))") } }
    try await store.untilWaiting(1)
    let ended = DispatchSemaphore(value: 0)
    let asked = store.turnsAsked()
    Thread.detachNewThread {
      try? store.write { tx throws in
        note("between")
        var entry = Entry(number: 1)
        try tx.insert(&entry)
      }
      ended.signal()
    }
    while store.turnsAsked() == asked { try await Task.sleep(for: .milliseconds(1)) }
    let last = Task { try await store.insert(2) }
    try await store.untilWaiting(2)
    held.end()
    try await first.value
    try await last.value
    #expect(order.withLock { $0 } == ["first 0", "between"])
    #expect(try store.numbers() == [1, 2])
    #expect(try store.lastCommit() == before + 2)
  }

  @Test("work after the commit sees the data, may write, and runs once")
  func afterCommit() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let done = Locked<[Int]>([])
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<10 {
      tasks.append(
        Task {
          try await store.write { tx in
            var entry = Entry(number: number)
            try tx.insert(&entry)
            tx.afterCommit {
              done.withLock { $0.append(number) }
              try? store.write { tx throws in
                var other = Entry(number: 100 + number)
                try tx.insert(&other)
              }
            }
          }
        })
      try await store.untilWaiting(number + 1)
    }
    held.end()
    for task in tasks { try await task.value }
    #expect(done.withLock { $0 } == Array(0..<10))
    #expect(try store.numbers().sorted() == Array(0..<10) + Array(100..<110))
  }

  @Test("work after the commit may write while writes of other tasks already run")
  func afterCommitBetweenBatches() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let first = Task {
      try await store.write { tx in
        tx.afterCommit {
          try? store.write { tx throws in
            var entry = Entry(number: 100)
            try tx.insert(&entry)
          }
        }
      }
    }
    try await store.untilWaiting(1)
    let asked = store.turnsAsked()
    Thread.detachNewThread { try? store.write { _ in } }
    while store.turnsAsked() == asked { try await Task.sleep(for: .milliseconds(1)) }
    // A separate batch: it is in the queue when the first one resumes.
    let last = Task { try await store.insert(2) }
    try await store.untilWaiting(2)
    held.end()
    try await first.value
    try await last.value
    #expect(try store.numbers() == [2, 100])
  }

  @Test("a nested write in a group is refused, without effect on the others")
  func nested() async throws {
    let store = try Store.temporary(for: Entry.self)
    try await withThrowingTaskGroup(of: LarchError.Code?.self) { group in
      for number in 0..<8 {
        group.addTask {
          do {
            try await store.write { tx in
              var entry = Entry(number: number)
              try tx.insert(&entry)
              if number % 2 == 0 { try store.write { _ in } }
            }
            return nil
          } catch {
            return (error as? LarchError)?.code
          }
        }
      }
      var codes: [LarchError.Code?] = []
      for try await code in group { codes.append(code) }
      #expect(codes.filter { $0 == .nestedWrite }.count == 4)
    }
    #expect(try store.numbers().sorted() == [1, 3, 5, 7])
  }
}

extension Result {
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
