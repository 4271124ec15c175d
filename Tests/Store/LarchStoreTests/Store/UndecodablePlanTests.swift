import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The plan of a query named the incomplete index that it would use. The plans of inner queries and
/// of joins gave no reason why they read all records.
@Suite("Plans of inner queries and joins name incomplete indexes")
struct UndecodablePlanTests {
  enum NewKind: String, Codable { case open, closed, paused }
  enum Kind: String, Codable { case open, closed }

  struct NewPart: Record {
    var id = RecordID<NewPart>()
    var code: String
    var kind: NewKind
    var boxID: Int?
    static let collectionName = "Part"
  }

  struct Part: Record {
    var id = RecordID<Part>()
    var code: String
    var kind: Kind
    var boxID: Int?
    var label: String { "\(code) \(kind)" }
    static let collectionName = "Part"
    static let box = BelongsTo<Part, Box>(\.boxID, to: Box.self)
    static let schema = Schema<Part> {
      box
      Index(\.code, \.label, name: "code_label")
    }
  }

  struct Box: Record {
    var id: Int
    var code: String
    static let parts = HasMany<Box, Part>(\.boxID)
    static let schema = Schema<Box> { parts }
  }

  private static func withParts(_ body: (Store) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, NewPart.self) { store throws in
        try store.saveAll(
          (1...300).map {
            NewPart(code: "c\($0)", kind: $0 == 4 ? .paused : .open, boxID: nil)
          })
      }
      try Store.using(path, Part.self, Box.self) { store throws in
        try store.saveAll((1...40).map { Box(id: $0, code: "c\($0)") })
        try store.write { tx throws in
          for number in 5...20 {
            var part = try #require(try tx.find(Part.self, by: \.code, equals: "c\(number)"))
            part.boxID = number
            try tx.save(&part)
          }
        }
        try body(store)
      }
    }
  }

  private static let reason =
    "index code_label is incomplete: rebuild() names the records that it misses"

  private static func expectReason(_ text: String, below line: String) {
    let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(lines.filter { $0 == reason }.count == 1, "\(text)")
    let place = lines.firstIndex { $0 == reason } ?? 0
    #expect(lines.prefix(place).contains { $0.hasPrefix(line) }, "\(text)")
  }

  @Test("The inner query of a filter about related records")
  func filters() throws {
    try Self.withParts { store throws in
      let query = Box.where { $0.parts.contains { $0.code == "c7" } }
      #expect(try store.ids(query) == [7])
      Self.expectReason(try store.explain(query), below: "related(Part.boxID)")
      #expect(try !store.explain(Box.where { !$0.parts.isEmpty }).contains("incomplete"))
    }
  }

  @Test("A join that would find partners by it, and the side that is scanned")
  func joins() throws {
    try Self.withParts { store throws in
      let join = Box.where { $0.id < 9 }.joined(with: Part.all, on: \.code, equals: \.code)
      #expect(try store.count(join) == 8)
      Self.expectReason(try store.explain(join), below: "inner Part")
      let side = Part.where { $0.code == "c7" }.joined(with: Box.all, on: \.boxID)
      Self.expectReason(try store.explain(side), below: "outer Part")
      let other = Part.all.joined(with: Box.all, on: \.boxID)
      #expect(try !store.explain(other).contains("incomplete"))
    }
  }
}
