import Foundation
import Larch
import LarchTestSupport
import Testing

private struct Order: Record {
  var id = RecordID<Order>()
  var text: String
}

// snippet: scale-tenants
/// The stores of the tenants that were used last.
actor Tenants {
  private let log: @Sendable (String) -> ServerLog
  private let directory: String
  private let limit: Int
  private var open: [String: (store: Store, lastUse: ContinuousClock.Instant)] = [:]

  init(in directory: String, limit: Int = 500, log: @escaping @Sendable (String) -> ServerLog) {
    (self.directory, self.limit, self.log) = (directory, limit, log)
  }

  func store(of tenant: String) throws -> Store {
    if let known = open[tenant] {
      open[tenant] = (known.store, .now)
      return known.store
    }
    if open.count >= limit, let oldest = open.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      open[oldest.key] = nil
      oldest.value.store.close()
    }
    let store = try Store(
      sharing: log(tenant), copy: "\(directory)/\(tenant).larch", for: Order.self)
    open[tenant] = (store, .now)
    return store
  }
}
// end snippet

@Suite("The examples of the page on many stores")
struct ScaleGuideTests {
  @Test("The tenants that were used last are open, and every one keeps its records")
  func tenants() async throws {
    let folder = try TemporaryFolder()
    let servers = Dictionary(uniqueKeysWithValues: (0..<6).map { ("\($0)", MemoryServer()) })
    let tenants = Tenants(in: folder.path(""), limit: 2) { servers[$0]!.serverLog }
    for round in 0..<3 {
      for number in 0..<6 {
        let store = try await tenants.store(of: "\(number)")
        try await store.write { tx in
          var order = Order(text: "\(number), \(round)")
          try tx.save(&order)
        }
      }
    }
    // The one before the last is open, others are closed.
    let four = try await tenants.store(of: "4")
    let four2 = try await tenants.store(of: "4")
    #expect(four === four2)
    let zero = try await tenants.store(of: "0")
    let texts = try zero.fetch(Order.all).map(\.text)
    #expect(texts == ["0, 0", "0, 1", "0, 2"])
    let five = try await tenants.store(of: "5")
    #expect(four !== five)
    #expect(throws: LarchError.self) { try four.count(Order.all) }
    zero.close()
    five.close()
  }
}
