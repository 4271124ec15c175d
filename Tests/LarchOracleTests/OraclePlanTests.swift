import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Whatever plan is chosen, the answer is that of the array: with a limit, an offset, after a
/// token, in a read and in a write.
@Suite("The Swift oracle: every plan")
struct OraclePlanTests {
  private static let storeCount = max(OracleTests.count / 2_000, 10)
  private static let queriesAStore = 100

  @Test("Plans that no small store would lead to equal the array", arguments: OracleKind.allCases)
  func plans(kind: OracleKind) throws { try Self.plans(kind.indexes) }

  private static func plans<K: OracleIndexes>(_ kind: K.Type) throws {
    var kinds: [String: Int] = [:]
    for seed in 0..<UInt64(storeCount) {
      var random = SeededGenerator(seed: seed &* 104_729 &+ 3)
      let clause = try OracleClause<K>((0..<36).map { _ in random.thing(kind) })
      for number in 0..<queriesAStore {
        try check(clause, &random, "\(K.name), seed \(seed), query \(number)", &kinds)
      }
    }
    let total = kinds.values.reduce(0, +)
    print("\(total) plans, \(K.name): \(kinds.sorted { $0.key < $1.key })")
    if K.self == SingleIndexes.self {
      for wanted in ["index", "union", "intersection", "all records", "nothing"] {
        #expect(kinds[wanted, default: 0] > total / 500, "\(wanted)")
      }
    }
  }

  private static func check<K: OracleIndexes>(
    _ clause: OracleClause<K>, _ random: inout SeededGenerator, _ name: String,
    _ kinds: inout [String: Int]
  ) throws {
    typealias Thing = OracleThing<K>
    let filter = OracleFilter<K>.random(&random, depth: 1 + random.below(4))
    let order = OracleOrder<K>.random(&random)
    var query = order.apply(Thing.where { _ in filter.filter })
    var expected = order.sort(clause.things.filter(filter.matches))
    var text = "\(name): \(filter.text)\(order.text)"
    let taken = 1 + random.below(4)
    var hasToken = false
    if random.chance(1, in: 4), let token = try clause.store.page(query.limit(taken)).next {
      query = query.after(token)
      expected.removeFirst(taken)
      hasToken = true
      text += " behind \(taken)"
    }
    if random.chance(1, in: 4) {
      let offset = random.below(6)
      query = query.offset(offset)
      // The first page has applied the offset: it does not count after a token.
      if !hasToken { expected = Array(expected.dropFirst(offset)) }
      text += " offset \(offset)"
    }
    if random.chance(1, in: 3) {
      let limit = random.below(8)
      query = query.limit(limit)
      expected = Array(expected.prefix(limit))
      text += " limit \(limit)"
    }
    let wanted = OracleAnswer(expected)
    let seed = random.next()
    do {
      let found =
        random.chance(1, in: 8)
        ? try clause.store.write { try $0.answer(query, seed: seed) }
        : try clause.store.read { try $0.answer(query, seed: seed) }
      for plan in found.plans {
        let kind = ["all records", "index", "union", "intersection", "nothing"].first {
          plan.hasPrefix($0)
        }
        kinds[kind ?? "ids", default: 0] += 1
      }
      if found == wanted { return }
      let plans = found.plans.joined(separator: "\n")
      Issue.record(
        """
        \(text)
        \(plans)
        gives \(found.rows.count) rows, \(found.count), \(found.exists), \
        rows \(found.rows == wanted.rows), records \(found.fingerprints == wanted.fingerprints), \
        texts \(found.texts == wanted.texts), instead of \(wanted.count)
        """)
    } catch let error as LarchError { Issue.record("\(text): \(error)") }
  }
}
