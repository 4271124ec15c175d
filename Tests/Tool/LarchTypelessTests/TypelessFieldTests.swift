import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Names, kinds and indexes as queries without types find them in a file.
@Suite struct TypelessFieldTests {
  /// What each of these finds in a store.
  private func find(
    _ texts: [String], in store: Store, _ name: String
  ) throws -> [[String]] {
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first { $0.name == name })
      return try texts.map { text in
        var ids: [String] = []
        try inspector.query(text, in: collection).forEachID { id in
          ids.append(id)
          return true
        }
        return ids
      }
    }
  }

  private func indexes(of name: String, in store: Store) throws -> [String] {
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first { $0.name == name })
      return try inspector.typeless(collection).indexes.map(\.schema.name).sorted()
    }
  }

  // MARK: Mistakes

  @Test(arguments: [
    (
      "numbr = 1", 1,
      "there is no field \"numbr\"; did you mean \"number\"? (fields: blob, day, extra,"
    ),
    ("flag and TEXT = 'x'", 10, "did you mean \"text\"?"),
    ("city = 'Oslo'", 1, "did you mean \"extra.city\"?"),
    ("place.town = 'x'", 1, "there is no field \"place.town\""),
    ("number.x = 1", 1, "there is no field \"number.x\""),
    ("number = 'x'", 10, "\"number\" is an int64: expected a number, found \"'x'\""),
    ("number = true", 10, "expected a number"),
    ("number < nil", 10, "nil has no order"),
    ("number between nil and 3", 16, "expected a number"),
    ("text = 3", 8, "\"text\" is a string: expected a text in quotes"),
    ("number like 'x'", 8, "only text has this test"),
    ("link begins with 'x'", 6, "only text has this test"),
    ("text like 3", 11, "expected a text in quotes"),
    ("flag = 1", 8, "expected true or false"),
    ("number", 1, "is not a bool"),
    ("key = 'x'", 7, "a UUID in quotes"),
    ("day = 'x'", 7, "a date such as"),
    ("blob = 'not base64!'", 8, "base64 in quotes"),
    ("blob = 0x123", 8, "bytes such as"),
    ("real = 1e400", 8, "is greater than every double"),
    ("ratio = 1e39", 9, "is greater than every float"),
    ("price = 'x'", 9, "\"price\" is a decimal: expected a number that a Decimal can hold"),
    ("price < 1e400", 9, "expected a number that a Decimal can hold"),
    ("huge = 'x'", 8, "is of kind int128: expected a number"),
    (
      "place = 'x'", 1,
      "has fields of its own: expected one of them (fields: place.city, place.zip)"
    ),
    ("text has 'x'", 6, "is not a list"),
    ("number = text", 10, "have different kinds"),
    ("text = London", 8, "there is no field \"London\""),
    ("order by tags", 10, "cannot be used for sorting"),
    ("order by huge", 10, "cannot be used for sorting"),
    ("order by number ignoring case", 10, "is not text"),
    ("id = 'x'", 6, "\"id\" is an int64"),
  ])
  func aMistakeNamesItsPlaceAndWhatWasExpected(text: String, column: Int, message: String) throws {
    let store = try Store.temporary(for: Thing<NoIndexes>.self)
    defer { store.close() }
    try store.inspect { inspector in
      let error = #expect(throws: QueryTextError.self) {
        try inspector.query(text, in: inspector.collections[0])
      }
      #expect(error?.column == column, "\(String(describing: error))")
      #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      #expect(error?.description.contains("\n") == false)
    }
  }

  // MARK: Indexes

  @Test func indexesThatOnlyATypeKnowsAreLeftOut() throws {
    let store = try Store.temporary(for: Keyed.self)
    defer { store.close() }
    #expect(
      try indexes(of: "Keyed", in: store) == [
        "city", "city_level", "named", "owner", "small", "tags",
      ])
  }

  @Test func anIndexThatIsBeingBuiltIsNotAsked() throws {
    let store = try Store.temporary(for: Thing<SingleIndexes>.self)
    defer { store.close() }
    var random = SeededGenerator(seed: 3)
    var thing = random.thing(SingleIndexes.self)
    thing.number = 7
    try store.write { try $0.save(&thing) }
    #expect(try indexes(of: "single", in: store).contains("number"))
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(in: transaction)
      var entry = try #require(try storage.collections(in: transaction).first)
      let place = try #require(entry.indexes.firstIndex { $0.name == "number" })
      entry.indexes[place].state = .building
      try storage.set(entry, in: transaction)
    }
    #expect(try !indexes(of: "single", in: store).contains("number"))
    #expect(try find(["number = 7"], in: store, "single") == [["1"]])
  }

  @Test func aDefaultStandsInNoAnswerWithoutTypes() throws {
    let folder = try TemporaryFolder()
    try makeOld(in: folder)
    let store = try Store(at: folder.path("a.larch"), for: NewBook.self)
    defer { store.close() }
    var book = NewBook(title: "new", level: 3, city: "Oslo")
    try store.write { try $0.save(&book) }
    // The type reads older records with the default and the older name.
    #expect(try store.count(NewBook.where { $0.level == 3 }) == 3)
    #expect(try store.count(NewBook.where { $0.city == "Oslo" }) == 2)
    // Its indexes have entries for these, so they are not used.
    #expect(try indexes(of: "Book", in: store) == ["title"])
    #expect(
      try find(
        [
          "level = 3", "level is nil", "city = 'Oslo'", "town = 'Oslo'", "title = 'new'",
          "level < 9",
        ],
        in: store, "Book") == [["3"], ["1", "2"], ["3"], ["1"], ["3"], ["3"]])
  }

  @Test func anIndexWithADefaultIsAskedWhereEveryRecordHasTheField() throws {
    let store = try Store.temporary(for: NewBook.self)
    defer { store.close() }
    #expect(try indexes(of: "Book", in: store) == ["city", "level", "title"])
  }

  @Test func aWidenedFieldIsReadInAllRecords() throws {
    let folder = try TemporaryFolder()
    let old = try Store(at: folder.path("a.larch"), for: Narrow.self)
    try old.write { tx in
      for value in [1, 2, 3] as [Int16] {
        var record = Narrow(value: value)
        try tx.save(&record)
      }
    }
    old.close()
    let store = try Store(at: folder.path("a.larch"), for: Wide.self)
    defer { store.close() }
    var record = Wide(value: 1 << 40)
    try store.write { try $0.save(&record) }
    let texts = ["value >= 2", "value = 1", "value < 3 order by value desc", "value > 3"]
    #expect(
      try find(texts, in: store, "Number") == [["2", "3", "4"], ["1"], ["2", "1"], ["4"]])
  }

  private func makeOld(in folder: TemporaryFolder) throws {
    let store = try Store(at: folder.path("a.larch"), for: OldBook.self)
    defer { store.close() }
    try store.write { tx in
      for town in ["Oslo", "Lyon"] {
        var book = OldBook(title: "old", town: town)
        try tx.save(&book)
      }
    }
  }

  // MARK: Files that tell less

  @Test func aFileThatDoesNotKnowItsFieldsIsAskedByWhatItsRecordsSay() throws {
    var options = Store.Options()
    options.evolution = .off
    let store = try Store.temporary(for: Thing<SingleIndexes>.self, options: options)
    defer { store.close() }
    var random = SeededGenerator(seed: 21)
    try store.write { tx in
      for _ in 0..<100 {
        var thing = random.thing(SingleIndexes.self)
        try tx.save(&thing)
      }
    }
    let all = try store.fetch(Thing<SingleIndexes>.all)
    var asked = 0
    for _ in 0..<200 {
      let filter = RandomFilter<SingleIndexes>.random(&random, depth: 3)
      // A comparison with another field needs kinds.
      if filter.text.contains("= maybe") || filter.text.contains("< maybe")
        || filter.text.contains("= note") || filter.text.contains("!= maybeReal")
        || filter.text.contains(">= place.city") || filter.text.contains("= extra.zip")
      {
        continue
      }
      asked += 1
      #expect(
        try find([filter.text], in: store, "single")
          == [all.filter(filter.matches).map { "\($0.id)" }], "\(filter.text)")
    }
    #expect(asked > 100)
  }

  // MARK: Ids

  @Test func idsOfEveryKindAreFound() throws {
    let store = try Store.temporary(
      for: Named.self, Numbered.self, Unsigned.self, Marked.self)
    defer { store.close() }
    let uuid = Values.keys[2]
    try store.write { tx in
      func save(_ record: some Record) throws {
        var record = record
        try tx.save(&record)
      }
      for id in ["b", "a", "\u{E9}", "ab"] { try save(Named(id: id)) }
      for id in [-5, 0, 7] as [Int32] { try save(Numbered(id: id)) }
      for id in [0, UInt64.max] { try save(Unsigned(id: id)) }
      for id in Values.keys { try save(Marked(id: id)) }
    }
    #expect(
      try find(
        [
          "id = 'e\u{301}'", "id begins with 'a'", "id < 'b' order by id desc", "id like '_'",
          "id in ('b', 'zz')",
        ], in: store, "Named")
        == [["\u{E9}"], ["a", "ab"], ["ab", "a"], ["a", "b", "\u{E9}"], ["b"]])
    #expect(
      try find(["id < 0", "id >= -5", "id = 99999999999", "id is nil"], in: store, "Numbered")
        == [["-5"], ["-5", "0", "7"], [], []])
    #expect(
      try find(["id > 0", "id < 0.5", "id = -1"], in: store, "Unsigned")
        == [["18446744073709551615"], ["0"], []])
    #expect(
      try find(["id = '\(uuid)'", "id > '\(uuid)'"], in: store, "Marked")
        == [["\(uuid)"], Values.keys.dropFirst(3).map { "\($0)" }])
    try store.inspect { inspector in
      func json(_ id: String, _ name: String) throws -> String? {
        let collection = try #require(inspector.collections.first { $0.name == name })
        var json: String?
        let isThere = try inspector.withRecord(id: id, in: collection) { json = try $0.json() }
        #expect(isThere == (json != nil))
        return json
      }
      #expect(try json("e\u{301}", "Named")?.contains("\"name\":\"n\"") == true)
      #expect(try json("nobody", "Named") == nil)
      #expect(try json("-5", "Numbered") == "{\"id\":-5,\"name\":\"n\"}")
      #expect(try json("18446744073709551615", "Unsigned") != nil)
      #expect(try json("\(uuid)".lowercased(), "Marked") != nil)
      for (id, name) in [("x", "Numbered"), ("-1", "Unsigned"), ("x", "Marked"), ("", "Marked")] {
        do {
          _ = try json(id, name)
          Issue.record("\(id) is an id of \(name)")
        } catch let error as LarchError {
          #expect(error.code == .invalidQuery)
        }
      }
    }
  }
}

// MARK: - Records

private struct Level: Codable, Sendable, IndexKey {
  var number: Int
  var indexValue: Int { number }
}

private struct Keyed: Record {
  var id = RecordID<Self>()
  var city: String
  var level: Int
  var rank: Level
  var small: UInt8
  var tags: Set<String>
  var owner: RecordID<Self>?

  var length: Int { city.count }

  static let schema = Schema<Self> {
    Index(\.city)
    Index(\.city, \.level)
    Index(\.rank)
    Index(\.small)
    Index(\.tags)
    Index(\.owner)
    Index(\.level, name: "named")
    Index(\.length, name: "length")
    Index(\.city, \.length, name: "city.length")
    Index(\.level, name: "great", where: { $0.level > 9 })
    Index(\.id, \.city)
  }
}

private struct OldBook: Record {
  var id = RecordID<Self>()
  var title: String
  var town: String

  static let collectionName = "Book"
  static let schema = Schema<Self> { Index(\.title) }
}

private struct NewBook: Record {
  var id = RecordID<Self>()
  var title: String
  var level: Int
  var city: String

  static let collectionName = "Book"
  static let schema = Schema<Self> {
    Index(\.title)
    Index(\.level)
    Index(\.city)
    Default(\.level, 3)
    Renamed(\.city, from: "town")
  }
}

private struct Narrow: Record {
  var id = RecordID<Self>()
  var value: Int16

  static let collectionName = "Number"
  static let schema = Schema<Self> { Index(\.value) }
}

private struct Wide: Record {
  var id = RecordID<Self>()
  var value: Int

  static let collectionName = "Number"
  static let schema = Schema<Self> { Index(\.value) }
}

private struct Named: Record {
  var id: String
  var name = "n"
}

private struct Numbered: Record {
  var id: Int32
  var name = "n"
}

private struct Unsigned: Record {
  var id: UInt64
  var name = "n"
}

private struct Marked: Record {
  var id: UUID
  var name = "n"
}

/// A folder that is deleted at the end.
final class TemporaryFolder {
  private let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path }
}
