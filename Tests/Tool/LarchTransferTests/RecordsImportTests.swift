import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

@Suite("Import of the records of an export into an existing store")
struct RecordsImportTests {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var tags: [String] = []
    static let schema = Schema<Person> {
      Unique(\.email)
      Index(\.name)
      Index(\.tags)
    }
  }

  private func people(_ range: ClosedRange<Int>, _ change: String = "") -> [Person] {
    range.map {
      Person(
        id: RecordID(Int64($0)), name: "p\($0 % 3)\(change)", email: "e\($0)\(change)@x",
        tags: ["t\($0 % 2)", change])
    }
  }

  /// A store of these people, and its export.
  private func export(_ people: [Person]) throws -> String {
    try withScratchPath { path throws in
      try Store.using(path, Person.self) { store throws in
        try store.write { tx throws in
          for var person in people { try tx.insert(&person) }
        }
        return try store.exportText()
      }
    }
  }

  private func withStore(_ people: [Person], _ body: (String, Store) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, Person.self) { store throws in
        try store.write { tx throws in
          for var person in people { try tx.insert(&person) }
        }
        // The typed store stays open, and sees what comes.
        try Store.using(path) { try body(path, $0) }
        #expect(try store.verify().isClean)
      }
    }
  }

  private func stored(_ path: String) throws -> [Person] {
    try Store.using(path, Person.self) { store throws in
      #expect(try store.verify().isClean)
      return try store.read { tx throws in Array(try tx.all(Person.self)) }
    }
  }

  @Test(
    "New records are imported with their index entries, at once and in batches",
    arguments: [nil, 1, 7])
  func new(batchSize: Int?) throws {
    let text = try export(people(11...40))
    try withStore(people(1...10)) { path, store throws in
      let summary = try store.importExport(from: .text(text), batchSize: batchSize)
      #expect(summary.insertedCount == 30)
      #expect(try stored(path) == people(1...10) + people(11...40))
    }
  }

  @Test("An existing id is refused, replaced or skipped, as requested")
  func existing() throws {
    let text = try export(people(3...6, "new"))
    try withStore(people(1...5)) { path, store throws in
      let error = caught { try store.importExport(from: .text(text)) }
      #expect(error?.code == .idExists)
      #expect(error?.context.detail == "line 2")
      #expect(error?.context.id == "3")
      #expect(try stored(path) == people(1...5))
      let skipped = try store.importExport(from: .text(text), existing: .skip)
      #expect((skipped.insertedCount, skipped.skippedCount) == (1, 3))
      #expect(try stored(path) == people(1...5) + people(6...6, "new"))
      let replaced = try store.importExport(from: .text(text), existing: .replace)
      #expect((replaced.insertedCount, replaced.replacedCount) == (0, 4))
      #expect(try stored(path) == people(1...2) + people(3...6, "new"))
    }
  }

  @Test("A unique conflict names the line, and only the earlier batches are imported")
  func conflict() throws {
    var wrong = people(11...20)
    wrong[6].email = "e1@x"
    let text = try export(wrong)
    try withStore(people(1...5)) { path, store throws in
      let error = caught { try store.importExport(from: .text(text)) }
      #expect(error?.code == .uniqueConflict)
      #expect(error?.context.otherID == "1")
      #expect(error?.context.detail?.hasPrefix("line 8") == true)
      #expect(try stored(path) == people(1...5))
      #expect(caught { try store.importExport(from: .text(text), batchSize: 4) } != nil)
      #expect(try stored(path) == people(1...5) + people(11...14))
    }
  }

  @Test("Shapes of the file get their numbers in the store, or new ones")
  func shapes() throws {
    var random = RandomValues(generator: SeededGenerator(seed: 11))
    var text = ""
    var bytes: [String: [UInt8]] = [:]
    try withScratchPath { path throws in
      try Store.using(path, Everything.self) { store throws in
        try store.write { tx throws in
          for _ in 0..<60 {
            var record = random.record()
            try tx.insert(&record)
          }
        }
        text = try store.exportText()
        bytes = try store.storedBytes()
      }
    }
    try withScratchPath { path throws in
      // Other shapes first, so that no number is the same.
      try Store.using(path, Person.self, Everything.self) { store throws in
        try store.write { tx throws in
          for var person in people(1...3) { try tx.insert(&person) }
        }
      }
      try Store.using(path) { store throws in
        #expect(try store.importExport(from: .text(text)).insertedCount == 60)
      }
      try Store.using(path, Person.self, Everything.self) { store throws in
        #expect(try store.verify().isClean)
        let again = try store.exportText(["Everything"])
        let lines = { (text: String) in
          text.split(separator: "\n").dropFirst().dropLast().map {
            $0.replacing(#/"\$shape":\d+/#, with: "")
          }
        }
        #expect(lines(again) == lines(text))
        #expect(bytes.count == 60)
      }
    }
  }

  @Test("References and lists need their records, which may come later in the file")
  func references() throws {
    let types: [any Record.Type] = [Club.self, Member.self, Chore.self]
    var options = Store.Options()
    options.durability = .none
    let text = try withScratchPath { path throws in
      let store = try Store(path: path, types: types, options: options, isTemporary: false)
      defer { store.close() }
      try store.write { tx throws in
        var club = Club(id: "c", name: "C")
        try tx.insert(&club)
        var other = Club(id: "d", name: "D")
        try tx.insert(&other)
      }
      return try store.exportText()
    }
    let lines = text.split(separator: "\n").map(String.init)
    let header = lines[0]
    try withScratchPath { path throws in
      try Store.using(path, Club.self, Member.self, Chore.self) { _ in }
      try Store.using(path) { store throws in
        let unknown =
          "{\"association\":\"Chore/Member/duties\",\"first\":\"\(UUID())\",\"second\":[1]}"
        let end =
          "{\"end\":{\"links\":{\"Chore/Member/duties\":1},\"records\":{\"Chore\":0,\"Club\":0,\"Member\":0}}}"
        let error = caught {
          try store.importExport(from: .text([header, unknown, end].joined(separator: "\n")))
        }
        #expect(error?.code == .danglingReference)
        #expect(error?.context.detail == "line 2")
        let summary = try store.importExport(from: .text(text))
        #expect(summary.insertedCount == 2)
      }
    }
  }

  @Test("A collection with an index that needs the type is refused, and nothing is imported")
  func needsType() throws {
    try withScratchPath { path throws in
      try Store.using(path, Club.self, Member.self, Chore.self) { store throws in
        try store.write { tx throws in
          var member = Member(name: "Ada", clubID: nil)
          try tx.insert(&member)
        }
        let text = try store.exportText(["Member"])
        try store.write { try $0.delete(Member.self, 1) }
        let dump = try store.dump()
        let error = caught { try store.importExport(from: .text(text)) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.context.index == "initial")
        #expect(error?.context.detail == "line 2")
        #expect(try store.dump() == dump)
      }
    }
  }

  @Test("A dangling reference is refused if the association requires a record")
  func dangling() throws {
    try withScratchPath { path throws in
      let text = try Store.using(path, Team.self, Player.self) { store throws in
        try store.write { tx throws in
          var team = Team(id: 5)
          try tx.insert(&team)
          var player = Player(id: 1, teamID: 5)
          try tx.insert(&player)
        }
        return try store.exportText(["Player"])
      }
      try withScratchPath { target throws in
        try Store.using(target, Team.self, Player.self) { store throws in
          let error = caught { try store.importExport(from: .text(text)) }
          #expect(error?.code == .danglingReference)
          var team = Team(id: 5)
          try store.write { try $0.insert(&team) }
          #expect(try store.importExport(from: .text(text)).insertedCount == 1)
          #expect(try store.verify().isClean)
        }
      }
    }
  }

  struct Team: Record {
    var id: Int
    static let schema = Schema<Team> { HasMany(\Player.teamID, onDelete: .destroy) }
  }
  struct Player: Record {
    var id: Int
    var teamID: Int
    static let schema = Schema<Player> { BelongsTo(\.teamID, to: Team.self) }
  }
}
