import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Tests that ignore case and diacritics, and beginnings of data.
@Suite("Texts without case and diacritics")
struct DiacriticTests {
  @Test func `marks of Latin, Greek and Cyrillic letters do not count, and those of others do`()
    throws
  {
    struct Word: Record, Equatable {
      var id: Int
      var text: String
    }
    let equal = [
      ("jose", "José"), ("jose", "JOSE\u{301}"), ("strasse", "Straße"), ("ё", "Е"), ("й", "И"),
      ("άλφα", "ΑΛΦΑ"), ("σας", "ΣΑΣ"), ("Ⓐ", "ⓐ"), ("e\u{200D}\u{301}", "e\u{200D}"), ("Å", "a"),
      ("i\u{307}", "İ"), ("ﬁ", "FI"), ("x\u{336}", "x"),
    ]
    let different = [
      ("o", "ø"), ("l", "ł"), ("i", "ı"), ("か", "が"), ("א", "אָ"), ("के", "क"), ("a b", "ab"),
      ("a", "ä b"),
    ]
    let store = try Store.checked(for: Word.self)
    for (a, b) in equal + different {
      let isEqual = equal.contains { $0 == a && $1 == b }
      try store.saveAll([Word(id: 1, text: a), Word(id: 2, text: b)])
      for text in [a, b] {
        let query = Word.where { $0.text.equals(text, options: .caseAndDiacriticInsensitive) }
        #expect(try store.count(query) == (isEqual ? 2 : 1), "\(a) \(b)")
      }
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `without case is coarser than the text, and without diacritics is coarser still`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<4000 {
      let text = Localized.text(&random)
      let plain = TextForm.caseAndDiacriticInsensitive.folded(text)
      #expect(
        TextForm.caseAndDiacriticInsensitive.folded(plain) == plain, "\(text.debugDescription)")
      let lower = TextForm.caseInsensitive.folded(text)
      #expect(
        TextForm.caseAndDiacriticInsensitive.folded(lower) == plain, "\(text.debugDescription)")
    }
  }

  /// A micro sign keeps its marks and is folded to a letter that loses them: keys of an index, which are
  /// folded, were folded again.
  @Test func `an index finds what a scan finds where a folded text could be folded further`() throws
  {
    struct Unit: Record {
      var id: Int
      var name: String
      static let schema = Schema<Unit> { Index(\.name, options: .caseAndDiacriticInsensitive) }
    }
    struct Bare: Record {
      var id: Int
      var name: String
    }
    let store = try Store.checked(for: Unit.self, Bare.self)
    let names = ["\u{B5}\u{301}m", "\u{3BC}m", "\u{B5}m", "\u{345}\u{301}x", "\u{3B9}x"]
    try store.saveAll(names.enumerated().map { Unit(id: $0, name: $1) })
    try store.saveAll(names.enumerated().map { Bare(id: $0, name: $1) })
    for text in ["\u{B5}\u{301}", "\u{3BC}", "\u{B5}", "\u{345}", "\u{3B9}", "m", "x"] {
      let options = TextOption.caseAndDiacriticInsensitive
      #expect(
        try store.ids(Unit.where { $0.name.hasPrefix(text, options: options) })
          == store.ids(Bare.where { $0.name.hasPrefix(text, options: options) }),
        "\(text.debugDescription)")
      #expect(
        try store.ids(Unit.where { $0.name.contains(text, options: options) })
          == store.ids(Bare.where { $0.name.contains(text, options: options) }),
        "\(text.debugDescription)")
    }
  }

  private func check<T: NamedThing>(_ type: T.Type, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let things = (0..<150).map { T($0, &random) }
    let store = try Store.checked(for: T.self)
    try store.saveAll(things)
    #expect(try store.verify().isClean)
    var found = 0
    for round in 0..<60 {
      let option: TextOption = round % 2 == 0 ? .caseAndDiacriticInsensitive : .caseInsensitive
      let form = option.form.form
      let source = things[Int(random.next() % UInt64(things.count))]
      let wanted = random.next() % 3 == 0 ? Localized.text(&random) : source.name.uppercased()
      let prefix = String(wanted.prefix(Int(random.next() % 3)))
      func folded(_ text: String) -> String { form.folded(text) }
      func expect(_ query: Query<T>, _ matches: (T) -> Bool) throws {
        let expected = things.filter(matches).map(\.id)
        found += expected.count
        #expect(try store.ids(query) == expected, "\(option) \(wanted.debugDescription)")
        #expect(try store.count(query) == expected.count)
      }
      try expect(T.where { $0.name.equals(wanted, options: option) }) {
        folded($0.name) == folded(wanted)
      }
      try expect(T.where { $0.name.hasPrefix(prefix, options: option) }) {
        folded($0.name).hasPrefix(folded(prefix))
      }
      try expect(T.where { $0.nick.equals(wanted, options: option) }) {
        $0.nick.map { folded($0) == folded(wanted) } ?? false
      }
      try expect(T.where { $0.nick.hasPrefix(prefix, options: option) }) {
        $0.nick.map { folded($0).hasPrefix(folded(prefix)) } ?? false
      }
      try expect(T.where { $0.place.city.contains(prefix, options: option) }) {
        prefix.isEmpty
          || folded($0.place.city).contains(folded(prefix))
            && Array(folded($0.place.city)).contains(Array(folded(prefix)))
      }
      try expect(T.where { $0.name.hasSuffix(prefix, options: option) }) {
        folded($0.name).hasSuffix(folded(prefix))
      }
      try expect(T.where { $0.group == 1 && $0.nick.hasPrefix(prefix, options: option) }) {
        $0.group == 1 && ($0.nick.map { folded($0).hasPrefix(folded(prefix)) } ?? false)
      }
      try expect(T.where { $0.name == wanted }) { $0.name == wanted }
      try expect(T.where { !$0.name.equals(wanted, options: option) }) {
        folded($0.name) != folded(wanted)
      }
    }
    #expect(found > 1000)
    #expect(
      try store.ids(T.all.sorted(by: \.name, options: .caseAndDiacriticInsensitive))
        == things.sorted {
          let a = TextForm.caseAndDiacriticInsensitive.folded($0.name)
          let b = TextForm.caseAndDiacriticInsensitive.folded($1.name)
          let order = compareNFC(a, b)
          return order == 0 ? $0.id < $1.id : order < 0
        }.map(\.id))
  }

  @Test(arguments: [UInt64(1), 2])
  func `without an index the answer is that of an array`(seed: UInt64) throws {
    try check(Localized.Plain.self, seed: seed)
  }

  @Test(arguments: [UInt64(1), 2])
  func `with indexes the answer is that of an array`(seed: UInt64) throws {
    try check(Localized.Indexed.self, seed: seed)
  }

  @Test func `an index without diacritics answers, and also narrows tests that only ignore case`()
    throws
  {
    struct City: Record, Equatable {
      static let schema = Schema<City> { Index(\.name, options: .caseAndDiacriticInsensitive) }
      var id: Int
      var name: String
    }
    let store = try Store.checked(for: City.self)
    try store.saveAll([
      City(id: 1, name: "São Paulo"), City(id: 2, name: "SAO PAULO"), City(id: 3, name: "Oslo"),
    ])
    // In a store with few records the planner reads all of them.
    try store.saveAll((10..<500).map { City(id: $0, name: "Town \($0)") })
    let equal = City.where { $0.name.equals("sao paulo", options: .caseAndDiacriticInsensitive) }
    #expect(try store.ids(equal) == [1, 2])
    #expect(try store.explain(equal) == #"index name_plain ["sao paulo"]"#)
    let prefix = City.where { $0.name.hasPrefix("são", options: .caseAndDiacriticInsensitive) }
    #expect(try store.ids(prefix) == [1, 2])
    let plan = try store.explain(prefix)
    #expect(
      plan == """
        index name_plain ["sao"*]
          key filter name.hasPrefix("são", options: .caseAndDiacriticInsensitive)
          sort by id
        """)
    let caseOnly = City.where { $0.name.equals("SÃO paulo", options: .caseInsensitive) }
    #expect(try store.ids(caseOnly) == [1])
    #expect(try store.explain(caseOnly).contains("index name_plain"))
    #expect(try store.ids(City.where { $0.name == "Oslo" }) == [3])
  }

  @Test func `a unique text without diacritics has one holder, which a look-up finds`() throws {
    struct Member: Record, Equatable {
      static let schema = Schema<Member> { Unique(\.name, options: .caseAndDiacriticInsensitive) }
      var id: Int
      var name: String
    }
    let store = try Store.checked(for: Member.self)
    try store.saveAll([Member(id: 1, name: "José")])
    #expect(caught { try store.saveAll([Member(id: 2, name: "JOSE")]) }?.code == .uniqueConflict)
    let long = String(repeating: "é", count: 200)
    try store.saveAll([Member(id: 3, name: long + "a")])
    try store.saveAll([Member(id: 4, name: long + "b")])
    #expect(
      caught { try store.saveAll([Member(id: 5, name: long + "B")]) }?.code == .uniqueConflict)
    #expect(try store.find(Member.self, by: \.name, equals: "jose")?.id == 1)
    #expect(try store.verify().isClean)
  }

  @Test func `a query as text has the same tests and orders`() throws {
    struct Row: Record, Equatable {
      static let schema = Schema<Row> { Index(\.name, options: .localized("sv")) }
      var id: Int
      var name: String
    }
    let store = try Store.temporary(for: Row.self)
    try store.saveAll(
      ["Öl", "ol", "Åsa", "asa", "Zoe"].enumerated().map { Row(id: $0 + 1, name: $1) })
    func names(_ text: String) throws -> [String] {
      try store.fetch(Row.query(text: text)).map(\.name)
    }
    #expect(try names("order by name localized sv") == ["asa", "ol", "Zoe", "Åsa", "Öl"])
    #expect(try names("order by name localized \"sv-SE\" desc limit 2") == ["Öl", "Åsa"])
    #expect(try names("order by name localized en") == ["asa", "Åsa", "ol", "Öl", "Zoe"])
    #expect(try names("name = \"OL\" ignoring diacritics") == ["Öl", "ol"])
    #expect(try names("name begins with \"ås\" ignoring diacritics") == ["Åsa", "asa"])
    #expect(caught { _ = try names("order by name localized norwegian") }?.code == .invalidQuery)
    #expect(caught { _ = try names("order by id localized sv") }?.code == .invalidQuery)
    #expect(caught { _ = try names("name = \"a\" ignoring") }?.code == .invalidQuery)
  }

  @Test(arguments: [UInt64(1), 2])
  func `data are found by their beginning, with an index and without`(seed: UInt64) throws {
    struct Plain: Record, Equatable {
      var id: Int
      var hash: Data
      var other: Data?
      var both: Data { hash + (other ?? Data()) }
    }
    struct Indexed: Record, Equatable {
      static let schema = Schema<Indexed> {
        Index(\.hash)
        Index(\.other)
      }
      var id: Int
      var hash: Data
      var other: Data?
    }
    var random = SeededGenerator(seed: seed)
    func data() -> Data {
      let length = random.next() % 20 == 0 ? 200 : Int(random.next() % 4)
      return Data((0..<length).map { _ in [0, 1, 0xFE, 0xFF][Int(random.next() % 4)] })
    }
    let plain = try Store.checked(for: Plain.self)
    let indexed = try Store.checked(for: Indexed.self)
    let things = (0..<120).map {
      Plain(id: $0, hash: data(), other: random.next() % 4 == 0 ? nil : data())
    }
    try plain.saveAll(things)
    try indexed.saveAll(things.map { Indexed(id: $0.id, hash: $0.hash, other: $0.other) })
    for round in 0..<60 {
      let prefix = round == 0 ? Data() : round == 1 ? Data([0xFF, 0xFF]) : data().dropFirst()
      let expected = things.filter { $0.hash.starts(with: prefix) }.map(\.id)
      let others = things.filter { $0.other?.starts(with: prefix) ?? false }.map(\.id)
      #expect(try plain.ids(Plain.where { $0.hash.starts(with: prefix) }) == expected)
      #expect(try plain.ids(Plain.where { $0.other.starts(with: prefix) }) == others)
      #expect(
        try plain.ids(Plain.where { $0.both.starts(with: prefix) })
          == things.filter { $0.both.starts(with: prefix) }.map(\.id))
      #expect(try indexed.ids(Indexed.where { $0.hash.starts(with: prefix) }) == expected)
      #expect(try indexed.ids(Indexed.where { $0.other.starts(with: prefix) }) == others)
      #expect(
        try plain.ids(Plain.where { !$0.other.starts(with: prefix) })
          == things.map(\.id).filter { !others.contains($0) })
    }
    #expect(
      try indexed.explain(Indexed.where { $0.hash.starts(with: Data([1])) }).contains(
        "index hash ["))
  }
}
