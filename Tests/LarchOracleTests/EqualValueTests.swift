import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// `counts(by:)` gave 0.0 for a stored -0.0, and é in one character for é in two, where an index
/// answered it, and the stored bits where records did.
@Suite("Values that are equal and not the same")
struct EqualValueTests {
  struct Bare: Record {
    var id = RecordID<Bare>()
    var real: Double
    var maybe: Double?
    var text: String
    var day: Date
    var number: Int
  }

  struct Indexed: Record {
    var id = RecordID<Indexed>()
    var real: Double
    var maybe: Double?
    var text: String
    var day: Date
    var number: Int
    static let schema = Schema<Indexed> {
      Index(\.real)
      Index(\.maybe)
      Index(\.text)
      Index(\.day)
    }
  }

  struct Second: Record {
    var id = RecordID<Second>()
    var real: Double
    var maybe: Double?
    var text: String
    var day: Date
    var number: Int
    static let schema = Schema<Second> {
      Index(\.number, \.real, \.text)
      Index(\.number, \.maybe)
      Index(\.number, \.day)
    }
  }

  private static let texts = ["e\u{301}", "\u{E9}", "a", "e\u{301}t\u{E9}"]

  private static func answers<R: Record>(
    _ type: R.Type, _ make: (Double, String, Int) -> R,
    real: any KeyPath<R, Double> & Sendable, maybe: any KeyPath<R, Double?> & Sendable,
    text: any KeyPath<R, String> & Sendable, day: any KeyPath<R, Date> & Sendable,
    number: any KeyPath<R, Int> & Sendable
  ) throws -> [String] {
    let store = try Store.temporary(for: R.self)
    try store.write { tx throws in
      for number in 0..<16 {
        var record = make([-0.0, 0.0, 1, .nan][number % 4], texts[number / 4], number % 3)
        try tx.insert(&record)
      }
    }
    func bits(_ value: Double) -> String { String(value.bitPattern, radix: 16) }
    func scalars(_ text: String) -> String {
      text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
    }
    var lines: [String] = []
    for query in [R.all, R.where { $0[number] == 1 }, R.where { $0[number] >= 1 }] {
      lines += try store.counts(by: real, of: query).map { "\(bits($0.value)) \($0.count)" }
      lines += try store.counts(by: maybe, of: query).map {
        "\($0.value.map(bits) ?? "nil") \($0.count)"
      }
      lines += try store.counts(by: text, of: query).map { "\(scalars($0.value)) \($0.count)" }
      lines += try store.counts(by: day, of: query).map {
        "\(bits($0.value.timeIntervalSinceReferenceDate)) \($0.count)"
      }
      lines += try store.fetch(query.select(real)).map(bits)
      lines += try store.fetch(query.select(text)).map(scalars)
      lines += try store.fetch(query.select(text).distinct()).map(scalars)
      lines += [
        try store.min(real, of: query).map(bits) ?? "nil",
        try store.max(maybe, of: query).map(bits) ?? "nil",
        try store.min(text, of: query).map(scalars) ?? "nil",
        try store.max(text, of: query).map(scalars) ?? "nil",
      ]
    }
    return lines
  }

  @Test("Groups, figures and selections are the same to the bit with every index and without")
  func figures() throws {
    let bare = try EqualValueTests.answers(
      Bare.self,
      {
        Bare(
          real: $0, maybe: $0 == 1 ? nil : $0, text: $1,
          day: Date(timeIntervalSinceReferenceDate: $0.isNaN ? 3 : $0), number: $2)
      },
      real: \.real, maybe: \.maybe, text: \.text, day: \.day, number: \.number)
    let indexed = try EqualValueTests.answers(
      Indexed.self,
      {
        Indexed(
          real: $0, maybe: $0 == 1 ? nil : $0, text: $1,
          day: Date(timeIntervalSinceReferenceDate: $0.isNaN ? 3 : $0), number: $2)
      },
      real: \.real, maybe: \.maybe, text: \.text, day: \.day, number: \.number)
    let second = try EqualValueTests.answers(
      Second.self,
      {
        Second(
          real: $0, maybe: $0 == 1 ? nil : $0, text: $1,
          day: Date(timeIntervalSinceReferenceDate: $0.isNaN ? 3 : $0), number: $2)
      },
      real: \.real, maybe: \.maybe, text: \.text, day: \.day, number: \.number)
    #expect(indexed == bare)
    #expect(second == bare)
    // The value of a group is that of its key.
    #expect(bare.contains("0 8") && !bare.contains("8000000000000000 8"))
    #expect(bare.contains("e9 8"))
  }

  struct Account: Record {
    var id = RecordID<Account>()
    var login: String
    var mail: String?
    var name: String = ""
    static let schema = Schema<Account> {
      Unique(\.login, options: .caseInsensitive)
      Unique(\.mail, options: .caseInsensitive)
      Index(\.login, name: "exact")
      Index(\.name, options: .caseInsensitive)
    }
  }

  /// `find` was exact and gave nil, and then the insert was in conflict with what it had not found.
  @Test("A finder ignores case where the field is unique without case")
  func foldedFinders() throws {
    let store = try Store.temporary(for: Account.self)
    var ada = Account(login: "Ada", mail: "Ada@x", name: "Ada")
    try store.save(&ada)
    var other = Account(login: "bo", mail: nil)
    try store.save(&other)
    for login in ["Ada", "ADA", "ada"] {
      #expect(try store.find(Account.self, by: \.login, equals: login)?.id == ada.id)
      let found = try store.findOrCreate(by: \.login, equals: login) { Account(login: login) }
      #expect(found.id == ada.id)
    }
    #expect(try store.find(Account.self, by: \.mail, equals: "aDA@X")?.id == ada.id)
    #expect(try store.find(Account.self, by: \.mail, equals: nil)?.id == other.id)
    // Not unique: the field itself is asked for.
    #expect(try store.find(Account.self, by: \.name, equals: "ADA") == nil)
    let new = try store.findOrCreate(by: \.login, equals: "CY") { Account(login: "cy") }
    #expect(new.login == "cy")
    #expect(
      caught { _ = try store.findOrCreate(by: \.login, equals: "di") { Account(login: "eve") } }?
        .code
        == .invalidQuery)
    let report = try store.importJSON(
      Account.self, from: .data(Data(#"[{"login":"ADA","mail":"new@x","name":"A"}]"#.utf8)),
      matching: \.login)
    #expect(report.updated == 1)
    #expect(try store.count(Account.all) == 3)
  }
}
