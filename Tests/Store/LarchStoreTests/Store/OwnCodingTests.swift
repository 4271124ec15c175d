import LarchTestSupport
import Testing

@testable import Larch

/// Records whose own coding does what the compiler's never does.
@Suite("Codings written by hand")
struct OwnCodingTests {
  private struct Name: Codable, Equatable {
    var first: String
    var last: String
    var middle: String?
  }

  /// The fields of another type lie beside its own, and its keys have the same bytes as its own.
  private struct Employee: Record, Equatable {
    var id: Int
    var name: Name
    var title: String
    var years: Int

    enum CodingKeys: CodingKey { case id, title, years }

    init(id: Int, name: Name, title: String, years: Int) {
      (self.id, self.name, self.title, self.years) = (id, name, title, years)
    }

    init(from decoder: any Decoder) throws {
      let own = try decoder.container(keyedBy: CodingKeys.self)
      id = try own.decode(Int.self, forKey: .id)
      name = try Name(from: decoder)
      title = try own.decode(String.self, forKey: .title)
      let again = try decoder.container(keyedBy: CodingKeys.self)
      years = try again.decode(Int.self, forKey: .years)
      _ = try Name(from: decoder)
      if try own.decode(String.self, forKey: .title) != title { throw CancellationError() }
    }

    func encode(to encoder: any Encoder) throws {
      var own = encoder.container(keyedBy: CodingKeys.self)
      try own.encode(id, forKey: .id)
      try name.encode(to: encoder)
      try own.encode(title, forKey: .title)
      try own.encode(years, forKey: .years)
    }
  }

  @Test("Containers of several key types are read alternately, each by its own keys")
  func alternate() throws {
    let store = try Store.temporary(for: Employee.self)
    defer { store.close() }
    let all = (0..<5).map { number in
      Employee(
        id: number,
        name: Name(first: "f\(number)", last: "l\(number)", middle: number % 2 == 0 ? nil : "m"),
        title: "t\(number)", years: number)
    }
    try store.saveAll(all)
    #expect(try store.fetch(Employee.all) == all)
    #expect(try store.fetch(Employee.where { $0.title == "t3" }) == [all[3]])
    for employee in all { #expect(try store.find(Employee.self, employee.id) == employee) }
  }

  /// It writes its `null` as nil.
  private enum JSON: Codable, Equatable {
    case null
    case number(Double)
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .object(try container.decode([String: JSON].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .null: try container.encodeNil()
      case .number(let number): try container.encode(number)
      case .object(let members): try container.encode(members)
      }
    }
  }

  private struct Document: Record, Equatable {
    var id: Int
    var body: JSON
    var note: JSON?
  }

  private struct FastDocument: Record, Equatable, MemberwiseCoded {
    var id: Int
    var body: JSON
    var note: JSON?
  }

  @Test("A value that writes itself as nil comes back")
  func ownNil() throws {
    let store = try Store.temporary(for: Document.self, FastDocument.self)
    defer { store.close() }
    let bodies: [JSON] = [
      .null, .number(1), .object(["a": .null, "b": .object(["c": .null])]), .object([:]), .null,
    ]
    for (number, body) in bodies.enumerated() {
      for note in [nil, JSON.null, .number(2), body] {
        let plain = Document(id: number, body: body, note: note)
        let fast = FastDocument(id: number, body: body, note: note)
        try store.saveAll([plain])
        try store.saveAll([fast])
        // What an optional of such a value is, only nil or that too, is Codable's decision.
        let read = note == .null ? nil : note
        for _ in 0..<3 {
          let again = try #require(try store.find(Document.self, number))
          #expect(again.body == body && again.note == read)
          let other = try #require(try store.find(FastDocument.self, number))
          #expect(other.body == body && other.note == read)
        }
      }
    }
    #expect(try store.fetch(Document.all).map(\.body) == bodies)
    #expect(try store.fetch(FastDocument.all).map(\.body) == bodies)
  }

  /// A nested container makes it a map in the store.
  private struct Item: Record, Equatable {
    static let schema = Schema<Item> { Default(\.note, "none") }
    var id: Int
    var note: String?
    var x: Int

    enum CodingKeys: CodingKey { case id, note, place }
    enum Place: CodingKey { case x }

    init(id: Int, note: String?, x: Int) { (self.id, self.note, self.x) = (id, note, x) }

    init(from decoder: any Decoder) throws {
      let own = try decoder.container(keyedBy: CodingKeys.self)
      id = try own.decode(Int.self, forKey: .id)
      note = try own.decodeIfPresent(String.self, forKey: .note)
      x = try own.nestedContainer(keyedBy: Place.self, forKey: .place).decode(Int.self, forKey: .x)
    }

    func encode(to encoder: any Encoder) throws {
      var own = encoder.container(keyedBy: CodingKeys.self)
      try own.encode(id, forKey: .id)
      try own.encodeIfPresent(note, forKey: .note)
      var place = own.nestedContainer(keyedBy: Place.self, forKey: .place)
      try place.encode(x, forKey: .x)
    }
  }

  @Test("A nil stays nil beside a default, also where a record is a map")
  func nilInMap() throws {
    let store = try Store.temporary(for: Item.self)
    defer { store.close() }
    let items = [
      Item(id: 1, note: nil, x: 1), Item(id: 2, note: "a", x: 2), Item(id: 3, note: nil, x: 3),
    ]
    try store.saveAll(items)
    #expect(try store.fetch(Item.all) == items)
    #expect(try store.fetch(Item.where { $0.note == nil }) == [items[0], items[2]])
  }
}
