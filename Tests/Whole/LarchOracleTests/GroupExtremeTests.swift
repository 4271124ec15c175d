import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The least and the greatest values of groups")
struct GroupExtremeTests {
  private struct Mark: Record {
    var id = RecordID<Mark>()
    var kind: String
    var part = 1
    var number: Int
    var real: Double?
    var text: String

    static let schema = Schema<Mark> {
      Index(\.kind, \.number)
      Index(\.part, \.kind, \.real, \.number)
      Index(\.kind, \.part, \.text, \.number)
    }
  }

  @Test("Of large groups only the keys with the least and the greatest values are read")
  func extremes() throws {
    var random = SeededGenerator(seed: 77)
    let store = try Store.temporary(for: Mark.self)
    var marks: [Mark] = []
    for (kind, count) in [
      ("a", 700), ("b", 1), ("c", 500), ("", 300), ("all nil", 60), ("nan", 60),
    ] {
      for _ in 0..<count {
        let real: Double? =
          switch kind {
          case "all nil": nil
          case "nan": .nan
          case "c": Double(random.below(900))
          default: random.pick([nil, .nan, -.infinity, -0.0, 0.5, Double(random.below(50))])
          }
        marks.append(
          Mark(
            kind: kind, part: random.below(3), number: random.below(1000), real: real,
            text: random.pick(["", "z", "e\u{301}", "word \(random.below(40))"])))
      }
    }
    let new = marks
    try store.write { tx in
      for mark in new {
        var mark = mark
        try tx.insert(&mark)
      }
    }
    /// Asks for the least, the greatest and both of a field, and returns the number of entries read for both.
    func check<V: Comparable & Sendable>(
      _ query: Query<Mark>, _ rows: [Mark], _ value: (Mark) -> V?,
      _ min: GroupAggregate<Mark, V?>, _ max: GroupAggregate<Mark, V?>
    ) throws -> Int {
      let groups = Dictionary(grouping: rows, by: \.kind).sorted { $0.key < $1.key }
      let values = groups.map { $0.value.compactMap(value).filter { $0 == $0 } }
      let (least, greatest) = (values.map { $0.min() }, values.map { $0.max() })
      let grouped = query.grouped(by: \.kind)
      #expect(try store.fetch(grouped.select(min)).map(\.1) == least)
      #expect(try store.fetch(grouped.select(max)).map(\.1) == greatest)
      let both = grouped.select(max, min)
      let found = try store.fetch(both)
      #expect(found.map(\.key) == groups.map(\.key))
      #expect(found.map(\.1) == greatest)
      #expect(found.map(\.2) == least)
      let text = try store.explain(both, running: true)
      let words = text.split(separator: "\n").last.map { $0.split(separator: " ") } ?? []
      #expect(text.contains(" 0 records; returned \(groups.count)"), "\(text)")
      return try #require(words.dropFirst().first.flatMap { Int($0) })
    }
    // In each group at most eight steps and a search for the end, and one more for nil and for NaN.
    let most = 6 * 12
    #expect(try check(Mark.all, marks, \.number, .min(\.number), .max(\.number)) <= most)
    for part in [1, 2] {
      let rows = marks.filter { $0.part == part }
      let query = Mark.where { $0.part == part }
      #expect(try check(query, rows, \.real, .min(\.real), .max(\.real)) <= most)
      #expect(try check(query, rows, \.text, .min(\.text), .max(\.text)) > 0)
      let some = query.where { $0.kind >= "a" && $0.kind < "c" }
      let those = rows.filter { $0.kind >= "a" && $0.kind < "c" }
      #expect(try check(some, those, \.real, .min(\.real), .max(\.real)) <= most)
      // A condition that is tested on each key.
      let filtered = query.where { $0.kind != "b" && $0.kind >= "a" }
      let rest = rows.filter { $0.kind != "b" && $0.kind >= "a" }
      #expect(try check(filtered, rest, \.real, .min(\.real), .max(\.real)) > most)
    }
    // Ranges end and begin within groups.
    let between = Mark.where { $0.kind == "a" && $0.number > 300 && $0.number <= 600 }
    let inRange = marks.filter { $0.kind == "a" && $0.number > 300 && $0.number <= 600 }
    #expect(try check(between, inRange, \.number, .min(\.number), .max(\.number)) <= 14)
    let parts = Mark.where { ["a", "c"].contains($0.kind) && $0.number > 300 }
    let inParts = marks.filter { ["a", "c"].contains($0.kind) && $0.number > 300 }
    #expect(try check(parts, inParts, \.number, .min(\.number), .max(\.number)) <= 28)
  }
}
