import Workload

/// Lines have a table of their own, in the order of their orders.
final class SQLiteOrders: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL,
      state TEXT NOT NULL, placed REAL NOT NULL, street TEXT NOT NULL, city TEXT NOT NULL,
      zip TEXT NOT NULL, total INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS line (orderID INTEGER NOT NULL, position INTEGER NOT NULL,
      product TEXT NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL,
      tax INTEGER NOT NULL, PRIMARY KEY (orderID, position)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS orders_customer ON orders (customer, placed, total);
    CREATE INDEX IF NOT EXISTS orders_state ON orders (state, placed);
    CREATE INDEX IF NOT EXISTS line_product ON line (product);
    """
  private static let fields = "id, customer, state, placed, street, city, zip, total"
  private static let columns = "ittdttti"
  private static let lineFields = "orderID, position, product, quantity, price, tax"

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  /// Both tables in the same order, as a program would that reads all of both.
  func scan() throws -> QueryResult {
    try rows([
      ("SELECT \(Self.fields) FROM orders", Self.columns),
      ("SELECT \(Self.lineFields) FROM line", "iitiii"),
    ])
  }

  func fingerprint() throws -> QueryResult {
    try rows([
      ("SELECT \(Self.fields) FROM orders", "ihhdhhhi"),
      ("SELECT \(Self.lineFields) FROM line", "iihiii"),
    ])
  }

  func prepare(_ step: OrderStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let orders): return try insert(orders, each: false)
    case .insertEach(let orders): return try insert(orders, each: true)
    case .find(let ids): return try select("WHERE id = ?", ids.lazy.map { [.id($0)] }, isOne: true)
    case .page(let customers, let limit):
      return try select(
        "WHERE customer = ? ORDER BY placed DESC LIMIT ?",
        customers.lazy.map { [.text($0), .integer(limit)] })
    case .range(let spans):
      return try select("WHERE state = ? AND placed >= ? AND placed < ?", spans.lazy.map(cells))
    case .count(let spans):
      return try tables.read(
        "SELECT count(*) FROM orders WHERE state = ? AND placed >= ? AND placed < ?", "1i",
        spans.lazy.map(cells))
    case .countsByState:
      return try tables.read("SELECT state, count(*) FROM orders GROUP BY state", "hi")
    case .sum(let customers):
      return try tables.read(
        "SELECT ifnull(sum(total), 0) FROM orders WHERE customer = ?", "1i",
        customers.lazy.map { [.text($0)] })
    case .withProduct(let products):
      return try select(
        "WHERE id IN (SELECT orderID FROM line WHERE product = ?)",
        products.lazy.map { [.text($0)] })
    case .update(let changes):
      let get = try tables.statement(
        "SELECT \(Self.fields) FROM orders WHERE id = ?", "1" + Self.columns,
        child: try lines())
      let set = try tables.statement("UPDATE orders SET state = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2, hasLists: true) { script, change in
        script.call(get, [.id(change.id)])
        script.call(set, [.text(change.state), .id(change.id)])
      }
    case .delete(let ids):
      let lines = try tables.statement("DELETE FROM line WHERE orderID = ?")
      let order = try tables.statement("DELETE FROM orders WHERE id = ?", "#")
      return try tables.write(ids) { script, id in
        script.call(lines, [.id(id)])
        script.call(order, [.id(id)])
      }
    }
  }

  private func cells(_ span: OrderSpan) -> [Cell] {
    [.text(span.state), .real(span.from), .real(span.to)]
  }

  private func lines() throws -> Statement {
    try tables.statement(
      "SELECT \(Self.lineFields) FROM line WHERE orderID = ? ORDER BY position", "iitiii")
  }

  /// Orders, each with its lines.
  private func select(
    _ rest: String, _ values: some Sequence<[Cell]>, isOne: Bool = false
  ) throws -> () throws -> QueryResult {
    return try tables.read(
      "SELECT \(Self.fields) FROM orders \(rest)", (isOne ? "1" : "") + Self.columns,
      child: try lines(), values)
  }

  private func insert(
    _ orders: [WorkloadOrder], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement(
      "INSERT INTO orders (customer, state, placed, street, city, zip, total)"
        + " VALUES (?, ?, ?, ?, ?, ?, ?)", "#")
    let insertLine = try tables.statement(
      "INSERT INTO line (\(Self.lineFields)) VALUES (?, ?, ?, ?, ?, ?)")
    return try tables.write(orders, each: each) { script, order in
      script.call(
        insert,
        [
          .text(order.customer), .text(order.state), .real(order.placed), .text(order.street),
          .text(order.city), .text(order.zip), .integer(order.total),
        ])
      for (position, line) in order.lines.enumerated() {
        script.call(
          insertLine,
          [
            .id(order.id), .integer(position), .text(line.product), .integer(line.quantity),
            .integer(line.price), .integer(line.tax),
          ])
      }
    }
  }
}
