import Foundation
import Larch
package import Workload

struct Order: Record {
  var id = RecordID<Order>()
  var customer: String
  var state: State
  var placed: Date
  var address: Address
  var lines: [Line]
  var total: Int

  var products: [String] { lines.map(\.product) }

  static let schema = Schema<Order> {
    Index(\.customer, \.placed, \.total)
    Index(\.state, \.placed)
    Index(\.products, name: "products")
  }

  enum State: String, Codable, Sendable, IndexKey { case draft, paid, shipped, returned }

  struct Address: Codable, Sendable {
    var street: String
    var city: String
    var zip: String
  }

  struct Line: Codable, Sendable {
    var product: String
    var quantity: Int
    var price: Int
    var tax: Tax

    enum Tax: Int, Codable, Sendable { case none, reduced, full }
  }
}

package final class OrderStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Order.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Order.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Order.self, .bytes) }

  package func prepare(_ step: OrderStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let orders): return store.insert(try orders.map(Order.init))
    case .insertEach(let orders): return store.insertEach(try orders.map(Order.init))
    case .find(let ids): return store.find(Order.self, ids.map { RecordID($0) })
    case .page(let customers, let limit):
      return store.fetch(customers) { customer in
        Order.where { $0.customer == customer }.sorted(by: \.placed, .descending).limit(limit)
      }
    case .range(let spans):
      return store.fetch(try spans.map(Span.init)) { $0.query }
    case .count(let spans):
      return store.each(try spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.count(span.query))
      }
    case .countsByState:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Order.state) {
          result.add(group: group.value.rawValue, count: group.count)
        }
      }
    case .sum(let customers):
      return store.each(customers) { tx, customer, result in
        result.add(number: try tx.sum(\.total, of: Order.where { $0.customer == customer }))
      }
    case .withProduct(let products):
      return store.fetch(products) { product in
        Order.where { $0.products.contains(product) }
      }
    case .update(let changes):
      let changes = try changes.map { (RecordID<Order>($0.id), try Order.state($0.state)) }
      return store.update(Order.self, changes) { $0.state = $1 }
    case .delete(let ids): return store.delete(Order.self, ids.map { RecordID($0) })
    }
  }
}

private struct Span {
  var state: Order.State
  var from: Date
  var to: Date

  init(_ span: OrderSpan) throws {
    state = try Order.state(span.state)
    from = Date(timeIntervalSinceReferenceDate: span.from)
    to = Date(timeIntervalSinceReferenceDate: span.to)
  }

  @inline(__always)
  var query: Query<Order> {
    Order.where { $0.state == state && $0.placed >= from && $0.placed < to }
  }
}

extension Order {
  init(_ order: WorkloadOrder) throws {
    customer = order.customer
    state = try Order.state(order.state)
    placed = Date(timeIntervalSinceReferenceDate: order.placed)
    address = Address(street: order.street, city: order.city, zip: order.zip)
    lines = try order.lines.map { line in
      guard let tax = Line.Tax(rawValue: line.tax) else { throw BenchmarkError("no such tax") }
      return Line(
        product: line.product, quantity: line.quantity, price: line.price, tax: tax)
    }
    total = order.total
  }

  static func state(_ name: String) throws -> State {
    guard let state = State(rawValue: name) else { throw BenchmarkError("no state \(name)") }
    return state
  }
}

extension Order: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(customer, depth)
    row.add(state.rawValue, depth)
    row.add(placed.timeIntervalSinceReferenceDate)
    row.add(address.street, depth)
    row.add(address.city, depth)
    row.add(address.zip, depth)
    row.add(total)
    result.add(row)
    for (position, line) in lines.enumerated() {
      var row = RowHash()
      row.add(id.rawValue)
      row.add(position)
      row.add(line.product, depth)
      row.add(line.quantity)
      row.add(line.price)
      row.add(line.tax.rawValue)
      result.add(row)
    }
  }
}
