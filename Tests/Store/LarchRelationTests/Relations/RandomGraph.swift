import Foundation
import LarchTestSupport

@testable import Larch

/// Four types with ids of four kinds, and associations of every kind between them. The rules are
/// chosen for each store.
enum RandomGraph {
  /// A rule for each end of each association, in their order.
  @TaskLocal static var rules: [(first: DeleteRule, second: DeleteRule)] = []

  static let types: [any GraphRecord.Type] = [
    Numbered.self, Universal.self, Named.self, Narrow.self,
  ]

  static let places: [GraphStore.Place] = [
    .slot(0), .slot(1), .slot(0), .slot(0), .slot(1), .slot(0), .slot(1), .lists, .lists, .lists,
  ]

  static func associations() -> [DeletionModel.Association] {
    let ends: [(String, DeletionModel.Association.Kind, Int, Int)] = [
      ("Numbered.universal", .optional, 0, 1), ("Numbered.parent", .optional, 0, 0),
      ("Universal.names", .list, 1, 2), ("Named.narrow", .optional, 2, 3),
      ("Named.numbered", .optional, 2, 0), ("Narrow.numbers", .list, 3, 0),
      ("Narrow.name", .required, 3, 2), ("Numbered/Universal/one", .links, 0, 1),
      ("Named/Named/two", .links, 2, 2), ("Narrow/Universal/three", .links, 3, 1),
    ]
    return zip(ends, rules).map { end, rule in
      .init(end.0, end.1, end.2, end.3, rule.first, rule.second)
    }
  }

  /// Rules, most of which leave some records.
  static func randomRules(
    _ random: inout SeededGenerator
  ) -> [(first: DeleteRule, second: DeleteRule)] {
    let usual: [DeleteRule] = [
      .automatic, .automatic, .none, .none, .nullify, .nullify, .destroy, .destroyLast,
      .destroyLast, .deny,
    ]
    return places.indices.map { number in
      let first = usual[Int.random(in: usual.indices, using: &random)]
      var second = usual[Int.random(in: usual.indices, using: &random)]
      // A required property.
      if number == 6, second == .nullify { second = .destroy }
      return (first, second)
    }
  }

  struct Numbered: GraphRecord {
    var id: RecordID<Numbered>
    var universal: UUID?
    var parent: RecordID<Numbered>?

    static let ones = ManyToMany<Numbered, Universal>(named: "one")

    static var schema: Schema<Numbered> {
      Schema {
        BelongsTo(\.universal, to: Universal.self, onDelete: rules[0].first)
        BelongsTo(\.parent, to: Numbered.self, onDelete: rules[1].first)
        HasMany(\Numbered.parent, onDelete: rules[1].second)
        HasMany(\Named.numbered, onDelete: rules[4].second)
        HasMany(\Narrow.numbers, onDelete: rules[5].second)
        ManyToMany(Universal.self, named: "one", onDelete: rules[7].first)
      }
    }

    init(number: Int) { id = Self.id(number) }
    static func id(_ number: Int) -> RecordID<Numbered> { RecordID(Int64(number)) }
    static func number(ofID text: String) -> Int? { Int(text) }
    func ids(in slot: Int) -> [Int] {
      slot == 0
        ? [universal].compactMap { $0.flatMap { Universal.number(ofID: $0.uuidString) } }
        : [parent].compactMap { $0.map { Int($0.rawValue) } }
    }
    mutating func set(_ ids: [Int], in slot: Int) {
      if slot == 0 {
        universal = ids.first.map { Universal.id($0) }
      } else {
        parent = ids.first.map { Numbered.id($0) }
      }
    }
  }

  struct Universal: GraphRecord {
    var id: UUID
    var names: [String] = []

    static var schema: Schema<Universal> {
      Schema {
        HasMany(\Numbered.universal, onDelete: rules[0].second)
        HasMany(Named.self, in: \.names, onDelete: rules[2].first)
        ManyToMany(Numbered.self, named: "one", onDelete: rules[7].second)
        ManyToMany(Narrow.self, named: "three", onDelete: rules[9].second)
      }
    }

    init(number: Int) { id = Self.id(number) }
    static func id(_ number: Int) -> UUID {
      let bytes = withUnsafeBytes(of: UInt64(number).bigEndian) { [UInt8]($0) }
      return UUID(
        uuid: (
          7, 7, 7, 7, 7, 7, 7, 7, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
          bytes[6], bytes[7]
        ))
    }
    static func number(ofID text: String) -> Int? { Int(text.suffix(4), radix: 16) }
    func ids(in slot: Int) -> [Int] { names.compactMap { Named.number(ofID: $0) } }
    mutating func set(_ ids: [Int], in slot: Int) { names = ids.map { Named.id($0) } }
  }

  /// Every other id is longer than index keys, with the same prefix as all others.
  struct Named: GraphRecord {
    var id: String
    var narrow: Int16?
    var numbered: RecordID<Numbered>?

    static let twos = ManyToMany<Named, Named>(named: "two")
    static let inverseTwos = ManyToMany<Named, Named>(named: "two", isInverse: true)

    static var schema: Schema<Named> {
      Schema {
        BelongsTo(\.narrow, to: Narrow.self, onDelete: rules[3].first)
        BelongsTo(\.numbered, to: Numbered.self, onDelete: rules[4].first)
        HasMany(\Universal.names, onDelete: rules[2].second)
        HasMany(\Narrow.name, onDelete: rules[6].second)
        ManyToMany(Named.self, named: "two", onDelete: rules[8].first)
        ManyToMany(Named.self, named: "two", isInverse: true, onDelete: rules[8].second)
      }
    }

    init(number: Int) { id = Self.id(number) }
    static func id(_ number: Int) -> String {
      number % 2 == 0 ? String(repeating: "n", count: 200) + "-\(number)" : "n-\(number)"
    }
    static func number(ofID text: String) -> Int? {
      text.split(separator: "-").last.flatMap { Int($0) }
    }
    func ids(in slot: Int) -> [Int] {
      slot == 0
        ? [narrow].compactMap { $0.map { Int($0) + 10 } }
        : [numbered].compactMap { $0.map { Int($0.rawValue) } }
    }
    mutating func set(_ ids: [Int], in slot: Int) {
      if slot == 0 {
        narrow = ids.first.map { Narrow.id($0) }
      } else {
        numbered = ids.first.map { Numbered.id($0) }
      }
    }
  }

  struct Narrow: GraphRecord {
    var id: Int16
    var numbers: Set<RecordID<Numbered>> = []
    var name = ""

    static let threes = ManyToMany<Narrow, Universal>(named: "three")

    static var schema: Schema<Narrow> {
      Schema {
        HasMany(\Named.narrow, onDelete: rules[3].second)
        HasMany(Numbered.self, in: \.numbers, onDelete: rules[5].first)
        BelongsTo(\.name, to: Named.self, onDelete: rules[6].first)
        ManyToMany(Universal.self, named: "three", onDelete: rules[9].first)
      }
    }

    init(number: Int) { id = Self.id(number) }
    static func id(_ number: Int) -> Int16 { Int16(number - 10) }
    static func number(ofID text: String) -> Int? { Int(text).map { $0 + 10 } }
    func ids(in slot: Int) -> [Int] {
      slot == 0
        ? numbers.map { Int($0.rawValue) } : [name].compactMap { Named.number(ofID: $0) }
    }
    mutating func set(_ ids: [Int], in slot: Int) {
      if slot == 0 {
        numbers = Set(ids.map { Numbered.id($0) })
      } else {
        name = ids.first.map { Named.id($0) } ?? ""
      }
    }
  }
}
