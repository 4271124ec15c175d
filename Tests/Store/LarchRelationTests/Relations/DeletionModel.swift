@testable import Larch

/// The delete rules over sets in memory. They are applied to everything again and again until
/// nothing changes, which is slow but simple.
struct DeletionModel: Equatable {
  struct Association: Equatable {
    enum Kind { case optional, required, list, join, links }

    /// As in the catalog.
    let key: String
    let kind: Kind
    /// The places of the two collections.
    let first: Int
    let second: Int
    let firstRule: DeleteRule
    let secondRule: DeleteRule

    init(
      _ key: String, _ kind: Kind, _ first: Int, _ second: Int, _ firstRule: DeleteRule,
      _ secondRule: DeleteRule
    ) {
      self.key = key
      self.kind = kind
      self.first = first
      self.second = second
      let usual: (DeleteRule, DeleteRule) =
        switch kind {
        case .optional, .list: (.none, .nullify)
        case .required: (.none, .deny)
        case .join: (.none, .destroy)
        case .links: (.nullify, .nullify)
        }
      self.firstRule = firstRule == .automatic ? usual.0 : firstRule
      self.secondRule = secondRule == .automatic ? usual.1 : secondRule
    }

    /// Whether remaining records lose their references to a deleted second end.
    var removesReferences: Bool {
      switch kind {
      case .links: false
      case .list: secondRule == .nullify || secondRule == .destroyLast
      case .optional, .required, .join: secondRule == .nullify
      }
    }

    /// Whether a store can be opened with it.
    var isPossible: Bool { (kind != .required && kind != .join) || secondRule != .nullify }
  }

  struct Node: Hashable {
    let collection: Int
    let id: Int
  }

  /// A record of the first end refers to, or is linked with, one of the second.
  struct Pair: Hashable {
    let association: Int
    let first: Int
    let second: Int
  }

  /// A record that cannot be deleted, and the one that prevents it.
  struct Refusal: Hashable {
    let association: Int
    let node: Node
    let survivor: Node
  }

  struct Outcome: Equatable {
    var deleted: Set<Node> = []
    var nullified: Set<Pair> = []
    var refused: Set<Refusal> = []
  }

  let associations: [Association]
  var nodes: Set<Node> = []
  var pairs: Set<Pair> = []

  init(_ associations: [Association]) { self.associations = associations }

  func outcome(deleting roots: Set<Node>) -> Outcome {
    var outcome = Outcome(deleted: roots.intersection(nodes))
    while true {
      let before = outcome.deleted
      for number in associations.indices { spread(number, &outcome.deleted) }
      if outcome.deleted == before { break }
    }
    for pair in pairs {
      let association = associations[pair.association]
      let (first, second) = ends(of: pair)
      guard nodes.contains(first), nodes.contains(second) else { continue }
      let goes = (outcome.deleted.contains(first), outcome.deleted.contains(second))
      if goes == (true, false), association.firstRule == .deny {
        outcome.refused.insert(
          Refusal(association: pair.association, node: first, survivor: second))
      }
      if goes == (false, true), association.secondRule == .deny {
        outcome.refused.insert(
          Refusal(association: pair.association, node: second, survivor: first))
      }
      if goes == (false, true), association.removesReferences {
        outcome.nullified.insert(pair)
      }
    }
    return outcome
  }

  private func ends(of pair: Pair) -> (Node, Node) {
    let association = associations[pair.association]
    return (
      Node(collection: association.first, id: pair.first),
      Node(collection: association.second, id: pair.second)
    )
  }

  /// Adds the records that one association deletes too.
  private func spread(_ number: Int, _ deleted: inout Set<Node>) {
    let association = associations[number]
    // For each record, those at the other end.
    var seconds: [Node: Set<Node>] = [:]
    var firsts: [Node: Set<Node>] = [:]
    for pair in pairs where pair.association == number {
      let (first, second) = ends(of: pair)
      guard nodes.contains(first), nodes.contains(second) else { continue }
      seconds[first, default: []].insert(second)
      firsts[second, default: []].insert(first)
    }
    func follow(_ rule: DeleteRule, _ others: [Node: Set<Node>], _ partners: [Node: Set<Node>]) {
      for (node, related) in others where deleted.contains(node) {
        switch rule {
        case .destroy: deleted.formUnion(related)
        case .destroyLast:
          for other in related where partners[other, default: []].isSubset(of: deleted) {
            deleted.insert(other)
          }
        default: break
        }
      }
    }
    follow(association.firstRule, seconds, firsts)
    follow(association.secondRule, firsts, seconds)
  }

  /// Applies the result, unless a rule refuses.
  mutating func apply(_ outcome: Outcome) {
    guard outcome.refused.isEmpty else { return }
    nodes.subtract(outcome.deleted)
    pairs.subtract(outcome.nullified)
    pairs = pairs.filter { pair in
      let (first, second) = ends(of: pair)
      // A property is deleted with its record; a list has no deleted records.
      return nodes.contains(first)
        && (associations[pair.association].kind != .links || nodes.contains(second))
    }
  }
}

// MARK: - For the reader of a failed test

extension DeletionModel: CustomStringConvertible {
  var description: String {
    let rules = associations.map { "\($0.key) \($0.firstRule) \($0.secondRule)" }
    return "rules \(rules), records \(nodes.map(\.description).sorted()), "
      + "pairs \(pairs.map(\.description).sorted())"
  }
}

extension DeletionModel.Node: CustomStringConvertible {
  var description: String { "\(collection).\(id)" }
}

extension DeletionModel.Pair: CustomStringConvertible {
  var description: String { "\(association): \(first) > \(second)" }
}

extension DeletionModel.Refusal: CustomStringConvertible {
  var description: String { "\(association): \(node) while \(survivor)" }
}
