import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A cursor over many records holds a few of them at a time.
@Suite("Streaming", .serialized)
struct StreamingTests {
  struct Grain: Record {
    var id = RecordID<Grain>()
    var number: Int
    var text: String

    static let collectionName = "StreamedGrain"
    static let schema = Schema<Grain> { Index(\.number) }
  }

  private static let count = 50_000

  /// Bytes that are the process's own: pages of the mapped file come and go as the system likes.
  private static func ownBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
      return 0
    }
    let fields = text.split(separator: " ").compactMap { Int($0) }
    return fields.count > 2 ? (fields[1] - fields[2]) * 4096 : 0
  }

  @Test(
    "A cursor streams records in constant memory: by id, by an index, filtered, and in a write")
  func constantMemory() throws {
    let store = try Store.temporary(for: Grain.self)
    let text = String(repeating: "grain ", count: 20)
    try store.write { tx throws in
      for number in 0..<Self.count {
        var grain = Grain(number: (number * 7919) % Self.count, text: text)
        try tx.insert(&grain)
      }
    }
    for (query, wanted) in [
      (Grain.all, Self.count), (Grain.all.sorted(by: \.number, .descending), Self.count),
      (Grain.where { $0.number >= 100 }, Self.count - 100),
      (Grain.where { $0.text.hasPrefix("grain g") && $0.number < 40_000 }, 40_000),
    ] {
      let plan = try store.explain(query)
      try store.read { tx throws in
        let cursor = try tx.cursor(query)
        var seen = 0
        var atFirst = 0
        var most = 0
        while let grain = try cursor.next() {
          seen += grain.text.isEmpty ? 0 : 1
          if seen == 2_000 { atFirst = Self.ownBytes() }
          if seen % 2_000 == 0 { most = Swift.max(most, Self.ownBytes()) }
        }
        #expect(seen == wanted, "\(plan)")
        print("streamed \(seen): \((most - atFirst) / 1024) KiB more at most\n\(plan)")
      }
    }
  }
}
