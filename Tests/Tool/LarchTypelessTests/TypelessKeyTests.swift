import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Index keys from the catalog and the bytes of records, which every reader without types uses.
@Suite struct TypelessKeyTests {
  /// Names that are ambiguous in the text of a definition.
  private struct Odd: Record {
    enum CodingKeys: String, CodingKey {
      case id, name
      case folded = "~name"
      case dotted = "a.b"
      case a
    }
    struct Inner: Codable, Sendable { var b: String }

    var id: Int
    var name: String
    var folded: String
    var dotted: String
    var a: Inner

    static let schema = Schema<Self> {
      Index(\.folded)
      Index(\.dotted)
      Index(\.name)
    }
  }

  @Test func aNameThatADefinitionReadsAsAnotherIsLeftToTheProgram() throws {
    let store = try Store.temporary(for: Odd.self)
    defer { store.close() }
    try store.write { tx in
      var odd = Odd(id: 1, name: "Name", folded: "Folded", dotted: "dotted", a: .init(b: "inner"))
      try tx.save(&odd)
    }
    let before = try store.dump()
    let found = try store.verifyWithoutTypes()
    #expect(found.report.isClean, "\(found.report)")
    #expect(found.unproved.map(\.index) == ["dotted", "folded"])
    _ = try store.rebuildWithoutTypes()
    #expect(TextDifference.between(expected: before, actual: try store.dump()) == nil)
  }

  /// The stored value differs from the property.
  private struct Secret: Record {
    enum CodingKeys: CodingKey { case id, word }

    var id: Int
    var word: String

    init(id: Int, word: String) {
      self.id = id
      self.word = word
    }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      id = try values.decode(Int.self, forKey: .id)
      word = String(try values.decode(String.self, forKey: .word).reversed())
    }

    func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: CodingKeys.self)
      try values.encode(id, forKey: .id)
      try values.encode(String(word.reversed()), forKey: .word)
    }

    static let schema = Schema<Self> { Index(\.word, name: "word") }
  }

  @Test func aQueryAsTextSeesWhatIsStoredWhicheverIndexesThereAre() throws {
    let store = try Store.temporary(for: Secret.self)
    defer { store.close() }
    try store.write { tx in
      for (id, word) in ["ab", "ba", "cd"].enumerated() {
        var secret = Secret(id: id, word: word)
        try tx.save(&secret)
      }
    }
    #expect(try store.count(Secret.where { $0.word == "ab" }) == 1)
    try store.inspect { inspector in
      let query = try inspector.query("word = 'ab'", in: inspector.collections[0])
      var found: [String] = []
      try query.forEachID {
        found.append($0)
        return true
      }
      var scanned: [String] = []
      try query.forEachByFullScan { scanned.append($0) }
      #expect(found == ["1"])
      #expect(scanned == found)
    }
    #expect(try store.verifyWithoutTypes().unproved.map(\.index) == ["word"])
  }

  private struct OldNote: Record {
    static let collectionName = "Note"
    var id: Int
    var tags: [String]?
    var place: Place?
    struct Place: Codable, Sendable { var city: String? }
  }

  private struct Note: Record {
    static let collectionName = "Note"
    var id: Int
    var tags: [String]
    var place: OldNote.Place

    static let schema = Schema<Self> {
      Index(\.tags)
      Index(\.place.city)
      Default(\.tags, ["none"])
      Default(\.place, .init(city: "Oslo"))
    }
  }

  @Test func aDefaultThatStandsForAStoredNilIsLeftToTheProgram() throws {
    let folder = try TemporaryFolder()
    let old = try Store(at: folder.path("a.larch"), for: OldNote.self)
    try old.write { tx in
      var note = OldNote(id: 1)
      try tx.save(&note)
    }
    old.close()
    let store = try Store(at: folder.path("a.larch"), for: Note.self)
    defer { store.close() }
    #expect(try store.count(Note.where { $0.tags.contains("none") }) == 1)
    let found = try store.verifyWithoutTypes()
    #expect(found.report.isClean, "\(found.report)")
    #expect(found.unproved.map(\.index) == ["place.city", "tags"])
    // An import makes the same keys.
    try store.export(toFile: folder.path("a.jsonl"))
    let summary = try Store.makeStore(
      at: folder.path("b.larch"), from: .file(folder.path("a.jsonl")))
    #expect(summary.waitingIndexes.map(\.index).sorted() == ["place.city", "tags"])
    let copy = try Store(at: folder.path("b.larch"), for: Note.self)
    defer { copy.close() }
    #expect(try copy.verify().isClean)
  }
}
