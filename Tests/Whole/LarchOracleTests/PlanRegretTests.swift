import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Which indexes the records of a regret test have.
protocol RegretIndexes: Sendable {
  static var name: String { get }
  static var schema: Schema<RegretItem<Self>> { get }
}

/// A few fields, each of which may follow the order of the file or not.
struct RegretItem<Indexes: RegretIndexes>: Record {
  var id = RecordID<Self>()
  var word: String
  var project: Int
  var state: Int
  var day: Int
  var note: Int

  static var collectionName: String { Indexes.name }
  static var schema: Schema<Self> { Indexes.schema }
}

private enum WordAndNote: RegretIndexes {
  static let name = "word_note"
  static var schema: Schema<RegretItem<Self>> {
    Schema {
      Index(\.word, \.note)
    }
  }
}

private enum Separate: RegretIndexes {
  static let name = "separate"
  static var schema: Schema<RegretItem<Self>> {
    Schema {
      Index(\.project)
      Index(\.state)
      Index(\.day)
    }
  }
}

private enum ProjectAndState: RegretIndexes {
  static let name = "project_state"
  static var schema: Schema<RegretItem<Self>> {
    Schema {
      Index(\.project, \.state)
      Index(\.day)
    }
  }
}

private enum ByDay: RegretIndexes {
  static let name = "by_day"
  static var schema: Schema<RegretItem<Self>> {
    Schema {
      Index(\.state, \.day)
      Index(\.project)
      Index(\.day, \.project)
    }
  }
}

private enum Several: RegretIndexes {
  static let name = "several"
  static var schema: Schema<RegretItem<Self>> {
    Schema {
      Index(\.project, \.day)
      Index(\.word)
      Index(\.state, \.note)
    }
  }
}

/// The reads of a plan, compared with those of the best possible plan. The unit is one step from
/// key to key, as in the planner, and the steps of the run are counted.
@Suite("The cost of a wrong choice of plan")
struct PlanRegretTests {
  static let rounds =
    ProcessInfo.processInfo.environment["LARCH_REGRET_ROUNDS"].flatMap(Int.init)
    ?? 2

  /// Choosing costs about as much, so less is no regret.
  private static let base = 64.0

  @Test("A plan costs little more than the best possible one")
  func regret() throws {
    var regrets: [(Double, String)] = []
    for seed in 0..<UInt64(Self.rounds) {
      try Self.collect(WordAndNote.self, seed, &regrets)
      try Self.collect(Separate.self, seed, &regrets)
      try Self.collect(ProjectAndState.self, seed, &regrets)
      try Self.collect(ByDay.self, seed, &regrets)
      try Self.collect(Several.self, seed, &regrets)
    }
    regrets.sort { $0.0 < $1.0 }
    func part(_ share: Double) -> Double { regrets[Int(Double(regrets.count - 1) * share)].0 }
    print(
      "\(regrets.count) plans, work over that of the best: median \(part(0.5)), 95 % \(part(0.95)),",
      "99 % \(part(0.99)), worst \(part(1))")
    if ProcessInfo.processInfo.environment["LARCH_REGRET_SHOW"] != nil {
      for (regret, text) in regrets.suffix(25) { print("\(regret): \(text)\n") }
    }
    #expect(regrets.count > 200)
    #expect(part(0.95) <= 2)
    #expect(part(0.99) <= 4)
    #expect(part(1) <= 12, "\(regrets.last?.1 ?? "")")
  }

  private static func collect<K: RegretIndexes>(
    _ kind: K.Type, _ seed: UInt64, _ regrets: inout [(Double, String)]
  ) throws {
    var random = SeededGenerator(seed: seed &* 7919 &+ UInt64(K.name.utf8.count))
    let size = random.pick([20, 60, 150, 513, 513])
    let store = try Store.temporary(for: RegretItem<K>.self)
    let items: [RegretItem<K>] = random.items(size)
    try store.write { tx in
      for item in items {
        var item = item
        try tx.insert(&item)
      }
    }
    for _ in 0..<30 {
      let query: Query<RegretItem<K>> = random.query(size)
      let need: QueryNeed = random.pick([.records, .records, .ids, .exists])
      try store.read { tx in
        let (chosen, ways) = try tx.ways(query, need)
        guard !ways.isEmpty else { return }
        let work = try tx.work(chosen, query)
        var best = (work: Double.infinity, text: "")
        let schema = try tx.context.collection(of: RegretItem<K>.self).schema
        for way in ways {
          let other = try tx.work(way, query)
          if other < best.work { best = (other, way.text(in: schema)) }
        }
        regrets.append(
          (
            (work + base) / (best.work + base),
            """
            \(K.name), seed \(seed), \(size) records, \(need): \(query.details.filter.text)
            \(chosen.text(in: schema))
            looks at \(work), where \(best.work) would do:
            \(best.text)
            """
          ))
      }
    }
  }
}

extension ReadTransaction {
  /// The plan of a query, and all other access paths.
  fileprivate func ways<R: Record>(
    _ query: Query<R>, _ need: QueryNeed
  ) throws -> (Plan, [Plan]) {
    let collection = try context.collection(of: R.self)
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let statistics = IndexStatistics(collection, context)
    let chosen = try planner.plan(query.details, for: need, statistics: statistics)
    guard let task = try planner.task(query.details, for: need) else { return (chosen, []) }
    let total = Double(try statistics.recordCount())
    let ids = task.boundsOfID()
    var ways = [task.records(ids?.ranges, used: ids?.used ?? 0)]
    for match in task.matches(among: collection.answering) {
      if let scan = task.scan(match) { ways.append(scan) }
    }
    if let union = try task.union(total, statistics) { ways.append(union) }
    if let both = task.intersection(ways, total) { ways.append(both) }
    return (chosen, ways.map { task.plan($0) })
  }

  /// The reads of a plan.
  fileprivate func work<R: Record>(_ plan: Plan, _ query: Query<R>) throws -> Double {
    let collection = try context.collection(of: R.self)
    let run = try PlanRun(
      plan, in: collection, context: context, typed: RecordAccess<R>(context, collection))
    defer { run.close() }
    if case .any = plan.order {
      _ = try run.exists()
    } else {
      while try run.next() != nil {}
    }
    let counters = run.counters
    let others = run.other?.reader.recordsExamined ?? 0
    let step = if case .records = plan.source { 3.0 } else { 11.0 }
    return Double(counters.entriesExamined) + Double(counters.recordsExamined - others) * step
      + Double(others) * 11
  }
}

extension SeededGenerator {
  fileprivate mutating func items<K>(_ count: Int) -> [RegretItem<K>] {
    let words = ["even", "even", "odd", "rare"]
    let projects = pick([2, 5, 40])
    // How the fields follow the order of the file: not at all, or those of one kind together.
    let kind = below(4)
    return (0..<count).map { n in
      let place = count - n
      let isLate = n * 10 > count * 9
      return switch kind {
      case 0:
        RegretItem(
          word: pick(words), project: below(projects), state: below(4), day: below(count),
          note: below(50))
      case 1:
        RegretItem(
          word: isLate ? "odd" : "even", project: n * projects / count, state: isLate ? 0 : 1,
          day: n, note: below(50))
      case 2:
        RegretItem(
          word: isLate ? pick(words) : "even", project: below(projects),
          state: isLate ? 0 : below(3),
          day: place, note: n % 7)
      default:
        RegretItem(
          word: pick(words), project: below(10) == 0 ? below(projects) : 0, state: place % 3,
          day: n / 20, note: isLate ? 1 : 0)
      }
    }
  }

  private mutating func condition<K>() -> Filter<RegretItem<K>> {
    let fields = Fields<RegretItem<K>>()
    switch below(8) {
    case 0, 1: return fields.word == pick(["even", "odd", "rare", "none"])
    case 2, 3: return fields.project == below(5)
    case 4, 5: return fields.state == below(4)
    case 6: return fields.note == below(8)
    default: return [below(4), below(4)].contains(fields.state)
    }
  }

  fileprivate mutating func query<K>(_ size: Int) -> Query<RegretItem<K>> {
    typealias Item = RegretItem<K>
    var filter: Filter<Item> = condition()
    switch below(5) {
    case 0: break
    case 1: filter = filter || condition()
    default: filter = filter && condition()
    }
    var query = Item.where { [filter] _ in filter }
    switch below(6) {
    case 0: query = query.sorted(by: \.day)
    case 1, 2: query = query.sorted(by: \.day, .descending)
    case 3: query = query.reversed()
    default: break
    }
    if !chance(1, in: 5) { query = query.limit(pick([1, 1, 3, 10])) }
    if chance(1, in: 6) { query = query.offset(below(12)) }
    return query
  }
}
