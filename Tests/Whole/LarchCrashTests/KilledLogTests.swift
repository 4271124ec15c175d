import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A process that logs its commits is killed while it opens the store and follows its log, while it
/// writes beside checkpoints, and while it closes. No acknowledged write may be lost, and nothing may
/// be half.
@Suite("Killed beside its commit log", .serialized)
struct KilledLogTests {
  @Test("At any moment, again and again")
  func anyMoment() throws {
    let directory = try CrashDirectory()
    let wanted = amount("LARCH_LOG_KILLS", 1000)
    var watch = LogWatch(directory: directory)
    do {
      try watch.run(kills: wanted)
    } catch {
      Issue.record("seed \(runSeed), kill \(watch.kills): \(error)")
    }
    print(
      "commit log: \(watch.kills) kills, \(watch.phases[1]) while opening, \(watch.phases[2])",
      "while writing, \(watch.phases[3]) while closing, \(watch.recoveries) with a log left,",
      "\(watch.transactions) transactions, \(watch.unacknowledged) there but not acknowledged,",
      "\(watch.verified) full verifications, seed \(runSeed)")
    #expect(watch.kills >= wanted)
    #expect(watch.phases[1...3].allSatisfy { $0 > 0 })
    #expect(watch.recoveries > wanted / 4)
  }

  /// A call that has just been made, or is not made any more: of a flush and of the headers of the log
  /// there are too few to be hit by accident.
  @Test("In each call of its first transactions", .enabled(if: Recorder.isAvailable))
  func everyCall() throws {
    var kills = 0
    let step = amount("LARCH_LOG_CALL_STEP", 9)
    for mode: Recorder.Mode in [.killed, [.late, .killed], [.torn, .killed]] {
      let directory = try CrashDirectory()
      var watch = LogWatch(directory: directory)
      var call = 1 + Int(runSeed % UInt64(step))
      while call < amount("LARCH_LOG_CALLS", 400) {
        do {
          try watch.kill(inCall: call, mode)
        } catch {
          Issue.record("seed \(runSeed), call \(call), mode \(mode.rawValue): \(error)")
          break
        }
        call += step
      }
      kills += watch.kills
    }
    print("commit log: \(kills) kills in calls, seed \(runSeed)")
    #expect(kills > 0)
  }
}

/// The state of one loop.
private struct LogWatch {
  private let directory: CrashDirectory
  private let beacon: Beacon?
  /// Has the files of the store and no others.
  private let folder: String
  private var random = SeededGenerator(seed: runSeed)
  private var model = WriterModel(seed: runSeed, writer: 0)
  private(set) var kills = 0
  private(set) var phases = [0, 0, 0, 0]
  private(set) var recoveries = 0
  private(set) var unacknowledged = 0
  private(set) var verified = 0

  init(directory: CrashDirectory) {
    self.directory = directory
    beacon = try? Beacon(path: directory.beacon)
    folder = directory.path + "/watched"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  var transactions: Int { model.progress.transactions }

  private var store: String { folder + "/store.larch" }

  private var arguments: [String] {
    ["crash-logged", store, directory.beacon, "\(runSeed)"]
  }

  mutating func run(kills wanted: Int) throws {
    guard let beacon else { throw Mismatch("no beacon") }
    while kills < wanted {
      beacon[.attempted(0)] = 0
      let child = try Child(arguments, in: directory.path)
      // An opening that follows a log is over soon, so most of the early kills wait for its begin.
      if random.below(3) == 0 {
        try child.wait("opens") { beacon[.attempted(0)] > 0 }
        usleep(UInt32(random.below(4000)))
      } else {
        try child.waitUntilStarted(beacon, 0)
        usleep(UInt32(random.below(12_000)))
      }
      child.signal(SIGKILL)
      try child.killHard()
      try died()
      // Otherwise the next process follows the log, and may be killed while it does.
      if random.below(3) == 0 { try compare() }
    }
    try compare()
  }

  /// Lets a process be killed in a call on the files of the store.
  mutating func kill(inCall call: Int, _ mode: Recorder.Mode) throws {
    let child = try Child(
      arguments, in: directory.path,
      environment: try Recorder.environment(
        directory: folder, failing: (call, .all, mode)))
    guard try child.wait() == .signal(SIGKILL) else { throw Mismatch(child.output) }
    try died()
    if random.below(2) == 0 { try compare() }
  }

  private mutating func died() throws {
    kills += 1
    if let beacon { phases[min(max(beacon[.attempted(0)], 0), 3)] += 1 }
    if access(store + "-log", F_OK) == 0 { recoveries += 1 }
  }

  /// Opens the store as the next program would, and compares it with the model.
  private mutating func compare() throws {
    guard let beacon else { return }
    let isLogged = random.below(2) == 0
    let store = try Store.forCrashes(at: self.store) {
      // A program that logs nothing must get everything too.
      $0.durability = isLogged ? .logged : .durable
      $0.logLimits = .forPowerFailures
      $0.isVerified = true
    }
    defer { store.close() }
    let before = beacon[.acknowledged(0)]
    let found = try store.read { try WriterModel.read(0, seed: runSeed, in: $0) }
    let done = found.progress.transactions
    guard done == before || done == before + 1 else {
      throw Mismatch("\(before) acknowledged, \(done) in the store")
    }
    if done > before { unacknowledged += 1 }
    beacon[.acknowledged(0)] = done
    while model.progress.transactions < done { _ = model.next() }
    guard "\(model.progress)" == "\(found.progress)", model.contents == found.contents else {
      throw Mismatch("other contents than after \(done) transactions")
    }
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    verified += 1
  }
}
