import Foundation
import Testing

@testable import Larch

extension NamingSamples {
  @Suite("Field naming")
  struct FieldNamingTests {
    enum Expected: Sendable {
      case stored([String], as: [String])
      case named(String)
      case unnamed
    }

    struct Row: Sendable, CustomTestStringConvertible {
      let name: String
      let find: @Sendable () -> FieldNaming.Resolution
      let expected: Expected
      var testDescription: String { name }
    }

    static func row<Root: Codable & SendableMetatype, Value>(
      _ name: String, _ keyPath: any KeyPath<Root, Value> & Sendable, _ expected: Expected
    ) -> Row {
      Row(name: name, find: { FieldNaming.storedPath(of: keyPath) }, expected: expected)
    }

    static func stored<Root: Codable & SendableMetatype, Value>(
      _ keyPath: any KeyPath<Root, Value> & Sendable, _ names: String...,
      as properties: [String]? = nil
    ) -> Row {
      row("\(keyPath)", keyPath, .stored(names, as: properties ?? names))
    }

    static let storedRows: [Row] = [
      stored(\Doc.title, "title"),
      stored(\Doc.identifier, "identifier"),
      stored(\Doc.hits, "hits"),
      stored(\Doc.note, "note"),
      stored(\Doc.level, "level"),
      stored(\Doc.flag, "flag"),
      stored(\Doc.otherFlag, "otherFlag"),
      stored(\Doc.small, "small"),
      stored(\Doc.tags, "tags"),
      stored(\Doc.counts, "counts"),
      stored(\Doc.kind, "kind"),
      stored(\Doc.address, "address"),
      stored(\Doc.address.city, "address", "city"),
      stored(\Doc.address.point, "address", "point"),
      stored(\Doc.address.point.x, "address", "point", "x"),
      stored(\Doc.address.point.y, "address", "point", "y"),
      stored(\Doc.other, "other"),
      stored(\Doc.other?.city, "other", "city"),
      stored(\Doc.other?.point.y, "other", "point", "y"),
      stored(\Doc.other?.nickname, "other", "nickname"),
      stored(\Doc.tail, "tail"),
      stored(\Doc.created, "created"),
      stored(\Doc.uuid, "uuid"),
      stored(\Renamed.surname, "last_name", as: ["surname"]),
      stored(\Renamed.place.city, "where", "city", as: ["place", "city"]),
      stored(\Renamed.swapped, "other", as: ["swapped"]),
      stored(\Renamed.other, "swapped", as: ["other"]),
      stored(\Generic<String>.value, "value"),
      stored(\Generic<Int8>.after, "after"),
      stored(\Generic<Doc>.value.address.city, "value", "address", "city"),
      stored(\Generic<Doc?>.value?.other?.city, "value", "other", "city"),
      stored(\Single.only, "only"),
      stored(\Partly.kept, "kept"),
      stored(\Wrapping.plain, "plain"),
      stored(\Observed.plain, "plain"),
      stored(\Lazy.plain, "plain"),
      stored(\Custom.title, "headline", as: ["title"]),
      stored(\FinalClass.name, "name"),
      stored(\FinalClass.address.city, "address", "city"),
      stored(\HoldsClass.author.name, "author", "name"),
      stored(\HoldsClass.author, "author"),
      stored(\HoldsClass.perhaps?.name, "perhaps", "name"),
      stored(\Empties.number, "number"),
      stored(\Hollow.first, "first"),
      stored(\Hollow.first?.code, "first", "code"),
      stored(\Hollow.first?.note, "first", "note"),
      stored(\Hollow.part, "part"),
      stored(\Hollow.part.code, "part", "code"),
      stored(\Hollow.part.note, "part", "note"),
      stored(\Hollow.small, "small"),
      stored(\Hollow.number, "number"),
      stored(\HollowMaybe.maybe, "maybe"),
      stored(\HollowClass.name, "name"),
      stored(\HollowClass.part.code, "part", "code"),
      stored(\Scaled.fraction, "fraction"),
      stored(\Recursive.next, "next"),
      stored(\Unicode.größe, "größe"),
      stored(\Unicode.`class`, "class"),
    ]

    static let computedRows: [Row] = [
      row("computed", \Doc.shout, .unnamed),
      row("computed of a stored one", \Doc.title.count, .unnamed),
      row("computed, same type as the first field", \Doc.titleAgain, .unnamed),
      row("through an optional", \Doc.other?.computedCity, .unnamed),
      row("forced", \Doc.other!.city, .unnamed),
      row("subscript", \Doc.tags[0], .unnamed),
      row("the whole value", \Doc.self, .unnamed),
      row("inside a UUID", \Doc.uuid.uuid, .named("uuid.uuid")),
      row("inside a date", \Doc.created.timeIntervalSinceReferenceDate, .unnamed),
      row("omitted from CodingKeys", \Partly.omitted, .named("omitted")),
      row("wrapped", \Wrapping.wrapped, .unnamed),
      row("observed", \Observed.observed, .unnamed),
      row("member of a tuple", \Tuples.pair.0, .unnamed),
      row("a tuple", \Tuples.pair, .named("pair")),
      row("no memory", \Empties.first, .unnamed),
      row("no memory, beside others", \Hollow.second, .unnamed),
      row("no memory, nested", \Hollow.part.lone, .unnamed),
      row("no memory, through an optional", \Hollow.first?.lone, .unnamed),
      row("no memory, beside its optional", \HollowOuter.inside?.lone, .unnamed),
      row("no memory, in a class", \HollowClass.lone, .unnamed),
      row("open class", \OpenClass.name, .unnamed),
      row("subclass", \Subclass.extra, .unnamed),
      row("coded as one value", \Money.cents, .named("cents")),
      row("inside one coded as one value", \Wallet.money.cents, .named("money.cents")),
      row("coded in a list", \Listed.a, .named("a")),
      row("two sets of keys", \TwoKeys.a, .named("a")),
      row("keys that are a struct", \DynamicKeys.a, .named("a")),
    ]

    @Test("A stored property is found under the names its type writes", arguments: storedRows)
    func storedProperties(row: Row) { check(row) }

    @Test("A property without a stored field never gets one", arguments: computedRows)
    func computedProperties(row: Row) { check(row) }

    @Test("The second answer equals the first, even for an equal key path made at run time")
    func caching() {
      let built = (\Doc.address).appending(path: \.city)
      for _ in 0..<3 {
        #expect(
          FieldNaming.storedPath(of: built)
            == .stored(codingNames: ["address", "city"], propertyNames: ["address", "city"]))
        #expect(FieldNaming.storedPath(of: \Doc.address.city) == FieldNaming.storedPath(of: built))
      }
    }

    private func check(_ row: Row) {
      let expected: FieldNaming.Resolution =
        switch row.expected {
        case .stored(let names, let properties):
          .stored(codingNames: names, propertyNames: properties)
        case .named(let name): .computed(printableName: name)
        case .unnamed: .computed(printableName: nil)
        }
      for _ in 0..<2 { #expect(row.find() == expected) }
    }
  }

  @Suite("Type layout")
  struct TypeLayoutTests {
    @Test("The runtime answers as this version of Larch expects")
    func trusted() { #expect(Reflection.isTrusted) }

    @Test("Offsets are the compiler's")
    func offsets() throws {
      let layout = try #require(TypeLayout(ofStruct: Doc.self))
      let offsets = Dictionary(uniqueKeysWithValues: layout.fields.map { ($0.name, $0.offset) })
      #expect(offsets["title"] == MemoryLayout<Doc>.offset(of: \.title))
      #expect(offsets["note"] == MemoryLayout<Doc>.offset(of: \.note))
      #expect(offsets["otherFlag"] == MemoryLayout<Doc>.offset(of: \.otherFlag))
      #expect(offsets["tail"] == MemoryLayout<Doc>.offset(of: \.tail))
      #expect(layout.fields.count == 17)
    }

    @Test("Types that reflection cannot describe have no layout")
    func withoutLayout() {
      #expect(TypeLayout(ofStruct: Weak.self) == nil)
      #expect(TypeLayout(ofStruct: Level.self) == nil)
      #expect(TypeLayout(ofStruct: (Int, Int).self) == nil)
      #expect(TypeLayout(ofStruct: Int?.self) == nil)
      #expect(TypeLayout(ofStruct: FinalClass.self) == nil)
      #expect(TypeLayout(ofClass: Subclass.self) == nil)
      #expect(TypeLayout(of: (@Sendable () -> Void).self) == nil)
      #expect(TypeLayout(of: (any Error).self) == nil)
    }

    @Test("Hidden storage has its own name, never that of the property")
    func hiddenStorage() throws {
      let wrapping = try #require(TypeLayout(ofStruct: Wrapping.self))
      #expect(wrapping.fields.map(\.name) == ["plain", "_wrapped"])
      let lazy = try #require(TypeLayout(ofStruct: Lazy.self))
      #expect(lazy.field(named: "late") == nil)
    }

    struct Weak { weak var object: FinalClass? }
  }

  @Suite("CodingKeys probe")
  struct CodingKeysProbeTests {
    @Test("Property names and coding names are distinguished")
    func renamed() {
      #expect(
        TypeProbe.keys(of: Renamed.self)?.cases == [
          .init(propertyName: "surname", key: "last_name", codingName: "last_name"),
          .init(propertyName: "place", key: "where", codingName: "where"),
          .init(propertyName: "swapped", key: "other", codingName: "other"),
          .init(propertyName: "other", key: "swapped", codingName: "swapped"),
        ])
      #expect(TypeProbe.keys(of: Single.self)?.cases.map(\.propertyName) == ["only"])
      #expect(TypeProbe.keys(of: Generic<Doc>.self)?.cases.count == 2)
    }

    @Test("Types without one set of plain keys have none")
    func without() {
      #expect(TypeProbe.keys(of: Int.self) == nil)
      #expect(TypeProbe.keys(of: [Doc].self) == nil)
      #expect(TypeProbe.keys(of: Level.self) == nil)
      #expect(TypeProbe.keys(of: DynamicKeys.self) == nil)
      #expect(TypeProbe.keys(of: TwoKeys.self) == nil)
      #expect(TypeProbe.keys(of: Clashing.self) == nil)
    }
  }
}
