import Foundation
import LarchTestSupport

@testable import Larch

struct Shop: Record, Equatable {
  var id = RecordID<Shop>()
  var name: String
  var city: String?

  static let orders = HasMany<Shop, Order>(\.shopID, onDelete: .destroy)
  static let schema = Schema<Shop> {
    orders
    Unique(\.name)
    Index(\.city)
  }
}

struct Order: Record, Equatable {
  var id = RecordID<Order>()
  var shopID: Shop.ID?
  var text: String
  var amount: Int
  var tags: [String] = []

  static let shop = BelongsTo<Order, Shop>(\.shopID)
  static let labels = ManyToMany<Order, Label>(named: "order-labels")
  static let schema = Schema<Order> {
    shop
    labels
    Index(\.amount, \.text)
    Index(\.tags)
    Search(\.text, \.tags)
  }
}

struct Label: Record, Equatable {
  var id: String
}

/// Writes of all kinds, by seed.
struct RandomShopping {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// One write, which may be undone, in a whole or in a part.
  mutating func write(to store: Store) throws {
    struct Undo: Error {}
    do {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let isUndone = Int.random(in: 0..<6, using: &random) == 0
          do {
            try tx.savepoint {
              try step(tx)
              if isUndone { throw Undo() }
            }
          } catch is Undo {} catch let error as LarchError where error.code == .uniqueConflict {}
        }
        if Int.random(in: 0..<10, using: &random) == 0 { throw Undo() }
      }
    } catch is Undo {}
  }

  private mutating func step(_ tx: WriteTransaction) throws {
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1:
      var shop = Shop(
        name: "shop \(Int.random(in: 0..<60, using: &random))",
        city: Bool.random(using: &random) ? "Oslo" : nil)
      try tx.save(&shop)
    case 2...5:
      let shops = try tx.fetch(Shop.all)
      var order = Order(
        shopID: shops.randomElement(using: &random)?.id,
        text: String(repeating: "x", count: Int.random(in: 0..<200, using: &random)),
        amount: Int.random(in: 0..<100, using: &random),
        tags: (0..<Int.random(in: 0..<4, using: &random)).map { "tag \($0)" })
      if Int.random(in: 0..<30, using: &random) == 0 {
        order.text = String(repeating: "long ", count: 5000)
      }
      try tx.save(&order)
      if Bool.random(using: &random) {
        var label = Label(id: "label \(Int.random(in: 0..<9, using: &random))")
        try tx.save(&label)
        try tx.add(label, to: order.related(Order.labels))
      }
    case 6, 7:
      if var order = try tx.fetch(Order.all).randomElement(using: &random) {
        order.amount += 1
        try tx.save(&order)
      }
    case 8:
      if let order = try tx.fetch(Order.all).randomElement(using: &random) {
        _ = try tx.delete(order)
      }
    default:
      if Int.random(in: 0..<4, using: &random) == 0 {
        _ = try tx.delete(Order.where { $0.amount > 70 })
      } else if let shop = try tx.fetch(Shop.all).randomElement(using: &random) {
        _ = try tx.delete(shop)
      }
    }
  }
}

/// All pairs of a store or a log, by tree.
typealias Trees = [String: [[[UInt8]]]]

/// Collects what a log has as its state.
final class TreeCollector: LogStateWriter {
  private(set) var trees: Trees = [:]
  private var current = ""

  func begin(_ tree: LogTree) {
    current = "\(tree.name) \(tree.flags)"
    trees[current] = []
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    trees[current]?.append([[UInt8](key), [UInt8](value)])
  }
}

extension SharedLog {
  /// What the log has, with all entries folded into the state.
  func everything() throws -> Trees {
    _ = try fold(through: .max, olderThan: 0)
    let collector = TreeCollector()
    _ = try state(into: collector)
    return collector.trees
  }
}

extension Store {
  /// All pairs of the store, without those of its mirror.
  func everyPair() throws -> Trees {
    let collector = TreeCollector()
    try environment.withPairs { _, copy in try copy(collector) }
    return collector.trees
  }
}

/// Opens a store with a mirror, which is removed afterwards.
func withMirrored<T>(
  _ server: MemoryServer, options: Store.Options = .quick,
  _ body: (Store, String) async throws -> T
) async throws -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  let store = try Store(
    at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
    options: options)
  defer { store.close() }
  return try await body(store, path)
}
