import Foundation
import Larch
import LarchTestSupport
import Testing

/// The examples of docs/servers.md on followers.
@Suite("Guide: followers")
struct FollowerGuideTests {
  struct Order: Record, Equatable {
    var id = RecordID<Order>()
    var item: String
    var isOpen = true
  }

  /// A store on one machine, the log, and where another machine has its copy.
  private struct Machines {
    let folder: TemporaryFolder
    let log = MemoryServer().serverLog
    let store: Store
    var path: String { folder.path("copy.larch") }

    init() throws {
      folder = try TemporaryFolder()
      store = try Store(at: folder.path("shop.larch"), mirror: log, for: Order.self)
    }
  }

  /// What a program shows. Unchecked: the lock guards what is in it.
  private final class Shown: @unchecked Sendable {
    private let lock = NSLock()
    private var counts: [Int] = []
    var all: [Int] { lock.withLock { counts } }
    func show(_ count: Int) { lock.withLock { counts.append(count) } }
  }

  @Test("A follower is read and observed like any store")
  func following() async throws {
    let machines = try Machines()
    let (log, path) = (machines.log, machines.path)
    var order = Order(item: "tea")
    try await order.save(in: machines.store)
    try await machines.store.mirror?.settled()
    let shown = Shown()
    @Sendable func show(_ count: Int) { shown.show(count) }
    let task = Task {
      // snippet: servers-follow
      let follower = try await Store(following: log, copy: path, for: Order.self)
      let open = try follower.fetch(Order.where { $0.isOpen })  // from the file, as ever
      for try await orders in follower.observe(Order.where { $0.isOpen }) { show(orders.count) }
      // end snippet
      #expect(open.count <= 1)
    }
    for _ in 0..<20_000 where shown.all.last != 1 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(shown.all.last == 1)
    task.cancel()
    _ = await task.result
  }

  @Test("A version goes along with a session")
  func versions() async throws {
    let machines = try Machines()
    let store = machines.store
    try await store.mirror?.settled()
    let follower = try await Store(
      following: machines.log, copy: machines.path, for: Order.self)
    defer { follower.close() }
    var session: [String: String] = [:]
    var order = Order(item: "tea")
    var counts: [Int] = []
    func show(_ count: Int) { counts.append(count) }
    // snippet: servers-version
    try await order.save(in: store)
    session["version"] = try store.version.description
    // on another machine:
    if let version = session["version"].flatMap(StoreVersion.init) {
      let orders = try await follower.read(.atLeast(version)) { tx in try tx.fetch(Order.all) }
      show(orders.count)
    }
    // end snippet
    #expect(counts == [1])
    #expect(try await follower.read(.fresh) { tx in try tx.count(Order.all) } == 1)
  }

  @Test("A follower takes the place of its writer")
  func promotion() async throws {
    let machines = try Machines()
    let (log, path) = (machines.log, machines.path)
    var order = Order(item: "tea")
    try await order.save(in: machines.store)
    try await machines.store.mirror?.settled()
    machines.store.close()
    let follower = try await Store(following: log, copy: path, for: Order.self)
    // snippet: servers-promote
    try await follower.promote()  // takes the next place in the log, and closes
    let store = try Store(at: path, mirror: log, for: Order.self)
    // end snippet
    defer { store.close() }
    #expect(try store.fetch(Order.all) == [order])
    var next = Order(item: "coffee")
    try await next.save(in: store)
    try await store.mirror?.settled()
    #expect(try store.mirror?.status.waiting == 0)
  }
}
