import Foundation
import LarchCrashSupport
import Testing

/// Each write and each flush of a store's files fails in one run, once or permanently. The result
/// is an error that says what happened, no partial change, and a store that continues when the disk
/// works again.
@Suite("Failing disks", .serialized, .enabled(if: Recorder.isAvailable))
struct FaultTests {
  struct Scenario: CustomTestStringConvertible {
    let name: String
    /// In the suite, one of this number of calls fails; `LARCH_FAULT_STEP=1` lets each one fail.
    let step: Int
    var testDescription: String { name }
  }

  static let scenarios = [
    Scenario(name: "create", step: 1), Scenario(name: "writes", step: 3),
    Scenario(name: "relaxed", step: 5), Scenario(name: "unflushed", step: 5),
    Scenario(name: "growth", step: 3), Scenario(name: "build", step: 3),
    Scenario(name: "migration", step: 3), Scenario(name: "group", step: 1),
    Scenario(name: "shared", step: 1), Scenario(name: "backup", step: 1),
    Scenario(name: "compaction", step: 1), Scenario(name: "logged", step: 4),
    Scenario(name: "loggedCreate", step: 2), Scenario(name: "loggedGrowth", step: 1),
    Scenario(name: "loggedBuild", step: 5), Scenario(name: "loggedMigration", step: 5),
    Scenario(name: "loggedGroup", step: 1), Scenario(name: "loggedCompaction", step: 4),
  ]

  static let modes: [(String, Recorder.Mode)] = [
    ("once", .once), ("for ever", .forever), ("torn", .torn), ("late", .late),
    ("late for ever", [.late, .forever]),
  ]

  @Test(
    "A typed error, no partial change, and the store is usable without reopening",
    arguments: scenarios)
  func everyCall(scenario: Scenario) throws {
    let step = amount("LARCH_FAULT_STEP", scenario.step)
    for (mode, flags) in Self.modes {
      for code in [EIO, ENOSPC] {
        // A full disk leaves half a write.
        if code == ENOSPC, flags.contains(.late) { continue }
        let directory = try CrashDirectory()
        let first = 1 + Int(runSeed % UInt64(step))
        let child = try Child(
          [
            "faults", scenario.name, directory.path, "\(flags.rawValue)", "\(code)", "\(first)",
            "\(step)", "\(runSeed)",
          ], in: directory.path,
          environment: try Recorder.environment(directory: directory.path))
        let ending = try child.wait()
        #expect(ending == .exit(0), "\(scenario.name), \(mode), seed \(runSeed): \(child.output)")
        let parts = child.output.split(whereSeparator: \.isWhitespace)
        guard ending == .exit(0), parts.count == 6 else { continue }
        print(
          "\(scenario.name), \(code == EIO ? "EIO" : "ENOSPC") \(mode): \(parts[0]) of \(parts[4])",
          "calls made to fail, \(parts[1]) failed in all, \(parts[2]) errors thrown,",
          "\(parts[3]) of them for commits that reached the file; kinds \(parts[5]),",
          "seed \(runSeed)")
        #expect((Int(parts[0]) ?? 0) > 2)
        // With a log, a commit that finds no room makes some, and is tried once more.
        let mayEndWell =
          scenario.name.hasPrefix("logged") && code == ENOSPC && !flags.contains(.forever)
        #expect(mayEndWell || (Int(parts[2]) ?? 0) > 0)
      }
    }
  }
}
