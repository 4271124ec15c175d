#if BENCH_GRDB
  import Foundation
  import GRDB
  import Workload

  private struct Line: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "line"

    var orderID: Int64
    var position: Int
    var product: String
    var quantity: Int
    var price: Int
    var tax: Int
  }

  private struct Order: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "orders"
    static let lines = hasMany(Line.self, using: ForeignKey(["orderID"]))

    var id: Int64?
    var customer: String
    var state: String
    var placed: Date
    var street: String
    var city: String
    var zip: String
    var total: Int

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    init(_ order: WorkloadOrder) {
      (customer, state, total) = (order.customer, order.state, order.total)
      placed = Date(timeIntervalSinceReferenceDate: order.placed)
      (street, city, zip) = (order.street, order.city, order.zip)
    }
  }

  /// An order with its lines, fetched with two statements for any number of orders.
  private struct FullOrder: Decodable, FetchableRecord, HashedRow {
    var order: Order
    var lines: [Line]

    static func request(_ orders: QueryInterfaceRequest<Order>) -> QueryInterfaceRequest<FullOrder>
    {
      orders.including(all: Order.lines.order(Column("position")).forKey("lines"))
        .asRequest(of: FullOrder.self)
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      let id = order.id ?? 0
      var row = RowHash()
      row.add(id)
      row.add(order.customer, depth)
      row.add(order.state, depth)
      row.add(order.placed.timeIntervalSinceReferenceDate)
      row.add(order.street, depth)
      row.add(order.city, depth)
      row.add(order.zip, depth)
      row.add(order.total)
      result.add(row)
      for line in lines {
        var row = RowHash()
        row.add(id)
        row.add(line.position)
        row.add(line.product, depth)
        row.add(line.quantity)
        row.add(line.price)
        row.add(line.tax)
        result.add(row)
      }
    }
  }

  final class GRDBOrders: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteOrders.schema)
    }

    func scan() throws -> QueryResult { try all(.lengths) }
    func fingerprint() throws -> QueryResult { try all(.bytes) }

    private func all(_ depth: HashDepth) throws -> QueryResult {
      try queue.read { db in
        var result = QueryResult()
        for order in try FullOrder.request(Order.all()).fetchAll(db) {
          order.add(to: &result, depth)
        }
        return result
      }
    }

    func prepare(_ step: OrderStep) throws -> () throws -> QueryResult {
      let (customer, placed) = (Column("customer"), Column("placed"))
      switch step {
      case .insert(let orders): return insert(orders, each: false)
      case .insertEach(let orders): return insert(orders, each: true)
      case .find(let ids): return fetch(ids) { Order.filter(key: $0) }
      case .page(let customers, let limit):
        return fetch(customers) {
          Order.filter(customer == $0).order(placed.desc).limit(limit)
        }
      case .range(let spans): return fetch(spans) { Self.at($0) }
      case .count(let spans):
        return queue.each(spans) { db, span, result in
          result.add(number: try Self.at(span).fetchCount(db))
        }
      case .countsByState:
        return queue.groups("SELECT state, count(*) FROM orders GROUP BY state")
      case .sum(let customers):
        return queue.each(customers) { db, name, result in
          let sum = Order.filter(customer == name).select(sum(Column("total")), as: Int.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .withProduct(let products):
        return fetch(products) { product in
          let lines = Line.filter(Column("product") == product).select(Column("orderID"))
          return Order.filter(lines.contains(Column("id")))
        }
      case .update(let changes):
        return queue.change(changes) { db, change in
          guard var full = try FullOrder.request(Order.filter(key: change.id)).fetchOne(db) else {
            throw BenchmarkError("grdb: no order \(change.id)")
          }
          try full.order.updateChanges(db) { $0.state = change.state }
        }
      case .delete(let ids):
        return queue.change(ids) { db, id in
          try Line.filter(Column("orderID") == id).deleteAll(db)
          try Order.deleteOne(db, key: id)
        }
      }
    }

    private static func at(_ span: OrderSpan) -> QueryInterfaceRequest<Order> {
      let placed = Column("placed")
      return Order.filter(
        Column("state") == span.state && placed >= span.from && placed < span.to)
    }

    private func fetch<Value>(
      _ values: [Value], _ orders: @escaping (Value) -> QueryInterfaceRequest<Order>
    ) -> () throws -> QueryResult {
      queue.fetch(values) { FullOrder.request(orders($0)) }
    }

    private func insert(_ orders: [WorkloadOrder], each: Bool) -> () throws -> QueryResult {
      let rows = orders.map { order in
        (
          Order(order),
          order.lines.enumerated().map { position, line in
            Line(
              orderID: order.id, position: position, product: line.product,
              quantity: line.quantity, price: line.price, tax: line.tax)
          }
        )
      }
      return queue.change(rows, each: each) { db, row in
        _ = try row.0.inserted(db)
        for line in row.1 { try line.insert(db) }
      }
    }
  }
#endif
