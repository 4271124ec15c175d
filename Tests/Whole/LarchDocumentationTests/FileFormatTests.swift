import Foundation
import Larch
import Testing

/// docs/file-format.md, checked by a reader that was written from it.
@Suite("file-format.md")
struct FileFormatTests {
  struct Inner: Codable, Sendable {
    var number: Int32
    var text: String?
  }

  struct Sample: Record {
    var id = RecordID<Sample>()
    var flag: Bool
    var small: Int8
    var wide: UInt64
    var ratio: Double
    var day: Date
    var key: UUID
    var text: String
    var note: String?
    var blob: Data
    var link: URL?
    var inner: Inner
    var list: [Int]
    var inners: [Inner]
    var map: [String: String?]
    var group: Int

    static let schema = Schema<Sample> {
      Index(\.group)
      Index(\.text, \.group)
      Index(\.list)
      Unique(\.key)
    }
  }

  private static func sample(_ number: Int) -> Sample {
    Sample(
      flag: number % 2 == 0, small: Int8(truncatingIfNeeded: number), wide: UInt64(number) << 40,
      ratio: Double(number) / 3, day: Date(timeIntervalSinceReferenceDate: Double(number)),
      key: UUID(), text: String(repeating: "t", count: number % 7) + "\(number)",
      note: number % 3 == 0 ? "a note" : nil,
      // The last ones need overflow pages and a wide record.
      blob: Data(repeating: 7, count: number < 1990 ? number % 5 : number * 40),
      link: URL(string: "https://larch.example/\(number)"),
      inner: Inner(number: Int32(number), text: nil), list: Array(0..<(number % 4)),
      inners: (0..<(number % 3)).map { Inner(number: Int32($0), text: "\($0)") },
      map: ["a": "b", "nothing": nil], group: number < 1500 ? 0 : number)
  }

  @Test("A reader written from the document finds every record and every index entry")
  func reads() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("format.larch")
    let store = try Store(at: path, for: Sample.self)
    var samples = (1...2000).map(Self.sample)
    try store.write { tx in
      for index in samples.indices { try tx.save(&samples[index]) }
    }
    try store.write { tx in _ = try tx.delete(samples.removeLast()) }
    store.close()

    let reader = try FormatReader(path: path)
    let catalog = try reader.catalog()
    #expect(catalog["format"]?.prefix(4) == [1, 0, 1, 0])
    #expect(catalog["deleted/1"] == [0xD0, 7, 0, 0, 0, 0, 0, 0])
    let collections = try reader.collections()
    let collection = try #require(collections.first)
    #expect(collection.name == "Sample")
    #expect(collection.idKind == 1)
    #expect(
      collection.indexes.map(\.definition).sorted() == [
        "int64;stored;[]list", "int64;stored;group", "string,int64;stored;text;group",
        "uuid;stored;key",
      ])
    let declarations = try reader.declarations(of: collection.number)
    #expect(
      declarations == [
        "{blob:33,day:12,flag:1,group:5,id:5,inner:{number:4,text?:32},inners:[{number:4,text?:32}],"
          + "key:13,link?:34,list:[5],map:<?>,note?:32,ratio:11,small:2,text:32,wide:9}"
      ])
    let records = try reader.records(of: collection)
    #expect(records.count == samples.count)
    for sample in samples {
      #expect(records[Self.key(sample.id.rawValue)] == .record(Self.value(of: sample)))
    }
    for index in collection.indexes {
      #expect(index.state == 2)
      let entries = try reader.entries("index.\(index.number)")
      let expected = samples.flatMap { sample in
        Self.keys(of: sample, in: index.definition).map { $0 + Self.key(sample.id.rawValue) }
      }
      #expect(Set(entries.map { $0.key + $0.value }) == Set(expected), "\(index.name)")
      #expect(entries.count == Set(expected).count)
      let pairs = entries.map { $0.key + [0, 0] + $0.value }
      #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }
  }

  @Test("A changed bit in a record does not match its checksum")
  func control() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("format.larch")
    let store = try Store(at: path, for: Sample.self)
    var sample = Self.sample(1)
    sample.text = "find me in the file"
    try store.write { tx in try tx.save(&sample) }
    store.close()
    var file = try Data(contentsOf: URL(filePath: path))
    var from = file.startIndex
    while let place = file.range(of: Data("find me in the file".utf8), in: from..<file.endIndex) {
      file[place.lowerBound] ^= 1
      from = place.upperBound
    }
    try file.write(to: URL(filePath: path))
    let reader = try FormatReader(path: path)
    let collection = try #require(try reader.collections().first)
    #expect(throws: FormatReader.Wrong.self) { try reader.records(of: collection) }
  }
}

// MARK: - Migrations

extension FileFormatTests {
  @Test("It finds the migrations that have run, in their order, with their times")
  func migrations() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("format.larch")
    var options = Store.Options()
    options.clock = { Date(timeIntervalSinceReferenceDate: 1.5) }
    let list = ["b é", "a"].map { Migration($0) { _ in } }
    try Store(at: path, for: Sample.self, migrations: list, options: options).close()
    let found = try FormatReader(path: path).migrations()
    #expect(found.map(\.name) == ["b é", "a"])
    #expect(found.map(\.seconds) == [1.5, 1.5])
  }
}

// MARK: - Associations

extension FileFormatTests {
  struct Reader: Record {
    var id = RecordID<Reader>()
    var cardID: UUID?
    var wantedIDs: [String] = []

    static let schema = Schema<Reader> {
      HasMany(Work.self, in: \.wantedIDs)
      ManyToMany(Work.self, named: "read", onDelete: .deny)
      ManyToMany(Reader.self, named: "knows")
    }
    static let read = ManyToMany<Reader, Work>(named: "read", onDelete: .deny)
    static let knows = ManyToMany<Reader, Reader>(named: "knows")
  }

  struct Card: Record {
    var id = UUID()
    static let schema = Schema<Card> { HasOne(\Reader.cardID, onDelete: .destroy) }
  }

  struct Work: Record {
    var id: String
    static let schema = Schema<Work> {
      ManyToMany(Reader.self, named: "read", onDelete: .destroyLast)
    }
  }

  @Test("A reader written from the document finds every association and every link, both ways")
  func associations() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("associations.larch")
    let store = try Store(at: path, for: Reader.self, Card.self, Work.self)
    let text = { (number: Int) in "work \(number)" + String(repeating: "ö", count: number % 200) }
    var links: [String: Set<[[UInt8]]>] = [:]
    try store.write { tx in
      for number in 1...500 {
        var work = Work(id: text(number))
        try tx.save(&work)
      }
      var readers = (1...500).map { _ in Reader() }
      for index in readers.indices { try tx.save(&readers[index]) }
      for (index, reader) in readers.enumerated() {
        // One reader of nearly all works, one work with nearly all readers, and pairs.
        for other in Set([index % 2, index, 0, index == 7 ? index + 100 : 3]) {
          try tx.add(text(other + 1), to: reader.related(Reader.read))
          links["Reader/Work/read", default: []].insert([
            Self.key(index + 1), [1] + Array(text(other + 1).utf8),
          ])
          try tx.add(readers[other].id, to: reader.related(Reader.knows))
          links["Reader/Reader/knows", default: []].insert([
            Self.key(index + 1), Self.key(other + 1),
          ])
        }
      }
    }
    store.close()

    let reader = try FormatReader(path: path)
    let found = try reader.associations()
    #expect(
      found.map(\.key) == [
        "Reader.cardID", "Reader.wantedIDs", "Reader/Reader/knows", "Reader/Work/read",
      ])
    #expect(
      found.map(\.ends) == [
        ["Reader", "Card"], ["Reader", "Work"], ["Reader", "Reader"], ["Reader", "Work"],
      ])
    #expect(found.map(\.kind) == [1, 1, 2, 2])
    #expect(found.map(\.rules) == [[1, 3], [1, 2], [2, 2], [5, 4]])
    #expect(found.map(\.path) == [["cardID"], ["wantedIDs"], [], []])
    #expect(found.map(\.traits) == [1 + 4, 1 + 2, 0, 0])
    #expect(Set(found.map(\.number)).count == 3)
    for association in found where association.kind == 2 {
      let pairs = try reader.links(of: association)
      #expect(Set(pairs) == links[association.key], "\(association.key)")
      #expect(pairs.count == Set(pairs).count)
    }
    // The index over the property lists the records with an id.
    let readers = try #require(try reader.collections().first { $0.name == "Reader" })
    #expect(
      readers.indexes.map { [$0.definition, "\($0.isUnique)"] }.sorted { $0[0] < $1[0] } == [
        ["string;stored;[]wantedIDs", "false"], ["uuid?;stored;cardID", "true"],
      ])
  }
}

// MARK: - What the document says of a sample

extension FileFormatTests {
  private static func key(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: (UInt64(truncatingIfNeeded: number) ^ 1 << 63).bigEndian) { [UInt8]($0) }
  }

  private static func fixed(_ kind: UInt8, _ bits: some FixedWidthInteger) -> FormatReader.Value {
    .fixed(kind: kind, withUnsafeBytes(of: bits.littleEndian) { [UInt8]($0) })
  }

  private static func value(of inner: Inner) -> FormatReader.Value {
    var result = ["number": fixed(4, inner.number)]
    if let text = inner.text { result["text"] = .text(text) }
    return .record(result)
  }

  private static func value(of sample: Sample) -> [String: FormatReader.Value] {
    var result: [String: FormatReader.Value] = [
      "id": fixed(5, sample.id.rawValue),
      "flag": fixed(1, UInt8(sample.flag ? 1 : 0)),
      "small": fixed(2, sample.small),
      "wide": fixed(9, sample.wide),
      "ratio": fixed(11, sample.ratio.bitPattern),
      "day": fixed(12, sample.day.timeIntervalSinceReferenceDate.bitPattern),
      "key": .fixed(kind: 13, withUnsafeBytes(of: sample.key.uuid) { [UInt8]($0) }),
      "text": .text(sample.text),
      "blob": .data([UInt8](sample.blob)),
      "inner": value(of: sample.inner),
      "list": .list(sample.list.map { fixed(5, $0) }),
      "inners": .list(sample.inners.map(value)),
      "map": .map(sample.map.mapValues { $0.map { .text($0) } ?? .null }),
      "group": fixed(5, sample.group),
    ]
    if let note = sample.note { result["note"] = .text(note) }
    if let link = sample.link { result["link"] = .text(link.absoluteString) }
    return result
  }

  private static func keys(of sample: Sample, in definition: String) -> [[UInt8]] {
    switch definition {
    case "int64;stored;group": [key(sample.group)]
    case "int64;stored;[]list": sample.list.map { key($0) }
    case "uuid;stored;key": [withUnsafeBytes(of: sample.key.uuid) { [UInt8]($0) }]
    default: [[1] + Array(sample.text.utf8) + [0, 0] + key(sample.group)]
    }
  }
}
