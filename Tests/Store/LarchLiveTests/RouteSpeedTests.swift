import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Times for docs/live.md. The numbers are small unless a variable sets more.
@Suite("Speed of commits beside observers", .serialized)
struct RouteSpeedTests {
  private struct Row: Record, Equatable {
    var id = RecordID<Row>()
    var number: Int
    var city: String
    var age: Int

    static let schema = Schema<Row> {
      Index(\.number)
      Index(\.city, \.age)
    }
  }

  private enum Kind: String, CaseIterable {
    case nobody, record, equality, prefix
  }

  @Test("the time of a commit, with observers of other records of its collection, is printed")
  func commits() async throws {
    for observers in [1, 100, amount("LARCH_ROUTE_OBSERVERS", 200)] {
      for kind in Kind.allCases {
        try await measure(kind, observers)
      }
    }
  }

  private static func rows(in store: Store) throws -> [Row] {
    try store.write { tx in
      try (0..<2_000).map { number in
        var row = Row(number: number, city: "city \(number % 100)", age: number % 90)
        try tx.save(&row)
        return row
      }
    }
  }

  private static func update(_ rows: [Row], in store: Store) throws {
    try store.write { tx in for row in rows { try tx.update(row) } }
  }

  private func measure(_ kind: Kind, _ observers: Int) async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    let store = try Store(at: path, for: Row.self, options: options)
    defer { store.close() }
    var rows = try Self.rows(in: store)
    var tokens: [ObservationToken] = []
    let begun = Watched.nanoseconds
    for number in 0..<(kind == .nobody ? 0 : observers) {
      switch kind {
      case .nobody: break
      case .record:
        tokens.append(
          store.observe(Row.self, RecordID(rawValue: Int64(number + 1_000_000))) { _ in })
      case .equality:
        tokens.append(store.observe(Row.where { $0.number == number + 1_000_000 }) { _ in })
      case .prefix:
        tokens.append(store.observe(Row.where { $0.city == "elsewhere \(number)" }) { _ in })
      }
    }
    for token in tokens { await token.settled() }
    let start = Double(Watched.nanoseconds - begun) / Double(max(1, tokens.count)) / 1000
    let (rounds, commits) = (amount("LARCH_ROUTE_ROUNDS", 2), 200)
    var (least, settled, bulk) = (Double.infinity, Double.infinity, Double.infinity)
    let hub = store.environment.changes
    for round in 0..<rounds {
      let visits = hub.visits
      let start = Watched.nanoseconds
      for number in 0..<commits {
        let place = (round * commits + number) * 7 % rows.count
        rows[place].age = (rows[place].age + 1 + round) % 90
        try store.put(rows[place])
      }
      least = min(least, Double(Watched.nanoseconds - start) / Double(commits) / 1000)
      #expect(hub.visits == visits)
      for token in tokens { await token.settled() }
      settled = min(settled, Double(Watched.nanoseconds - start) / Double(commits) / 1000)
      for place in rows.indices { rows[place].age = (rows[place].age + 7) % 90 }
      let bulkStart = Watched.nanoseconds
      try Self.update(rows, in: store)
      bulk = min(bulk, Double(Watched.nanoseconds - bulkStart) / Double(rows.count) / 1000)
      for token in tokens { await token.settled() }
    }
    print(
      "\(tokens.count) observers, \(kind.rawValue):",
      String(
        format:
          "%.2f us a commit, %.2f us until all wait again, %.2f us a record of 2,000, %.1f us to begin",
        least, settled, bulk, start))
  }
}
