import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The tool works from bytes and knows no types: a record that the program cannot decode any more is
/// one like any other for it.
@Suite("The tool on records that their program cannot decode")
struct UndecodableToolTests {
  enum NewKind: String, Codable, CaseIterable, IndexKey { case open, closed, paused }
  enum Kind: String, Codable, CaseIterable, IndexKey { case open, closed }

  struct Item<K: Codable & Sendable & CaseIterable & IndexKey>: Record {
    var id = RecordID<Self>()
    var name: String
    var kind: K
    var kinds: [K]
    var number: Int
    var label: String { "\(name) \(number)" }

    static var collectionName: String { "Item" }
    static var schema: Schema<Self> {
      Schema {
        Unique(\.name)
        Index(\.kind, \.number)
        Index(\.kinds)
        Index(\.label, name: "label")
      }
    }
  }

  /// Six items, of which two have a kind that the program does not know; it rebuilt its indexes, so
  /// one of them is unfinished.
  private static func withItems(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, Item<NewKind>.self) { store throws in
        try store.saveAll(
          (1...6).map {
            Item<NewKind>(
              name: "item \($0)", kind: $0.isMultiple(of: 3) ? .paused : .open,
              kinds: [.closed, .paused], number: $0)
          })
      }
      try Store.using(path, Item<Kind>.self) { store throws in
        #expect(caught { _ = try store.find(Item<Kind>.self, 3) }?.code == .decodingFailed)
        #expect(try store.rebuild().recordCount == 6)
      }
      try body(path)
    }
  }

  private func run(_ arguments: String...) throws -> Program.Result {
    let result = try Program.run(arguments)
    #expect(result.code == 0, "\(arguments.joined(separator: " ")): \(result.errors)")
    #expect(result.errors.isEmpty, "\(arguments.joined(separator: " ")): \(result.errors)")
    return result
  }

  @Test("It reads them: get, query, count, dump, stats, info, schema, report")
  func reading() throws {
    try Self.withItems { path throws in
      #expect(try run("get", path, "Item", "3").output.contains("paused"))
      #expect(try run("get", path, "Item", "3", "--json").object["kind"] as? String == "paused")
      #expect(try run("query", path, "Item", #"kind = "paused""#, "--ids").output == "3\n6\n")
      #expect(
        try run("query", path, "Item", #"kind = "paused""#, "--explain").output.contains(
          "index kind_number"))
      #expect(
        try run("query", path, "Item", #"kinds contains "paused" and number > 4"#, "--json").lines
          .filter { !$0.isEmpty }.count == 2)
      #expect(try run("count", path, "Item").output.contains("6"))
      let dump = try run("dump", path, "Item", "--entries").output
      #expect(dump.contains("item 3") && dump.contains("paused"))
      #expect(try run("stats", path).output.contains("Item"))
      #expect(try run("info", path).output.contains("Item"))
      #expect(try run("schema", path, "Item").output.contains("kind"))
    }
  }

  @Test("It carries them: export, import, backup and compact")
  func carrying() throws {
    try Self.withItems { path throws in
      let lines = path + ".jsonl"
      let (copy, backup) = (path + ".copy", path + ".backup")
      defer {
        for file in [lines, copy, backup, copy + "-lock", backup + "-lock"] { unlink(file) }
      }
      _ = try run("export", path, "-o", lines)
      _ = try run("import", copy, lines)
      _ = try run("backup", path, backup)
      _ = try run("compact", path)
      for file in [path, copy, backup] {
        #expect(try run("get", file, "Item", "6", "--json").object["kind"] as? String == "paused")
        // Who can read them finishes the index, and finds nothing wrong.
        try Store.using(file, Item<NewKind>.self) { store throws in
          #expect(try store.fetch(Item<NewKind>.where { $0.kind == .paused }).map(\.id) == [3, 6])
          #expect(try store.fetch(Item<NewKind>.where { $0.label == "item 3 3" }).map(\.id) == [3])
          #expect(try store.verify().isClean)
        }
      }
    }
  }

  @Test("It proves and rebuilds what bytes tell, and leaves the index that is unfinished")
  func repairing() throws {
    try Self.withItems { path throws in
      #expect(try run("verify", path).output.hasSuffix("sound\n"))
      let rebuilt = try run("rebuild", path).output
      for name in ["Item.name", "Item.kind_number", "Item.kinds"] {
        #expect(rebuilt.contains(name), "\(rebuilt)")
      }
      #expect(rebuilt.contains("not rebuilt: Item.label"), "\(rebuilt)")
      #expect(try run("verify", path).output.hasSuffix("sound\n"))
      try Store.using(path, Item<NewKind>.self) { store throws in
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("A salvage copies them")
  func salvaging() throws {
    try Self.withItems { path throws in
      let target = path + ".salvaged"
      defer { for file in [target, target + "-lock"] { unlink(file) } }
      let report = try Store.salvage(path, to: target)
      #expect(report.recordCount == 6 && report.damage.isEmpty)
      try Store.using(target, Item<Kind>.self) { store throws in
        #expect(try store.count(Item<Kind>.where { $0.kind == .open }) == 4)
        #expect(caught { _ = try store.find(Item<Kind>.self, 3) }?.code == .decodingFailed)
      }
      try Store.using(target, Item<NewKind>.self) { store throws in
        #expect(try store.fetch(Item<NewKind>.all).map(\.id) == [1, 2, 3, 4, 5, 6])
        #expect(try store.verify().isClean)
      }
    }
  }
}
