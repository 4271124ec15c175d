internal import Foundation
internal import Larch

/// Many tasks that write at once, so that several writes share a commit. Each is acknowledged
/// separately.
struct GroupProgram: PowerProgram {
  private static let tasks = 8
  private static let writes = 12

  private let seed: UInt64
  private let durability: Store.Options.Durability

  init(seed: UInt64, durability: Store.Options.Durability = .durable) {
    self.seed = seed
    self.durability = durability
  }

  private func open(_ path: String, isVerified: Bool = false) throws -> Store {
    try Store.forCrashes(at: path) {
      $0.durability = durability
      $0.logLimits = .forPowerFailures
      $0.isVerified = isVerified
    }
  }

  /// The two records of each write; one alone would be half a write.
  private static func entries(_ task: Int, _ write: Int, _ seed: UInt64) -> [Entry] {
    let size = Int((seed &+ UInt64(task * 31 + write)) % 7)
    return ["a", "b"].map { half in
      Entry(
        id: "\(task)-\(write)-\(half)", owner: task,
        text: "\(task)-\(write)-\(half) " + String(repeating: "text ", count: size * size * 14),
        value: write)
    }
  }

  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws {
    let store = try open(storePath(directory))
    defer { store.close() }
    mark(PowerMark(kind: PowerMark.acknowledged, number: -1))
    let seed = seed
    try Self.waiting {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<Self.tasks {
          group.addTask { try await Self.write(task, to: store, seed, mark) }
        }
        try await group.waitForAll()
      }
    }
  }

  private static func write(
    _ task: Int, to store: Store, _ seed: UInt64, _ mark: @Sendable (PowerMark) -> Void
  ) async throws {
    struct Refused: Error {}
    for write in 1...writes {
      // Some writes of a group fail; the others must not notice.
      if (write + task) % 5 == 0 {
        do {
          try await store.write { tx throws in
            var wrong = Entry(id: "\(task)-wrong", owner: task, text: "\(task)-wrong")
            try tx.save(&wrong)
            throw Refused()
          }
          throw Mismatch("a write that throws was acknowledged")
        } catch is Refused {}
      }
      try await store.write { tx throws in
        for entry in entries(task, write, seed) {
          var entry = entry
          try tx.insert(&entry)
        }
        var progress = Progress(id: task)
        progress.transactions = write
        try tx.save(&progress)
      }
      mark(PowerMark(kind: PowerMark.acknowledged, number: task, detail: write))
    }
  }

  /// Runs asynchronous work to its end while this thread, the main thread, waits. The task may keep
  /// `body` a little longer, so `body` must not use the frame of the caller.
  private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
    final class Box: @unchecked Sendable { var error: (any Error)? }
    let box = Box()
    // Written before the signal and read after it.
    let isDone = DispatchSemaphore(value: 0)
    Task {
      do { try await body() } catch { box.error = error }
      isDone.signal()
    }
    isDone.wait()
    if let error = box.error { throw error }
  }

  mutating func check(_ directory: String, after marks: [PowerMark]) throws {
    let path = storePath(directory)
    if !marks.isEmpty, !isThere(path) { throw Mismatch("the store is gone") }
    let store = try open(path, isVerified: true)
    defer { store.close() }
    var acknowledged = [Int](repeating: 0, count: Self.tasks)
    for mark in marks where mark.number >= 0 { acknowledged[mark.number] = mark.detail }
    let (found, entries) = try store.read { tx throws in
      let found = try (0..<Self.tasks).map { try tx.find(Progress.self, $0)?.transactions ?? 0 }
      return (found, try tx.all(Entry.self).map(\.content))
    }
    var expected: [String] = []
    for task in 0..<Self.tasks {
      // A task has at most one pending write.
      guard found[task] >= acknowledged[task],
        found[task] <= (marks.isEmpty ? 0 : acknowledged[task] + 1)
      else {
        throw Mismatch("task \(task): \(acknowledged[task]) acknowledged, \(found[task]) there")
      }
      for write in 0..<found[task] {
        expected += Self.entries(task, write + 1, seed).map(\.content)
      }
    }
    guard entries.sorted() == expected.sorted() else {
      throw Mismatch("\(entries.count) entries, not the \(expected.count) of \(found)")
    }
    try store.expectClean()
    try store.write { tx throws in
      var entry = Entry(id: "later", owner: 100, text: "later")
      try tx.save(&entry)
    }
  }
}
