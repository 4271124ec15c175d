import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Runs of a program whose every write and flush is recorded, and the images that a power failure
/// at any moment could leave. Each image must open, be valid and have every acknowledged write.
@Suite("Power failures", .serialized, .enabled(if: Recorder.isAvailable))
struct PowerFailureTests {
  /// Each program with its share of the images in per cent, and the number of images of one moment.
  static let programs: [(name: String, share: Int, shapes: Int)] = [
    ("creation", 8, 24), ("durable", 20, 5), ("relaxed", 13, 3), ("mixed", 12, 3),
    ("group", 11, 5), ("indexes", 12, 6), ("migrations", 7, 6), ("compaction", 13, 5),
    ("backups", 6, 8), ("logged", 10, 5), ("logged-mixed", 5, 3), ("logged-group", 3, 5),
    ("logged-recovery", 5, 6), ("logged-compaction", 5, 5), ("logged-indexes", 3, 6),
    ("logged-migrations", 3, 6),
  ]

  @Test("The power may fail at any moment of a run", arguments: programs.indices)
  func anyMoment(_ index: Int) throws {
    let (name, share, shapes) = Self.programs[index]
    let wanted = amount("LARCH_POWER_IMAGES", 10_000) * share / 100
    var random = SeededGenerator(seed: runSeed &+ UInt64(index))
    var (images, runs) = (0, 0)
    while images < wanted {
      let seed = random.next() >> 16
      let run = try PowerRun(name, seed: seed)
      try run.replay(shapes: shapes)
      images += run.images
      runs += 1
      for bad in run.bad.prefix(3) {
        Issue.record("\(name), LARCH_CRASH_SEED=\(runSeed), run \(runs), seed \(seed), \(bad)")
      }
      let bad = run.bad.count
      #expect(bad == 0, "\(bad) of \(run.images) images of \(name) are bad")
      #expect(run.images > 100, "a run of \(name) gave only \(run.images) images")
    }
    print("power failures: \(name): \(images) images of \(runs) runs, seed \(runSeed)")
  }
}

/// The same with stores and disks that break their promises. If the harness finds no fault in them,
/// its other results mean nothing.
@Suite("Faults that power failures must show", .serialized, .enabled(if: Recorder.isAvailable))
struct PowerControlTests {
  private func badShare(
    _ program: String, lies: PowerDisk.Lies = [], as other: String? = nil, events: Int = 110,
    each step: Int = 1, mayDie: Bool = false, seed: UInt64 = runSeed, _ what: String
  ) throws -> Double {
    let run = try PowerRun(program, seed: seed)
    try run.replay(
      shapes: 3, events: events, each: step, lies: lies, as: other,
      deathLimit: mayDie ? 0 : .max)
    let share = Double(run.bad.count) / Double(max(run.images, 1))
    print(
      "power failures: control, \(what): \(run.bad.count) of \(run.images) images are bad, \(run.deaths)",
      "deaths, seed \(seed)")
    #expect(run.images >= 60 || run.deaths > 0)
    #expect(mayDie || run.deaths == 0, "seed \(seed): damaged files must not end a process")
    return share
  }

  @Test("A store that flushes nothing is destroyed or loses what it acknowledged")
  func unflushed() throws {
    #expect(try badShare("unflushed", "a store that flushes nothing") > 0.4)
  }

  @Test("So is a store on a disk on which flushes do nothing")
  func lyingFlushes() throws {
    #expect(try badShare("durable", lies: .flushes, "flushes that do nothing") > 0.5)
  }

  @Test("A header that is not on disk when its write has returned loses what was acknowledged")
  func lyingMeta() throws {
    #expect(try badShare("durable", lies: .meta, "headers that come late") > 0.1)
  }

  @Test("A relaxed store loses the newest write, which a durable one may not")
  func relaxed() throws {
    #expect(
      try badShare("relaxed", as: "relaxed-as-durable", "relaxed taken for durable") > 0.1)
  }

  /// Mistakes of a commit log, with the least share of bad images by which they must be found.
  /// One of `step` images is looked at.
  static let mistakes: [(what: String, faults: CommitLogFaults, step: Int, share: Double)] = [
    ("no pin", .noPin, 8, 0.05),
    ("a pin that ends too early", .earlyPinEnd, 3, 0.001),
    ("a header before its pages", .earlyHeader, 4, 0.01),
    ("one meta page", .oneMetaPage, 4, 0.005),
    ("records of failed commits", [.failedCommits, .keptRecords], 3, 0.002),
    ("records that are not flushed", .noFlush, 8, 0.1),
    ("records flushed after the commit", .lateFlush, 4, 0.005),
  ]

  @Test("A commit log that breaks one of its rules", arguments: mistakes.indices)
  func mistakenLog(_ index: Int) throws {
    let (what, faults, step, share) = Self.mistakes[index]
    let program = "logged-wrongly:\(faults.rawValue)"
    // What happens during a checkpoint depends on when the system lets its thread run.
    var found = 0.0
    for run in UInt64(0)..<4 where found <= share {
      // LMDB follows the log before anybody has looked at the pages, and those are torn here.
      found = try badShare(
        program, events: .max, each: step, mayDie: true, seed: runSeed &+ run,
        "a log with \(what)")
    }
    #expect(found > share)
  }

  @Test("One whose commits fail, as it may happen")
  func failingCommits() throws {
    let program = "logged-wrongly:\(CommitLogFaults.failedCommits.rawValue)"
    #expect(try badShare(program, events: .max, each: 4, "failing commits") == 0)
  }
}
