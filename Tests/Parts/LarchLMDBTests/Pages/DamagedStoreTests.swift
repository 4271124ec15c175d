import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Damaged store files in a child process, through the whole of Larch.
@Suite(.serialized)
struct DamagedStoreTests {
  @Test func noDamagedStoreKillsOrMisleadsWhenVerified() throws {
    let count = ChildProgram.count("LARCH_DAMAGED_FILES", default: 2_000)
    try ChildProgram.withDirectory { directory in
      let templates = 4
      for seed in 1...UInt64(templates) {
        let template = directory + "/template-\(seed)"
        #expect(try ChildProgram.run(["make-store", template, "\(seed)"]) { _ in } == .exit(0))
        let outcomes = try DamagedFileTests.open(
          "verified", command: "open-store", template: template, seed: seed,
          count: count / templates, in: directory)
        #expect(outcomes.values.map(\.files).reduce(0, +) == count / templates)
        #expect(outcomes.values.map(\.opened).reduce(0, +) > count / templates / 4)
        for (kind, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
          #expect(outcome.signals.isEmpty, "\(kind), seed \(seed)")
          #expect(outcome.hangs.isEmpty, "\(kind), seed \(seed)")
          #expect(outcome.failed.isEmpty, "\(kind), seed \(seed)")
        }
      }
    }
  }

  @Test func withoutTheWalkSomeDamagedStoresKill() throws {
    try ChildProgram.withDirectory { directory in
      let template = directory + "/template"
      #expect(try ChildProgram.run(["make-store", template, "1"]) { _ in } == .exit(0))
      let outcomes = try DamagedFileTests.open(
        "plain", command: "open-store", template: template, seed: 1, count: 120, in: directory)
      let dead = outcomes.values.map { $0.signals.count + $0.hangs.count }.reduce(0, +)
      #expect(dead >= 5)
    }
  }
}
