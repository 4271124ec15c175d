import Foundation
import LarchTestSupport

@testable import Larch

enum Mood: String, Codable, IndexKey, CaseIterable { case glad, grim, calm }

struct Home: Codable, Equatable, Sendable {
  var street: String?
  var number: Int16
}

/// A field of every kind, and indexes of every form.
struct Sample: Record {
  var id = RecordID<Sample>()
  var name: String
  var city: String?
  var age: Int
  var score: Double
  var height: Float?
  var day: Date?
  var active: Bool
  var tags: [String]
  var note: String
  var small: UInt8?
  var token: UUID
  var blob: Data
  var link: URL?
  var mood: Mood
  var home: Home?

  var shout: String { note.uppercased() + "!" }

  static let schema = Schema<Sample> {
    Index(\.age)
    Index(\.city, \.age)
    Index(\.city, \.age, \.score)
    Index(\.note)
    Index(\.note, \.age)
    Index(\.age, \.note)
    Index(\.tags)
    Index(\.name, options: .caseInsensitive)
    Index(\.height)
    Index(\.day)
    Index(\.token)
    Index(\.blob, \.small)
    Index(\.shout, name: "shout")
    Index(\.score)
    Index(\.tags, \.age)
  }

  /// The places of the indexes above.
  enum Place {
    static let age = 0
    static let cityAge = 1
    static let cityAgeScore = 2
    static let note = 3
    static let noteAge = 4
    static let ageNote = 5
    static let tags = 6
    static let name = 7
    static let height = 8
    static let day = 9
    static let token = 10
    static let blobSmall = 11
    static let shout = 12
    static let score = 13
    static let tagsAge = 14
  }
}

extension SeededGenerator {
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }

  mutating func word() -> String {
    pick([
      "", "a", "A", "ab", "b", "B", "é", "e\u{301}", "E\u{301}", "ß", "z\0", "z", "z\0\u{1}", "Å",
      "\u{212B}", "K", "\u{212A}", "k", "\r\n", "\r", "100%", "a_b", "ǆ", "한", "👍🏽", "ab\u{301}",
      "Oslo", "oslo", "London",
    ])
  }

  mutating func double() -> Double {
    chance(3)
      ? pick([0, -0.0, .nan, -.nan, .infinity, -.infinity, 1.5, -1.5, .greatestFiniteMagnitude])
      : Double(below(40) - 20) / 4
  }

  /// Around the lengths at which keys are cut, with long common prefixes.
  mutating func note() -> String {
    switch below(6) {
    case 0:
      String(repeating: "x", count: pick([126, 127, 128, 129, 600])) + pick(["", "a", "b", "é"])
    case 1: String(repeating: "é", count: pick([63, 64, 65, 300])) + pick(["", "a", "e\u{301}"])
    case 2: String(repeating: "\0", count: pick([62, 63, 64, 65])) + pick(["", "a"])
    default: word() + word()
    }
  }

  mutating func sample() -> Sample {
    Sample(
      name: word() + word(), city: chance(4) ? nil : pick(["Oslo", "London", "é", "e\u{301}", ""]),
      age: chance(20) ? pick([Int.min, Int.max]) : below(12) - 2, score: double(),
      height: chance(3) ? nil : Float(double()),
      day: chance(3) ? nil : Date(timeIntervalSinceReferenceDate: double()),
      active: chance(2), tags: (0..<below(4)).map { _ in word() }, note: note(),
      small: chance(3) ? nil : UInt8(below(4)),
      token: UUID(
        uuid: (UInt8(below(3)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(below(3)))),
      blob: Data((0..<below(4)).map { _ in UInt8(below(2)) }),
      link: chance(3) ? nil : URL(string: "https://example.org/\(below(5))"),
      mood: pick(Mood.allCases),
      home: chance(4) ? nil : Home(street: chance(3) ? nil : word(), number: Int16(below(5))))
  }
}

/// The fields of a sample, as filters name them.
enum SampleField {
  static let id = TypedField.of(\Sample.id)
  static let name = TypedField.of(\Sample.name)
  static let city = TypedField.of(\Sample.city)
  static let age = TypedField.of(\Sample.age)
  static let score = TypedField.of(\Sample.score)
  static let height = TypedField.of(\Sample.height)
  static let day = TypedField.of(\Sample.day)
  static let active = TypedField.of(\Sample.active)
  static let note = TypedField.of(\Sample.note)
  static let small = TypedField.of(\Sample.small)
  static let token = TypedField.of(\Sample.token)
  static let blob = TypedField.of(\Sample.blob)
  static let link = TypedField.of(\Sample.link)
  static let mood = TypedField.of(\Sample.mood)
  static let shout = TypedField.of(\Sample.shout)
  static let street = FieldNode.of(\Sample.home).flatMember(\Home.street).indexKey().field
  static let tags = FieldNode.of(\Sample.tags).elementKey!.field

  static let single = [
    id, name, city, age, score, height, day, active, note, small, token, blob, link, mood, shout,
    street,
  ]
}

/// A store for plans, and the same records in an array in the order of their ids.
final class SampleStore {
  let store: Store
  let records: [Sample]

  init(count: Int, _ random: inout SeededGenerator) throws {
    store = try Store.temporary(for: Sample.self)
    var records: [Sample] = []
    for _ in 0..<count { records.append(random.sample()) }
    let unsaved = records
    self.records = try store.write { tx throws in
      try unsaved.map { record throws in
        var record = record
        try tx.save(&record)
        return record
      }
    }
  }

  func run<T>(
    _ plan: Plan, selecting: [FieldReference] = [], settings: SortSettings = SortSettings(),
    _ body: (PlanRun, RecordAccess<Sample>) throws -> T
  ) throws -> T {
    try store.run(plan, of: Sample.self, selecting: selecting, settings: settings, body)
  }

  func ids(_ plan: Plan, settings: SortSettings = SortSettings()) throws -> [Int64] {
    try run(plan, settings: settings) { run, access in
      var ids: [Int64] = []
      while let row = try run.next() { ids.append(try access.id(of: row, run).rawValue) }
      return ids
    }
  }
}

extension Store {
  func run<R: Record, T>(
    _ plan: Plan, of type: R.Type, selecting: [FieldReference] = [],
    settings: SortSettings = SortSettings(), _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    try read { tx throws in
      let collection = try tx.context.collection(of: type)
      let access = RecordAccess<R>(tx.context, collection)
      let run = try PlanRun(
        plan, in: collection, context: tx.context, typed: access, selecting: selecting)
      run.settings = settings
      defer { run.close() }
      return try body(run, access)
    }
  }
}

/// The expected rows of a plan, from the values of the decoded records.
struct Expectation {
  var filter: FilterNode
  var order: [OrderTerm]
  var idsDescend: Bool

  /// Without offset and limit.
  func rows(_ records: [Sample], after: PageToken? = nil) -> [Sample] {
    let sorted = records.filter { filter.matches($0) }
      .map { ($0, values($0)) }
      .sorted { compare($0, $1) < 0 }
    guard let after else { return sorted.map(\.0) }
    return sorted.filter { row in
      let place = zip(order, row.1).enumerated().lazy.map { number, pair -> Int in
        let order = KeyValue.compare(pair.1, after.values[number])
        return pair.0.descends ? -order : order
      }.first { $0 != 0 }
      if let place { return place > 0 }
      let order = Expectation.compare(idBytes(row.0), after.id)
      return idsDescend ? order < 0 : order > 0
    }.map(\.0)
  }

  func token(_ record: Sample) -> PageToken {
    PageToken(order: "", values: values(record), id: idBytes(record))
  }

  private func values(_ record: Sample) -> [[KeyValue]] {
    order.map { term in
      let field = unsafeDowncast(term.field, to: TypedField<Sample>.self)
      let values = field.value(of: record)
      guard term.textForm.isFolded else { return values }
      return values.map {
        if case .string(let text) = $0 { .string(NFC.foldedForIndex(text)) } else { $0 }
      }
    }
  }

  private func idBytes(_ record: Sample) -> [UInt8] {
    var writer = KeyWriter()
    writer.append(int64: record.id.rawValue)
    return [UInt8](writer.bytes)
  }

  private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in compareBytes(a, b) } }
  }

  private func compare(_ a: (Sample, [[KeyValue]]), _ b: (Sample, [[KeyValue]])) -> Int {
    for (place, term) in order.enumerated() {
      let order = KeyValue.compare(a.1[place], b.1[place])
      if order != 0 { return term.descends ? -order : order }
    }
    let order = a.0.id.rawValue < b.0.id.rawValue ? -1 : 1
    return idsDescend ? -order : order
  }
}
