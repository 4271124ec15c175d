import Foundation
import Larch
import LarchPostgres
import LarchTestSupport
import Testing

@Suite("A log on PostgreSQL does what every shared log does", needsServer)
struct ConformanceTests {
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LARCH_SEED"].flatMap(UInt64.init) { return [seed] }
    return (0..<UInt64(environment["LARCH_POSTGRES_SEEDS"] ?? "4")!).map { $0 }
  }()

  @Test("Random steps of several clients give what the model gives", arguments: seeds)
  func random(seed: UInt64) throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let clients = try (0..<3).map { _ in try server.log(store) }
    defer { for client in clients { client.close() } }
    let conformance = SharedLogConformance(seed: seed, clients)
    try conformance.run(steps: 250)
    for step in [
      "begin true", "begin false", "begin failed", "append true", "append elsewhere", "race",
      "append again true", "share true", "tail cut", "tail diverged", "tail of 3", "fold", "state",
    ] {
      #expect(conformance.counts[step, default: 0] > 0, "seed \(seed) never had the step: \(step)")
    }
  }
}
