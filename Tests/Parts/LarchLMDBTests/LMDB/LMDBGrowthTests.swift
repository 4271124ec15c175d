import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

struct LMDBGrowthTests {
  @Test("A tiny map grows under readers without a failure or a torn snapshot")
  func growthUnderReaders() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(0, 0, in: $0) }
    let start = environment.map.bytes
    let progress = Progress()
    // Key 0 holds the number of the newest entry: a snapshot must hold exactly that many.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          try await onThread {
            while !progress.isDone.load(ordering: .relaxed) {
              try environment.read { transaction in
                let count = try database.number(0, in: transaction)
                let entries = try database.statistics(in: transaction).entries
                try #require(count.map { Int($0) + 1 } == entries)
              }
              progress.reads.add(1, ordering: .relaxed)
            }
          }
        }
      }
      group.addTask {
        try await onThread {
          defer { progress.isDone.store(true, ordering: .relaxed) }
          for batch in UInt64(0)..<100 {
            try environment.write { transaction in
              for key in UInt64(1)...200 {
                try database.put(batch * 200 + key, key, in: transaction)
              }
              try database.put(0, (batch + 1) * 200, in: transaction)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(environment.map.bytes >= start * 8)
    #expect(progress.reads.load(ordering: .relaxed) > 0)
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_001)
  }

  @Test("A map that cannot grow ends no snapshot")
  func noAddresses() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(0, 0, in: $0) }
    let held = environment.hold(
      try environment.beginRead(), owner: ObjectIdentifier(environment), deadline: nil)
    // No larger number is possible.
    environment.map.bytes = .max
    let error = #expect(throws: LarchError.self) {
      try environment.write { transaction in
        for key in UInt64(0)..<1_000_000 { try database.put(key, key, in: transaction) }
      }
    }
    #expect(error?.code == .mapFull)
    // Nor does one that is large enough, as it is when another thread has followed a growth before.
    try environment.adoptMapSize()
    #expect(environment.isOpen(held))
    environment.endHeldRead(held)
    #expect(try environment.read { try database.statistics(in: $0).entries } == 1)
  }

  @Test("A full map that the closure hides from Larch still makes it run again")
  func hiddenFailure() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    var runs = 0
    try environment.write { transaction in
      runs += 1
      for key in UInt64(0)..<20_000 { _ = try? database.put(key, key, in: transaction) }
    }
    #expect(runs > 1)
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_000)
  }

  @Test("A full map inside an undone child makes the write run again")
  func hiddenInChild() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { transaction in
      let child = try transaction.beginChild()
      do {
        for key in UInt64(0)..<20_000 { try database.put(key, key, in: child) }
        try child.commitChild()
      } catch { child.abortChild() }
    }
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_000)
  }

  @Test("A thread that reads cannot grow the map, and gets an error at once")
  func readOnTheSameThread() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    let reader = try environment.beginRead()
    let error = #expect(throws: LarchError.self) { try fill(database, of: environment) }
    #expect(error?.code == .mapFull)
    // The error after a wait names the read of another thread.
    #expect(error?.message.contains("this thread has an open read") == true)
    // Writes that fit succeed, and all of them after the read has ended.
    try environment.write { try database.put(1, 1, in: $0) }
    environment.endRead(reader)
    try fill(database, of: environment)
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_000)
  }

  @Test("A read that stays open on another thread is named after the wait")
  func blockingRead() async throws {
    let scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.small()
    options.waitLimit = 0.2
    let environment = try LMDBEnvironment.open(path: scratch.store, options: options)
    defer { environment.close() }
    let database = try environment.database("a")
    let reader = try environment.beginRead()
    let error = await Task {
      await #expect(throws: LarchError.self) {
        try await onThread { try fill(database, of: environment) }
      }
    }.value
    #expect(error?.code == .mapFull)
    #expect(error?.context.detail?.contains("snapshot \(reader.transaction.id)") == true)
    environment.endRead(reader)
    try fill(database, of: environment)
  }

  @Test("Growth and a reader that waits to write do not wait for each other")
  func readerThatWaitsToWrite() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    let isWriting = DispatchSemaphore(value: 0)
    let isReading = DispatchSemaphore(value: 0)
    async let growth: LarchError.Code? = onThread {
      code {
        try environment.write { transaction in
          isWriting.signal()
          isReading.wait()
          for key in UInt64(0)..<20_000 { try database.put(key, key, in: transaction) }
        }
      }
    }
    async let small: LarchError.Code? = onThread {
      code {
        isWriting.wait()
        try environment.read { _ in
          isReading.signal()
          try environment.write { try database.put(1, 1, in: $0) }
        }
      }
    }
    #expect(await (try growth) == .mapFull)
    #expect(await (try small) == nil)
  }

  @Test("A thread that reads may read again while growth holds new reads back")
  func nestedReadDuringGrowth() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(1, 7, in: $0) }
    let isReading = DispatchSemaphore(value: 0)
    async let value: UInt64? = onThread {
      try environment.read { _ in
        isReading.signal()
        while !environment.isHoldingReadsBack { usleep(500) }
        return try environment.read { try database.number(1, in: $0) }
      }
    }
    async let growth: Void = onThread {
      isReading.wait()
      try fill(database, of: environment)
    }
    #expect(try await value == 7)
    try await growth
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_000)
  }

  @Test("A store opens while another process makes the file larger")
  func adoptionAtOpening() async throws {
    let scratch = try ScratchDirectory()
    let path = scratch.store
    do {
      let environment = try LMDBEnvironment.open(path: path, options: .small(64 << 10))
      defer { environment.close() }
      try fill(try environment.database("a"), of: environment, count: 1000)
    }
    let isMapped = DispatchSemaphore(value: 0)
    let goesOn = DispatchSemaphore(value: 0)
    let progress = Progress()
    var options = LMDBEnvironment.Options.small(64 << 10)
    // Mapped with the size of the file, which the other process then exceeds.
    options.mapped = {
      if progress.isDone.exchange(true, ordering: .relaxed) { return }
      isMapped.signal()
      goesOn.wait()
    }
    async let opened = onThread { [options] in
      try LMDBEnvironment.open(path: path, options: options)
    }
    try await onThread { _ = isMapped.wait(timeout: .distantFuture) }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let other = try LMDBEnvironment.open(path: path, options: .small(64 << 10))
      try fill(try other.database("a"), of: other, count: 60_000)
    }
    goesOn.signal()
    let environment = try await opened
    defer { environment.close() }
    let database = try environment.database("a")
    #expect(try environment.read { try database.statistics(in: $0).entries } == 60_000)
  }

  @Test("Readers and writers notice the growth of another process")
  func adoption() async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small(1 << 20))
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(0, 7, in: $0) }
    await #expect(processExitsWith: .success) { [path = scratch.store as String] in
      let other = try LMDBEnvironment.open(path: path, options: .small(1 << 20))
      try fill(try other.database("a"), of: other, count: 60_000)
    }
    #expect(try environment.read { try database.statistics(in: $0).entries } == 60_000)
    await #expect(processExitsWith: .success) { [path = scratch.store as String] in
      let other = try LMDBEnvironment.open(path: path, options: .small(1 << 20))
      try fill(try other.database("a"), of: other, count: 120_000)
    }
    try environment.write { try database.put(0, 8, in: $0) }
    #expect(environment.map.bytes > 2 << 20)
    #expect(try environment.read { try database.number(0, in: $0) } == 8)
    #expect(try environment.read { try database.statistics(in: $0).entries } == 120_000)
  }
}

private func fill(
  _ database: LMDBDatabase, of environment: LMDBEnvironment, count: UInt64 = 20_000
) throws {
  try environment.write { transaction in
    for key in 0..<count { try database.put(key, key, in: transaction) }
  }
}

private final class Progress: Sendable {
  let isDone = Atomic<Bool>(false)
  let reads = Atomic<Int>(0)
}
