import Foundation
import Larch

struct Reading: Record {
  var id = RecordID<Reading>()
  var place: String
  var degrees: Double

  static let schema = Schema<Reading> { Index(\.place, \.degrees) }
}

func fill(_ store: Store) async throws {
  for (place, degrees) in [("Oslo", -4.5), ("Rome", 14), ("Oslo", 2)] {
    try await store.write { tx in
      var reading = Reading(place: place, degrees: degrees)
      try tx.insert(&reading)
    }
  }
}

let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).larch").path
let store = try Store(at: path, for: Reading.self)
try await fill(store)
let warmest = try store.first(
  Reading.where { $0.place == "Oslo" }.sorted(by: \.degrees, .descending))
print("Oslo: \(warmest?.degrees ?? .nan)")
guard warmest?.degrees == 2 else { exit(1) }
