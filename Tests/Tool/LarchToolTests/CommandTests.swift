import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

/// Each command as a process, on a store with all kinds of fields.
@Suite("Commands of the tool")
struct CommandTests {
  let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private func run(_ arguments: String..., environment: [String: String] = [:]) throws
    -> Program.Result
  {
    try Program.run(arguments, environment: environment)
  }

  @Test("info describes the file and its collections")
  func info() throws {
    let text = try run("info", fixture.path)
    #expect(text.code == 0 && text.errors.isEmpty)
    #expect(text.output.contains("format       1, keys of texts in Unicode"))
    #expect(text.output.contains("\nTower            30        6"))
    let found = try run("info", fixture.path, "--json").object
    #expect(found["format"] as? Int == 1)
    #expect(found["bytes"] as? Int == (try fixture.bytes.count))
    let collections = try #require(found["collections"] as? [[String: Any]])
    #expect(collections.map { $0["name"] as? String } == ["Club", "Owner", "Tower"])
    #expect(collections.map { $0["records"] as? Int } == [0, 2, 30])
  }

  @Test("info says how far the file is in the log of a server")
  func server() throws {
    #expect(try run("info", fixture.path, "--json").object["server"] is NSNull)
    #expect(try !run("info", fixture.path).output.contains("server log"))
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    let environment = store.environment
    func expect(_ text: String, _ role: String, waiting: Int) throws {
      let output = try run("info", fixture.path).output
      #expect(output.contains("server log   \(text)"), "\(output)")
      let found = try #require(
        try run("info", fixture.path, "--json").object["server"] as? [String: Any])
      #expect(found["role"] as? String == role)
      #expect(found["waiting"] as? Int == waiting)
    }
    try environment.beginOutbox(role: .writer, place: .start)
    try expect(
      "a mirrored store, at commit 0; the whole store is sent next", "mirrored", waiting: 0)
    try environment.trimOutbox(through: .start, isFirstCopy: true)
    try expect("a mirrored store, at commit 0; the server has all of them", "mirrored", waiting: 0)
    try store.write { tx in
      guard var owner = try tx.first(Owner.all) else { return }
      owner.age += 1
      try tx.save(&owner)
    }
    try expect("a mirrored store, at commit 1; 1 of them, with", "mirrored", waiting: 1)
    let place = try #require(try environment.outboxHeader()).place
    try environment.trimOutbox(through: place)
    try environment.setOutboxRole(.follower)
    try expect("the copy of a follower, at commit 1\n", "follower", waiting: 0)
    try environment.setOutboxRole(.shared)
    try expect("a copy of a shared store, at commit 1\n", "shared", waiting: 0)
    try environment.setOutboxRole(.superseded)
    try expect(
      "a store whose log another one continues, at commit 1; the server has all", "superseded",
      waiting: 0)
  }

  @Test("info names the process that reads")
  func readers() throws {
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    let snapshot = try store.snapshot()
    defer { snapshot.end() }
    let found = try run("info", fixture.path, "--json").object
    let readers = try #require(found["readers"] as? [[String: Any]])
    #expect(readers.map { $0["process"] as? Int } == [Int(getpid())])
  }

  @Test("schema has every field with its kind, every index and association")
  func schema() throws {
    let text = try run("schema", fixture.path, "Tower")
    #expect(text.code == 0)
    for line in [
      "Tower: 30 records, ids assigned", "built         date", "counts        map of int64",
      "floors        int16", "id            int64", "isOpen        bool", "note          string?",
      "ownerID       string?", "page          url?", "place.city    string",
      "place.height  double?", "plan          data", "price         decimal",
      "serial        uuid", "steps         uint32", "tags          list of string",
      "weight        float", "material      string", "unique",
      "reference Tower.ownerID: Tower to Owner, optional, on delete none, nullify",
    ] { #expect(text.output.contains(line), "\(line) is not in\n\(text.output)") }
    let found = try run("schema", fixture.path, "--json").object
    let collections = try #require(found["collections"] as? [[String: Any]])
    let tower = try #require(collections.last)
    let indexes = try #require(tower["indexes"] as? [[String: Any]])
    #expect(
      indexes.map { $0["name"] as? String }
        == ["name", "nameLength", "note", "ownerID", "place.city_floors", "tags"])
    #expect(indexes.map { $0["isUnique"] as? Bool } == [true, false, false, false, false, false])
    #expect(indexes[5]["entries"] as? Int == 30)
    let fields = try #require(indexes[4]["fields"] as? [[String: Any]])
    #expect(fields.map { $0["path"] as? [String] } == [["place", "city"], ["floors"]])
    #expect(fields.map { $0["kind"] as? String } == ["string", "int16"])
    let associations = try #require(found["associations"] as? [[String: Any]])
    #expect(associations.map { $0["kind"] as? String } == ["lists", "reference"])
    #expect(associations[1]["onDeleteOfSecond"] as? String == "nullify")
  }

  @Test("dump prints the dump of LarchTestSupport")
  func dump() throws {
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    for (options, contents) in [
      (["--entries", "--links"], Store.DumpContents.all),
      ([], [.records, .indexes, .associations]),
      (["--entries"], [.records, .entries, .associations]),
    ] {
      let text = try Program.run(["dump", fixture.path] + options)
      #expect(text.code == 0)
      let expected = try store.dump(contents)
      #expect(TextDifference.between(expected: expected, actual: text.output) == nil)
    }
    let one = try run("dump", fixture.path, "Owner")
    #expect(
      one.output == """
        collection Owner: 2 records
          ada {"age":3,"id":"ada"}
          bo {"age":2,"id":"bo"}
        lists Club/Owner/members: Club with Owner, 0 links, on delete nullify, nullify
        reference Tower.ownerID: Tower to Owner, optional, on delete none, nullify

        """)
  }

  @Test("dump --json prints one object on each line, with whole records")
  func dumpJSON() throws {
    let text = try run("dump", fixture.path, "--json", "--entries", "--links")
    let objects = try text.output.split(separator: "\n").map { line in
      try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
    let records = objects.filter { $0["record"] != nil }
    #expect(records.count == 32)
    let tower = try #require(records.last?["record"] as? [String: Any])
    #expect(tower["name"] as? String == "tower 29")
    #expect((tower["place"] as? [String: Any])?["city"] as? String == "Łódź")
    #expect(objects.filter { $0["index"] as? String == "tags" }.count == 30)
  }

  @Test("stats counts every page once, and keys of indexes")
  func stats() throws {
    let text = try run("stats", fixture.path)
    #expect(text.code == 0 && text.output.contains("\n  unique name"))
    let found = try run("stats", fixture.path, "--json").object
    func pages(_ value: Any?) -> Int {
      var sum = 0
      for tree in value as? [[String: Any]] ?? [] {
        sum += tree["pages"] as? Int ?? 0
        sum += pages(tree["indexes"])
        for end in ["forward", "inverse"] {
          sum += (tree[end] as? [String: Any])?["pages"] as? Int ?? 0
        }
      }
      return sum
    }
    let trees = ["collections", "associations", "parts"].reduce(0) { $0 + pages(found[$1]) }
    let free = try #require(found["freePages"] as? Int)
    #expect(trees + free + 2 == found["pages"] as? Int)
    #expect(found["otherPages"] as? Int == 0)
    let collections = try #require(found["collections"] as? [[String: Any]])
    let indexes = try #require(collections[2]["indexes"] as? [[String: Any]])
    #expect(indexes.map { $0["keys"] as? Int } == [30, 2, 6, 2, 21, 3])
    for index in indexes {
      let fill = try #require(index["fill"] as? Double)
      #expect(fill > 0 && fill <= 1)
    }
    let quick = try run("stats", fixture.path, "--json", "--quick").object
    #expect(quick["isExact"] as? Bool == false)
  }

  @Test("verify finds no fault in a valid store, and names what it could not compare")
  func verify() throws {
    let text = try run("verify", fixture.path)
    #expect(text.code == 0 && text.errors.isEmpty)
    #expect(text.output.hasSuffix("sound\n"))
    #expect(text.output.contains("not compared: index nameLength of Tower"))
    let found = try run("verify", fixture.path, "--json").object
    #expect(found["isClean"] as? Bool == true)
    #expect(found["records"] as? Int == 32)
    let open = try #require(found["notCompared"] as? [[String: Any]])
    #expect(open.map { $0["index"] as? String } == ["nameLength"])
    #expect(try run("verify", fixture.path, "--pages").code == 0)
  }

  @Test("An index that is being built is named, and not compared")
  func building() throws {
    let store = try Fixture.open(fixture.path)
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema())
        .openStorage(in: transaction)
      for var entry in try storage.collections(in: transaction) where entry.name == "Tower" {
        for place in entry.indexes.indices where entry.indexes[place].name == "tags" {
          entry.indexes[place].state = .building
        }
        try storage.set(entry, in: transaction)
      }
    }
    store.close()
    let text = try run("verify", fixture.path)
    #expect(text.code == 0)
    #expect(text.output.contains("not compared: index tags of Tower, which is being built"))
    for command in ["schema", "stats", "dump"] {
      #expect(try run(command, fixture.path).output.contains("being built"))
    }
    let rebuilt = try run("rebuild", fixture.path).output
    #expect(rebuilt.contains("not rebuilt: Tower.tags, which is being built"), "\(rebuilt)")
  }

  @Test("verify exits with 1 for a file whose pages are damaged, and does not open it")
  func damagedPages() throws {
    var bytes = try fixture.bytes
    let pageSize = sysconf(Int32(_SC_PAGESIZE))
    for page in 2..<bytes.count / pageSize {
      for offset in 0..<32 { bytes[page * pageSize + offset] = 0xFF }
    }
    try bytes.write(to: URL(fileURLWithPath: fixture.path))
    for options in [[], ["--pages"], ["--json"]] {
      let text = try Program.run(["verify", fixture.path] + options)
      #expect(text.code == 1 && text.errors.isEmpty)
      #expect(text.output.contains("corrupted"))
    }
  }

  @Test("backup makes an equal copy, and refuses to replace a file")
  func backup() throws {
    let target = fixture.directory.path + "/copy.larch"
    let text = try run("backup", fixture.path, target)
    #expect(text.code == 0 && text.errors.isEmpty)
    #expect(text.output.hasPrefix(target + ": "))
    #expect(
      try run("dump", target, "--entries").output
        == run("dump", fixture.path, "--entries").output)
    let again = try run("backup", fixture.path, target)
    #expect(again.code == 2 && again.errors.contains("replace the file with --replace"))
    let replaced = try run("backup", fixture.path, target, "--replace", "--json")
    #expect(replaced.code == 0)
    let size = try FileManager.default.attributesOfItem(atPath: target)[.size] as? Int
    #expect(try replaced.object["bytes"] as? Int == size)
  }

  @Test("compact frees space and changes no record")
  func compact() throws {
    let store = try Fixture.open(fixture.path)
    try store.write { tx throws in
      for number in 1000..<4000 {
        var tower = Tower.sample(number)
        try tx.save(&tower)
      }
    }
    try store.write { tx throws in _ = try tx.delete(Tower.where { $0.name.hasPrefix("tower 3") }) }
    store.close()
    let before = try run("dump", fixture.path, "--entries").output
    let found = try run("compact", fixture.path, "--json")
    #expect(found.code == 0)
    let sizes = try found.object
    let after = try #require(sizes["bytesAfter"] as? Int)
    #expect(after < sizes["bytesBefore"] as? Int ?? 0)
    #expect(try fixture.bytes.count == after)
    #expect(try run("dump", fixture.path, "--entries").output == before)
    #expect(try run("verify", fixture.path).code == 0)
  }

  @Test("rebuild repairs the faults that verify finds", arguments: ["tags", "place.city_floors"])
  func rebuild(name: String) throws {
    let before = try run("dump", fixture.path, "--entries").output
    let store = try Fixture.open(fixture.path)
    try store.loseEntries(of: name, in: Tower.self)
    store.close()
    let damaged = try run("verify", fixture.path)
    #expect(damaged.code == 1)
    #expect(damaged.output.contains("missingEntry, collection Tower, index \(name), id "))
    #expect(damaged.output.contains("`larch rebuild`"))
    let text = try run("rebuild", fixture.path)
    #expect(text.code == 0 && text.errors.isEmpty)
    #expect(text.output.contains("not rebuilt: Tower.nameLength"))
    #expect(try run("verify", fixture.path).code == 0)
    #expect(try run("dump", fixture.path, "--entries").output == before)
    let typed = try Fixture.open(fixture.path)
    defer { typed.close() }
    #expect(try typed.verify().isClean)
  }

  @Test("verify counts references, and names a dangling one")
  func references() throws {
    #expect(try run("verify", fixture.path, "--json").object["references"] as? Int == 1)
    let store = try Fixture.open(fixture.path)
    let records = try store.read { tx throws in try tx.context.collection(of: Owner.self).records }
    try store.environment.write { transaction in
      _ = try Array("\u{1}ada".utf8).withUnsafeBytes { try records.delete($0, in: transaction) }
    }
    store.close()
    let text = try run("verify", fixture.path)
    #expect(text.code == 1)
    #expect(
      text.output.contains(
        "danglingReference, collection Tower, association Tower.ownerID, id 1, no record ada of Owner\n"
      ))
    // It is no derived data.
    #expect(!text.output.contains("`larch rebuild`"))
    #expect(try run("rebuild", fixture.path).code == 0)
    let after = try run("verify", fixture.path)
    #expect(after.code == 1 && after.output.contains("association Tower.ownerID, id 1, "))
  }

  @Test("Tables fit a terminal of any width", arguments: [40, 80, 200])
  func widths(width: Int) throws {
    for command in [["info"], ["stats"], ["verify"], ["schema"]] {
      let text = try Program.run(
        command + [fixture.path], environment: ["COLUMNS": "\(width)"])
      #expect(text.code == 0)
      for line in text.lines { #expect(line.count <= width, "\(command): \(line)") }
      let wide = try Program.run(command + [fixture.path])
      func letters(_ text: String) -> [Character: Int] {
        text.filter { $0.isNumber }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      }
      #expect(letters(text.output) == letters(wide.output), "\(command) loses something")
    }
  }
}

extension Store {
  /// Removes the first entry of an index without the store.
  func loseEntries<R: Record>(of name: String, in type: R.Type) throws {
    let handle = try read { tx throws in try tx.context.collection(of: type) }
    guard let index = handle.indexes.first(where: { $0.stored.name == name }) else {
      throw Mismatch("no index \(name)")
    }
    try environment.write { transaction in
      var found: ([UInt8], [UInt8])?
      do {
        var cursor = try LMDBCursor(index.database, in: transaction)
        found = try cursor.first().map { ([UInt8]($0.key), [UInt8]($0.value)) }
      }
      guard let (key, id) = found else { throw Mismatch("no entry") }
      try key.withUnsafeBytes { key in
        _ = try id.withUnsafeBytes { try index.database.delete(key, value: $0, in: transaction) }
      }
    }
  }
}
