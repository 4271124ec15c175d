import LarchTestSupport
import Testing

@testable import Larch

/// Every kind of association, every pair of rules and every shape of graph, against the model.
@Suite("Rules of every kind of association, in every shape of graph")
struct RuleMatrixTests {
  private typealias Node = DeletionModel.Node
  private struct Undone: Error {}

  /// Which record refers to which. Neighbours have different parities, so that the shapes fit
  /// between two types as well as within one.
  private enum Shape: Int, CaseIterable {
    case leaf, chain, cycle, diamond, itself

    var nodeCount: Int {
      switch self {
      case .leaf, .itself: 2
      case .chain: 5
      case .cycle, .diamond: 4
      }
    }

    var edges: [(holder: Int, target: Int)] {
      switch self {
      case .leaf: [(1, 0)]
      case .chain: [(1, 0), (2, 1), (3, 2), (4, 3)]
      case .cycle: [(1, 0), (2, 1), (3, 2), (0, 3)]
      case .diamond: [(1, 0), (3, 0), (2, 1), (2, 3)]
      case .itself: [(0, 0), (1, 0)]
      }
    }
  }

  /// All shapes side by side; ids tell which record is of which.
  private func model(_ family: MatrixFamily) -> DeletionModel {
    var model = DeletionModel(family.associations())
    func node(_ shape: Shape, _ number: Int) -> Node {
      Node(collection: number % family.nodeTypes, id: shape.rawValue * 10 + number + 1)
    }
    var joins = 0
    for shape in Shape.allCases where shape != .itself || family.nodeTypes == 1 {
      for number in 0..<shape.nodeCount { model.nodes.insert(node(shape, number)) }
      for edge in shape.edges {
        let holder = node(shape, edge.holder)
        let target = node(shape, edge.target)
        if family.kind == .join {
          joins += 1
          model.nodes.insert(Node(collection: 2, id: joins))
          for end in [holder, target] {
            model.pairs.insert(.init(association: end.collection, first: joins, second: end.id))
          }
        } else {
          model.pairs.insert(pair(holder, target, family, model))
        }
      }
    }
    if family.kind == .required { ground(&model, family) }
    return model
  }

  private func pair(
    _ holder: Node, _ target: Node, _ family: MatrixFamily, _ model: DeletionModel
  ) -> DeletionModel.Pair {
    if family.kind == .links {
      return holder.collection <= target.collection
        ? .init(association: 0, first: holder.id, second: target.id)
        : .init(association: 0, first: target.id, second: holder.id)
    }
    let fitting = family.slots.indices.filter { number in
      let slot = family.slots[number]
      guard slot.holder == holder.collection, slot.target == target.collection else {
        return false
      }
      if family.kind == .list { return true }
      return !model.pairs.contains {
        $0.association == number
          && ($0.first == holder.id || (family.isOne && $0.second == target.id))
      }
    }
    return .init(association: fitting[0], first: holder.id, second: target.id)
  }

  /// Required references lead to records that refer to each other.
  private func ground(_ model: inout DeletionModel, _ family: MatrixFamily) {
    for collection in family.types.indices {
      model.nodes.insert(Node(collection: collection, id: 100))
    }
    for (number, slot) in family.slots.enumerated() {
      for node in model.nodes where node.collection == slot.holder {
        if model.pairs.contains(where: { $0.association == number && $0.first == node.id }) {
          continue
        }
        model.pairs.insert(.init(association: number, first: node.id, second: 100))
      }
    }
  }

  @Test("The remaining records are those that the rules leave", arguments: MatrixFamily.all)
  func matrix(_ family: MatrixFamily) throws {
    for first in MatrixRules.all {
      for second in MatrixRules.all {
        try MatrixRules.$first.withValue(first) {
          try MatrixRules.$second.withValue(second) {
            try check(family, "\(family.name), \(first), \(second)")
          }
        }
      }
    }
  }

  private func open(_ family: MatrixFamily) throws -> GraphStore {
    try GraphStore(
      family.types,
      family.slots.map { .slot($0.name == "x" ? 0 : 1) }
        + (family.lists == nil ? [] : [.lists]),
      family.associations())
  }

  private func check(_ family: MatrixFamily, _ comment: Comment) throws {
    if !family.associations().allSatisfy(\.isPossible) {
      let error = #expect(throws: LarchError.self, comment) { _ = try open(family) }
      #expect(error?.code == .invalidSchema, comment)
      return
    }
    let graph = try open(family)
    let model = model(family)
    try graph.store.write { try graph.save(model, $0) }
    #expect(try graph.store.read { try graph.contents($0) } == model, comment)
    for node in model.nodes {
      let outcome = model.outcome(deleting: [node])
      do {
        try graph.store.write { tx in
          try delete(node, outcome, graph, model, tx, "\(comment), \(node)")
          throw Undone()
        }
      } catch is Undone {}
    }
    // One record of each shape, one after the other, to be kept.
    var left = model
    for shape in Shape.allCases {
      let node = Node(collection: 0, id: shape.rawValue * 10 + 1)
      guard left.nodes.contains(node) else { continue }
      let outcome = left.outcome(deleting: [node])
      let before = left
      try graph.store.write { tx in
        try delete(node, outcome, graph, before, tx, "\(comment), \(shape)")
      }
      left.apply(outcome)
    }
    #expect(try graph.store.read { try graph.contents($0) } == left, comment)
    let report = try graph.store.verify()
    #expect(report.isClean, "\(comment): \(report)")
  }

  private func delete(
    _ node: Node, _ outcome: DeletionModel.Outcome, _ graph: GraphStore, _ model: DeletionModel,
    _ tx: WriteTransaction, _ comment: Comment
  ) throws {
    let plan = try graph.plan(node, tx)
    #expect(try graph.outcome(plan) == outcome, comment)
    if outcome.refused.isEmpty {
      #expect(try graph.delete(node, tx), comment)
    } else {
      let error = #expect(throws: LarchError.self, comment) { try graph.delete(node, tx) }
      #expect(error?.code == .deleteDenied, comment)
      #expect(plan.refused.contains { $0.id == error?.context.id }, comment)
    }
    var expected = model
    expected.apply(outcome)
    #expect(try graph.contents(tx) == expected, comment)
  }
}
