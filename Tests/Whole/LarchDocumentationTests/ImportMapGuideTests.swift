import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of import maps in docs/active-record.md.

private struct Label: Record {
  var id = RecordID<Label>()
  var name: String
  var city: String?

  static let schema = Schema<Label> { Unique(\.name) }
}

private struct Song: Record {
  var id = RecordID<Song>()
  var title: String
  var singerID: Singer.ID?

  static let schema = Schema<Song> { Unique(\.title) }
}

private struct Singer: Record {
  var id = RecordID<Singer>()
  var name: String
  var email: String?
  var phone: String?
  var born: Date?
  var country: String
  var labelID: Label.ID?

  static let label = BelongsTo<Singer, Label>(\.labelID)
  static let songs = HasMany<Singer, Song>(\.singerID)
  static let schema = Schema<Singer> {
    label
    songs
    Unique(\.email)
  }
}

private struct Genre: Record {
  var id = RecordID<Genre>()
  var name: String
  var parentID: Genre.ID?

  static let kinds = HasMany<Genre, Genre>(\.parentID)
  static let schema = Schema<Genre> {
    kinds
    Unique(\.name)
  }

  // snippet: active-import-tree
  static let tree: ImportMap<Genre> = ImportMap {
    Linked(Genre.kinds, from: "kinds", by: \.name, map: tree)
  }
  // end snippet
}

@Suite("Import maps of the guide")
struct ImportMapGuideTests {
  @Test("A map takes other keys and linked objects")
  func map() throws {
    let folder = try TemporaryFolder()
    let file = folder.path("singers.jsonl")
    try Data(
      """
      {"full_name": "Eva Berg", "mail": "eva@music.example", "phones": [{"number": 5551234}], "birthday": "1990-02-03", "label": {"name": "Nord", "town": "Oslo", "www": "x"}, "songs": ["Snow", {"title": "Rain"}]}
      {"full_name": "Bo", "retired": true}
      """.utf8
    ).write(to: URL(filePath: file))
    let store = try Store.temporary(for: Singer.self, Label.self, Song.self)
    // snippet: active-import-map
    let labels = ImportMap<Label> {
      Mapped(\.city, from: "town")
    }
    let singers = ImportMap<Singer> {
      Mapped(\.name, from: "full_name")
      Mapped(\.email, from: "contact.mail", "mail")  // the first that has a value
      Mapped(\.phone, from: "phones.0.number", coercing: true)  // a number may stand for the text
      Mapped(\.born, from: "birthday", date: .format("yyyy-MM-dd"))
      Mapped(\.country, from: "country", default: "NO")
      Linked(Singer.label, from: "label", by: \.name, map: labels)  // an object, or a name
      Linked(Singer.songs, from: "songs", by: \.title)
      WillImport { element in
        if element["retired"] == true { throw ImportSkip("retired") }
      }
    }

    let report = try store.importJSON(
      Singer.self, from: .file(file), map: singers, matching: \.email)
    print(report)  // 1 inserted, …, 1 values under unknown keys (label.www), …
    print(report.coercedKeys)  // ["phones.0.number": 1]
    for omission in report.omissions {
      print("line \(omission.line): \(omission.reason)")  // line 2: retired
    }
    // end snippet
    #expect(
      report.description.hasPrefix(
        "1 inserted, 0 updated, 0 unchanged, 0 skipped, 1 values under unknown keys (label.www), "))
    #expect(report.related["Song"]?.inserted == 2)
    #expect(report.coercedKeys == ["phones.0.number": 1])
    #expect(report.omissions.map { "line \($0.line): \($0.reason)" } == ["line 2: retired"])
    let eva = try #require(try store.fetch(Singer.all).first)
    #expect(eva.phone == "5551234" && eva.country == "NO")
    #expect(eva.born == Date(timeIntervalSince1970: 634_003_200))
    #expect(try store.fetch(eva.related(Singer.label)).map(\.city) == ["Oslo"])
    #expect(try store.count(eva.related(Singer.songs)) == 2)
  }

  @Test("A map that contains itself reads a tree")
  func tree() throws {
    let store = try Store.temporary(for: Genre.self)
    try store.importJSON(
      Genre.self,
      from: .text(#"[{"name":"jazz","kinds":["bop",{"name":"swing","kinds":["big band"]}]}]"#),
      map: Genre.tree)
    #expect(try store.count(Genre.all) == 4)
    #expect(try store.count(Genre.where { $0.parentID == nil }) == 1)
  }
}
