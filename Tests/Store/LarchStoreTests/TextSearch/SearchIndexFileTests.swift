import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Indexes of words beside everything else that a store has: files, tools, older records, observers.
@Suite struct SearchIndexFileTests {
  typealias Page = SearchIndexTests.Page
  typealias Letter = SearchIndexTests.Letter

  private func withFilled(_ body: (Store, String) throws -> Void) throws {
    try withScratchPath { path in
      try Store.using(path, Page.self, Letter.self) { store in
        try store.saveAll(SearchIndexTests.pages(0..<300))
        try store.saveAll((0..<40).map { Letter(id: .make($0), text: "larch letter\($0)") })
        try body(store, path)
      }
    }
  }

  private let larch: TextQuery = "larch"

  private func expectSame(_ path: String, _ dump: String) throws {
    try Store.using(path, Page.self, Letter.self) { store in
      #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
      #expect(
        try store.explain(Letter.where { larch.matches($0.text) }).description.hasPrefix("search"))
      #expect(try store.count(Letter.where { larch.matches($0.text) }) == 40)
    }
  }

  @Test func copiesOfEveryKindHaveTheIndex() throws {
    try withFilled { store, path in
      let dump = try store.dump()
      try withScratchPath { copy in
        try store.backup(to: copy)
        try expectSame(copy, dump)
      }
      try withScratchPath { file in
        try store.export(toFile: file)
        try withScratchPath { copy in
          let summary = try Store.makeStore(at: copy, from: .file(file))
          #expect(summary.waitingIndexes.isEmpty)
          try expectSame(copy, dump)
        }
      }
      try withScratchPath { copy in
        _ = try Store.salvage(path, to: copy)
        try expectSame(copy, dump)
      }
      try store.compact()
      #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
      #expect(try store.verify().isClean)
    }
  }

  @Test func aFileWithASearchNeedsAProgramThatKnowsSearches() throws {
    try withFilled { store, _ in
      let storage = try store.read { tx throws in tx.context.catalog.storage }
      let format = try store.environment.write { transaction in
        try #require(try storage.value(.format, in: transaction))
          .withUnsafeBytes { try StoredFormat(decoding: $0) }
      }
      #expect(format.minimumReader == StoredFormat.withPendingWords)
    }
  }

  @Test func aProgramWithoutTypesUsesTheIndex() throws {
    try withFilled { store, _ in
      let q: TextQuery = "larch \"tree of\" -word7"
      let expected = SearchIndexTests.pages(0..<300).filter {
        q.matches($0.title, $0.body) && $0.year > 2004
      }
      try store.inspect { inspector in
        let collection = try #require(inspector.collections.first { $0.name == "Page" })
        let query = try inspector.query(
          "title, body matches 'larch \"tree of\" -word7' and year > 2004", in: collection)
        let plan = try query.explain()
        #expect(plan.contains("search title, body (larch && \"tree of\" && !word7)"), "\(plan)")
        var ids: [String] = []
        try query.forEachID {
          ids.append($0)
          return true
        }
        #expect(ids == expected.map { String($0.id) } && !ids.isEmpty)
      }
    }
  }

  // MARK: Older records

  struct Bare: Record {
    var id: Int
    var title: String
    static let collectionName = "Grown"
  }
  struct Grown: Record, Equatable {
    var id: Int
    var name: String
    var body: String
    var tags: [String]?
    static let schema = Schema<Grown> {
      Search(\.name, \.body, \.tags)
      Default(\.body, "a default pine")
      Renamed(\.name, from: "title")
    }
  }

  @Test func recordsOfAnOlderShapeHaveTheWordsOfDefaultsAndOlderNames() throws {
    try withScratchPath { path in
      try Store.using(path, Bare.self) { store in
        try store.saveAll((0..<5).map { Bare(id: $0, title: "larch number\($0)") })
      }
      try Store.using(path, Grown.self) { store in
        let grown = try store.everything(Grown.self)
        for text in ["larch", "pine", "number3", "\"default pine\" number1", "oak"] {
          let q = TextQuery(text)
          let query = Grown.where { q.matches($0.name, $0.body, $0.tags) }
          #expect(
            try store.ids(query)
              == grown.filter { q.matches($0.name, $0.body, $0.tags) }.map(\.id), "\(text)")
          #expect(try store.explain(query).description.hasPrefix("search"))
        }
        try store.saveAll([Grown(id: 2, name: "birch", body: "oak", tags: ["larch"])])
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
      }
    }
  }

  struct OtherDefault: Record {
    var id: Int
    var name: String
    var body: String
    var tags: [String]?
    static let collectionName = "Grown"
    static let schema = Schema<OtherDefault> {
      Search(\.name, \.body, \.tags)
      Default(\.body, "a maple instead")
      Renamed(\.name, from: "title")
    }
  }

  @Test func recordsOfAnOlderShapeHaveTheWordsOfAnotherDefaultOnceItIsDeclared() throws {
    try withScratchPath { path in
      try Store.using(path, Bare.self) { store in
        try store.saveAll((0..<5).map { Bare(id: $0, title: "larch number\($0)") })
      }
      try Store.using(path, Grown.self) { store in
        // Its words wait beside the blocks.
        try store.saveAll([Grown(id: 2, name: "birch", body: "oak")])
      }
      try Store.using(path, OtherDefault.self) { store in
        func ids(_ text: String) throws -> [Int] {
          let words = TextQuery(text)
          return try store.ids(
            OtherDefault.where { words.matches($0.name, $0.body, $0.tags) })
        }
        #expect(try ids("pine") == [])
        #expect(try ids("maple") == [0, 1, 3, 4])
        try store.saveAll([OtherDefault(id: 1, name: "birch", body: "elm")])
        try store.write { tx in _ = try tx.delete(OtherDefault.self, 3) }
        #expect(try ids("maple") == [0, 4])
        #expect(try ids("larch") == [0, 4])
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
      }
    }
  }

  enum Kind: String, Codable { case open, closed }
  enum OldKind: String, Codable { case open, odd }
  struct OldTask: Record {
    var id: UUID
    var kind: OldKind
    var text: String
    static let collectionName = "Task"
    static let schema = Schema<OldTask> { Search(\.text) }
  }
  struct Task: Record {
    var id: UUID
    var kind: Kind
    var text: String
    static let schema = Schema<Task> { Search(\.text) }
  }

  @Test func wordsOfARecordThatCannotBeDecodedGoWithIt() throws {
    try withScratchPath { path in
      try Store.using(path, OldTask.self) { store in
        try store.saveAll([
          OldTask(id: .make(1), kind: .odd, text: "larch"),
          OldTask(id: .make(2), kind: .open, text: "larch"),
        ])
      }
      try Store.using(path, Task.self) { store in
        #expect(try store.count(Task.where { larch.matches($0.text) }) == 2)
        try store.write { tx in _ = try tx.delete(Task.self, .make(1)) }
        #expect(try store.ids(Task.where { larch.matches($0.text) }) == [.make(2)])
        #expect(try store.verify().isClean)
      }
    }
  }

  struct BareTask: Record {
    var id: Int
    var kind: OldKind
    static let collectionName = "OlderTask"
  }
  struct GrownTask: Record {
    var id: Int
    var kind: OldKind
    var text: String
    static let collectionName = "OlderTask"
    static let schema = Schema<GrownTask> {
      Search(\.text)
      Default(\.text, "larch")
    }
  }
  struct LaterTask: Record {
    var id: Int
    var kind: Kind
    var text: String
    static let collectionName = "OlderTask"
    static let schema = Schema<LaterTask> {
      Search(\.text)
      Default(\.text, "larch")
    }
  }

  /// The bytes do not have the text, and the type cannot decode the record: its words are found in the index.
  @Test func wordsThatNoRecordTellsAreFoundInTheIndex() throws {
    try withScratchPath { path in
      try Store.using(path, BareTask.self) { store in
        try store.saveAll((0..<200).map { BareTask(id: $0, kind: $0 == 150 ? .odd : .open) })
      }
      try Store.using(path, GrownTask.self) { store throws in
        #expect(try store.count(GrownTask.where { larch.matches($0.text) }) == 200)
      }
      try Store.using(path, LaterTask.self) { store in
        try store.write { tx in _ = try tx.delete(LaterTask.self, 150) }
        #expect(try store.count(LaterTask.where { larch.matches($0.text) }) == 199)
        #expect(try store.verify().isClean)
      }
    }
  }

  // MARK: Observers

  @Test func observedResultsFollowTheIndex() async throws {
    let store = try Store.temporary(for: Letter.self)
    try store.saveAll([Letter(id: .make(1), text: "larch"), Letter(id: .make(2), text: "pine")])
    let query = Letter.where { larch.matches($0.text) }
    let rows = store.observe(query).makeAsyncIterator()
    let first = try await rows.next()
    #expect(first?.map(\.id) == [.make(1)])
    try store.saveAll([Letter(id: .make(2), text: "Larch tree")])
    let second = try await rows.next()
    #expect(second?.map(\.id) == [.make(1), .make(2)])
    try store.saveAll([Letter(id: .make(1), text: "oak")])
    let third = try await rows.next()
    #expect(third?.map(\.id) == [.make(2)])
  }

  // MARK: Size

  /// An index of short texts is not larger than the texts.
  @Test func theIndexOfShortTextsIsSmallerThanTheTexts() throws {
    var random = SeededGenerator(seed: 5)
    var bytes = 0
    let letters = (0..<4_000).map { number in
      let words = (0..<32).map { _ in
        let share = Double.random(in: 0..<1, using: &random)
        return "w" + String(Int(exp(share * 9.9)), radix: 30) + "ing"
      }
      let text = words.joined(separator: " ")
      bytes += text.utf8.count
      return Page(id: number, title: text)
    }
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(letters)
    let index = try #require(
      try store.statistics().collections[0].indexes.first { $0.name == "title_body_words" })
    #expect(index.tree.bytes < bytes, "\(index.tree.bytes) of \(bytes)")
    #expect(try store.verify().isClean)
  }
}
