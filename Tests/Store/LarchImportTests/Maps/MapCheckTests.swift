import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A wrong map is refused before an element is read")
struct MapCheckTests {
  /// Fails if it is read.
  private struct Untouched: ByteSource {
    let count = 1
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
      Issue.record("An element was read.")
      return 0
    }
  }

  private func refusal<R: Record>(
    _ map: ImportMap<R>, options: ImportOptions = ImportOptions(), in store: Store? = nil
  ) throws -> LarchError? {
    var error: LarchError?
    func run(_ store: Store) {
      for policy in [ImportErrorPolicy.stop, .skip] {
        error = caught {
          try store.importJSON(
            R.self, from: JSONSource { Untouched() }, map: map, onError: policy,
            options: options)
        }
      }
    }
    if let store { run(store) } else { try Store.staffed { run($0) } }
    return error
  }

  @Test("Lines of properties")
  func fields() throws {
    let computed = ImportMap<Shape> { Mapped(\.area, from: "a") }
    let nested = ImportMap<Shape> { Mapped(\.corner.x, from: "x") }
    try Store.scratch(Shape.self) { store throws in
      #expect(try refusal(computed, in: store)?.code == .invalidImportMap)
      #expect(try refusal(nested, in: store)?.code == .invalidImportMap)
    }
    let maps: [(ImportMap<Staffer>, String)] = [
      (
        ImportMap {
          Mapped(\.name, from: "a")
          Mapped(\.name, from: "b")
        }, "name"
      ),
      (
        ImportMap {
          Mapped(\.firmID, from: "a")
          Linked(Staffer.firm, from: "b", by: \.name)
        }, "firmID"
      ),
      (
        ImportMap {
          Linked(Staffer.skills, from: "b")
          Linked(Staffer.skills, from: "a")
        }, "skillIDs"
      ),
      (ImportMap { Mapped(\.name, from: "a", date: .iso8601) }, "name"),
      (ImportMap { Mapped(\.skillIDs, from: "a", coercing: true) }, "skillIDs"),
      (ImportMap { Mapped(\.birthday, from: "a", coercing: true) }, "birthday"),
      (
        ImportMap { Mapped(\.birthday, from: "a", date: .format("never")) },
        "birthday, a date in the format never"
      ),
      (
        ImportMap { Mapped(\.birthday, from: "a", date: .format("'day'")) },
        "birthday, a date in the format 'day'"
      ),
      (ImportMap { Mapped(\.name, from: "") }, ""),
      (ImportMap { Mapped(\.name, from: "a..b") }, "a..b"),
      (ImportMap { Mapped(\.name, from: "a.") }, "a."),
      (ImportMap { Mapped(\.name, from: #"a\"#) }, #"a\"#),
      (ImportMap { Linked(Staffer.firm, from: "a.", by: \.name) }, "a."),
    ]
    for (map, field) in maps {
      let error = try refusal(map)
      #expect(error?.code == .invalidImportMap && error?.context.field == field, "\(field)")
      #expect(error?.context.collection == "Staffer")
    }
    #expect(try refusal(ImportMap<Staffer> { Mapped(\.name) })?.code == .invalidImportMap)
  }

  struct Shape: Record {
    struct Point: Codable, Equatable { var x: Int }
    var id = RecordID<Shape>()
    var corner: Point
    var area: Int { corner.x }
  }

  @Test("Lines of related records")
  func links() throws {
    // The field is not unique.
    let plain = ImportMap<Staffer> { Linked(Staffer.firm, from: "f", by: \.size) }
    #expect(try refusal(plain)?.code == .unsuitableMatch)
    #expect(try refusal(plain)?.context.field == "size")
    // Inside another map.
    let firms = ImportMap<Firm> {
      Mapped(\.city, from: "a")
      Mapped(\.city, from: "b")
    }
    let outer = ImportMap<Staffer> {
      Linked(Staffer.firm, from: "f", by: \.name, map: firms)
    }
    #expect(try refusal(outer)?.code == .invalidImportMap)
    #expect(try refusal(outer)?.context.collection == "Firm")
    // Each map makes another one.
    #expect(try refusal(Topic.endless())?.code == .invalidImportMap)
    // No schema lists the association.
    let other = BelongsTo<Badge, Club>(\.clubID)
    let unlisted = ImportMap<Badge> { Linked(other, from: "c", by: \.title) }
    #expect(try refusal(unlisted)?.code == .unknownAssociation)
  }

  @Test("Decoders that read other keys, or what is not JSON")
  func decoders() throws {
    struct Snake: Record {
      enum CodingKeys: String, CodingKey { case id, fullName = "full_name" }
      var id = RecordID<Snake>()
      var fullName: String
    }
    var json5 = ImportOptions()
    json5.makeDecoder = {
      let decoder = ImportOptions.defaultDecoder()
      decoder.allowsJSON5 = true
      return decoder
    }
    let map = ImportMap<Staffer> { Mapped(\.name, from: "a") }
    #expect(try refusal(map, options: json5)?.code == .invalidImportMap)
    var snake = ImportOptions()
    snake.makeDecoder = {
      let decoder = ImportOptions.defaultDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }
    try Store.scratch(Snake.self) { store throws in
      let map = ImportMap<Snake> { Mapped(\.fullName, from: "n") }
      #expect(try refusal(map, options: snake, in: store)?.code == .invalidImportMap)
    }
    // Other keys are still converted, and those of properties with a line are unknown.
    try Store.staffed { store in
      let map = ImportMap<Staffer> { Mapped(\.isActive, from: "on") }
      let report = try store.importJSON(
        Staffer.self, from: .text(#"{"name":"Ada","is_active":false,"on":true,"firm_id":null}"#),
        map: map, options: snake)
      #expect(try store.only(Staffer.self)?.isActive == true)
      #expect(report.unknownKeys["is_active"] == 1)
    }
  }
}

extension Topic {
  fileprivate static func endless() -> ImportMap<Topic> {
    ImportMap { Linked(Topic.subtopics, from: "sub", by: \.title, map: endless()) }
  }
}

extension Badge {
  fileprivate var clubID: Club.ID? { nil }
}
