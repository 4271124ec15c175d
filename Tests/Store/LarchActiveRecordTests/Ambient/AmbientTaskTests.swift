import Foundation
@testable import Larch
import LarchTestSupport
import Testing

@Suite("Tasks inherit the chosen store, and join no transaction")
struct AmbientTaskTests {
  typealias Person = Ambient.Person

  private func names(_ store: Store) throws -> [String] {
    try store.fetch(Person.all).map(\.name).sorted()
  }

  @Test("tasks, child tasks and groups take the store of Store.with")
  func inherited() async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      async let first = Person(name: "async let").saved()
      _ = try await first
      _ = try await Task { try await Person(name: "task").saved() }.value
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<3 {
          group.addTask { _ = try await Person(name: "group \(number)").saved() }
        }
        try await group.waitForAll()
      }
      if #available(macOS 26, iOS 26, *) {
        _ = try await Task.immediate { try await Person(name: "immediate").saved() }.value
      } else {
        _ = try await Person(name: "immediate").saved()
      }
      await Task.yield()
      _ = try await Person(name: "here").saved()
    }
    #expect(
      try names(store) == [
        "async let", "group 0", "group 1", "group 2", "here", "immediate", "task",
      ])
  }

  @Test("a task that is started in the synchronous Store.with keeps its store after it ends")
  func startedInSynchronousScope() async throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    let tasks = Store.with(a) {
      let outer = Task { try await Person(name: "a").saved() }
      let inner = Store.with(b) { Task { try await Person(name: "b").saved() } }
      return [outer, inner]
    }
    for task in tasks { _ = try await task.value }
    #expect(try names(a) == ["a"])
    #expect(try names(b) == ["b"])
  }

  @available(macOS 26, iOS 26, *)
  private func startImmediately(in store: Store) throws -> Task<[Int], any Error> {
    try store.write { _ in
      _ = try Person(name: "in the write").saved()
      let task = Task.immediate {
        // On the thread of the write, while it runs, but not inside it.
        var counts = [try Person.all.count()]
        let isOutside = RunningScope.current == nil
        await Task.yield()
        counts.append(isOutside ? 1 : 0)
        _ = try await Person(name: "in the task").saved()
        counts.append(try Person.all.count())
        return counts
      }
      // The scope of the write has not changed.
      #expect(try Person.all.count() == 1)
      return task
    }
  }

  @available(macOS 26, iOS 26, *)
  @Test("a task that starts at once inside a transaction does not belong to the transaction")
  func immediate() async throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    let task = try Store.with(b) { try startImmediately(in: a) }
    #expect(try await task.value == [0, 1, 1])
    #expect(try names(a) == ["in the write"])
    #expect(try names(b) == ["in the task"])
  }

  @available(macOS 26, iOS 26, *)
  @Test("a task that starts at once in a write of its own store cannot write before it suspends")
  func immediateWrite() async throws {
    let store = try Ambient.store()
    let task = Store.with(store) {
      try? Store.transaction {
        Task.immediate { () -> [LarchError.Code?] in
          let save = {
            var ada = Person(name: "Ada"); try ada.save()
          }
          let during = try Ambient.code(save)
          _ = try await Person(name: "Eve").saved()
          return [during, try Ambient.code(save)]
        }
      }
    }
    #expect(try await task?.value == [.nestedWrite, nil])
    #expect(try names(store) == ["Ada", "Eve"])
  }

  private func startTask() throws -> Task<Int, any Error>? {
    try Store.transaction {
      _ = try Person(name: "in the transaction").saved()
      return Task { try Person.all.count() as Int }
    }
  }

  @Test("a task that is started in a transaction reads the committed state")
  func startedInTransaction() async throws {
    let store = try Ambient.store()
    let count = try await Store.with(store) { try await startTask()?.value ?? -1 }
    // The state before or after the commit, and never an uncommitted change.
    #expect(count == 0 || count == 1)
    // On its own thread: it blocks, and tests only have one thread for each core.
    let blocked: Int? = await withCheckedContinuation { continuation in
      Thread {
        continuation.resume(returning: try? Store.with(store) { try countFromTask() })
      }.start()
    }
    #expect(blocked == 1)
  }

  private func countFromTask() throws -> Int? {
    try Store.transaction {
      _ = try Person(name: "uncommitted").saved()
      let answer = Locked<Int?>(nil)
      let done = Semaphore()
      let store = try AmbientStore.chosen()
      Task.detached {
        Self.count(in: store, answer)
        done.signal()
      }
      done.wait()
      return answer.withLock { $0 ?? -1 }
    }
  }

  private static func count(in store: Store, _ answer: Locked<Int?>) {
    Store.with(store) {
      let count = try? Person.all.count()
      answer.withLock { $0 = count }
    }
  }

  @Test("Store.with applies across suspensions, and only in its closure")
  func suspensions() async throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    try await Store.with(a) {
      for round in 0..<20 {
        await Task.yield()
        _ = try await Person(name: "a\(round)").saved()
        try await Store.with(b) {
          await Task.yield()
          try await Task.sleep(nanoseconds: 1000)
          _ = try await Person(name: "b\(round)").saved()
        }
        try Store.with(b) { _ = try Person(name: "bb\(round)").saved() }
        #expect(RunningScope.current == nil)
      }
    }
    #expect(try a.count(Person.all) == 20)
    #expect(try b.count(Person.all) == 40)
  }

  @Test("200 tests at once have a store each", arguments: 0..<200)
  func ownStore(_ number: Int) async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      #expect(try Person.all.count() == 0)
      for round in 0..<3 {
        _ = try await Person(name: "\(round)", age: number).saved()
        await Task.yield()
        try await Store.transaction { () throws in
          _ = try Person(name: "more", age: number).saved()
          #expect(try Person.where { $0.age != number }.count() == 0)
        }
      }
      #expect(try Person.all.count() == 6)
    }
  }

  @Test("60 threads without a task have a store each")
  func threads() throws {
    let failures = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 60) { number in
      do {
        try Ambient.withStore { store in
          for _ in 0..<5 {
            try Store.transaction { _ = try Person(name: "x", age: number).saved() }
            sched_yield()
          }
          let isOwn = try store.fetch(Person.all).allSatisfy { $0.age == number }
          if try !isOwn || Person.all.count() != 5 { throw Ambient.Failure() }
        }
      } catch { failures.withLock { $0 += 1 } }
    }
    #expect(failures.withLock { $0 } == 0)
  }

  @Test("300 tasks with a store each, suspended and nested at random, never see another store")
  func manyTasks() async throws {
    let seed = UInt64.random(in: .min ... .max)
    let stores = try (0..<60).map { _ in try Ambient.store() }
    let expected = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      for task in 0..<300 {
        group.addTask {
          var generator = SeededGenerator(seed: seed &+ UInt64(task))
          let mine = task % stores.count
          return try await Store.with(stores[mine]) {
            (mine, try await work(&generator, mine, stores, depth: 0))
          }
        }
      }
      var expected = [Int](repeating: 0, count: stores.count)
      for try await (store, saved) in group { expected[store] += saved }
      return expected
    }
    for (number, store) in stores.enumerated() {
      let people = try store.fetch(Person.all)
      #expect(people.allSatisfy { $0.age == number }, "seed \(seed)")
      #expect(people.count == expected[number], "seed \(seed)")
    }
  }
}

/// Saves in the chosen store, and checks that it has no record of another one.
///
/// - Returns: how many records it saved.
private func work(
  _ generator: inout SeededGenerator, _ mine: Int, _ stores: [Store], depth: Int
) async throws -> Int {
  typealias Person = Ambient.Person
  var saved = 0
  for _ in 0..<6 {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0:
      _ = try await Person(name: "async", age: mine).saved()
      saved += 1
    case 1:
      try await Store.transaction {
        _ = try Person(name: "async transaction", age: mine).saved()
        try Store.transaction {
          _ = try Person(name: "undone", age: -1).saved()
          throw Rollback()
        }
      }
      saved += 1
    case 2:
      await Task.yield()
    case 3:
      // Another store's snapshot, and in it this one's.
      let other = stores.randomElement(using: &generator)!  // There are 60 of them.
      if other !== stores[mine] {
        try synchronously(mine, AmbientStore.chosen(), other)
        saved += 1
      }
    case 4 where depth < 3:
      let seed = UInt64.random(in: .min ... .max, using: &generator)
      async let child = childWork(seed, mine, stores, depth: depth + 1)
      await Task.yield()
      saved += try await child
    case 5 where depth < 3:
      let next = Int.random(in: 0..<stores.count, using: &generator)
      try await Store.with(stores[next]) {
        await Task.yield()
        guard try Person.all.where({ $0.age != next }).exists() == false else {
          throw Ambient.Failure()
        }
      }
    case 6:
      try await Task.sleep(nanoseconds: UInt64.random(in: 0..<100_000, using: &generator))
    default:
      let isMine = try Person.all.fetch().allSatisfy { $0.age == mine }
      guard isMine else { throw Ambient.Failure() }
    }
  }
  return saved
}

private func childWork(
  _ seed: UInt64, _ mine: Int, _ stores: [Store], depth: Int
) async throws -> Int {
  var generator = SeededGenerator(seed: seed)
  return try await work(&generator, mine, stores, depth: depth)
}

private func synchronously(_ mine: Int, _ store: Store, _ other: Store) throws {
  typealias Person = Ambient.Person
  try other.read { _ in
    let otherAges = Set(try Person.all.fetch().map(\.age))
    guard otherAges.count <= 1 else { throw Ambient.Failure() }
    try Store.with(store) {
      try Store.transaction { _ = try Person(name: "synchronous", age: mine).saved() }
      guard try Person.all.where({ $0.age != mine }).exists() == false else {
        throw Ambient.Failure()
      }
    }
  }
}
