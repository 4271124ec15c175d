import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What a plan looks at, beside what the best of all ways would have looked at. Work is told in
/// steps from key to key, as the planner does; what is counted is what the run did.
///
/// `LARCH_REGRET_CASES` is the number of queries, `LARCH_REGRET_SEED` the first store, and
/// `LARCH_REGRET_SHOW` prints the worst.
@Suite("What a choice of a plan costs")
struct PlanRegretTests {
  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  private static let cases = number("LARCH_REGRET_CASES") ?? 1000
  private static let firstSeed =
    number("LARCH_REGRET_SEED") ?? (cases > 1000 ? RegretStore.firstLarge : 0)
  private static let queries = 60
  @Test("A plan costs little more than the best of all ways would have")
  func regret() throws { try PlanRegretTests.check { try RegretCase($0, $1) } }

  @Test("A plan of groups, sums or distinct values does too, and every way gives those of an array")
  func regretOfGroups() throws { try PlanRegretTests.check { RegretCase(groupsOf: $0, $1) } }

  private static func check(_ make: (RegretStore, Int) throws -> RegretCase) throws {
    var regrets: [(ratio: Double, text: String)] = []
    var seed = UInt64(Self.firstSeed)
    while regrets.count < Self.cases {
      let store = try RegretStore(seed: seed)
      seed += 1
      for place in 0..<Self.queries where regrets.count < Self.cases {
        let asked = try make(store, place)
        try store.store.read { tx in
          guard let (regret, text) = try tx.regret(asked) else { return }
          regrets.append((regret.ratio, regret.ratio > 1.5 ? "\(asked.text)\n\(text)" : ""))
        }
      }
    }
    regrets.sort { $0.ratio < $1.ratio }
    func part(_ share: Double) -> Double { regrets[Int(Double(regrets.count - 1) * share)].ratio }
    let histogram = Self.histogram(regrets.map(\.ratio))
    print("\(regrets.count) queries over \(Int(seed) - Self.firstSeed) stores\n\(histogram)")
    let parts = [0.5, 0.95, 0.99, 0.999, 1].map { "\($0 * 100) %: \(part($0))" }
    print(parts.joined(separator: ", "))
    if let count = Self.number("LARCH_REGRET_SHOW") {
      for (ratio, text) in regrets.suffix(count) { print("\(ratio): \(text)\n") }
    }
    // Of these, which are always the same. More of them are worse: see docs/planner.md.
    #expect(part(0.95) <= 1.5)
    #expect(part(0.99) <= 2)
    #expect(part(1) <= 4, "\(regrets.last?.text ?? "")")
  }

  /// The worst of 100,000 queries, by store and place, and those that once were among them: what
  /// they choose and look at, as text that is kept. `LARCH_WRITE_PLANS=1` writes the text again; review each line that changes.
  private static let worst: [(store: UInt64, queries: [Int])] = [
    (1005, [38]), (1082, [50]), (1109, [4]), (1159, [25]), (1280, [47]), (1490, [32]),
    (1573, [22]), (1597, [55]), (1659, [17]), (1663, [21, 56]), (1669, [55]), (1712, [23]),
    (1760, [7]), (1830, [21]), (1865, [24]), (1866, [13]), (2115, [35]), (2176, [29]),
    (2190, [54]), (2785, [24]), (2889, [35]), (3110, [12]), (3236, [20, 39]), (3304, [58]),
    (70913, [43]), (1077, [56]), (1962, [37]), (2073, [25, 52]), (2298, [52]), (2342, [46]),
    (2393, [45]), (2541, [39, 56]), (2581, [43, 45]), (2765, [10]), (2825, [24]), (2863, [32]),
    (2954, [30]), (3118, [41]), (3347, [54]),
  ]

  /// The same of 20,000 requests for groups, sums and distinct values, and the worst two of 100,000.
  private static let worstOfGroups: [(store: UInt64, queries: [Int])] = [
    (1000, [30]), (1006, [44]), (1140, [8, 51]), (1165, [15]), (1195, [35]), (1196, [40]),
    (1197, [4]), (1209, [43, 58]), (1233, [12]), (1235, [11]), (1239, [56]), (1248, [59]),
    (1280, [8]), (1291, [44]), (1296, [9]), (1298, [7]), (1659, [51]), (2060, [49]),
  ]

  @Test("The worst choices look at no more than they did")
  func worstOnes() throws {
    try PlanRegretTests.check(Self.worst, as: "regrets") { try RegretCase($0, $1) }
  }

  @Test("The worst choices for groups do too")
  func worstOnesOfGroups() throws {
    try PlanRegretTests.check(Self.worstOfGroups, as: "regrets-of-groups") {
      RegretCase(groupsOf: $0, $1)
    }
  }

  private static func check(
    _ worst: [(store: UInt64, queries: [Int])], as name: String,
    _ make: (RegretStore, Int) throws -> RegretCase
  ) throws {
    var text = ""
    for (seed, places) in worst {
      let store = try RegretStore(seed: seed)
      for place in places {
        let asked = try make(store, place)
        try store.store.read { tx in
          let (regret, plans) = try #require(try tx.regret(asked))
          #expect(regret.ratio >= 1)
          text += "? \(asked.text)\n\(plans)\n\n"
        }
      }
    }
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/\(name).txt")
    if ProcessInfo.processInfo.environment["LARCH_WRITE_PLANS"] == "1" {
      try text.write(to: path, atomically: true, encoding: .utf8)
    }
    let kept = try String(contentsOf: path, encoding: .utf8)
    if let difference = TextDifference.between(expected: kept, actual: text) {
      Issue.record("choices differ from those that were kept\n\(difference)")
    }
  }

  private static func histogram(_ ratios: [Double]) -> String {
    let bounds = [1, 1.1, 1.25, 1.5, 2, 3, 5, .infinity]
    var last = 0.0
    return bounds.map { bound in
      let count = ratios.count { $0 <= bound + 1e-9 && $0 > last + 1e-9 }
      last = bound
      let share = Double(count * 100_000 / ratios.count) / 1000
      return "| \(bound) | \(count) | \(share) % |"
    }.joined(separator: "\n")
  }
}
