import Foundation
import Larch

/// A program as a server has it: it takes a price list of many lines in while its clients place
/// orders, and nobody waits for the end of the import. `ImportServer 5000` takes fewer lines.

struct Failed: Error, CustomStringConvertible {
  let description: String
}

func check(_ isRight: Bool, _ what: String) throws {
  if !isRight { throw Failed(description: "wrong: \(what)") }
}

/// Writes the list: a line in 1,000 is broken, one in 500 has a key too many.
func writeList(_ lines: Int, to path: String) throws {
  try Data().write(to: URL(fileURLWithPath: path))
  let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
  defer { try? file.close() }
  var text = ""
  for number in 1...lines {
    var line = #"{"id":\#(number),"sku":"A-\#(number)","name":"Article \#(number)","#
    switch number % 1000 {
    case 7: line += #""cents":"much"}"#  // no number
    case 8: line += #""cents":0}"#  // against the rule
    case 500, 999: line += #""cents":5,"maker":{"name":"M","country":"NO","zip":1}}"#
    case let rest where rest % 2 == 0: line += #""cents":\#(number),"stock":null}"#
    default:
      line += #""cents":\#(number),"tags":["t\#(number % 10)"],"#
      line += #""maker":{"name":"M","country":"\#(["NO", "SE", "IT"][number % 3])"}}"#
    }
    text += line + "\n"
    if text.utf8.count > 1 << 20 {
      try file.write(contentsOf: Data(text.utf8))
      text = ""
    }
  }
  try file.write(contentsOf: Data(text.utf8))
}

/// Tells the clients when the import is over.
actor Shop {
  private(set) var isOpen = true
  func close() { isOpen = false }
}

/// Places orders until the shop closes, each durable before the next; gives how many.
func client(_ number: Int, _ store: Store, _ shop: Shop) async throws -> Int {
  var placed = 0
  while await shop.isOpen {
    let next = placed + 1
    try await store.write { tx in
      // What is there by now; nil before the first batch is in.
      let article = try tx.find(Article.self, next)
      var order = Order(client: number, number: next, articleID: article?.id)
      try tx.insert(&order)
    }
    placed = next
    if placed % 50 == 0, try store.count(Order.where { $0.client == number }) != placed {
      throw Failed(description: "wrong: client \(number) misses an order")
    }
  }
  return placed
}

func run(_ lines: Int) async throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shop-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let list = folder.appendingPathComponent("prices.jsonl").path
  try writeList(lines, to: list)
  let store = try Store(
    at: folder.appendingPathComponent("shop.larch").path, for: Article.self, Order.self)
  defer { store.close() }

  let shop = Shop()
  let began = ContinuousClock.now
  let (report, orders) = try await withThrowingTaskGroup(of: Int.self) { clients in
    for number in 1...4 { clients.addTask { try await client(number, store, shop) } }
    let report: ImportReport
    do {
      // With `.skip` each batch is a transaction, so that orders go in between.
      report = try await store.importJSON(
        Article.self, from: .file(list), onError: .skip, batchSize: 500)
    } catch {
      await shop.close()
      throw error
    }
    await shop.close()
    return (report, try await clients.reduce(0, +))
  }
  let seconds = began.duration(to: .now).components.seconds

  print("\(report)")
  print("\(orders) orders of 4 clients meanwhile, \(seconds) s")
  for failure in report.failures.prefix(2) {
    print("line \(failure.line): \(failure.keyword) \(failure.field ?? "")")
  }

  let broken = (1...lines).filter { [7, 8].contains($0 % 1000) }
  try check(report.inserted == lines - broken.count, "all lines but the broken ones are in")
  try check(report.failures.map(\.line) == broken, "the report names the broken lines")
  try check(
    report.failures.prefix(2).map(\.keyword) == ["element_mismatch", "too_small"],
    "and why they are: \(report.failures.prefix(2).map(\.keyword))")
  let salted = (1...lines).count { [500, 999].contains($0 % 1000) }
  try check(report.unknownKeys == ["maker.zip": salted], "the key that no property has")

  try check(try store.count(Article.all) == report.inserted, "as many articles as were inserted")
  try check(try store.count(Order.all) == orders, "each order that was acknowledged is there")
  for number in 1...4 {
    let numbers = try store.fetch(Order.where { $0.client == number }.sorted(by: \.number))
    try check(numbers.map(\.number) == Array(1...numbers.count), "client \(number) has each once")
  }
  let without = try store.count(Article.where { $0.stock == nil })
  let ten = try store.count(Article.where { $0.stock == 10 })
  try check(without + ten == report.inserted, "null is nil, and an absent stock is the default")
  try check(without == (1...lines).count { $0 % 2 == 0 && ![8, 500].contains($0 % 1000) }, "nulls")
  let abroad = Article.where { $0.maker.country != "NO" && $0.tags.contains("t3") }
  let counted = try store.count(abroad)
  let scanned = try store.fetch(Article.all).count {
    $0.maker?.country != "NO" && $0.tags.contains("t3")
  }
  try check(counted == scanned && counted > 0, "a query answers what plain Swift does")

  // The same list again changes nothing.
  let again = try await store.importJSON(
    Article.self, from: .file(list), matching: \.sku, onError: .skip)
  try check(again.unchanged == report.inserted && again.inserted == 0, "once more is no change")
  try check(try await store.verify().isClean, "the store is sound")
  print("import server: fine")
}

do {
  try await run(CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200_000)
} catch {
  print(error)
  exit(1)
}
