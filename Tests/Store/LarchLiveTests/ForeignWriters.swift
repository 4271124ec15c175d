import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// One after the other, since each has processes that write without a pause.
@Suite("Other processes", .serialized)
enum ForeignTests {
  /// A test with a store and processes that may write to it.
  static func withWriters(
    _ change: (inout Store.Options) -> Void = { _ in },
    _ body: (ForeignWriters, Store) async throws -> Void
  ) async throws {
    let writers = try ForeignWriters()
    let store = try writers.open(change)
    defer { store.close() }
    try await body(writers, store)
  }
}

/// A store, and processes that change it at the word of a test.
final class ForeignWriters {
  let directory: CrashDirectory
  let beacon: Beacon
  private(set) var children: [Int: Child] = [:]

  var path: String { directory.store }

  init() throws {
    directory = try CrashDirectory()
    beacon = try Beacon(path: directory.beacon)
    try Watched.make(at: directory.store)
  }

  func open(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    try Watched.open(at: path, change)
  }

  /// Starts a process that changes records of one kind. A negative burst is one without end.
  func start(_ number: Int, _ kind: Watched.Kind, burst: Int = 1, seed: UInt64 = 1) throws {
    try start(number, ["watched-writer"], ["\(seed)", kind.rawValue, "\(burst)"])
  }

  /// Starts a process that compacts the store.
  func startCompacting(_ number: Int) throws {
    try start(number, ["watched-writer"], ["1", "compact", "1"])
  }

  /// Starts a process that observes, and ends by itself if a value is wrong.
  func startObserving(_ number: Int) throws { try start(number, ["watched-observer"], []) }

  /// Starts a process that knows only LMDB, and changes a database.
  func startPlain(_ number: Int, database: String, burst: Int = 1) throws {
    try start(number, ["watched-plain"], [database, "\(burst)"])
  }

  private func start(_ number: Int, _ command: [String], _ rest: [String]) throws {
    let child = try Child(
      command + [directory.store, directory.beacon, "\(number)"] + rest, in: directory.path)
    children[number] = child
    try child.waitUntilStarted(beacon, number)
  }

  /// Lets a process make one burst of commits, and waits for its end.
  func step(_ number: Int) async throws {
    let goal = beacon[.acknowledged(number)] + 1
    beacon[.attempted(number)] = goal
    try await eventually("a process commits") {
      guard let child = children[number], child.isRunning else {
        throw Mismatch("no commit: \(children[number]?.output ?? "")")
      }
      return beacon[.acknowledged(number)] >= goal
    }
  }

  func kill(_ number: Int) throws { try children.removeValue(forKey: number)?.killHard() }

  /// The name of the database of the notes, for writers that know only LMDB.
  static func notesDatabase(_ store: Store) throws -> String {
    try store.read { tx in
      let tree = try tx.context.collection(of: WatchedNote.self).records.handle
      return store.environment.treeNames.withLock { $0[tree] ?? "" }
    }
  }
}

/// How often a closure has read.
final class ReadCount: Sendable {
  private let count = Locked(0)
  func add() { count.withLock { $0 += 1 } }
  var value: Int { count.withLock { $0 } }
}

extension Store {
  /// What notices the commits of other processes.
  var commitWatch: CommitWatch? { environment.changes.foreign as? CommitWatch }

  var isObserved: Bool { get throws { try openReads().contains { $0.kind == .observation } } }
}

/// How many seconds a test waits for something, in naps. Beside tests that block all threads of tasks,
/// a nap may take long, and whatever the test waits for takes as long: so the clock says nothing.
let patience = Double(amount("LARCH_OBSERVED_PATIENCE", 600))
private let nap = Duration.milliseconds(2)
private func naps(_ seconds: Double) -> Int { Int(seconds * 500) }

/// The next value of an observation; an error if none comes, since a test that hangs says nothing.
func next<Value: Sendable>(
  _ iterator: StoreObservation<Value>.AsyncIterator, seconds: Double = patience
) async throws -> Observed<Value>? {
  try await withThrowingTaskGroup(of: Observed<Value>?.self) { group in
    group.addTask { try await iterator.next() }
    group.addTask {
      for _ in 0..<naps(seconds) { try await Task.sleep(for: nap) }
      throw Mismatch("no value came in \(seconds) s")
    }
    defer { group.cancelAll() }
    return try await group.next() ?? nil
  }
}

/// Waits until a condition holds, without blocking a thread.
func eventually(
  _ what: String, seconds: Double = patience, _ isMet: () throws -> Bool
) async throws {
  for _ in 0..<naps(seconds) {
    if try isMet() { return }
    try await Task.sleep(for: nap)
  }
  throw Mismatch("not in \(seconds) s: \(what)")
}
