import LarchTestSupport

@testable import Larch

/// A record that random authors change.
struct Card: Record, Equatable {
  var id: String
  var pile: Int
  var rank: Int
  var text = ""

  static let schema = Schema<Card> { Index(\.pile, \.rank) }
}

/// Cards by id: the model of a store.
typealias Cards = [String: Card]

/// One write of random changes, and what it does to the model.
struct CardWrite: Sendable {
  struct Undone: Error {}

  enum Action: Sendable {
    case put(Card)
    case delete(String)
    /// A savepoint, which is undone or kept.
    case savepoint([Action], isKept: Bool)
  }

  var author: String?
  var actions: [Action]
  var isThrowing = false

  init(_ author: String?, _ actions: [Action]) { (self.author, self.actions) = (author, actions) }

  static func random(_ random: inout SeededGenerator, largest: Int = 0) -> CardWrite {
    var write = CardWrite(
      ["ui", "sync", nil].randomElement(using: &random)!,
      (0..<Int.random(in: 0...3, using: &random)).map { _ in
        Action.random(&random, largest: largest)
      })
    write.isThrowing = Int.random(in: 0..<5, using: &random) == 0
    return write
  }

  func run(_ tx: WriteTransaction) throws {
    try Action.run(actions, tx)
    if isThrowing { throw Undone() }
  }

  func apply(to cards: inout Cards) {
    if !isThrowing { Action.apply(actions, to: &cards) }
  }
}

extension CardWrite.Action {
  static func random(_ random: inout SeededGenerator, largest: Int) -> Self {
    let id = "c\(Int.random(in: 0..<20, using: &random))"
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1: return .delete(id)
    case 2:
      let inner = (0..<2).map { _ in Self.random(&random, largest: largest) }
      return .savepoint(inner, isKept: Bool.random(using: &random))
    default:
      let size = Int.random(in: 0...largest, using: &random)
      return .put(
        Card(
          id: id, pile: Int.random(in: 0..<3, using: &random),
          rank: Int.random(in: 0..<4, using: &random), text: String(repeating: "x", count: size)))
    }
  }

  static func run(_ actions: [Self], _ tx: WriteTransaction) throws {
    for action in actions {
      switch action {
      case .put(let card): try tx.put(card)
      case .delete(let id): try tx.delete(Card.self, id)
      case .savepoint(let inner, let isKept):
        do {
          try tx.savepoint {
            try run(inner, tx)
            if !isKept { throw CardWrite.Undone() }
          }
        } catch is CardWrite.Undone {}
      }
    }
  }

  static func apply(_ actions: [Self], to cards: inout Cards) {
    for action in actions {
      switch action {
      case .put(let card): cards[card.id] = card
      case .delete(let id): cards[id] = nil
      case .savepoint(let inner, let isKept): if isKept { apply(inner, to: &cards) }
      }
    }
  }
}

/// A query of cards, and the same over an array.
struct CardQuery: Sendable {
  let name: String
  let query: Query<Card>
  let rows: @Sendable (Cards) -> [Card]

  private static func byID(_ cards: Cards) -> [Card] { cards.values.sorted { $0.id < $1.id } }

  /// Those whose rows are kept up to date from changed records, whatever changes.
  static var patched: [CardQuery] {
    [
      CardQuery(name: "all", query: Card.all, rows: byID),
      CardQuery(name: "pile", query: Card.where { $0.pile == 1 }) {
        byID($0).filter { $0.pile == 1 }
      },
      CardQuery(name: "scan", query: Card.where { $0.rank > 1 }) {
        byID($0).filter { $0.rank > 1 }
      },
      CardQuery(name: "one", query: Card.where { $0.id == "c3" }) {
        byID($0).filter { $0.id == "c3" }
      },
      CardQuery(name: "order", query: Card.all.sorted(by: \.rank, .descending)) {
        byID($0).sorted { ($1.rank, $0.id) < ($0.rank, $1.id) }
      },
      CardQuery(name: "closure", query: Card.all.filter { $0.rank == $0.pile }) {
        byID($0).filter { $0.rank == $0.pile }
      },
    ]
  }

  /// Those that must be read again now and then.
  static var windows: [CardQuery] {
    [
      CardQuery(name: "window", query: Card.all.sorted(by: \.rank).limit(4)) {
        Array(byID($0).sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }.prefix(4))
      },
      CardQuery(name: "first", query: Card.where { $0.pile == 2 }.limit(2)) {
        Array(byID($0).filter { $0.pile == 2 }.prefix(2))
      },
      CardQuery(name: "page", query: Card.all.limit(3).offset(2)) {
        Array(byID($0).dropFirst(2).prefix(3))
      },
    ]
  }
}

extension Store {
  /// Runs a write on this thread, unless it throws.
  func run(_ write: CardWrite) { try? self.write(author: write.author) { try write.run($0) } }

  /// Saves a copy, and waits on this thread.
  func put(_ card: Card, by author: String?) throws {
    try write(author: author) { try $0.put(card) }
  }

  /// Runs writes so that they wait for each other and share a commit, in this order.
  func writeTogether(
    _ writes: [CardWrite], _ body: @escaping @Sendable (Int, WriteTransaction) throws -> Void
  ) async {
    asyncWriter.group.maximumTime = .max
    let held = HeldWriter(self)
    await withTaskGroup { group in
      for (number, write) in writes.enumerated() {
        group.addTask {
          try? await self.write(author: write.author) { tx in try body(number, tx) }
        }
        while asyncWriter.waitingCount <= number { await Task.yield() }
      }
      held.end()
    }
  }

  func writeTogether(_ writes: [CardWrite]) async {
    await writeTogether(writes) { number, tx in try writes[number].run(tx) }
  }
}
