import Foundation
import Larch

/// OCActiveObjects: open a database, and save, find, count and remove objects of scalar properties.
enum OCActiveObjectsSeed {
  struct Reading: Record {
    var id = RecordID<Reading>()  // the surrogate key
    var station: String
    var isValid = true
    var small: Int8 = 0
    var large: Int64 = 0
    var unsigned: UInt32 = 0
    var single: Float = 0
    var double = 0.0
    var at = Date(timeIntervalSince1970: 0)
    var raw = Data()

    static let schema = Schema<Reading> { Index(\.station, \.at) }
  }

  static func run() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seeds-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("readings.larch").path

    // [AOConnection openDatabase:path]
    var store = try Store(at: path, for: Reading.self)

    // [reading save]
    var reading = Reading(
      station: "Oslo", small: -7, large: .max, unsigned: .max, single: 0.5, double: 1e-300,
      at: Date(timeIntervalSince1970: 1_750_000_000), raw: Data([0, 255]))
    try store.save(&reading)
    Check.that(reading.id.isAssigned, "the store gives the key")

    // [connection close], and open it again
    store.close()
    store = try Store(at: path, for: Reading.self)
    defer { store.close() }

    // [Reading findById:]
    let same = try store.find(Reading.self, reading.id)
    Check.equal(same?.large, .max, "a large number")
    Check.equal(same?.single, 0.5, "a float")
    Check.equal(same?.double, 1e-300, "a double")
    Check.equal(same?.at, reading.at, "a date")
    Check.equal(same?.raw, Data([0, 255]), "bytes")

    // [Reading findAll], [Reading count], [Reading findWhere:@"station = 'Oslo'"]
    Check.equal(try store.fetch(Reading.all).count, 1, "all")
    Check.equal(try store.count(Reading.all), 1, "their number")
    Check.equal(try store.count(Reading.where { $0.station == "Oslo" }), 1, "those of Oslo")

    // [Reading findWithDictionary:@{ @"station": @"Oslo", @"isValid": @YES }]
    let criteria: [String: any Encodable & Sendable] = ["station": "Oslo", "isValid": true]
    Check.equal(try store.count(Reading.where(matching: criteria)), 1, "by a dictionary")

    // [reading remove]
    try store.write { tx in _ = try tx.delete(reading) }
    Check.equal(try store.count(Reading.all), 0, "removed")
  }
}
