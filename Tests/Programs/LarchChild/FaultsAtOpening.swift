internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// Indexes that are built over existing records when a store is opened.
final class BuildFaults: FaultScenario {
  private static let count = 60
  private let seed: UInt64
  private let durability: Store.Options.Durability

  init(seed: UInt64, durability: Store.Options.Durability = .durable) {
    self.seed = seed
    self.durability = durability
  }

  func prepare(_ path: String) throws {
    try Books.make(at: path, count: Self.count, seed: seed)
  }

  private func open(_ path: String) throws -> Store {
    var options = Store.Options()
    options.indexBatchSize = 25
    options.limit(durability)
    return try Store(at: path, for: IndexedBook.self, options: options)
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    do {
      try open(path).close()
    } catch {
      _ = try check(error)
      // Existing data can be used even while the disk fails.
      var options = Store.Options()
      options.isReadOnly = true
      let old: Store
      do {
        old = try Store(at: path, for: PlainBook.self, options: options)
      } catch let error as LarchError where durability == .logged {
        // A log must be followed before anything is read, and this disk cannot be written.
        _ = try check(error)
        return
      }
      defer { old.close() }
      try old.read { try Books.check($0, count: Self.count, seed: seed) }
      guard try old.verify().isClean else { throw Mismatch("what was there is broken") }
    }
  }

  func finish(_ path: String) throws {
    let store = try open(path)
    defer { store.close() }
    let report = try store.verify()
    guard report.isClean, report.entryCount > Self.count * 4 else { throw Mismatch("\(report)") }
    guard try store.count(IndexedBook.where { $0.title >= "" }) == Self.count else {
      throw Mismatch("books are missing from an index")
    }
  }
}

/// Migrations, each of which runs completely or not at all.
final class MigrationFaults: FaultScenario {
  private static let count = 40
  private let seed: UInt64
  private let durability: Store.Options.Durability

  init(seed: UInt64, durability: Store.Options.Durability = .durable) {
    self.seed = seed
    self.durability = durability
  }

  func prepare(_ path: String) throws {
    try Books.make(at: path, count: Self.count, seed: seed)
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    do {
      try open(path).close()
    } catch {
      _ = try check(error)
      do {
        _ = try steps(path)
      } catch let error as LarchError where durability == .logged {
        _ = try check(error)
      }
    }
  }

  func finish(_ path: String) throws {
    let store = try open(path)
    let report = try store.verify()
    store.close()
    guard report.isClean else { throw Mismatch("\(report)") }
    guard try steps(path) == BookMigrations.all.count else {
      throw Mismatch("not every migration was run")
    }
  }

  private func open(_ path: String) throws -> Store {
    var options = Store.Options()
    options.limit(durability)
    return try Store(
      at: path, for: IndexedBook.self, migrations: BookMigrations.all, options: options)
  }

  /// The number of migrations that have run, as every record shows.
  private func steps(_ path: String) throws -> Int {
    var options = Store.Options()
    options.isReadOnly = true
    options.evolution = .off
    let store = try Store(at: path, for: PlainBook.self, options: options)
    defer { store.close() }
    let found = try store.read { tx throws in
      try tx.all(PlainBook.self).map { book in
        // A migration that failed and ran again assigned a higher id to its book.
        var book = book
        if book.title == "last" { book.id = .init(Int64(Self.count + 1)) }
        return "\(book)"
      }
    }
    for steps in 0...BookMigrations.all.count
    where BookMigrations.books(steps, count: Self.count, seed: seed).map({ "\($0)" }) == found {
      return steps
    }
    throw Mismatch("a part of a migration is there")
  }
}

/// Asynchronous writes of several tasks, which share transactions.
final class GroupFaults: FaultScenario {
  private static let writes = 24
  private var store: Store?
  private var expected: Set<String> = []
  /// Those of which nobody knows yet whether they are there.
  private var unknown: Set<String> = []
  private let durability: Store.Options.Durability

  init(durability: Store.Options.Durability = .durable) { self.durability = durability }

  func prepare(_ path: String) throws {
    (expected, unknown) = ([], [])
    store = try Store.forFaults(at: path, durability)
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    let outcomes = Self.write(to: store, ids: (0..<Self.writes).map { "write-\($0)" })
    guard outcomes.count == Self.writes else { throw Mismatch("\(outcomes.count) were told") }
    for (id, failure) in outcomes {
      let verdict = try failure.map(check) ?? .reached
      if verdict == .reached { expected.insert(id) }
      if verdict == .unknown { unknown.insert(id) }
    }
    do {
      try expectExactly(store, "while the disk fails")
    } catch let error as LarchError where durability == .logged {
      _ = try check(error)
    }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    // One commit for all, so all of them are there or none.
    let found = Set(try store.read { try $0.all(Entry.self).map(\.id) })
    if unknown.isSubset(of: found) { expected.formUnion(unknown) }
    unknown = []
    let outcomes = Self.write(to: store, ids: (0..<4).map { "later-\($0)" })
    guard outcomes.allSatisfy({ $0.value == nil }) else { throw Mismatch("\(outcomes)") }
    expected.formUnion(outcomes.keys)
    try expectExactly(store, "when the disk works")
    guard try store.verify().isClean else { throw Mismatch("not clean") }
    store.close()
    self.store = nil
    // The store is closed when the task that wrote last has left it.
    for _ in 0..<2000 where access(path + "-log", F_OK) == 0 { usleep(1000) }
  }

  private func expectExactly(_ store: Store, _ when: String) throws {
    let found = Set(try store.read { try $0.all(Entry.self).map(\.id) })
    guard found.subtracting(unknown) == expected else {
      throw Mismatch(
        "\(when): lost \(expected.subtracting(found).sorted()), "
          + "there without an acknowledgement \(found.subtracting(expected).sorted())")
    }
  }

  /// Writes a record for each id at the same time, and reports the result of each.
  private static func write(to store: Store, ids: [String]) -> [String: (any Error)?] {
    let outcomes = OutcomeBox()
    let hasEnded = DispatchSemaphore(value: 0)
    Task.detached {
      await withTaskGroup(of: Void.self) { group in
        for id in ids {
          group.addTask {
            do {
              try await store.write { tx in
                var entry = Entry(
                  id: id, owner: 0, text: String(repeating: id, count: 40), value: id.count)
                try tx.insert(&entry)
              }
              outcomes.add(id, nil)
            } catch {
              outcomes.add(id, error)
            }
          }
        }
      }
      hasEnded.signal()
    }
    // The main thread, which does not run tasks.
    hasEnded.wait()
    return outcomes.all
  }
}

/// The result of each write. Unchecked: a lock guards it.
private final class OutcomeBox: @unchecked Sendable {
  private let lock = NSLock()
  private var outcomes: [String: (any Error)?] = [:]

  func add(_ id: String, _ failure: (any Error)?) {
    lock.withLock { outcomes[id] = .some(failure) }
  }

  var all: [String: (any Error)?] { lock.withLock { outcomes } }
}
