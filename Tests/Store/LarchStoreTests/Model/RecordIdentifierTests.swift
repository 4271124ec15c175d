import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Keyed<ID: RecordIdentifier>: Record, Equatable {
  var id: ID
  var value: Int
  static var collectionName: String { "Keyed" }
  static var schema: Schema<Self> { Schema { Index(\.value) } }
}

private struct ISBN: RawRepresentable, RecordIdentifier {
  var rawValue: String
}

private struct TicketID: RawRepresentable, RecordIdentifier {
  var rawValue: RecordID<Int>
}

@Suite("Ids")
struct RecordIdentifierTests {
  /// Saves, finds, lists in order, updates, reopens, deletes.
  private func roundTrip<ID: RecordIdentifier>(_ sorted: [ID], _ texts: [String]) throws {
    try withScratchPath { path throws in
      try Store.using(path, Keyed<ID>.self) { store throws in
        let records = sorted.enumerated().map { Keyed(id: $1, value: $0) }
        try store.saveAll(records.reversed())
        #expect(try store.everything(Keyed<ID>.self) == records)
        #expect(try store.entries("value") == texts.enumerated().map { "[\($0)] -> \($1)" })
        #expect(try store.verify().isClean)
      }
      try Store.using(path, Keyed<ID>.self) { store throws in
        try store.write { tx throws in
          for (number, id) in sorted.enumerated() {
            #expect(try tx.find(Keyed<ID>.self, id)?.value == number)
            var changed = Keyed(id: id, value: -1)
            #expect(caught { try tx.insert(&changed) }?.code == .idExists)
            try tx.update(changed)
            #expect(try tx.delete(Keyed<ID>.self, id))
            #expect(try !tx.exists(Keyed<ID>.self, id))
          }
        }
        #expect(try store.dump() == "collection Keyed: 0 records\n  index value: 0 entries\n")
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("Integers of every width keep their order, at the extremes too")
  func integers() throws {
    func signed<T: RecordIdentifier & FixedWidthInteger>(_ type: T.Type) throws {
      let all: [T] = [.min, -1, 0, 1, .max]
      try roundTrip(all, all.map { "\($0)" })
    }
    func unsigned<T: RecordIdentifier & FixedWidthInteger>(_ type: T.Type) throws {
      let all: [T] = [0, 1, .max / 2 + 1, .max]
      try roundTrip(all, all.map { "\($0)" })
    }
    try signed(Int.self)
    try signed(Int8.self)
    try signed(Int16.self)
    try signed(Int32.self)
    try signed(Int64.self)
    try unsigned(UInt.self)
    try unsigned(UInt8.self)
    try unsigned(UInt16.self)
    try unsigned(UInt32.self)
    try unsigned(UInt64.self)
  }

  @Test("Strings are ids: empty, with NUL, non-ASCII, up to 500 bytes")
  func strings() throws {
    let all = [
      "", "\0", "\0a", "a", "a\0", "b", String(repeating: "z", count: 499), "é", "한", "👍🏽",
    ]
    try roundTrip(all, all)
  }

  @Test("UUIDs and ids of a custom type")
  func others() throws {
    let uuids = try [
      "00000000-0000-0000-0000-000000000000", "80FF0000-0000-0000-0000-00000000000A",
    ]
    .map { try #require(UUID(uuidString: $0)) }
    try roundTrip(uuids, uuids.map(\.uuidString))
    try roundTrip([ISBN(rawValue: "1"), ISBN(rawValue: "é")], ["1", "é"])
    try roundTrip([RecordID<Int>(-5), 7, 1_099_511_627_776], ["-5", "7", "1099511627776"])
  }

  @Test("Canonically equivalent texts are one id, and the record keeps the newer spelling")
  func canonical() throws {
    let store = try Store.temporary(for: Keyed<String>.self)
    try store.saveAll([Keyed(id: "e\u{301}", value: 1), Keyed(id: "é", value: 2)])
    let all = try store.everything(Keyed<String>.self)
    #expect(all.map(\.value) == [2])
    #expect(all.map { Array($0.id.unicodeScalars) } == [Array("é".unicodeScalars)])
    #expect(try store.verify().isClean)
  }

  @Test("A text longer than 500 bytes is refused, and nothing is written")
  func tooLong() throws {
    let store = try Store.temporary(for: Keyed<String>.self)
    for length in [501, 512, 10_000] {
      let id = String(repeating: "n", count: length)
      #expect(caught { try store.saveAll([Keyed(id: id, value: 1)]) }?.code == .idTooLong)
      #expect(
        caught { try store.read { tx throws in _ = try tx.find(Keyed<String>.self, id) } }?.code
          == .idTooLong)
    }
    #expect(try store.dump() == "collection Keyed: 0 records\n  index value: 0 entries\n")
  }

  @Test("A custom type over RecordID is assigned by the store too")
  func wrappedRecordID() throws {
    let store = try Store.temporary(for: Keyed<TicketID>.self)
    var first = Keyed(id: TicketID(rawValue: 0), value: 1)
    var second = Keyed(id: TicketID(rawValue: 0), value: 2)
    try store.write { tx throws in
      try tx.save(&first)
      try tx.save(&second)
    }
    #expect(first.id.rawValue == 1)
    #expect(second.id.rawValue == 2)
    #expect(try store.everything(Keyed<TicketID>.self) == [first, second])
    #expect(try store.verify().isClean)
  }

  @Test("An id of another kind than in the file is refused by name")
  func kindChanged() throws {
    try withScratchPath { path throws in
      try Store.using(path, Keyed<Int>.self) { try $0.saveAll([Keyed(id: 1, value: 1)]) }
      let error = caught { try Store.using(path, Keyed<String>.self) { _ in } }
      #expect(error?.code == .schemaMismatch)
      #expect(error?.context.collection == "Keyed")
      #expect(error?.context.path == path)
      #expect(error?.context.detail == "stored integer, declared string")
      // A narrower type of the same kind reads what fits.
      #expect(
        caught { try Store.using(path, Keyed<Int32>.self) { _ in } }?.context.field == "id")
      let unchecked = Store.Options.quick.with { $0.evolution = .off }
      try Store.using(path, Keyed<Int32>.self, options: unchecked) { store throws in
        #expect(try store.everything(Keyed<Int32>.self) == [Keyed(id: 1, value: 1)])
      }
    }
  }
}
