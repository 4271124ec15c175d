import Foundation
import Larch
import LarchCrashSupport
import LarchTestSupport
import Testing

/// Programs whose tasks write, killed right after some of these writes were acknowledged.
@Suite("Every acknowledgement is kept", .serialized)
struct AcknowledgementTests {
  @available(macOS 26, iOS 26, *)
  @Test("what was acknowledged is there after a kill, whole and in order", arguments: [1, 8, 64])
  func kept(writers: Int) throws {
    let kills = amount("LARCH_ACKNOWLEDGED_KILLS", 200) / 3
    // Most of them in memory, where more of them fit in; a disk has longer flushes to die in.
    let run = AcknowledgedRun(writers: writers)
    do {
      try run.kill(kills * 3 / 4, onDisk: false)
      try run.kill(kills - kills * 3 / 4, onDisk: true)
    } catch {
      Issue.record("\(writers) writers, seed \(run.seed), kill \(run.kills): \(error)")
    }
    print("\(writers) writers: \(run.summary)")
    #expect(run.kills >= kills)
    #expect(run.acknowledged > kills / 3)
    #expect(run.refused > 0)
  }

  @available(macOS 26, iOS 26, *)
  @Test("a write that is acknowledged too early is found out")
  func control() throws {
    let run = AcknowledgedRun(writers: 8, isEarly: true)
    #expect(throws: Lost.self) { () throws in try run.kill(500, onDisk: true) }
  }
}

/// Acknowledged and gone.
struct Lost: Error, CustomStringConvertible {
  var description: String
}

private final class AcknowledgedRun {
  let seed: UInt64
  private let writers: Int
  private let isEarly: Bool
  private var random: SeededGenerator
  private(set) var kills = 0
  private(set) var acknowledged = 0
  private(set) var refused = 0
  private var killedEarly = 0
  private var unacknowledged = 0

  init(writers: Int, isEarly: Bool = false) {
    self.writers = writers
    self.isEarly = isEarly
    seed = StressProgram.seed &+ UInt64(writers)
    random = SeededGenerator(seed: seed)
  }

  var summary: String {
    """
    \(kills) kills, \(killedEarly) of them before the first write, \(acknowledged) acknowledged, \
    \(refused) refused, \(unacknowledged) there but not acknowledged, seed \(seed)
    """
  }

  func kill(_ count: Int, onDisk: Bool) throws {
    var left = count
    while left > 0 {
      // A new store now and then, or looking at it all would take the time.
      let kills = min(left, 25)
      left -= kills
      try StressProgram.withDirectory(onDisk: onDisk) { directory in
        try killOften(kills, path: directory + "/store.larch")
      }
    }
  }

  private func killOften(_ count: Int, path: String) throws {
    var checked = NumberedWrites.Checked()
    for _ in 0..<count {
      let first = checked.next
      let frames = try killOnce(path)
      let store = try NumberedWrites.open(at: path)
      defer { store.close() }
      checked = try store.read { tx throws in
        try NumberedWrites.check(tx, seed: seed, after: checked)
      }
      try compare(frames, first: first, with: checked)
      kills += 1
    }
    // Once more from the beginning: no later death has changed what an earlier one left.
    let store = try NumberedWrites.open(at: path)
    defer { store.close() }
    let whole = try store.read { tx throws in
      try NumberedWrites.check(tx, seed: seed, after: .init())
    }
    guard whole.count == checked.count else { throw Mismatch("\(whole), not \(checked)") }
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
  }

  /// Lets a child write for a while; returns what it reported before its end.
  private func killOnce(_ path: String) throws -> [UInt64] {
    let child = try WritingChild([
      "numbered-writers", path, "\(writers)", "\(seed)", isEarly ? "1" : "0",
    ])
    // One in eight dies on the way, before or while it opens the store.
    if random.below(8) == 0 {
      killedEarly += 1
    } else {
      guard try child.waitForFirst() else { throw Mismatch("the child has ended by itself") }
    }
    _ = child.listen(microseconds: random.below(20_000))
    return try child.killHard()
  }

  private func compare(
    _ frames: [UInt64], first: Int, with checked: NumberedWrites.Checked
  ) throws {
    var told = Set<Int>()
    for frame in frames {
      guard let (outcome, number) = NumberedWrites.Outcome.parsed(frame), outcome != .wrong,
        number >= first, told.insert(number).inserted
      else { throw Mismatch("the child told \(frame) of a write") }
      let isRefused = NumberedWrites.isRefused(number, seed: seed)
      guard isRefused == (outcome == .refused) else {
        throw Mismatch("write \(number) was told to be \(outcome)")
      }
      if isRefused {
        refused += 1
      } else if number >= checked.next {
        throw Lost(description: "write \(number) was acknowledged, \(checked.next) is not there")
      } else {
        acknowledged += 1
      }
    }
    unacknowledged += (first..<max(first, checked.next)).count { number in
      !told.contains(number) && !NumberedWrites.isRefused(number, seed: seed)
    }
  }
}
