import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

@Suite("An export and the store that is imported from it")
struct RoundTripTests {
  /// Creates a store from an export of another one, and checks that both are equal.
  private func roundTrip(
    _ path: String, _ types: any Record.Type..., body: (Store) throws -> Void = { _ in }
  ) throws {
    try withScratchPath { file throws in
      try withScratchPath { target throws in
        let (dump, bytes, text) = try Store.using(path, isReadOnly: true) { store throws in
          try store.export(toFile: file)
          return (try store.dump(), try store.storedBytes(), try store.exportText())
        }
        let summary = try Store.makeStore(at: target, from: .file(file))
        try Store.using(target, isReadOnly: true) { store throws in
          #expect(try store.storedBytes() == bytes)
          let records: Store.DumpContents = [.records, .links]
          #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
          if summary.waitingIndexes.isEmpty {
            #expect(try store.exportText() == text)
            let difference = TextDifference.between(expected: dump, actual: try store.dump())
            #expect(difference == nil, "\(difference ?? "")")
          } else {
            let lines = try store.dump(records).split(separator: "\n").filter {
              !$0.hasPrefix("  index") && !$0.hasPrefix("  unique")
            }
            let known = dump.split(separator: "\n")
            #expect(lines.allSatisfy { known.contains($0) })
          }
        }
        #expect(text.hasPrefix("{\"format\":\"larch export\",\"version\":1,"))
        var options = Store.Options()
        options.durability = .none
        let store = try Store(path: target, types: types, options: options, isTemporary: false)
        defer { store.close() }
        // Indexes that need the type are built now, and then nothing differs.
        let difference = TextDifference.between(expected: dump, actual: try store.dump())
        #expect(difference == nil, "\(difference ?? "")")
        #expect(try store.exportText() == text)
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
        try body(store)
      }
    }
  }

  private struct Before: Record {
    static let collectionName = "Thing"
    var id: Int
    var size: Int
  }

  private struct After: Record {
    static let collectionName = "Thing"
    static let schema = Schema<After> { Index(\.note) }
    var id: Int
    var note: String?
  }

  @Test("A declaration that only opened the store is exported, with its indexes")
  func opened() throws {
    try withScratchPath { path throws in
      try Store.using(path, Before.self) { store throws in
        try store.write { tx throws in
          var record = Before(id: 1, size: 7)
          try tx.insert(&record)
        }
      }
      try Store.using(path, After.self) { _ in }
      try roundTrip(path, After.self) { store throws in
        let found = try store.read { tx throws in try tx.fetch(After.where { $0.note == nil }) }
        #expect(found.map(\.id) == [1])
        #expect(try store.exportText().contains("\"opened\":["))
        // The program before it can read all records still.
        var options = Store.Options()
        options.durability = .none
        let older = try Store(
          path: store.path, types: [Before.self], options: options, isTemporary: false)
        defer { older.close() }
        #expect(try older.read { tx throws in try tx.fetch(Before.all) }.map(\.size) == [7])
      }
    }
  }

  @Test(
    "Random records of all kinds are imported byte for byte, with every index",
    arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func random(seed: UInt64) throws {
    var random = RandomValues(generator: SeededGenerator(seed: seed))
    try withScratchPath { path throws in
      try Store.using(path, Everything.self) { store throws in
        try store.write { tx throws in
          for _ in 0..<120 {
            var record = random.record()
            try tx.insert(&record)
          }
          try tx.delete(Everything.self, 120)
        }
      }
      try roundTrip(path, Everything.self) { store throws in
        let highest = try store.read { try $0.fetch(Everything.all).map(\.id.rawValue).max() }
        #expect(highest == 119)
        // The id of the deleted record is not assigned again.
        var record = random.record()
        try store.write { try $0.insert(&record) }
        #expect(record.id == 121)
      }
    }
  }

  @Test("Lists, references, ids of each kind and empty collections are imported")
  func associations() throws {
    try withScratchPath { path throws in
      try Store.using(path, Club.self, Member.self, Chore.self, Signed.self, Unsigned.self) {
        store throws in
        try store.write { tx throws in
          for name in ["Trees", "\u{E9}cole", ""] {
            var club = Club(id: "c-" + name, name: name)
            try tx.insert(&club)
          }
          for number in 0..<30 {
            var member = Member(name: "m\(number % 7)", clubID: number % 3 == 0 ? "c-Trees" : nil)
            try tx.insert(&member)
            for _ in 0..<(number == 4 ? 1500 : number % 3) {
              var chore = Chore(id: UUID(), title: "t\(number % 5)", at: nil)
              try tx.add(&chore, to: member.duties)
            }
          }
          for id in [Int16.min, -1, 0, .max] {
            var record = Signed(id: id, value: Double(id))
            try tx.insert(&record)
          }
          for id in [UInt64.max, 0, 7] {
            var record = Unsigned(id: id, value: ["a": 1])
            try tx.insert(&record)
          }
        }
      }
      try roundTrip(path, Club.self, Member.self, Chore.self, Signed.self, Unsigned.self) {
        store throws in
        let found = try store.read { try $0.fetch(Member.where { $0.clubID == "c-Trees" }) }
        #expect(found.count == 10)
        let plan = try store.read { try $0.fetch(Member.where { $0.name == "m3" }).count }
        #expect(plan == 4)
        #expect(try store.read { try $0.find(Member.self, 5)?.duties.ids(in: $0).count } == 1500)
      }
    }
  }

  @Test("The golden files, with every kind of field and index, are imported")
  func golden() throws {
    let folder = GoldenExportTests.stores
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".larch") }
    #expect(!files.isEmpty)
    for file in files {
      try withScratchPath { path throws in
        try FileManager.default.copyItem(
          atPath: folder.appendingPathComponent(file).path, toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try withScratchPath { target throws in
          let (text, bytes) = try Store.using(path) { store throws in
            (try store.exportText(), try store.storedBytes())
          }
          let summary = try Store.makeStore(at: target, from: .text(text))
          #expect(summary.recordCount == bytes.count)
          try Store.using(target) { store throws in
            #expect(try store.storedBytes() == bytes)
            let lines = { (text: String) in text.split(separator: "\n").dropFirst() }
            #expect(lines(try store.exportText()) == lines(text))
          }
        }
      }
    }
  }

  @Test("A part of a store becomes a store of that part")
  func part() throws {
    try withScratchPath { path throws in
      try Store.using(path, Club.self, Member.self, Chore.self) { store throws in
        try store.write { tx throws in
          var member = Member(name: "Ada", clubID: nil)
          try tx.insert(&member)
          var chore = Chore(id: UUID(), title: "Rake", at: nil)
          try tx.add(&chore, to: member.duties)
          var club = Club(id: "x", name: "X")
          try tx.insert(&club)
        }
        let text = try store.exportText(["Club"])
        #expect(!text.contains("Member"))
        #expect(caught { _ = try store.exportText(["Nobody"]) }?.code == .unknownCollection)
        try withScratchPath { target throws in
          try Store.makeStore(at: target, from: .text(text))
          try Store.using(target, Club.self, Member.self, Chore.self) { store throws in
            #expect(try store.read { try $0.fetch(Club.all) } == [Club(id: "x", name: "X")])
            #expect(try store.read { try $0.count(Member.all) } == 0)
            #expect(try store.verify().isClean)
          }
        }
      }
    }
  }

  @Test("An empty store, and an export from a pipe without a final line break")
  func edges() throws {
    try withScratchPath { path throws in
      try Store.using(path) { store throws in
        let text = try store.exportText()
        try withScratchPath { target throws in
          try Store.makeStore(at: target, from: .text(String(text.dropLast())))
          try Store.using(target) { store throws in #expect(try store.dump() == "") }
        }
      }
    }
  }

  @Test("An index whose keys need the type waits for it, and is reported")
  func waiting() throws {
    try withScratchPath { path throws in
      try Store.using(path, Club.self, Member.self, Chore.self) { store throws in
        try store.write { tx throws in
          var member = Member(name: "Ada", clubID: nil)
          try tx.insert(&member)
        }
      }
      try withScratchPath { target throws in
        let text = try Store.using(path) { try $0.exportText() }
        let summary = try Store.makeStore(at: target, from: .text(text))
        #expect(summary.waitingIndexes.map(\.index) == ["initial"])
        #expect(summary.waitingIndexes.map(\.collection) == ["Member"])
        try Store.using(target) { store throws in
          let dump = try store.dump()
          #expect(dump.contains("index initial: 0 entries, being built"))
          #expect(dump.contains("index name: 1 entry\n"))
        }
        try Store.using(target, Club.self, Member.self, Chore.self) { store throws in
          #expect(try store.dump().contains("index initial: 1 entry\n"))
          #expect(try store.verify().isClean)
        }
      }
    }
  }
}
