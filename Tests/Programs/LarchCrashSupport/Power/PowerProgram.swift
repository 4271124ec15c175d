internal import Foundation
package import Larch

/// A program that is recorded while it runs. It knows the required contents of a store after a
/// power failure.
package protocol PowerProgram {
  /// Runs in the directory, and passes acknowledged writes to `mark`.
  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws

  /// Opens the stores in the directory, reads and verifies everything, and writes. Throws if the
  /// state is not allowed after these marks.
  mutating func check(_ directory: String, after marks: [PowerMark]) throws
}

package enum PowerPrograms {
  /// The program of this name, with its argument after a colon.
  package static func named(_ name: String, seed: UInt64) throws -> any PowerProgram {
    let parts = name.split(separator: ":").map(String.init)
    switch parts[0] {
    case "durable": return WritingProgram(seed: seed, durability: .durable)
    case "creation": return WritingProgram(seed: seed, durability: .durable, count: 2)
    case "relaxed": return WritingProgram(seed: seed, durability: .relaxed, slack: 1)
    // Two that must be found out.
    case "relaxed-as-durable": return WritingProgram(seed: seed, durability: .relaxed)
    case "unflushed": return WritingProgram(seed: seed, durability: .none)
    case "mixed":
      return WritingProgram(seed: seed, durability: .relaxed, slack: 1, isMixed: true)
    case "compaction":
      return WritingProgram(seed: seed, durability: .durable, count: 24, compacting: 6)
    case "logged":
      return WritingProgram(
        seed: seed, durability: .logged, faults: seed & 1 == 0 ? [] : .slowCheckpoints)
    case "logged-mixed":
      return WritingProgram(seed: seed, durability: .logged, isMixed: true)
    case "logged-compaction":
      return WritingProgram(seed: seed, durability: .logged, count: 24, compacting: 6)
    case "logged-recovery":
      return WritingProgram(seed: seed, durability: .logged, count: 12, isRecovered: true)
    // With mistakes, which must be found out.
    case "logged-wrongly":
      let faults = CommitLogFaults(rawValue: parts.last.flatMap(Int.init) ?? 0)
        .union(.slowCheckpoints)
      return WritingProgram(
        seed: seed, durability: .logged, count: 40, isRecovered: faults.contains(.oneMetaPage),
        faults: faults)
    case "logged-group": return GroupProgram(seed: seed, durability: .logged)
    case "logged-indexes": return BookProgram(seed: seed, migrates: false, durability: .logged)
    case "logged-migrations": return BookProgram(seed: seed, migrates: true, durability: .logged)
    case "backups": return BackupProgram(seed: seed)
    case "group": return GroupProgram(seed: seed)
    case "indexes": return BookProgram(seed: seed, migrates: false)
    case "migrations": return BookProgram(seed: seed, migrates: true)
    default: throw Mismatch("there is no program \(name)")
    }
  }
}

extension PowerProgram {
  func storePath(_ directory: String) -> String { directory + "/store.larch" }
}

func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

extension Store {
  /// Throws if the store is not valid.
  func expectClean() throws {
    let report = try verify()
    guard report.isClean else { throw Mismatch("\(report)") }
  }
}

extension CommitLogLimits {
  /// So small that a short run fills both halves many times, and that some commits are too large.
  package static var forPowerFailures: CommitLogLimits {
    var limits = CommitLogLimits()
    limits.halfSize = 24 << 10
    limits.record = 8 << 10
    limits.held = 512 << 10
    limits.idle = .milliseconds(1)
    return limits
  }
}

extension PowerMark {
  static let acknowledged: UInt32 = 1
  /// The writes that a relaxed store had to make durable individually.
  static let durable: UInt32 = 6
  /// A write failed, and its caller got the error.
  static let refused: UInt32 = 7
  /// Another write begins after one that failed.
  static let attempted: UInt32 = 8
}

extension [PowerMark] {
  /// The newest acknowledged number; nil if there is none.
  var acknowledged: Int? { last { $0.kind == PowerMark.acknowledged }?.number }
}
