internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `faults <scenario> <directory> <mode> <errno> <first> <step> <seed>`: runs a scenario again and
/// again. In each run another call on the files of the store fails (about one of `step` calls).
/// Prints the covered calls.
func faults(_ arguments: [String]) throws {
  guard arguments.count == 7, let kind = FaultKind(rawValue: arguments[0]),
    let mode = Int32(arguments[2]), let code = Int32(arguments[3]), let first = Int(arguments[4]),
    let step = Int(arguments[5]), let seed = UInt64(arguments[6])
  else { throw UsageError() }
  limitLifetime()
  guard let recorder = Recorder.current else { throw Mismatch("no recorder") }
  var run = FaultRun(
    recorder: recorder, directory: arguments[1], mode: Recorder.Mode(rawValue: mode), code: code,
    seed: seed)
  let scenario = try kind.make(seed)
  recorder.fail(call: 0)
  var call = first
  var random = SeededGenerator(seed: seed)
  // Not at a fixed distance, since the calls of commits repeat in a rhythm too.
  while try run.runs(scenario, failing: call) { call += 1 + random.below(2 * step - 1) }
  print(run.summary)
}

/// The work of the program while the disk fails.
enum FaultKind: String {
  case create, writes, relaxed, unflushed, growth, build, migration, group, shared
  case backup, compaction
  case logged, loggedCreate, loggedGrowth, loggedBuild, loggedMigration, loggedGroup
  case loggedCompaction

  fileprivate func make(_ seed: UInt64) throws -> any FaultScenario {
    switch self {
    case .create: CreationFaults()
    case .writes: WriteFaults(seed: seed, durability: .durable)
    case .relaxed: WriteFaults(seed: seed, durability: .relaxed)
    case .unflushed: WriteFaults(seed: seed, durability: .none)
    case .growth: GrowthFaults()
    case .build: BuildFaults(seed: seed)
    case .migration: MigrationFaults(seed: seed)
    case .group: GroupFaults()
    case .shared: SharedFaults()
    case .backup: BackupFaults()
    case .compaction: CompactionFaults()
    case .logged: WriteFaults(seed: seed, durability: .logged)
    case .loggedCreate: CreationFaults(durability: .logged)
    case .loggedGrowth: GrowthFaults(durability: .logged)
    case .loggedBuild: BuildFaults(seed: seed, durability: .logged)
    case .loggedMigration: MigrationFaults(seed: seed, durability: .logged)
    case .loggedGroup: GroupFaults(durability: .logged)
    case .loggedCompaction: CompactionFaults(durability: .logged)
    }
  }
}

/// Work with a store, and the conditions that must hold whatever fails in it.
protocol FaultScenario: AnyObject {
  /// Prepares the files on a working disk.
  func prepare(_ path: String) throws
  /// Does the work on a failing disk. Every error is passed to `check`.
  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws
  /// The disk works again: everything that was acknowledged exists, and the open store can be used.
  func finish(_ path: String) throws
}

/// The required properties of an error of a failing disk.
enum FaultVerdict {
  /// Nothing was changed.
  case unchanged
  /// The change is there, though it may not be on the disk.
  case reached
  /// The change is there or not, as whoever reads it learns when the disk works again.
  case unknown
}

/// One scenario with one way of failing.
private struct FaultRun {
  let recorder: Recorder
  let directory: String
  let mode: Recorder.Mode
  let code: Int32
  let seed: UInt64
  private var runs = 0
  private var failedCalls = 0
  private var errors = 0
  private var reached = 0
  private var last = 0
  private var kinds: [Int32: Int] = [:]

  init(recorder: Recorder, directory: String, mode: Recorder.Mode, code: Int32, seed: UInt64) {
    self.recorder = recorder
    self.directory = directory
    self.mode = mode
    self.code = code
    self.seed = seed
  }

  var summary: String {
    "\(runs) \(failedCalls) \(errors) \(reached) \(last) "
      + kinds.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
  }

  /// One run; false if it ended before the call that should fail.
  mutating func runs(_ scenario: any FaultScenario, failing call: Int) throws -> Bool {
    let path = "\(directory)/faults-\(call).larch"
    do {
      recorder.fail(call: 0)
      try scenario.prepare(path)
      var found = (errors: 0, reached: 0)
      recorder.fail(call: call, mode: mode, code: code)
      try scenario.run(path) { error in
        found.errors += 1
        let verdict = try Self.verdict(error)
        if verdict == .reached { found.reached += 1 }
        return verdict
      }
      let failures = recorder.failures
      let kind = recorder.failed.rawValue
      recorder.fail(call: 0)
      try scenario.finish(path)
      for suffix in ["", "-lock"] { unlink(path + suffix) }
      let left = try FileManager.default.contentsOfDirectory(atPath: directory)
        .filter { $0.hasPrefix("faults-") }
      guard left.isEmpty else { throw Mismatch("\(left) are left") }
      if failures == 0 {
        guard found.errors == 0 else { throw Mismatch("errors though no call failed") }
        return false
      }
      runs += 1
      last = call
      failedCalls += failures
      errors += found.errors
      reached += found.reached
      kinds[kind, default: 0] += 1
      return true
    } catch {
      let kind = recorder.failed.rawValue
      recorder.fail(call: 0)
      throw Mismatch("call \(call) (kind \(kind)) fails, mode \(mode.rawValue), \(code): \(error)")
    }
  }

  /// Throws if an error does not say what happened.
  private static func verdict(_ error: any Error) throws -> FaultVerdict {
    guard let error = error as? LarchError else { throw Mismatch("not typed: \(error)") }
    let cause = error.code == .migrationFailed ? error.underlying as? LarchError : error
    guard let cause, cause.code == .ioFailure || cause.code == .diskFull else {
      throw Mismatch("another error: \(error)")
    }
    if cause.message.hasPrefix("The disk failed at the end of the commit") { return .unknown }
    return cause.message.hasPrefix("The commit reached the file") ? .reached : .unchanged
  }
}

extension Store.Options {
  /// Sets the durability, with a log in which something happens.
  mutating func limit(_ durability: Durability) {
    self.durability = durability
    logLimits = .forPowerFailures
  }
}

extension Store {
  static func forFaults(at path: String, _ durability: Options.Durability) throws -> Store {
    try forCrashes(at: path) { $0.limit(durability) }
  }
}

// MARK: Creating

private final class CreationFaults: FaultScenario {
  private var isAcknowledged = false
  private var isUnknown = false
  private let durability: Store.Options.Durability

  init(durability: Store.Options.Durability = .durable) { self.durability = durability }

  func prepare(_ path: String) throws { (isAcknowledged, isUnknown) = (false, false) }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    let store: Store
    do {
      store = try Store.forFaults(at: path, durability)
    } catch {
      _ = try check(error)
      return
    }
    defer { store.close() }
    do {
      var entry = Entry(id: "first", owner: 0, text: "text")
      try store.write { tx throws in try tx.insert(&entry) }
      isAcknowledged = true
    } catch {
      let verdict = try check(error)
      (isAcknowledged, isUnknown) = (verdict == .reached, verdict == .unknown)
    }
  }

  func finish(_ path: String) throws {
    let store = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { store.close() }
    let count = try store.read { try $0.count(Entry.all) }
    guard count == (isAcknowledged ? 1 : 0) || isUnknown && count == 1 else {
      throw Mismatch("acknowledged \(isAcknowledged), and it is not so")
    }
    try store.write { tx throws in
      var entry = Entry(id: "second", owner: 0, text: "other")
      try tx.insert(&entry)
    }
    guard try store.verify().isClean else { throw Mismatch("not clean") }
  }
}

// MARK: Writing

/// The transactions of the crash tests: indexes of every kind, savepoints, records with overflow
/// pages, refused inserts.
private final class WriteFaults: FaultScenario {
  private let durability: Store.Options.Durability
  private var model: WriterModel
  private var ids: [Int: RecordID<Item>] = [:]
  /// The model after a write of which nobody knows yet whether it is there.
  private var unknown: WriterModel?
  private var store: Store?
  private let seed: UInt64

  init(seed: UInt64, durability: Store.Options.Durability) {
    self.seed = seed
    self.durability = durability
    model = WriterModel(seed: seed, writer: 0)
  }

  func prepare(_ path: String) throws {
    model = WriterModel(seed: seed, writer: 0)
    unknown = nil
    ids = [:]
    let store = try Store.forFaults(at: path, durability)
    for _ in 0..<12 { try model.write(to: store, ids: &ids) }
    self.store = store
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    for _ in 0..<6 {
      var next = model
      var nextIDs = ids
      do {
        try next.write(to: store, ids: &nextIDs)
        (model, ids) = (next, nextIDs)
      } catch {
        let verdict = try check(error)
        if verdict == .reached {
          model = next
          ids = try itemIDs(store)
        }
        if verdict == .unknown { unknown = next }
        do {
          // Reads continue while the disk fails.
          try expectSame(store, "while the disk fails")
        } catch let error as LarchError where durability == .logged {
          // A log must be followed before anything is read, and this disk cannot be written.
          _ = try check(error)
        }
        if unknown != nil { break }
      }
      if durability != .durable {
        do { try store.sync() } catch { _ = try check(error) }
      }
    }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    if let next = unknown {
      let found = try store.read { try WriterModel.read(0, seed: seed, in: $0) }
      if found.progress.transactions == next.progress.transactions { model = next }
      ids = try itemIDs(store)
    }
    try expectSame(store, "after the disk failed")
    for _ in 0..<2 { try model.write(to: store, ids: &ids) }
    try expectSame(store, "after two more writes")
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    store.close()
    self.store = nil
    let again = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { again.close() }
    try expectSame(again, "after opening again")
  }

  private func itemIDs(_ store: Store) throws -> [Int: RecordID<Item>] {
    try store.read { tx throws in
      var ids: [Int: RecordID<Item>] = [:]
      for item in try tx.all(Item.self) { ids[item.serial] = item.id }
      return ids
    }
  }

  private func expectSame(_ store: Store, _ when: String) throws {
    let found = try store.read { try WriterModel.read(0, seed: seed, in: $0) }
    guard found.contents == model.contents, "\(found.progress)" == "\(model.progress)" else {
      throw Mismatch("\(when): \(found.progress), expected \(model.progress)")
    }
  }
}

// MARK: Growing

/// A store with the smallest map, which moves again and again while it is filled.
private final class GrowthFaults: FaultScenario {
  private let bank = SharedBank(seed: 7)
  private var done = 0
  private var isUnknown = false
  private var store: Store?
  private let durability: Store.Options.Durability

  init(durability: Store.Options.Durability = .durable) { self.durability = durability }

  func prepare(_ path: String) throws {
    try bank.make(at: path)
    store = try SharedBank.open(at: path) { $0.limit(durability) }
    (done, isUnknown) = (0, false)
  }

  private func move(_ store: Store) throws {
    try store.write { tx throws in try bank.move(40, teller: 1, in: tx) {} }
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    for _ in 0..<3 {
      do {
        try move(store)
        done += 40
      } catch {
        let verdict = try check(error)
        if verdict == .reached { done += 40 }
        isUnknown = verdict == .unknown
        do {
          try expectDone(store)
        } catch let error as LarchError where durability == .logged {
          _ = try check(error)
        }
        if isUnknown { break }
      }
    }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    if isUnknown, try store.read({ try bank.contents($0) }).done[1] == done + 40 { done += 40 }
    try move(store)
    done += 40
    try expectDone(store)
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    store.close()
    self.store = nil
  }

  private func expectDone(_ store: Store) throws {
    let contents = try store.read { try bank.contents($0) }
    try bank.checkEverything(contents)
    guard contents.done[1] == done else { throw Mismatch("\(contents.done[1]), not \(done)") }
  }
}
