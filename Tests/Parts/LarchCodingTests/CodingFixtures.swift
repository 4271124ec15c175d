import Foundation
import Testing

@testable import Larch

/// A new coder with a new table, and helpers for tests.
final class CodingBench {
  let shapes = ShapeTable()
  let coder: RecordCoder
  init() { coder = RecordCoder(shapes: shapes) }

  func bytes<T: Encodable>(_ value: T) throws -> [UInt8] { try Array(coder.encode(value)) }

  func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
    try bytes.withUnsafeBytes { try coder.decode(type, from: $0) }
  }

  /// Encodes three times, since the first value teaches the coder, which may show it another shape
  /// for the second one, and the others show what it learned; reads all back.
  func roundTrip<T: Codable & Equatable>(
    _ value: T, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let first = try bytes(value)
    let second = try bytes(value)
    let third = try bytes(value)
    #expect(second == third, sourceLocation: sourceLocation)
    #expect(try decode(T.self, first) == value, sourceLocation: sourceLocation)
    #expect(try decode(T.self, third) == value, sourceLocation: sourceLocation)
    // A reader that has only the table.
    let other = RecordCoder(shapes: shapes)
    let again = try first.withUnsafeBytes { try other.decode(T.self, from: $0) }
    #expect(again == value, sourceLocation: sourceLocation)
  }
}

struct Person: Codable, Equatable {
  var id: Int64
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Date
  var city: String
  var companyID: Int64

  static let sample = Person(
    id: 17, name: "Linda Garcia", email: "lindagarcia17@mail.com", age: 41, score: 0.25,
    active: true, createdAt: Date(timeIntervalSince1970: 1_600_000_000.125), city: "Ashburton",
    companyID: 3)
}

struct Address: Codable, Equatable, Hashable {
  var street: String
  var city: String
  var zip: Int?
  var lines: [String]
}

enum Level: Int, Codable, CaseIterable { case low = 1, middle, high }
enum Color: String, Codable, CaseIterable { case red, green = "grün", blue }

struct Rich: Codable, Equatable {
  var id: UUID
  var title: String?
  var address: Address
  var second: Address?
  var level: Level
  var color: Color?
  var blob: Data
  var numbers: [Int]
  var counts: [String: Int]
  var tags: Set<String>
  var url: URL?
  var price: Decimal
  var ratio: Float
  var small: UInt8
  var dates: [Date]
  var doubles: [Double]
  var flags: [Bool]
  var addresses: [Address]
  var byLevel: [Int: [String]]

  static let sample = Rich(
    id: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!, title: nil,
    address: Address(street: "Main", city: "Köln", zip: nil, lines: ["a", "b"]), second: nil,
    level: .middle, color: .green, blob: Data([1, 2, 3, 255]), numbers: [1, -2, .max],
    counts: ["x": 1, "a": 2, "zz": -3], tags: ["b", "a", "c"],
    url: URL(string: "https://example.com/a?b=c"), price: Decimal(string: "12.340")!, ratio: 0.5,
    small: 200, dates: [Date(timeIntervalSinceReferenceDate: 1.5)], doubles: [.pi, -0.0],
    flags: [true, false],
    addresses: [
      Address(street: "1", city: "2", zip: 3, lines: []),
      Address(street: "", city: "", zip: nil, lines: [""]),
    ],
    byLevel: [3: ["c"], 10: [], -1: ["d", "e"]])
}
