import Foundation
import Larch

/// An order of a shop, as one process writes it and another one shows it.
struct Order: Record, Equatable {
  enum State: String, Codable, CaseIterable, IndexKey { case new, paid, sent }

  var id = RecordID<Order>()
  var item: String
  var cents: Int
  var state = State.new

  static let schema = Schema<Order> { Index(\.state, \.cents) }
}

/// What the dashboard shows, all of one state of the store.
struct Summary: Equatable, Sendable {
  var counts: [Order.State: Int] = [:]
  var income = 0
  var newest: [Order] = []

  init(_ tx: ReadTransaction) throws {
    for group in try tx.counts(by: \.state, of: Order.all) { counts[group.value] = group.count }
    income = try tx.sum(\.cents, of: Order.where { $0.state != .new })
    newest = try tx.fetch(Order.all.reversed().limit(5))
  }

  var text: String {
    let states = Order.State.allCases.map { "\($0.rawValue) \(counts[$0] ?? 0)" }
    let lines = newest.map {
      "  #\($0.id)  \($0.item.padding(toLength: 10, withPad: " ", startingAt: 0))  \($0.state.rawValue)"
    }
    return (["orders: " + states.joined(separator: ", "), "income: \(income / 100)"] + lines)
      .joined(separator: "\n")
  }
}

/// The other process: orders come in, are paid and are sent, each in a transaction of its own.
func writeOrders(_ store: Store, count: Int) async throws {
  let items = ["larch", "maple", "oak", "elm"]
  for number in 0..<count {
    let order = try await store.write { tx in
      var order = Order(item: items[number % items.count], cents: 100 * (number + 1))
      try tx.insert(&order)
      return order
    }
    guard number % 3 > 0 else { continue }
    try await store.write { [order] tx in
      var order = order
      order.state = number % 3 == 1 ? .paid : .sent
      try tx.update(order)
    }
  }
}
