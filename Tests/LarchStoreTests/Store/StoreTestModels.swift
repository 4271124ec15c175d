import Foundation
import Larch
import LarchTestSupport

struct Company: Record, Equatable {
  var id = RecordID<Company>()
  var name: String

  static let schema = Schema<Company> { Unique(\.name) }
}

enum Role: String, Codable, IndexKey, CaseIterable { case guest, member, owner }

struct Address: Codable, Equatable, Sendable {
  var street: String
  var city: String
}

/// Every kind of index on one type.
struct Person: Record, Equatable {
  var id = RecordID<Person>()
  var name: String
  var email: String?
  var age: Int
  var score = 0.0
  var tags: [String] = []
  var role = Role.guest
  var address = Address(street: "", city: "")
  var companyID: Company.ID?
  var isActive = true

  var initials: String { String(name.prefix(1)) }

  static let schema = Schema<Person> {
    Unique(\.email)
    Index(\.address.city, \.age)
    Index(\.tags)
    Index(\.name, options: .caseInsensitive)
    Index(\.role)
    Index(\.score)
    Index(\.companyID)
    Index(\.initials, name: "initials")
    Index(\.age, name: "activeAge", where: { $0.isActive })
  }
}

/// An id of the user's own, and a unique text of any length.
struct Document: Record, Equatable {
  var id: String
  var text: String
  var data = Data()
  var at = Date(timeIntervalSinceReferenceDate: 0)

  static let schema = Schema<Document> {
    Unique(\.text)
    Index(\.data, \.at)
  }
}

struct Token: Record, Equatable {
  var id = UUID()
  var value: UInt32

  static let schema = Schema<Token> { Index(\.value) }
}

extension SeededGenerator {
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// Text that is hard on keys: composed and decomposed accents, NUL, long common beginnings.
  mutating func text() -> String {
    let pieces = [
      "", "a", "A", "é", "e\u{301}", "ß", "한", "\0", "\0\u{1}", "z", "Å", "👍🏽", "ǆ",
      String(repeating: "x", count: 127), String(repeating: "long", count: 40),
      String(repeating: "é", count: 300),
    ]
    return (0..<below(4)).map { _ in pieces[below(pieces.count)] }.joined()
  }

  mutating func double() -> Double {
    let values = [0, -0.0, .nan, .infinity, -.infinity, 1.5, -1.5, .greatestFiniteMagnitude]
    return below(2) == 0 ? values[below(values.count)] : Double(below(2000) - 1000) / 8
  }

  mutating func person() -> Person {
    Person(
      name: text(), email: below(3) == 0 ? nil : "user\(below(60))@mail.example",
      age: below(100) - 10, score: double(), tags: (0..<below(4)).map { _ in text() },
      role: Role.allCases[below(3)],
      address: Address(street: text(), city: ["Oslo", "London", "", "Zürich"][below(4)]),
      companyID: below(2) == 0 ? nil : RecordID(Int64(below(9))), isActive: below(2) == 0)
  }

  mutating func document() -> Document {
    Document(
      id: ["a", "b", "é", "e\u{301}", "", "long" + String(repeating: "y", count: 200)][below(6)]
        + String(below(20)),
      text: text() + String(below(40)), data: Data((0..<below(5)).map { _ in UInt8(below(3)) }),
      at: Date(timeIntervalSinceReferenceDate: double()))
  }
}

/// Equal as stored: NaN is the same as NaN, and -0.0 is not 0.0.
func sameBits(_ a: Double, _ b: Double) -> Bool { a.bitPattern == b.bitPattern }

// Foundation's own description of a date traps on extremes, and NaN is not equal to itself.
extension Document {
  var exact: String {
    "\(id.unicodeScalars.map(\.value)) \(text.unicodeScalars.map(\.value)) \([UInt8](data)) "
      + "\(at.timeIntervalSinceReferenceDate.bitPattern)"
  }
}

extension Person {
  var exact: String { "\(self) \(score.bitPattern) \(name.unicodeScalars.map(\.value))" }
}
