import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random records, links and deletions, with random rules, against the model.
@Suite("Random graphs of records and links")
struct RandomDeletionTests {
  private static let operations =
    ProcessInfo.processInfo.environment["LARCH_DELETIONS"].flatMap(Int.init) ?? 20_000
  /// Each store has rules of its own.
  private static let operationsPerStore = 250

  private typealias Node = DeletionModel.Node
  private typealias Pair = DeletionModel.Pair
  private struct Undone: Error {}

  /// What was done, so that a test that looks at nothing cannot pass.
  private struct Tally {
    var deleted = 0
    var nullified = 0
    var refused = 0
    var cascades = 0
  }

  @Test("Deletions and their plans agree with the model")
  func random() throws {
    let seed = UInt64(
      ProcessInfo.processInfo.environment["LARCH_SEED"].flatMap(Int.init) ?? 4_004)
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    var left = Self.operations
    while left > 0 {
      let count = min(left, Self.operationsPerStore)
      left -= count
      let rules = RandomGraph.randomRules(&random)
      try RandomGraph.$rules.withValue(rules) {
        try run(count, &random, &tally, "seed \(seed), \(left) operations left")
      }
    }
    if Self.operations >= 20_000 {
      #expect(tally.deleted > 3_000, "\(tally)")
      #expect(tally.nullified > 1_000, "\(tally)")
      #expect(tally.refused > 500, "\(tally)")
      #expect(tally.cascades > 300, "\(tally)")
    }
  }

  private func run(
    _ count: Int, _ random: inout SeededGenerator, _ tally: inout Tally, _ comment: Comment
  ) throws {
    let graph = try GraphStore(
      RandomGraph.types, RandomGraph.places, RandomGraph.associations())
    var model = DeletionModel(graph.associations)
    var done = 0
    while done < count {
      let before = model
      do {
        try graph.store.write { tx in
          for _ in 0..<Int.random(in: 1...12, using: &random) {
            done += 1
            try change(graph, &model, &random, &tally, tx, comment)
          }
          if Int.random(in: 0..<8, using: &random) == 0 { throw Undone() }
        }
      } catch is Undone {
        model = before
      }
    }
    try graph.store.read { tx throws in
      #expect(try graph.contents(tx) == model, comment)
      for node in model.nodes {
        #expect(
          try graph.outcome(graph.plan(node, tx)) == model.outcome(deleting: [node]), comment)
      }
    }
    let report = try graph.store.verify()
    #expect(report.isClean, "\(comment): \(report)")
  }

  private func change(
    _ graph: GraphStore, _ model: inout DeletionModel, _ random: inout SeededGenerator,
    _ tally: inout Tally, _ tx: WriteTransaction, _ comment: Comment
  ) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50: try save(graph, &model, &random, tx)
    case 50..<72: try link(graph, &model, &random, tx)
    case 72..<90:
      let node = node(&random)
      let outcome = model.outcome(deleting: [node])
      let plan = try graph.plan(node, tx)
      try expect(outcome, plan, graph, &model, &tally, tx, comment) {
        let isDeleted = try graph.delete(node, tx)
        #expect(isDeleted == outcome.deleted.contains(node), comment)
      }
    case 90..<99:
      let collection = Int.random(in: 0..<graph.types.count, using: &random)
      let ids = (0..<Int.random(in: 1...6, using: &random)).map { _ in number(&random) }
      let roots = Set(ids.map { Node(collection: collection, id: $0) })
      let outcome = model.outcome(deleting: roots)
      let plan = try graph.plan(ids, of: collection, tx)
      try expect(outcome, plan, graph, &model, &tally, tx, comment) {
        let count = try graph.delete(ids, of: collection, tx)
        #expect(count == roots.intersection(outcome.deleted).count, comment)
      }
    default:
      let collection = Int.random(in: 0..<graph.types.count, using: &random)
      let roots = model.nodes.filter { $0.collection == collection }
      let outcome = model.outcome(deleting: roots)
      let plan = try graph.plan(roots.map(\.id), of: collection, tx)
      try expect(outcome, plan, graph, &model, &tally, tx, comment) {
        let count = try graph.erase(collection, tx)
        #expect(count == roots.count, comment)
      }
    }
  }

  /// Deletes, and compares what the plan said and what is left with the model.
  private func expect(
    _ outcome: DeletionModel.Outcome, _ plan: DeletionPlan, _ graph: GraphStore,
    _ model: inout DeletionModel, _ tally: inout Tally, _ tx: WriteTransaction,
    _ comment: Comment, delete: () throws -> Void
  ) throws {
    let planned = try graph.outcome(plan)
    try #require(
      planned == outcome, "\(comment): \(model), planned \(planned), expected \(outcome)")
    var code: LarchError.Code?
    do { try delete() } catch let error as LarchError { code = error.code }
    #expect(code == (outcome.refused.isEmpty ? nil : .deleteDenied), comment)
    model.apply(outcome)
    let contents = try graph.contents(tx)
    try #require(
      contents == model, "\(comment): \(contents), expected \(model) after \(outcome)")
    if outcome.refused.isEmpty {
      tally.deleted += outcome.deleted.count
      tally.nullified += outcome.nullified.count
      if outcome.deleted.count > 2 { tally.cascades += 1 }
    } else {
      tally.refused += 1
    }
  }

  // MARK: Records and links

  private func number(_ random: inout SeededGenerator) -> Int {
    Int.random(in: 1...14, using: &random)
  }

  private func node(_ random: inout SeededGenerator) -> Node {
    Node(
      collection: Int.random(in: 0..<RandomGraph.types.count, using: &random),
      id: number(&random))
  }

  private func save(
    _ graph: GraphStore, _ model: inout DeletionModel, _ random: inout SeededGenerator,
    _ tx: WriteTransaction
  ) throws {
    let node = node(&random)
    var changed = model
    changed.nodes.insert(node)
    for (number, association) in graph.associations.enumerated()
    where association.first == node.collection && association.kind != .links {
      changed.pairs = changed.pairs.filter { $0.association != number || $0.first != node.id }
      let isChecked = association.secondRule != .none
      let candidates = (1...14).filter {
        !isChecked || changed.nodes.contains(Node(collection: association.second, id: $0))
      }
      let count =
        association.kind == .list
        ? Int.random(in: 0...3, using: &random)
        : association.kind == .required ? 1 : Int.random(in: 0...1, using: &random)
      guard !candidates.isEmpty || count == 0 else {
        if association.kind == .required { return }
        continue
      }
      for _ in 0..<count {
        let target = candidates[Int.random(in: candidates.indices, using: &random)]
        changed.pairs.insert(Pair(association: number, first: node.id, second: target))
      }
    }
    model = changed
    try graph.save(node, model, tx)
  }

  private func link(
    _ graph: GraphStore, _ model: inout DeletionModel, _ random: inout SeededGenerator,
    _ tx: WriteTransaction
  ) throws {
    let number = Int.random(in: 7...9, using: &random)
    let association = graph.associations[number]
    let pair = Pair(
      association: number, first: self.number(&random), second: self.number(&random))
    guard model.nodes.contains(Node(collection: association.first, id: pair.first)),
      model.nodes.contains(Node(collection: association.second, id: pair.second))
    else { return }
    let isAdded = Int.random(in: 0..<4, using: &random) > 0
    if isAdded { model.pairs.insert(pair) } else { model.pairs.remove(pair) }
    func change<Owner: GraphRecord, Target: GraphRecord>(
      _ list: ManyToMany<Owner, Target>, _ owner: Int, _ member: Int
    ) throws {
      let related = Owner(number: owner).related(list)
      if isAdded {
        try tx.add(Target.id(member), to: related)
      } else {
        try tx.remove(Target.id(member), from: related)
      }
    }
    switch number {
    case 7: try change(RandomGraph.Numbered.ones, pair.first, pair.second)
    case 8 where Bool.random(using: &random):
      try change(RandomGraph.Named.twos, pair.first, pair.second)
    case 8: try change(RandomGraph.Named.inverseTwos, pair.second, pair.first)
    default: try change(RandomGraph.Narrow.threes, pair.first, pair.second)
    }
  }
}
