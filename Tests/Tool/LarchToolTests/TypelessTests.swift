import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Checks of indexes by the file alone agree with those by the types.
@Suite("Indexes without types")
struct TypelessTests {
  /// Every kind of index whose keys can be read from bytes, and three others.
  struct Thing: Record {
    struct Inner: Codable, Sendable {
      var text: String?
      var number: Double
    }
    struct Code: IndexKey, Codable, Hashable, Sendable, RawRepresentable {
      var rawValue: String
    }

    var id: String
    var name: String
    var key: String
    var note: String?
    var small: Int8
    var count: UInt64
    var number: Double?
    var when: Date
    var uuid: UUID
    var data: Data
    var flag: Bool
    var url: URL?
    var words: [String]
    var numbers: Set<Int>
    var inner: Inner
    var part: Inner?

    static let schema = Schema<Thing> {
      Unique(\.key)
      Unique(\.note, \.small)
      Index(\.name, options: .caseInsensitive)
      Index(\.number)
      Index(\.when, \.flag, \.uuid)
      Index(\.count, \.data)
      Index(\.url)
      Index(\.words)
      Index(\.numbers, \.name)
      Index(\.inner.number, \.inner.text)
      Index(\.initial, name: "initial")
      Index(\.small, name: "flagged", where: { $0.flag })
    }

    var initial: String { String(name.prefix(1)) }

    static func random(_ number: Int, _ generator: inout SeededGenerator) -> Thing {
      let texts = [
        "", "a", "É", "e\u{301}", "straße", String(repeating: "long ", count: 60), "\u{0}",
      ]
      func text() -> String { texts.randomElement(using: &generator)! }
      let numbers = [0, -0.0, .nan, .infinity, -1.5, 1e300, 3]
      return Thing(
        id: "thing \(number)", name: text(),
        // Equal in what an index holds of them.
        key: String(repeating: "k", count: 200) + "\(number)",
        note: Bool.random(using: &generator) ? nil : "note \(number)",
        small: .random(in: .min ... .max, using: &generator),
        count: .random(in: 0 ... .max, using: &generator),
        number: Bool.random(using: &generator) ? nil : numbers.randomElement(using: &generator)!,
        when: Date(timeIntervalSinceReferenceDate: .random(in: -1e12...1e12, using: &generator)),
        uuid: UUID(), data: Data(texts.randomElement(using: &generator)!.utf8),
        flag: .random(using: &generator),
        url: Bool.random(using: &generator) ? nil : URL(string: "https://larch.example/\(number)"),
        words: (0..<Int.random(in: 0...3, using: &generator)).map { _ in text() },
        numbers: Set((0..<Int.random(in: 0...3, using: &generator)).map { $0 * number }),
        inner: .init(
          text: Bool.random(using: &generator) ? nil : text(),
          number: numbers.randomElement(using: &generator)!),
        part: Bool.random(using: &generator) ? nil : .init(text: nil, number: 1))
    }
  }

  @Test("Random records of all kinds are checked and rebuilt as with their types", arguments: 1...8)
  func random(seed: UInt64) throws {
    let store = try Store.temporary(for: Thing.self)
    var generator = SeededGenerator(seed: seed)
    try store.write { tx throws in
      for number in 0..<300 {
        var thing = Thing.random(number, &generator)
        try tx.save(&thing)
      }
    }
    let before = try store.dump()
    let found = try store.verifyWithoutTypes()
    #expect(found.report.isClean, "\(found.report)")
    #expect(found.report.recordCount == 300)
    #expect(found.unproved.map(\.index) == ["flagged", "initial"])
    #expect(found.unproved.allSatisfy { $0.records == nil })
    let made = try store.rebuildWithoutTypes()
    #expect(made.left.map(\.index) == ["flagged", "initial"])
    #expect(made.rebuilt.count == 10)
    #expect(made.rebuilt.allSatisfy { $0.entriesBefore == $0.entriesAfter })
    #expect(TextDifference.between(expected: before, actual: try store.dump()) == nil)
    #expect(try store.verify().isClean)
  }

  @Test("A missing or excess entry is found, named and repaired", arguments: 1...6)
  func damage(seed: UInt64) throws {
    let store = try Store.temporary(for: Thing.self)
    var generator = SeededGenerator(seed: seed)
    try store.write { tx throws in
      for number in 0..<50 {
        var thing = Thing.random(number, &generator)
        try tx.save(&thing)
      }
    }
    let before = try store.dump()
    let handle = try store.read { tx throws in try tx.context.collection(of: Thing.self) }
    for index in handle.indexes where !["initial", "flagged"].contains(index.stored.name) {
      try store.loseEntries(of: index.stored.name, in: Thing.self)
      let expected = try store.verify()
      let found = try store.verifyWithoutTypes().report
      #expect(expected.faultCount == 1)
      #expect(found.faults == expected.faults, "\(index.stored.name)")
      // The other record has the same id, so the entry leads to a record that does not want it.
      try store.environment.write { transaction in
        let id = Array("\u{1}thing 7".utf8)
        try [UInt8]([1, 2, 3]).withUnsafeBytes { key in
          _ = try id.withUnsafeBytes { try index.database.put(key, $0, in: transaction) }
        }
      }
      let both = try store.verifyWithoutTypes().report
      #expect(both.faults == (try store.verify().faults), "\(index.stored.name)")
      #expect(both.faultCount == 2)
      _ = try store.rebuildWithoutTypes()
      #expect(try store.verifyWithoutTypes().report.isClean)
    }
    #expect(TextDifference.between(expected: before, actual: try store.dump()) == nil)
  }

  struct Old: Record {
    static let collectionName = "Changing"
    var id = RecordID<Old>()
    var name: String
  }

  struct New: Record {
    struct Place: Codable, Sendable { var city: String }
    static let collectionName = "Changing"
    var id = RecordID<New>()
    var name: String
    var age: Int?
    var place: Place?
    var rank = 3
    static let schema = Schema<New> {
      Index(\.age)
      Index(\.place?.city)
      Index(\.rank)
      Default(\.rank, 3)
    }
  }

  @Test(
    "A field that is missing in older records is nil if optional, or else needs the program")
  func olderRecords() throws {
    let directory = try Fixture(towers: 1)
    let path = directory.directory.path + "/changing.larch"
    let old = try Store(at: path, for: Old.self)
    try old.write { tx throws in
      for number in 0..<20 {
        var record = Old(name: "old \(number)")
        try tx.save(&record)
      }
    }
    old.close()
    let store = try Store(at: path, for: New.self)
    defer { store.close() }
    try store.write { tx throws in
      for number in 0..<20 {
        var record = New(
          name: "new \(number)", age: number % 3 == 0 ? nil : number,
          place: number % 2 == 0 ? nil : .init(city: "Oslo"))
        try tx.save(&record)
      }
    }
    let before = try store.dump()
    let found = try store.verifyWithoutTypes()
    #expect(found.report.isClean, "\(found.report)")
    #expect(found.unproved.map(\.index) == ["rank"])
    _ = try store.rebuildWithoutTypes()
    #expect(TextDifference.between(expected: before, actual: try store.dump()) == nil)
  }

  @Test("Two records with one unique value are found, also beyond the cut of a key")
  func duplicates() throws {
    struct Plain: Record {
      static let collectionName = "Plain"
      var id = RecordID<Plain>()
      var name: String
    }
    struct Strict: Record {
      static let collectionName = "Plain"
      var id = RecordID<Strict>()
      var name: String
      static let schema = Schema<Strict> { Unique(\.name) }
    }
    for (first, second, isDuplicate) in [
      ("a", "a", true), ("a", "b", false),
      (String(repeating: "x", count: 300) + "1", String(repeating: "x", count: 300) + "1", true),
      (String(repeating: "x", count: 300) + "1", String(repeating: "x", count: 300) + "2", false),
    ] {
      let store = try Store.temporary(for: Strict.self)
      var one = Strict(name: first)
      var other = Strict(name: "other")
      try store.write { tx throws in
        try tx.save(&one)
        try tx.save(&other)
      }
      try store.replace(other.id.rawValue, with: second, in: Strict.self)
      let faults = try store.verifyWithoutTypes().report.faults
      #expect(faults.contains { $0.kind == .missingEntry } == (second != "other"))
      if isDuplicate {
        let error = #expect(throws: LarchError.self) { try store.rebuildWithoutTypes() }
        #expect(error?.code == .uniqueConflict)
      } else {
        _ = try store.rebuildWithoutTypes()
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("Changed and unreadable records are named")
  func records() throws {
    let store = try Store.temporary(for: Owner.self, Club.self, Tower.self)
    try store.write { tx throws in
      for name in ["a", "b", "c"] {
        var owner = Owner(id: name, age: 1)
        try tx.save(&owner)
      }
    }
    let handle = try store.read { tx throws in try tx.context.collection(of: Owner.self) }
    try store.environment.write { transaction in
      let id = Array("\u{1}b".utf8)
      try id.withUnsafeBytes { id in
        var bytes = [UInt8](try #require(try handle.records.get(id, in: transaction)))
        bytes[bytes.count - 6] ^= 1
        _ = try bytes.withUnsafeBytes { try handle.records.put(id, $0, in: transaction) }
      }
    }
    let found = try store.verifyWithoutTypes().report
    #expect(
      found.faults.map(\.description) == ["checksum, collection Owner, id b, checksum_mismatch"])
    #expect(found.recordCount == 3)
  }

  @Test("The text of a definition is parsed as it was written")
  func definitions() throws {
    let store = try Store.temporary(for: Thing.self)
    try store.inspect { inspector in
      let indexes = try #require(inspector.collections.first).indexes
      func text(_ name: String) throws -> String {
        let found = try #require(indexes.first { $0.name == name }).parsedDefinition
        let fields = found.fields.map { field in
          let marks =
            (field.isMultiple ? "[]" : "") + (field.textForm == .caseInsensitive ? "~" : "")
          return marks + (field.path?.joined(separator: "/") ?? "()") + ":" + (field.kind ?? "?")
        }
        return found.origin + " " + fields.joined(separator: " ")
      }
      #expect(
        try text("inner.number_inner.text") == "stored inner/number:double inner/text:string?")
      #expect(try text("name") == "stored ~name:string")
      #expect(try text("numbers_name") == "stored []numbers:int64 name:string")
      #expect(try text("initial") == "decoded ():string")
      #expect(try text("flagged") == "where small:int8")
    }
    for damaged in [
      "", ";", "string", "string;stored", "string;stored;a;b", "x;stored;a", "string;stored;",
    ] {
      #expect(!IndexDefinition(damaged).isReadableFromBytes, "\(damaged)")
    }
  }
}

extension Store {
  /// Changes the name of a record without updating indexes.
  fileprivate func replace<R: Record>(_ id: Int64, with name: String, in type: R.Type) throws {
    let handle = try read { tx throws in try tx.context.collection(of: type) }
    let scratch = try Store.temporary(for: Copy.self)
    var copy = Copy(id: RecordID<Copy>(id), name: name)
    try scratch.write { tx throws in try tx.save(&copy) }
    let other = try scratch.read { tx throws in try tx.context.collection(of: Copy.self) }
    let key = withUnsafeBytes(of: (UInt64(bitPattern: id) ^ (1 << 63)).bigEndian) { [UInt8]($0) }
    let record = try scratch.environment.write { transaction in
      try key.withUnsafeBytes { key in
        [UInt8](
          RecordEnvelope.unverified(try #require(try other.records.get(key, in: transaction))))
      }
    }
    let sum = key.withUnsafeBytes { key in
      record.withUnsafeBytes {
        RecordEnvelope.checksum(collection: handle.number, id: key, record: $0)
      }
    }
    let sealed = record + withUnsafeBytes(of: sum.littleEndian) { [UInt8]($0) }
    try environment.write { transaction in
      try key.withUnsafeBytes { key in
        _ = try sealed.withUnsafeBytes { try handle.records.put(key, $0, in: transaction) }
      }
    }
  }
}

/// The same fields as the records of the tests above: the bytes are those of shape 1, as theirs.
private struct Copy: Record {
  static let collectionName = "Plain"
  var id = RecordID<Copy>()
  var name: String
}
