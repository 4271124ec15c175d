import Foundation
import LarchTestSupport

@testable import Larch

/// An id for the tests of searches: of each kind of numbers for records.
protocol SearchID: RecordIdentifier {
  static func make(_ number: Int) -> Self
}

extension Int: SearchID {
  static func make(_ number: Int) -> Int { number - 20 }
}
extension UInt64: SearchID {
  static func make(_ number: Int) -> UInt64 { .max - 60 + UInt64(number) }
}
extension String: SearchID {
  static func make(_ number: Int) -> String { String(number * 7919 % 997, radix: 3) + "é" }
}
extension UUID: SearchID {
  static func make(_ number: Int) -> UUID {
    let byte = UInt8(truncatingIfNeeded: number * 37)
    return UUID(uuid: (byte, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, byte))
  }
}

/// A record with every form of text that a search takes. `Plan` tells which searches are declared.
struct SearchNote<Key: SearchID, Plan: SearchNotePlan>: Record, Equatable {
  struct Place: Codable, Equatable, Sendable {
    var name: String
    var about: String?
  }

  var id: Key
  var title: String
  var body: String?
  var tags: [String]
  var notes: [String?]?
  var labels: Set<String>
  var lists: [[String]]
  var place: Place
  var origin: Place?
  var year: Int

  static var collectionName: String { "Note" }
  static var schema: Schema<Self> { Plan.schema(Self.self) }
}

/// The searches of a note.
protocol SearchNotePlan: Sendable {
  static func schema<Key: SearchID>(
    _ type: SearchNote<Key, Self>.Type
  ) -> Schema<SearchNote<Key, Self>>
}

enum WithSearches: SearchNotePlan {
  static func schema<Key: SearchID>(
    _ type: SearchNote<Key, Self>.Type
  ) -> Schema<SearchNote<Key, Self>> {
    Schema {
      Search(\.title, \.body, \.tags)
      Search(\.title, rules: .keepingDiacritics, name: "kept")
      Search(\.notes, \.labels, \.lists, name: "others")
      Search(\.place.name, \.place.about, \.origin?.name, \.origin?.about)
      Index(\.year)
    }
  }
}

enum WithoutSearches: SearchNotePlan {
  static func schema<Key: SearchID>(
    _ type: SearchNote<Key, Self>.Type
  ) -> Schema<SearchNote<Key, Self>> {
    Schema { Index(\.year) }
  }
}

extension SearchNote {
  static func random(_ number: Int, _ random: inout SeededGenerator) -> Self {
    func text() -> String {
      RandomTexts.text(Int.random(in: 0...4, using: &random), &random)
    }
    func maybe() -> String? { Bool.random(using: &random) ? text() : nil }
    func list() -> [String] { (0..<Int.random(in: 0...2, using: &random)).map { _ in text() } }
    return Self(
      id: .make(number), title: text(), body: maybe(), tags: list(),
      notes: Bool.random(using: &random) ? list().map { $0.isEmpty ? nil : $0 } : nil,
      labels: Set(list()), lists: [list(), list()], place: Place(name: text(), about: maybe()),
      origin: Bool.random(using: &random) ? Place(name: text(), about: maybe()) : nil,
      year: Int.random(in: 1990...2030, using: &random))
  }

  /// The same note in a store with other searches.
  func copied<Other>(_ type: Other.Type) -> SearchNote<Key, Other> {
    func place(_ place: Place) -> SearchNote<Key, Other>.Place {
      .init(name: place.name, about: place.about)
    }
    return SearchNote<Key, Other>(
      id: id, title: title, body: body, tags: tags, notes: notes, labels: labels, lists: lists,
      place: place(self.place), origin: origin.map(place), year: year)
  }
}
