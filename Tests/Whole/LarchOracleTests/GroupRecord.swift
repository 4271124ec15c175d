import Foundation
import LarchTestSupport

@testable import Larch

enum GroupKind: String, Codable, CaseIterable, IndexKey, Sendable {
  case alpha
  case beta = "\u{E9}t\u{E9}"
  case gamma = "Gamma"
  case delta = ""
}

enum GroupRank: Int, Codable, CaseIterable, IndexKey, Sendable {
  case low = -3
  case middle = 2
  case high = 400
}

/// Which indexes the records of a test have.
protocol GroupIndexes: Sendable {
  static var name: String { get }
  static var schema: Schema<GroupRecord<Self>> { get }
}

/// Values of the kinds by which rows are grouped.
struct GroupRecord<L: GroupIndexes>: Record {
  var id = RecordID<Self>()
  var kind: GroupKind
  var maybe: GroupRank?
  var day: Date
  var key: UUID
  var owner: RecordID<GroupRecord<NoGroupIndexes>>?
  var real: Double
  var maybeReal: Double?
  var text: String
  var note: String?
  var number: Int
  var flag: Bool
  var tags: [String]
  var price: Decimal

  static var collectionName: String { L.name }
  static var schema: Schema<Self> { L.schema }
}

enum NoGroupIndexes: GroupIndexes {
  static let name = "none"
  static var schema: Schema<GroupRecord<Self>> { Schema() }
}

/// Each field first in an index of two.
enum FirstGroupIndexes: GroupIndexes {
  static let name = "first"
  static var schema: Schema<GroupRecord<Self>> {
    Schema {
      Index(\.kind, \.number)
      Index(\.maybe, \.day)
      Index(\.day, \.number)
      Index(\.key, \.text)
      Index(\.owner, \.flag)
      Index(\.real, \.number)
      Index(\.maybeReal, \.kind)
      Index(\.text, \.number)
      Index(\.note, \.real)
      Index(\.number, \.flag)
      Index(\.flag, \.kind)
    }
  }
}

/// Each field second, after one that filters set.
enum SecondGroupIndexes: GroupIndexes {
  static let name = "second"
  static var schema: Schema<GroupRecord<Self>> {
    Schema {
      Index(\.number, \.kind, \.maybe)
      Index(\.kind, \.maybe)
      Index(\.number, \.day)
      Index(\.kind, \.key)
      Index(\.number, \.owner)
      Index(\.kind, \.real)
      Index(\.number, \.maybeReal)
      Index(\.number, \.text, \.note)
      Index(\.tags, \.kind, \.text)
    }
  }
}

/// Texts that are cut, alone and before and after others.
enum LongGroupIndexes: GroupIndexes {
  static let name = "long"
  static var schema: Schema<GroupRecord<Self>> {
    Schema {
      Index(\.text)
      Index(\.note, \.text)
      Index(\.text, \.note, \.kind)
      Index(\.text, \.text2, \.note, \.note2, \.kind, name: "all")
      Index(\.maybeReal)
      Index(\.maybe)
    }
  }
}

/// Indexes that do not tell every group: other forms, parts of the records, elements.
enum OddGroupIndexes: GroupIndexes {
  static let name = "odd"
  static var schema: Schema<GroupRecord<Self>> {
    Schema {
      Index(\.text, options: .caseInsensitive, name: "folded")
      Index(\.note, options: .caseInsensitive, name: "foldedNote")
      Index(\.tags, \.number)
      Index(\.kind, name: "some", where: { $0.number > 1 })
      Index(\.length, \.kind, name: "length")
      Index(\.kind, \.tags)
    }
  }
}

extension GroupRecord {
  var text2: String { text + text }
  var note2: String { (note ?? "") + text }
  var length: Int { text.count }
}

extension SeededGenerator {
  /// A store with none to 120 records.
  mutating func groupStore<L: GroupIndexes>(_: L.Type, isChecked: Bool) throws -> Store {
    var options = Store.Options()
    options.checksQueries = isChecked
    let store = try Store.temporary(for: GroupRecord<L>.self, options: options)
    var records: [GroupRecord<L>] = []
    for _ in 0..<pick([0, 1, 40, 120]) { records.append(groupRecord(L.self)) }
    let made = records
    try store.write { tx throws in
      for record in made {
        var record = record
        try tx.insert(&record)
      }
    }
    return store
  }

  mutating func groupRecord<L>(_: L.Type) -> GroupRecord<L> {
    typealias V = OracleValues
    // Few values, so that groups have several rows.
    let texts = ["a", "A", "ab", "e\u{301}", "\u{E9}", ""]
    return GroupRecord(
      kind: pick(GroupKind.allCases), maybe: optional(pick(GroupRank.allCases)),
      day: pick(V.days), key: pick(V.keys),
      owner: optional(RecordID(Int64(below(3)))), real: pick(V.reals),
      maybeReal: optional(pick(V.reals)),
      text: chance(1, in: 2) ? pick(texts) : pick(V.texts),
      note: optional(pick(V.texts)), number: below(5), flag: chance(1, in: 3),
      tags: (0..<below(3)).map { _ in pick(["a", "b", "\u{E9}"]) },
      price: Decimal(below(4)) / 2)
  }
}
