import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Plans against their filters and orders.
struct PlanPropertyTests {
  static let rounds =
    ProcessInfo.processInfo.environment["LARCH_PLAN_ROUNDS"].flatMap { Int($0) } ?? 40

  /// Set to repeat a failure.
  static let givenSeed =
    ProcessInfo.processInfo.environment["LARCH_PLAN_SEED"].flatMap { UInt64($0) }

  @Test func `A normal filter is true for the same records`() throws {
    let seed = Self.givenSeed ?? UInt64.random(in: 0...999_999)
    var samples = PlanSamples(seed: seed)
    let people = samples.people(200)
    for round in 0..<(Self.rounds * 25) {
      let filter = samples.filter(depth: 5).node
      let normal = try filter.normalized()
      for person in people where filter.matches(person) != normal.matches(person) {
        Issue.record(
          "seed \(seed), round \(round): \(filter.text) became \(normal.text), for \(person)")
        return
      }
    }
  }

  @Test func `Every plan gives the rows of its query in their order`() throws {
    let seed = Self.givenSeed ?? UInt64.random(in: 0...999_999)
    var samples = PlanSamples(seed: seed)
    var kinds: [String: Int] = [:]
    for round in 0..<Self.rounds {
      let simulator = try PlanSimulator(
        samples.people(samples.pick([3, 30, 120])),
        unreadable: samples.chance(30) ? ["city_age", "company_name"] : [])
      for _ in 0..<25 {
        let query = samples.query()
        let need = samples.need()
        let comment = try check(query, need, simulator, &samples, "seed \(seed), round \(round)")
        if let comment {
          Issue.record("\(comment)")
          return
        }
        let text = try simulator.text(query, for: need)
        kinds[String(text.split(whereSeparator: { " \n".contains($0) })[0]), default: 0] += 1
        if text.contains("served by the index") { kinds["served", default: 0] += 1 }
        if text.contains("alone") { kinds["covering", default: 0] += 1 }
      }
    }
    for kind in ["all", "records", "index", "nothing", "union", "served", "covering"] {
      #expect(kinds[kind, default: 0] > 0, "no plan was of the kind \(kind), seed \(seed)")
    }
  }

  @Test func `Plans over texts as ids give the rows of their queries`() throws {
    let seed = Self.givenSeed ?? UInt64.random(in: 0...999_999)
    var samples = PlanSamples(seed: seed)
    for round in 0..<Self.rounds {
      let simulator = try PlanSimulator(samples.documents(samples.pick([3, 30, 120])))
      for _ in 0..<25 {
        let query = samples.query(ofDocuments: ())
        let comment = try check(
          query, .records, simulator, &samples, "seed \(seed), round \(round)")
        if let comment {
          Issue.record("\(comment)")
          return
        }
      }
    }
  }

  /// The fault of the plan of a query, if there is one.
  private func check<R>(
    _ query: Query<R>, _ need: QueryNeed, _ simulator: PlanSimulator<R>,
    _ samples: inout PlanSamples, _ place: String
  ) throws -> String? {
    var details = query.details
    let all = simulator.expected(details)
    if let last = all.randomElement(using: &samples.generator), samples.chance(30) {
      details.after = simulator.token(last, details.order)
      details.offset = 0
    }
    let plan = try simulator.planner.plan(details, for: need, statistics: simulator)
    let expected = simulator.expected(details)
    let rows = try simulator.rows(plan)
    let isSame =
      switch plan.order {
      case .any where need.isAnyOrder: rows.count == expected.count
      default: rows == expected
      }
    if isSame { return nil }
    return """
      \(place): \(details.filter.text), order \(details.order.map(\.field.name)) \
      \(details.order.map(\.descends)), after \(String(describing: details.after))
      \(plan.text(in: simulator.schema))
      expected \(expected)
      but got \(rows)
      """
  }
}
