import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("How durable a write is")
struct DurabilityTests {
  private func withStore(
    _ durability: Store.Options.Durability, _ body: (Store) async throws -> Void
  ) async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = durability
    let store = try Store(at: path, for: Entry.self, options: options)
    defer { store.close() }
    try await body(store)
  }

  @Test("a write can use less or more durability than the store")
  func single() async throws {
    try await withStore(.durable) { store in
      try await store.write(durability: .relaxed) { tx in
        var entry = Entry(number: 1)
        try tx.insert(&entry)
      }
      #expect(store.environment.currentDurability == .relaxed)
      try await store.insert(2)
      #expect(store.environment.currentDurability == .durable)
    }
    try await withStore(.none) { store in
      try await store.insert(1)
      #expect(store.environment.currentDurability == .none)
      try await store.write(durability: .durable) { tx in
        var entry = Entry(number: 2)
        try tx.insert(&entry)
      }
      #expect(store.environment.currentDurability == .durable)
    }
  }

  @Test("a group is as durable as its most durable write")
  func group() async throws {
    try await withStore(.durable) { store in
      store.asyncWriter.group.maximumTime = .max
      let held = HeldWriter(store)
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<10 {
        tasks.append(
          Task {
            try await store.write(durability: number == 4 ? .durable : .relaxed) { tx in
              var entry = Entry(number: number)
              try tx.insert(&entry)
            }
          })
        try await store.untilWaiting(number + 1)
      }
      held.end()
      for task in tasks { try await task.value }
      #expect(store.environment.currentDurability == .durable)
    }
  }

  @Test("one that throws does not make the others wait for more")
  func failed() async throws {
    try await withStore(.relaxed) { store in
      let held = HeldWriter(store)
      let first = Task { try await store.insert(1) }
      try await store.untilWaiting(1)
      let second = Task { try await store.write(durability: .durable) { _ in throw Stop() } }
      try await store.untilWaiting(2)
      held.end()
      try await first.value
      await #expect(throws: Stop.self) { try await second.value }
      #expect(store.environment.currentDurability == .relaxed)
    }
  }

  @Test("a store that flushes nothing does not flush half for a relaxed write")
  func relaxedOfNone() async throws {
    try await withStore(.none) { store in
      try await store.write(durability: .relaxed) { tx in
        var entry = Entry(number: 1)
        try tx.insert(&entry)
      }
      #expect(store.environment.currentDurability == .none)
    }
  }

  @Test(
    "what was left to the system is on the disk after sync",
    arguments: [
      Store.Options.Durability.relaxed, .none, .durable,
    ])
  func sync(_ durability: Store.Options.Durability) async throws {
    try await withStore(durability) { store in
      try await store.insert(1)
      try await store.sync()
      try await store.insert(2)
      try syncBlocking(store)
      #expect(try store.numbers() == [1, 2])
    }
  }
}

private func syncBlocking(_ store: Store) throws { try store.sync() }
