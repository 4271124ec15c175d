import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random records and random migrations against the same functions over an array.
@Suite("Random migrations against arrays")
struct MigrationPropertyTests {
  struct Old: Record, Equatable {
    var id = RecordID<Old>()
    var city: String
    var age: Int16
    var score: Double?
    var tags: [String]
    static let collectionName = "Thing"
    static let schema = Schema<Old> {
      Index(\.city, \.age)
      Index(\.tags)
    }
  }

  struct New: Record, Equatable {
    var id = RecordID<New>()
    var city: String
    var age: Int
    var score: Double
    var tags: [String]
    var label: String
    var decade: Int { age / 10 }
    static let collectionName = "Thing"
    static let schema = Schema<New> {
      Index(\.city, \.age)
      Index(\.tags)
      Index(\.score)
      Index(\.decade, name: "decade")
      Unique(\.label)
      Index(\.age, name: "elders", where: { $0.age > 50 })
    }
  }

  static func change(_ old: Old) -> New? {
    if old.age % 7 == 3 { return nil }
    return New(
      id: .init(old.id.rawValue), city: old.city.uppercased(), age: Int(old.age) + 1,
      score: old.score ?? -1, tags: old.tags.reversed(), label: "\(old.city)-\(old.id.rawValue)")
  }

  static func change(_ fields: inout StoredFields) {
    guard case .int(let age)? = fields["age"], case .int(let id)? = fields["id"],
      let city = fields["city"]?.string
    else { return }
    fields.isDropped = age % 7 == 3
    fields["city"] = .string(city.uppercased())
    fields["age"] = .int(age + 1)
    fields["score"] = fields["score"] ?? -1
    fields["tags"] = .list((fields["tags"]?.list ?? []).reversed())
    fields["label"] = .string("\(city)-\(id)")
  }

  private static let cities = ["a", "b", "é", "e\u{301}", "straße", ""]

  private func random(_ generator: inout SeededGenerator) -> Old {
    Old(
      city: Self.cities.randomElement(using: &generator)!,
      age: Int16.random(in: 0..<100, using: &generator),
      score: [nil, 0.5, -0.0, .nan, 7].randomElement(using: &generator)!,
      tags: (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
        ["x", "y", "z"].randomElement(using: &generator)!
      })
  }

  enum Way: CaseIterable { case type, fields, plainThenType, twoSteps }

  private func migrations(_ way: Way) -> [Migration] {
    switch way {
    case .type:
      [Migration("m") { tx throws in try tx.rewrite(New.self, from: Old.self) { Self.change($0) } }]
    case .fields:
      [Migration("m") { tx throws in try tx.rewrite(New.self) { Self.change(&$0) } }]
    case .plainThenType:
      [
        Migration("plain") { tx throws in try tx.rewrite("Thing") { $0.rename("city", to: "town") }
        },
        Migration("m") { tx throws in
          try tx.rewrite(New.self) {
            $0.rename("town", to: "city")
            Self.change(&$0)
          }
        },
      ]
    case .twoSteps:
      [
        Migration("same") { tx throws in
          try tx.rewrite("Thing", from: Old.self, to: Old.self) { $0 }
        },
        Migration("m") { tx throws in try tx.rewrite(New.self, from: Old.self) { Self.change($0) }
        },
      ]
    }
  }

  @Test("The records, the answers and the indexes are those of the array", arguments: Way.allCases)
  func random(_ way: Way) throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    var generator = SeededGenerator(seed: seed)
    for round in 0..<6 {
      let count = [0, 1, 511, 512, 513, 1500][round]
      try withScratchPath { path throws in
        var records = (0..<count).map { _ in random(&generator) }
        try Store.using(path, Old.self) { store throws in
          try store.saveAll(records)
          for place in records.indices { records[place].id = .init(Int64(place + 1)) }
          let gone = Set(
            records.filter { _ in Int.random(in: 0..<9, using: &generator) == 0 }.map(\.id))
          try store.write { tx throws in for id in gone { try tx.delete(Old.self, id) } }
          records.removeAll { gone.contains($0.id) }
        }
        let batch = [7, 100, 20_000].randomElement(using: &generator)!
        let options = Store.Options.quick.with {
          $0.indexBatchSize = batch
          $0.checksQueries = true
        }
        try Store.using(path, New.self, migrations: migrations(way), options: options) {
          store throws in
          let expected = records.compactMap { Self.change($0) }
          try check(store, expected, &generator, "seed \(seed), \(way), \(count)")
        }
      }
    }
  }

  private func check(
    _ store: Store, _ expected: [New], _ generator: inout SeededGenerator, _ note: Comment
  ) throws {
    func same(_ a: [New], _ b: [New]) -> Bool {
      // NaN equals nothing.
      a.map { "\($0)" } == b.map { "\($0)" }
    }
    #expect(same(try store.everything(New.self), expected), note)
    #expect(try store.faults == [], note)
    for _ in 0..<10 {
      let city = Self.cities.randomElement(using: &generator)!.uppercased()
      let age = Int.random(in: 0..<101, using: &generator)
      #expect(
        same(
          try store.fetch(New.where { $0.city == city && $0.age >= age }.sorted(by: \.age)),
          expected.filter { $0.city == city && $0.age >= age }.sorted {
            ($0.age, $0.id) < ($1.age, $1.id)
          }), note)
      #expect(
        same(
          try store.fetch(New.where { $0.tags.contains("x") }),
          expected.filter { $0.tags.contains("x") }), note)
      #expect(
        try store.count(New.where { $0.score < 1 }) == expected.count { $0.score < 1 }, note)
      #expect(
        try store.count(New.where { $0.decade == age / 10 })
          == expected.count { $0.decade == age / 10 }, note)
    }
    for record in expected.prefix(20) {
      #expect(try store.find(New.self, by: \.label, equals: record.label)?.id == record.id, note)
    }
  }
}
