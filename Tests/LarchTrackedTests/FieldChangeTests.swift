import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The changes of a record")
struct FieldChangeTests {
  enum Shape: Codable, Equatable, Sendable {
    case circle(radius: Double)
    case square(side: Double)
  }

  struct Inner: Codable, Equatable, Sendable {
    var number = 1
    var deep = Deep()
    enum CodingKeys: String, CodingKey {
      case number
      case deep = "d"
    }
  }

  struct Deep: Codable, Equatable, Sendable {
    var text: String? = "x"
    enum CodingKeys: String, CodingKey { case text = "t" }
  }

  struct Everything: Record {
    var id = RecordID<Everything>()
    var bool = false
    var int8: Int8 = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var int = 0
    var int128: Int128 = 0
    var uint8: UInt8 = 0
    var uint16: UInt16 = 0
    var uint32: UInt32 = 0
    var uint64: UInt64 = 0
    var uint128: UInt128 = 0
    var float: Float = 0
    var double = 0.0
    var string = ""
    var optional: String?
    var date = Date(timeIntervalSinceReferenceDate: 0)
    var uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    var decimal = Decimal(0)
    var data = Data()
    var url = URL(string: "https://a.example")!
    var list: [Int] = []
    var set: Set<String> = []
    var dictionary: [String: Int] = [:]
    var records: [Inner] = []
    var inner = Inner()
    var maybe: Inner?
    var raw = Fixtures.Role.guest
    var shape = Shape.circle(radius: 1)
  }

  private let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  private let noUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// A change of one field, with the expected report.
  private var cases: [(FieldChange, @Sendable (inout Everything) -> Void)] {
    func change(_ path: String, _ old: FieldValue, _ new: FieldValue) -> FieldChange {
      FieldChange(path: path.split(separator: ".").map(String.init), old: old, new: new)
    }
    func inner(_ number: Int64) -> FieldValue {
      .record(["number": .int(number), "d": .record(["t": .string("x")])])
    }
    let uuid = uuid
    return [
      (change("bool", .bool(false), .bool(true)), { $0.bool = true }),
      (change("int8", .int(0), .int(-128)), { $0.int8 = .min }),
      (change("int16", .int(0), .int(-5)), { $0.int16 = -5 }),
      (change("int32", .int(0), .int(5)), { $0.int32 = 5 }),
      (change("int64", .int(0), .int(.min)), { $0.int64 = .min }),
      (change("int", .int(0), .int(.max)), { $0.int = .max }),
      (change("int128", .int(0), .bigInt(.max)), { $0.int128 = .max }),
      (change("uint8", .int(0), .int(255)), { $0.uint8 = .max }),
      (change("uint16", .int(0), .int(1)), { $0.uint16 = 1 }),
      (change("uint32", .int(0), .int(1)), { $0.uint32 = 1 }),
      (change("uint64", .int(0), .bigInt(Int128(UInt64.max))), { $0.uint64 = .max }),
      (change("uint128", .int(0), .bigUInt(.max)), { $0.uint128 = .max }),
      (change("float", .float(0), .float(0.5)), { $0.float = 0.5 }),
      (change("double", .double(0), .double(0.5)), { $0.double = 0.5 }),
      (change("string", .string(""), .string("a")), { $0.string = "a" }),
      (change("optional", .null, .string("a")), { $0.optional = "a" }),
      (
        change(
          "date", .date(Date(timeIntervalSinceReferenceDate: 0)),
          .date(Date(timeIntervalSinceReferenceDate: 1.5))),
        { $0.date = Date(timeIntervalSinceReferenceDate: 1.5) }
      ),
      (change("uuid", .uuid(noUUID), .uuid(uuid)), { $0.uuid = uuid }),
      (change("decimal", .decimal(0), .decimal(1.5)), { $0.decimal = 1.5 }),
      (change("data", .data(Data()), .data(Data([1]))), { $0.data = Data([1]) }),
      (
        change("url", .url("https://a.example"), .url("https://b.example")),
        { $0.url = URL(string: "https://b.example")! }
      ),
      (change("list", .list([]), .list([.int(1), .int(2)])), { $0.list = [1, 2] }),
      (change("set", .list([]), .list([.string("a"), .string("b")])), { $0.set = ["b", "a"] }),
      (
        change("dictionary", .record([:]), .record(["a.b": .int(1)])),
        { $0.dictionary = ["a.b": 1] }
      ),
      (change("records", .list([]), .list([inner(2)])), { $0.records = [Inner(number: 2)] }),
      (change("inner.number", .int(1), .int(7)), { $0.inner.number = 7 }),
      (change("inner.deep.text", .string("x"), .string("y")), { $0.inner.deep.text = "y" }),
      (change("inner.deep.text", .string("x"), .null), { $0.inner.deep.text = nil }),
      (change("maybe", .null, inner(1)), { $0.maybe = Inner() }),
      (change("raw", .string("guest"), .string("owner")), { $0.raw = .owner }),
      (
        change(
          "shape", .record(["circle": .record(["radius": .double(1)])]),
          .record(["square": .record(["side": .double(2)])])),
        { $0.shape = .square(side: 2) }
      ),
    ]
  }

  @Test("Each kind of field is named with its old and its new value, and back again")
  func everyKind() throws {
    let store = try Store.temporary(for: Everything.self)
    var original = Everything()
    try store.save(&original)
    for (expected, change) in cases {
      var record = original
      change(&record)
      #expect(try store.changes(of: record) == [expected])
      #expect(try store.state(of: record) == .changed)
      try store.save(&record)
      #expect(try store.changes(of: record).isEmpty)
      let back = FieldChange(path: expected.path, old: expected.new, new: expected.old)
      #expect(try store.changes(of: original) == [back])
      try store.save(&original)
      #expect(try store.state(of: original) == .unchanged)
    }
  }

  @Test("All changes together come in the order of the fields")
  func allAtOnce() throws {
    let store = try Store.temporary(for: Everything.self)
    var record = Everything()
    try store.save(&record)
    var expected: [FieldChange] = []
    for (change, apply) in cases where change.path != ["inner", "deep", "text"] {
      apply(&record)
      expected.append(change)
    }
    let changes = try store.changes(of: record)
    #expect(Set(changes) == Set(expected) && changes.count == expected.count)
    #expect(try store.changes(of: record) == changes)
  }

  @Test("A new record names the fields that have a value, without an id that it does not have")
  func newRecords() throws {
    let store = try Fixtures.store()
    let ada = Person(name: "Ada", age: 36)
    let fields = try store.changes(of: ada)
    #expect(Set(fields.map(\.field)) == ["name", "age", "tags", "address", "role"])
    #expect(fields.allSatisfy { $0.old == .null && $0.new != .null })
    let page = Page(id: "a", text: "b")
    #expect(Set(try store.changes(of: page).map(\.field)) == ["id", "text"])
    var gone = ada
    gone.id = 99
    #expect(try store.changes(of: gone).map(\.field).contains("id"))
  }

  @Test("A field that a type stores under another name is named by its property")
  func renamed() throws {
    let store = try Fixtures.store()
    var ada = Person(name: "Ada", address: .init(street: "s", city: "London"))
    try store.save(&ada)
    ada.name = "Augusta"
    ada.address.city = "Paris"
    let changes = try store.changes(of: ada)
    #expect(Set(changes.map(\.field)) == ["name", "address.city"])
    #expect(changes.first { $0.field == "address.city" }?.old == .string("London"))
  }

  @Test("A type that writes its fields by hand names what it writes")
  func handWritten() throws {
    struct Hand: Record {
      var id = RecordID<Hand>()
      var values: [String: Int] = [:]
      struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
      }
      init() {}
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(RecordID<Hand>.self, forKey: Key("id"))
        for key in container.allKeys where key.stringValue != "id" {
          values[key.stringValue] = try container.decode(Int.self, forKey: key)
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: Key("id"))
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
          try container.encode(value, forKey: Key(key))
        }
      }
    }
    let store = try Store.temporary(for: Hand.self)
    var hand = Hand()
    hand.values = ["a": 1, "b": 2]
    try store.save(&hand)
    #expect(try store.state(of: hand) == .unchanged)
    hand.values = ["a": 1, "b": 3, "c": 4]
    #expect(Set(try store.changes(of: hand).map(\.field)) == ["b", "c"])
    hand.values = ["b": 2]
    #expect(try store.changes(of: hand) == [FieldChange(path: ["a"], old: .int(1), new: .null)])
  }
}
