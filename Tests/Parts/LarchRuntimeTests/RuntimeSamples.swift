import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct RuntimePlace: MemberwiseCoded, Hashable {
  var city: String
  var zip: Int32
  enum CodingKeys: String, CodingKey {
    case city = "town"
    case zip
  }
}

enum RuntimeLevel: String, Codable { case low, high }

struct RuntimeThing: Record, MemberwiseCoded, Hashable {
  static let collectionName = "RuntimeThing"
  // Named, since without reflection no name of a property is known.
  static let next = ManyToMany<RuntimeThing, RuntimeThing>(named: "next")
  static let schema = Schema<RuntimeThing> {
    next
    Index(\.number, name: "number")
    Index(\.place?.city, name: "city")
  }

  var id = RecordID<RuntimeThing>()
  var number: Int
  var name: String
  var note: String?
  var born: Date
  var died: Date?
  var key: UUID
  var count: Int16?
  var level: RuntimeLevel
  var tags: [String]
  var place: RuntimePlace?

  static func sample(_ number: Int) -> RuntimeThing {
    let texts = ["", "a", "thirteen more", "sixteen or longer", "é", "漢字漢字漢字"]
    let text = texts[number % texts.count]
    let isEven = number % 2 == 0
    let byte = UInt8(truncatingIfNeeded: number)
    return RuntimeThing(
      number: number, name: text, note: isEven ? nil : text + "!",
      born: Date(timeIntervalSinceReferenceDate: Double(number) * 1.5),
      died: isEven ? Date(timeIntervalSinceReferenceDate: -1) : nil,
      key: UUID(uuid: (byte, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
      count: isEven ? 3 : nil, level: isEven ? .low : .high,
      tags: Array(repeating: text, count: number % 3),
      place: number % 3 == 0 ? nil : RuntimePlace(city: text, zip: Int32(number)))
  }
}

enum RuntimeSample {
  static let things = (0..<60).map(RuntimeThing.sample)

  /// The records of all samples one after the other, which are then read.
  static func bytes() throws -> [UInt8] {
    let coder = RecordCoder(shapes: ShapeTable())
    var all: [UInt8] = []
    for thing in things {
      for _ in 0..<2 {
        let bytes = [UInt8](try coder.encode(thing))
        let read = try bytes.withUnsafeBytes { try coder.decode(RuntimeThing.self, from: $0) }
        try #require(read == thing)
        let codable = try bytes.withUnsafeBytes {
          try coder.decodeThroughCodable(RuntimeThing.self, from: $0)
        }
        try #require(codable == thing)
        all += bytes
      }
    }
    return all
  }

  /// Saves, finds, queries with and without indexes, and calls without a store.
  static func useStore() throws {
    try Store.scratch(RuntimeThing.self) { store in
      try store.saveAll(things)
      let saved = try store.everything(RuntimeThing.self)
      try #require(saved.map(\.number) == things.map(\.number))
      for number in [0, 7, 59] {
        try #require(
          try store.fetch(RuntimeThing.where { $0.number == number }).map(\.number) == [number])
      }
      let cities = try store.fetch(RuntimeThing.where { $0.place.city == "a" })
      try #require(cities.map(\.number) == saved.filter { $0.place?.city == "a" }.map(\.number))
      let low = try store.fetch(RuntimeThing.where { $0.level == .low && $0.note == nil })
      try #require(Set(low) == Set(saved.filter { $0.level == .low && $0.note == nil }))
      let rows = try store.fetch(RuntimeThing.select(\.count, \.number, \.name, \.died))
      try #require(rows.count == saved.count)
      for (row, thing) in zip(rows, saved) {
        try #require(row == (thing.count, thing.number, thing.name, thing.died))
      }
      try useRelated(store, saved)
      try store.write { tx in
        var thing = RuntimeThing.sample(100)
        try thing.save()
        // Of this write: it is not committed yet.
        try #require(try RuntimeThing.all.count() == things.count + 1)
        try tx.delete(thing)
      }
      try #require(try store.verify().isClean)
    }
  }

  /// Fetches records with related ones of several associations, at two levels.
  private static func useRelated(_ store: Store, _ saved: [RuntimeThing]) throws {
    try store.write { tx in
      for place in 0..<20 {
        try tx.add(
          contentsOf: saved[(place + 1)..<(place + place % 3 + 1)].map(\.id),
          to: saved[place].related(RuntimeThing.next))
      }
    }
    func next(_ place: Int) -> [Int] {
      place < 20 ? Array((place + 1)..<(place + place % 3 + 1)) : []
    }
    let request = RuntimeThing.all.with(RuntimeThing.next)
      .with(RuntimeThing.next, from: RuntimeThing.all.with(RuntimeThing.next))
    let rows = try store.fetch(request)
    try #require(rows.map(\.0) == saved)
    for (place, row) in rows.enumerated() {
      try #require(row.1 == next(place).map { saved[$0] })
      try #require(row.2.map(\.0) == row.1)
      try #require(row.2.map(\.1) == next(place).map { next($0).map { saved[$0] } })
    }
  }
}
