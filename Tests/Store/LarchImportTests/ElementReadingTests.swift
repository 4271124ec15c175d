import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Users of the public API found that an element was imported without a part of its contents, or
/// that an error did not name the place.
@Suite("An element is read completely, or the report names the keys that were not")
struct ElementReadingTests {
  struct Member: Record, Equatable {
    var id = RecordID<Member>()
    var name: String
    var nickname: String?
    var level: Int?
    var home: Place?

    struct Place: Codable, Hashable, Sendable { var city: String }

    static let schema = Schema<Member> {
      Default(\.nickname, "nobody")
      Default(\.level, 1)
      Default(\.home, Place(city: "Oslo"))
    }
  }

  @Test("A missing key gets the default of an optional property; null is nil")
  func optionalDefaults() throws {
    try Store.scratch(Member.self) { store throws in
      let text = """
        {"name":"a"}
        {"name":"b","nickname":null,"level":null,"home":null}
        {"name":"c","nickname":"cc","level":7,"home":{"city":"Rome"}}
        """
      try store.importJSON(Member.self, from: .text(text))
      let members = try store.everything(Member.self)
      #expect(members.map(\.nickname) == ["nobody", nil, "cc"])
      #expect(members.map(\.level) == [1, nil, 7])
      #expect(members.map(\.home?.city) == ["Oslo", nil, "Rome"])
      // An element replaces a record: missing fields get their defaults again.
      try store.importJSON(Member.self, from: .text(#"[{"id":3,"name":"d"}]"#))
      #expect(try store.find(Member.self, 3)?.nickname == "nobody")
      // A merge keeps the other fields of the record, even nil.
      let merged = #"[{"id":2,"name":"e"},{"name":"f"}]"#
      try store.importJSON(Member.self, from: .text(merged), existing: .merge)
      let kept = try #require(try store.find(Member.self, 2))
      #expect(kept.name == "e" && kept.nickname == nil && kept.level == nil && kept.home == nil)
      #expect(try store.find(Member.self, 4)?.level == 1)
    }
  }

  @Test("A nil is exported and imported as nil even if the default is another value")
  func exportedNil() throws {
    try Store.scratch(Member.self) { store throws in
      try store.insertAll([Member(name: "a"), Member(name: "b", level: 3)])
      let before = try store.everything(Member.self)
      #expect(before.map(\.home) == [nil, nil])
      let text = try store.json(of: Member.all)
      try store.erase(Member.self)
      try store.importJSON(Member.self, from: .data(text))
      #expect(
        try store.everything(Member.self) == before, "\(String(decoding: text, as: UTF8.self))")
    }
  }

  struct Wide: Record, Equatable {
    var id: Int
    var signed: Int128
    var unsigned: UInt128
    var maybe: Int128?
    var list: [UInt128] = []
    var inner: [Inner] = []

    struct Inner: Codable, Equatable, Sendable { var value: Int128 }
  }

  @Test("Integers of 128 bits are read as they are written")
  func wideIntegers() throws {
    try Store.scratch(Wide.self) { store throws in
      let all = [
        Wide(id: 1, signed: .min, unsigned: .max, maybe: .max, list: [0, .max]),
        Wide(id: 2, signed: .max, unsigned: 0, maybe: nil, inner: [Wide.Inner(value: .min)]),
      ]
      try store.insertAll(all)
      let text = try store.json(of: Wide.all)
      try store.erase(Wide.self)
      try store.importJSON(Wide.self, from: .data(text))
      #expect(try store.everything(Wide.self) == all)
      try store.importJSON(
        Wide.self, from: .text(#"[{"id":1,"signed":5,"unsigned":6}]"#), existing: .merge)
      #expect(try store.find(Wide.self, 1)?.signed == 5)
    }
  }

  struct Narrow: Record {
    var id: Int
    var byte: Int8 = 0
    var bytes: [UInt8] = []
    var float: Float = 0
    var double: Double?
    var inner: Inner?
    var inners: [Inner] = []
    var table: [String: Int16] = [:]
    var wide: Int128 = 0

    struct Inner: Codable, Sendable { var number: Int32 }

    static let schema = Schema<Narrow> {
      Default(\.byte, 0)
      Default(\.bytes, [])
      Default(\.float, 0)
      Default(\.inners, [])
      Default(\.table, [:])
      Default(\.wide, 0)
    }
  }

  @Test(
    "An error for a number that does not fit has its field, its value and its type",
    arguments: [
      (#""byte":300"#, "byte", "300", "Int8"), (#""byte":1.5"#, "byte", "1.5", "Int8"),
      (#""bytes":[1,256]"#, "bytes.1", "256", "UInt8"),
      (#""float":1e40"#, "float", "", "Float"), (#""double":1e400"#, "double", "", "Double"),
      (#""inner":{"number":3000000000}"#, "inner.number", "3000000000", "Int32"),
      (
        #""inners":[{"number":1},{"number":-3000000000}]"#, "inners.1.number", "-3000000000",
        "Int32"
      ),
      (#""table":{"a":1,"b":40000}"#, "table.b", "40000", "Int16"),
      (
        #""wide":170141183460469231731687303715884105728"#, "wide",
        "170141183460469231731687303715884105728", "Int128"
      ),
      (#""byte":"x""#, "byte", "", "Int8"),
    ])
  func numbersThatDoNotFit(_ field: String, _ path: String, _ value: String, _ type: String) throws
  {
    try Store.scratch(Narrow.self) { store throws in
      let report = try store.importJSON(
        Narrow.self, from: .text("{\"id\":1,\(field)}\n{\"id\":2}\n"), onError: .skip)
      #expect(report.inserted == 1)
      let failure = try #require(report.failures.first)
      #expect(failure.keyword == "element_mismatch" && failure.field == path, "\(failure)")
      let detail = (failure.reason as? LarchError)?.context.detail ?? ""
      #expect(detail.contains(type) && (value.isEmpty || detail.contains(value)), "\(detail)")
    }
  }

  struct Label: Record, Equatable {
    var id: String
    static let pages = HasMany<Label, Page>(\.labels, onDelete: .nullify)
    static let schema = Schema<Label> { pages }
  }

  struct Page: Record, Equatable {
    var id: Int
    var labels: [Label.ID]
    var others: Set<Label.ID> = []
    var words: [String] = []

    static let all2 = HasMany<Page, Label>(in: \.others)
    static let schema = Schema<Page> {
      all2
      Default(\.others, [])
      Default(\.words, [])
    }
  }

  @Test("Null is an empty list only for the ids of an association")
  func nullLists() throws {
    try Store.scratch(Page.self, Label.self) { store throws in
      let text = """
        {"id":1,"labels":null,"others":null}
        {"id":2,"labels":[]}
        {"id":3,"labels":[],"words":null}
        {"id":4}
        {"id":5,"labels":[null]}
        """
      let report = try store.importJSON(Page.self, from: .text(text), onError: .skip)
      #expect(report.inserted == 2)
      #expect(report.failures.map(\.field) == ["words", "labels", "labels.0"])
      #expect(
        try store.everything(Page.self) == [Page(id: 1, labels: []), Page(id: 2, labels: [])])
      let merged = #"[{"id":2,"labels":null}]"#
      #expect(
        try store.importJSON(Page.self, from: .text(merged), existing: .merge).unchanged == 1)
    }
  }
}
