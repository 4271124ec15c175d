import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct LMDBReadersTests {
  @Test("A read reuses a parked reader, with the attachment of the upper layers")
  func parking() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let first = try environment.beginRead()
    first.attachment = environment
    let second = try environment.beginRead()
    #expect(first !== second)
    environment.endRead(second)
    environment.endRead(first)
    let third = try environment.beginRead()
    #expect(third === first)
    #expect(third.attachment === environment)
    environment.endRead(third)
    #expect(try environment.info().readersInUse == 2)
  }

  @Test("Only some readers are parked, so that other processes find slots")
  func cap() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let readers = try (0..<200).map { _ in try environment.beginRead() }
    readers.forEach(environment.endRead)
    #expect(environment.readers.parked.count == 64)
    #expect(environment.readers.all.count == 64)
    #expect(environment.readers.activeUses == 0)
  }

  @Test("If all slots are taken, a read waits for one, and throws if none becomes free")
  func fullTable() async throws {
    let scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.quick
    options.maxReaders = 4
    options.waitLimit = 0.1
    let environment = try LMDBEnvironment.open(path: scratch.store, options: options)
    defer { environment.close() }
    let capacity = try environment.info().maxReaders
    var readers = try (0..<capacity).map { _ in try environment.beginRead() }
    #expect(code { try environment.beginRead() } == .readersFull)
    #expect(environment.readers.activeUses == capacity)
    environment.endRead(readers.removeLast())
    readers.append(try environment.beginRead())
    readers.forEach(environment.endRead)
    #expect(environment.readers.activeUses == 0)

    // Other tests may have all threads of tasks for a while.
    options.waitLimit = 600
    let patient = try LMDBEnvironment.open(path: scratch.path + "/b", options: options)
    defer { patient.close() }
    let held = try (0..<patient.info().maxReaders).map { _ in try patient.beginRead() }
    async let waiting: Void = onThread { try patient.read { _ in } }
    try await Task.sleep(for: .milliseconds(30))
    held.forEach(patient.endRead)
    try await waiting
  }

  @Test("The slots of processes that died in a read are freed at open")
  func deadReaders() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    for _ in 0..<2 {
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = scratch.store as String] in
        let other = try LMDBEnvironment.open(path: path, options: .quick)
        _ = try (0..<5).map { _ in try other.beginRead() }
        kill(getpid(), SIGKILL)
      }
    }
    // The second child has freed the slots of the first one; this process frees its own.
    #expect(try environment.checkReaders() == 5)
    #expect(try environment.checkReaders() == 0)
  }

  @Test("Reads of many threads are counted correctly")
  func counting() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(1, 1, in: $0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await onThread {
            for _ in 0..<5_000 {
              let value = try environment.read { try database.number(1, in: $0) }
              try #require(value == 1)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(environment.readers.activeUses == 0)
    #expect(environment.readers.all.count == environment.readers.parked.count)
  }
}

struct WriteQueueTests {
  @Test("A write inside a write of the same thread is refused at once, without damage")
  func nested() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { transaction in
      #expect(code { try environment.write { _ in } } == .nestedWrite)
      #expect(code { try environment.openDatabases { _ in } } == .nestedWrite)
      try database.put(1, 1, in: transaction)
    }
    #expect(try environment.read { try database.number(1, in: $0) } == 1)
  }

  @Test("Writes of other threads run in the order of their calls")
  func order() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    let order = Order()
    // Only threads: a write that waits for tasks would prevent them from running.
    try await onThread {
      let writers = DispatchGroup()
      try environment.write { _ in
        for number in 0..<8 {
          writers.enter()
          Thread {
            try? environment.write { transaction in
              order.numbers.withLock { $0.append(number) }
              try database.put(UInt64(number), 0, in: transaction)
            }
            writers.leave()
          }.start()
          while environment.writeQueue.waitingCount <= number { usleep(200) }
        }
      }
      writers.wait()
    }
    #expect(order.numbers.withLock { $0 } == Array(0..<8))
  }

  @Test("A closed queue refuses threads, but serves a ticket that was taken before")
  func closing() {
    let queue = WriteQueue()
    let ticket = queue.takeTicket(for: WriteRunner())
    #expect(!queue.close())
    #expect(queue.lock {} == .closed)
    queue.wait(for: ticket)
    #expect(queue.isHeld)
    #expect(queue.lock {} == .nested)
    #expect(queue.lending { queue.lock {} } == .lent)
    #expect(queue.lock {} == .nested)
    #expect(queue.unlock())
    queue.reopen()
    #expect(queue.lock {} == .granted)
    #expect(!queue.unlock())
  }

  @Test("Writers of several threads lose nothing")
  func contention() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(0, 0, in: $0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await onThread {
            for _ in 0..<500 {
              try environment.write { transaction in
                let value = try database.number(0, in: transaction) ?? 0
                try database.put(0, value + 1, in: transaction)
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try environment.read { try database.number(0, in: $0) } == 2_000)
    #expect(environment.readers.activeUses == 0)
    // True when nobody has the write lock.
    #expect(environment.writeQueue.close())
  }

  #if os(Linux)
    @Test("A forked child gets an error for the parent's store, and can open its own")
    func fork() async throws {
      let scratch = try ScratchDirectory()
      await #expect(processExitsWith: .success) { [path = scratch.store as String] in
        let environment = try LMDBEnvironment.open(path: path, options: .quick)
        let database = try environment.database("a")
        try environment.write { try database.put(1, 1, in: $0) }
        let reader = try environment.beginRead()
        // Swift hides `fork` for good reasons, but the C libraries of a process may call it.
        let symbol = try #require(dlsym(nil, "fork"))
        let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
        let child = fork()
        if child == 0 {
          // Of the threads of the parent only this one is here; a lock that another one has stays locked.
          alarm(60)
          var answers = [
            code { try environment.beginRead() }, code { try environment.write { _ in } },
          ]
          answers.append(code { try environment.info() })
          environment.endRead(reader)
          environment.close()
          let own = try? LMDBEnvironment.open(path: path, options: .quick)
          let copy = try? own?.database("a")
          let value = try? own?.read { try copy?.number(1, in: $0) }
          _exit(answers == [.forked, .forked, .forked] && value == 1 ? 0 : 1)
        }
        var status: Int32 = -1
        try #require(waitpid(child, &status, 0) == child)
        try #require(status == 0)
        let value = try database.number(1, in: reader.transaction)
        try #require(value == 1)
        environment.endRead(reader)
        try environment.write { try database.put(2, 2, in: $0) }
        let readers = try environment.info().readersInUse
        try #require(readers >= 1)
        environment.close()
      }
    }
  #endif
}

private final class Order: Sendable {
  let numbers = Locked<[Int]>([])
}
