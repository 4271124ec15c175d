import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A predicate of Foundation gives the answer of `evaluate`, over an array of all records.
@Suite("The oracle of predicates")
struct OraclePredicateTests {
  /// The number of predicates in a run of the suite, over all kinds of indexes; a run by hand may have
  /// more.
  static let count =
    ProcessInfo.processInfo.environment["LARCH_PREDICATES"].flatMap(Int.init) ?? 3_000
  static let predicatesAStore = 100

  @Test("Random predicates over unindexed records equal evaluate", arguments: 0..<2)
  func unindexed(part: Int) throws { try check(NoIndexes.self, part: part, of: 2) }

  @Test("Random predicates with an index for each field equal evaluate", arguments: 0..<2)
  func single(part: Int) throws { try check(SingleIndexes.self, part: part, of: 2) }

  @Test("Random predicates with the second field of an index equal evaluate", arguments: 0..<2)
  func second(part: Int) throws { try check(SecondIndexes.self, part: part, of: 2) }

  private func check<K: OracleIndexes>(_ kind: K.Type, part: Int, of parts: Int) throws {
    let wanted = OraclePredicateTests.count / 3 / parts
    var done = 0
    var seed = UInt64(part) &* 1_000_003 &+ 71
    var tally = PredicateTally()
    while done < wanted {
      seed &+= 1
      let oracle = try PredicateOracle(kind, seed: seed)
      for number in 0..<min(OraclePredicateTests.predicatesAStore, wanted - done) {
        try oracle.check(number: number, &tally)
        done += 1
      }
    }
    // Otherwise the answers say nothing.
    #expect(tally.failed > wanted / 50, "\(tally)")
    #expect(tally.failed < wanted / 2, "\(tally)")
    #expect(tally.some > wanted / 4, "\(tally)")
    #expect(tally.whole > wanted / 5, "\(tally)")
    #expect(tally.evaluated > wanted / 5, "\(tally)")
  }
}

/// What the predicates of a test were like.
struct PredicateTally {
  /// Those that throw an error for a record.
  var failed = 0
  /// Those that are true for some records, but not for all.
  var some = 0
  /// Those that are filters of Larch as a whole.
  var whole = 0
  /// Those of which a part is evaluated on records.
  var evaluated = 0
}

/// A store and the array that it is compared with.
final class PredicateOracle<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  private let seed: UInt64
  private let store: Store
  private let things: [Thing]
  private var maker: OraclePredicates<K>

  init(_ kind: K.Type, seed: UInt64) throws {
    self.seed = seed
    maker = OraclePredicates(seed: seed)
    var random = SeededGenerator(seed: ~seed)
    let made = (0..<30).map { _ in random.thing(kind) }
    store = try Store.temporary(for: Thing.self)
    things = try store.write { tx throws in
      var saved = made
      for place in saved.indices { try tx.insert(&saved[place]) }
      return saved
    }
  }

  func check(number: Int, _ tally: inout PredicateTally) throws {
    let predicate = maker.predicate(depth: 1 + maker.random.below(5))
    let closure = maker.random.chance(1, in: 4) ? OracleFilter<K>.leaf(&maker.random) : nil
    var query = Thing.where(predicate)
    if let closure { query = query.and(closure.filter) }
    let order = OracleOrder<K>.random(&maker.random)
    query = order.apply(query)
    let text = "seed \(seed), predicate \(number): \(predicate) \(closure?.text ?? "")\(order.text)"

    var found: [Thing] = []
    var isFailing = false
    // A failing predicate fails on one of the records that meet all other conditions.
    for thing in things where closure?.matches(thing) ?? true {
      do {
        if try predicate.evaluate(thing) { found.append(thing) }
      } catch { isFailing = true }
    }
    let plan = try store.explain(query)
    if plan.contains("evaluated on each record") {
      tally.evaluated += 1
    } else {
      tally.whole += 1
    }
    if isFailing {
      tally.failed += 1
      for isCount in [true, false] {
        do {
          let count = try isCount ? store.count(query) : store.fetch(query).count
          Issue.record("\(text)\n\(plan)\nfinds \(count) instead of failing")
        } catch let error as LarchError {
          #expect(error.code == .invalidQuery, "\(text)")
          #expect(error.context.id != nil, "\(text)")
        }
      }
      return
    }
    if !found.isEmpty, found.count < things.count { tally.some += 1 }
    let expected = order.sort(found).map(\.id)
    do {
      let fetched = try store.fetch(query).map(\.id)
      if fetched != expected {
        Issue.record("\(text)\n\(plan)\ngives \(fetched)\ninstead of \(expected)")
      }
      #expect(try store.count(query) == expected.count, "\(text)\n\(plan)")
      #expect(try store.exists(query) == !expected.isEmpty, "\(text)\n\(plan)")
      #expect(try store.ids(query.limit(3)) == Array(expected.prefix(3)), "\(text)\n\(plan)")
    } catch {
      Issue.record("\(text)\n\(plan)\nfails: \(error)")
    }
  }
}
