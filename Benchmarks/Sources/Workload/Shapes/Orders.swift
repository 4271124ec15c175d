/// Nested orders: an address, and a list of lines, each with an enum.
package struct Orders: Shape {
  package static let number: UInt64 = 2
  package static let states = ["draft", "paid", "shipped", "returned"]

  package let count: Int

  package init(size: Int) {
    count = max(1, size / 5)
  }

  var customers: Int { max(1, count / 10) }
  var products: Int { max(1, count / 20) }

  package func record(_ index: Int) -> WorkloadOrder {
    var stream = RandomStream(shape: Self.number, record: index)
    let customer = "customer \(stream.below(customers))"
    let state = stream.skewed(Self.states)
    let placed = 700_000_000 + Double(index) * 300 + Double(stream.below(300_000)) / 1_000
    let house = 1 + stream.below(200)
    let street = stream.pick(Vocabulary.lastNames) + " Street \(house)"
    let city = stream.pick(Vocabulary.cities)
    let zip = String(10_000 + stream.below(90_000))
    var products: Set<Int> = []
    let lines = (0..<(1 + stream.below(7))).map { _ in
      // No product twice in an order, so that an order has one entry for each line.
      var product = stream.below(self.products)
      for _ in 0..<8 where products.contains(product) { product = (product + 1) % self.products }
      products.insert(product)
      return WorkloadLine(
        product: "P\(100_000 + product)", quantity: 1 + stream.below(9),
        price: 100 + stream.below(20_000), tax: stream.below(3))
    }
    let total = lines.reduce(0) { $0 + $1.quantity * $1.price }
    return WorkloadOrder(
      id: Int64(index), customer: customer, state: state, placed: placed, street: street,
      city: city, zip: zip, lines: lines, total: total)
  }

  package func ids(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  package func customers(_ number: Int, _ operation: UInt64) -> [String] {
    var stream = stream(operation)
    return (0..<number).map { _ in "customer \(stream.below(customers))" }
  }

  package func products(_ number: Int, _ operation: UInt64) -> [String] {
    var stream = stream(operation)
    return (0..<number).map { _ in "P\(100_000 + stream.below(products))" }
  }

  /// Spans that hold so many of the orders, of any state.
  package func spans(_ number: Int, orders: Int, _ operation: UInt64) -> [OrderSpan] {
    var stream = stream(operation)
    let last = max(1, count - orders)
    return (0..<number).map { _ in
      let from = 700_000_000 + Double(1 + stream.below(last)) * 300
      return OrderSpan(
        state: stream.pick(Self.states), from: from, to: from + Double(min(orders, count)) * 300)
    }
  }

  /// Orders that get another state.
  package func changes(_ number: Int, _ operation: UInt64) -> [(id: Int64, state: String)] {
    distinctIndexes(number, operation).map { index in
      let order = record(index)
      let next = (Self.states.firstIndex(of: order.state) ?? 0) + 1
      return (order.id, Self.states[next % Self.states.count])
    }
  }
}

package struct WorkloadLine: Equatable, Sendable {
  package var product: String
  package var quantity: Int
  /// In cents.
  package var price: Int
  /// None, reduced, full.
  package var tax: Int
}

package struct WorkloadOrder: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var customer: String
  package var state: String
  package var placed: Double
  package var street: String
  package var city: String
  package var zip: String
  package var lines: [WorkloadLine]
  package var total: Int

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(customer, depth)
    row.add(state, depth)
    row.add(placed)
    row.add(street, depth)
    row.add(city, depth)
    row.add(zip, depth)
    row.add(total)
    result.add(row)
    for (position, line) in lines.enumerated() {
      var row = RowHash()
      row.add(id)
      row.add(position)
      row.add(line.product, depth)
      row.add(line.quantity)
      row.add(line.price)
      row.add(line.tax)
      result.add(row)
    }
  }
}

/// From a date up to, not including, another.
package struct OrderSpan: Sendable {
  package var state: String
  package var from: Double
  package var to: Double
}

package enum OrderStep {
  case insert([WorkloadOrder])
  case insertEach([WorkloadOrder])
  case find([Int64])
  /// The latest orders of each customer.
  case page([String], limit: Int)
  /// Those of a state in each span.
  case range([OrderSpan])
  case count([OrderSpan])
  case countsByState
  /// What each customer has ordered.
  case sum([String])
  /// The orders with a line for the product.
  case withProduct([String])
  case update([(id: Int64, state: String)])
  case delete([Int64])
}
