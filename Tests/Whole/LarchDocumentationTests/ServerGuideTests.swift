import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/servers.md, with a server in memory in place of PostgreSQL.

private struct Order: Record, Equatable {
  var id = RecordID<Order>()
  var text: String
  var isPaid = false
}

private func show(_ value: some Any) {}

@Suite("The guide beyond one machine")
struct ServerGuideTests {
  private let log = MemoryServer().serverLog
  private let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "servers-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func save(_ order: Order, in store: Store) async throws -> Order {
    try await store.write { tx in
      var order = order
      try tx.save(&order)
      return order
    }
  }

  private func end() { try? FileManager.default.removeItem(atPath: folder) }

  @Test("A mirror, and what is restored from it")
  func mirror() async throws {
    defer { end() }
    let path = folder + "/shop.larch"
    let orders = [Order(text: "a")]
    // snippet: servers-mirror
    let store = try Store(at: path, mirror: log, for: Order.self)
    try await store.write { _ = try $0.save(contentsOf: orders) }
    try await store.mirror?.settled()  // now PostgreSQL has them, too
    // end snippet
    // snippet: servers-status
    let status = try store.mirror?.status
    show(status?.waiting ?? 0)  // commits that the server does not have yet
    show(status?.description ?? "")
    // end snippet
    #expect(status?.waiting == 0)
    let beforeTheMistake = Date()
    try await Task.sleep(for: .milliseconds(20))
    _ = try await store.write { try $0.delete(Order.all) }
    try await store.mirror?.settled()
    let (copy, other) = (folder + "/copy.larch", folder + "/other.larch")
    // snippet: servers-restore
    let points = try await Store.restorablePoints(in: log)
    try await Store.restore(from: log, to: copy, at: .time(beforeTheMistake))
    try await Store.restore(from: log, to: other, at: .position(points.positions.lowerBound))
    // end snippet
    let found = try Store(at: copy, for: Order.self)
    #expect(try found.fetch(Order.all).map(\.text) == ["a"])
    found.close()
    store.close()
  }

  @Test("A store takes the place of a lost one")
  func takeOver() async throws {
    defer { end() }
    var order = Order(text: "a")
    let lost = try Store(at: folder + "/lost.larch", mirror: log, for: Order.self)
    order = try await save(order, in: lost)
    try await lost.mirror?.settled()
    lost.close()
    let path = folder + "/shop.larch"
    // snippet: servers-take-over
    try await Store.takeOver(log, to: path)
    let store = try Store(at: path, mirror: log, for: Order.self)
    // end snippet
    #expect(try store.fetch(Order.all) == [order])
    store.close()
  }

  @Test("A shared store is written as one file is")
  func share() async throws {
    defer { end() }
    let path = folder + "/shop.larch"
    let first = try Store(sharing: log, copy: folder + "/first.larch", for: Order.self)
    var order = Order(text: "a")
    order = try await save(order, in: first)
    let id = order.id
    // snippet: servers-share
    let store = try Store(sharing: log, copy: path, for: Order.self)
    try await store.write { tx in
      if var order = try tx.find(Order.self, id), !order.isPaid {
        order.isPaid = true
        try tx.save(&order)
      }
    }
    // end snippet
    let seen = try store.version
    #expect(try await first.read(.atLeast(seen)) { try $0.find(Order.self, id) }?.isPaid == true)
    store.close()
    first.close()
  }
}
