import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Faults that are made without the store. Each must be found and named, and nothing else.
@Suite("Verification")
struct VerificationTests {
  struct Team: Record, Equatable {
    var id = RecordID<Team>()
    var name: String
    var size: Int
    static let schema = Schema<Team> {
      Unique(\.name)
      Index(\.size)
    }
  }
  struct Loose: Record, Equatable {
    var id: String
    var size: Int
  }

  let store: Store

  init() throws {
    store = try Store.temporary(for: Team.self, Loose.self)
    try store.saveAll((1...300).map { Team(name: "t\($0)", size: $0 % 7) })
    try store.saveAll((1...300).map { Loose(id: "l\($0)", size: $0) })
  }

  private func handle<R: Record>(_ type: R.Type) throws -> CollectionHandle {
    try store.read { tx throws in try tx.context.collection(of: type) }
  }

  private func index(_ name: String) throws -> LMDBDatabase {
    try #require(try handle(Team.self).indexes.first { $0.stored.name == name }).database
  }

  /// Removes the entry of a record from one index.
  private func entry(_ index: LMDBDatabase, of id: Int64) throws -> ([UInt8], [UInt8]) {
    let bytes = idBytes(id)
    return try store.environment.write { transaction in
      var cursor = try LMDBCursor(index, in: transaction)
      var entry = try cursor.first()
      while let here = entry {
        if Array(here.value) == bytes { return (Array(here.key), bytes) }
        entry = try cursor.next()
      }
      throw LarchError(.recordNotFound, "no entry")
    }
  }

  private func idBytes(_ id: Int64) -> [UInt8] {
    withUnsafeBytes(of: (UInt64(bitPattern: id) ^ (1 << 63)).bigEndian) { Array($0) }
  }

  private func put(_ key: [UInt8], _ value: [UInt8], _ database: LMDBDatabase) throws {
    try store.environment.write { transaction in
      try key.withUnsafeBytes { key in
        _ = try value.withUnsafeBytes { try database.put(key, $0, in: transaction) }
      }
    }
  }

  private func remove(_ key: [UInt8], _ value: [UInt8], _ database: LMDBDatabase) throws {
    try store.environment.write { transaction in
      try key.withUnsafeBytes { key in
        _ = try value.withUnsafeBytes { try database.delete(key, value: $0, in: transaction) }
      }
    }
  }

  private func stored(_ id: [UInt8], _ database: LMDBDatabase) throws -> [UInt8] {
    try store.environment.write { transaction in
      try id.withUnsafeBytes { Array(try #require(try database.get($0, in: transaction))) }
    }
  }

  /// A record with the checksum that belongs to it.
  private func sealed(_ record: [UInt8], _ id: [UInt8], _ collection: CollectionHandle) -> [UInt8] {
    let sum = id.withUnsafeBytes { id in
      record.withUnsafeBytes {
        RecordEnvelope.checksum(collection: collection.number, id: id, record: $0)
      }
    }
    return record + withUnsafeBytes(of: sum.littleEndian) { Array($0) }
  }

  private func faults() throws -> [String] {
    let report = try store.verify()
    #expect(report.faultCount == report.faults.count)
    #expect(report.recordCount == 600)
    // The file alone gives the same faults, except those of a decoder for invalid bytes.
    let typeless = try store.verifyWithoutTypes().report
    func places(_ report: VerificationReport) -> Set<String> {
      Set(
        report.faults.map {
          "\($0.kind) \($0.collection ?? "") \($0.index ?? "") \($0.id ?? "")"
        })
    }
    #expect(places(typeless) == places(report))
    #expect(typeless.faultCount == report.faultCount)
    return report.faults.map(\.description)
  }

  private func expectRepaired(to dump: String) throws {
    try store.rebuild()
    #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
    #expect(try store.verify().isClean)
  }

  @Test("A missing entry is found and repaired")
  func missingEntry() throws {
    let before = try store.dump()
    let (key, id) = try entry(try index("size"), of: 40)
    try remove(key, id, try index("size"))
    #expect(try faults() == ["missingEntry, collection Team, index size, id 40, [5]"])
    try expectRepaired(to: before)
  }

  @Test("Entries of missing records, and wrong entries, are found and repaired")
  func danglingEntry() throws {
    let before = try store.dump()
    let (key, _) = try entry(try index("size"), of: 40)
    try put(key, idBytes(9_999), try index("size"))
    #expect(try faults() == ["danglingEntry, collection Team, index size, id 9999, [5]"])
    try put(key, idBytes(41), try index("size"))
    #expect(
      try faults() == [
        "danglingEntry, collection Team, index size, id 41, [5]",
        "danglingEntry, collection Team, index size, id 9999, [5]",
      ])
    try expectRepaired(to: before)
  }

  @Test("An entry that moved to another key is both missing and dangling, with an equal count")
  func movedEntry() throws {
    let before = try store.dump()
    let (key, id) = try entry(try index("size"), of: 40)
    let (other, _) = try entry(try index("size"), of: 41)
    try remove(key, id, try index("size"))
    try put(other, id, try index("size"))
    #expect(
      try faults() == [
        "missingEntry, collection Team, index size, id 40, [5]",
        "danglingEntry, collection Team, index size, id 40, [6]",
      ])
    try expectRepaired(to: before)
  }

  @Test("A changed byte in a record is found by its checksum, wherever it is read")
  func checksum() throws {
    let records = try handle(Team.self).records
    var value = try stored(idBytes(40), records)
    value[value.count / 2] ^= 1
    try put(idBytes(40), value, records)
    #expect(try faults() == ["checksum, collection Team, id 40, checksum_mismatch"])
    let error = caught { try store.read { tx throws in _ = try tx.find(Team.self, 40) } }
    #expect(error?.code == .checksumMismatch)
    #expect(error?.context.id == "40")
    #expect(caught { _ = try store.everything(Team.self) }?.code == .checksumMismatch)
    #expect(caught { try store.rebuild() }?.code == .checksumMismatch)
    #expect(caught { _ = try store.dump() }?.code == .checksumMismatch)
  }

  @Test("A record under another id or in another collection is found")
  func swappedRecords() throws {
    let records = try handle(Team.self).records
    try put(idBytes(40), try stored(idBytes(41), records), records)
    #expect(try faults() == ["checksum, collection Team, id 40, checksum_mismatch"])
  }

  @Test("A record with invalid bytes is found, also without an index")
  func undecodable() throws {
    let teams = try handle(Team.self)
    try put(idBytes(40), sealed([0xFF, 0xFF, 1, 2, 3], idBytes(40), teams), teams.records)
    let loose = try handle(Loose.self)
    let id = [1] + Array("l7".utf8)
    let whole = try stored(id, loose.records)
    try put(id, sealed(Array(whole[..<(whole.count / 2)]), id, loose), loose.records)
    let found = try faults()
    #expect(found.count == 2, "\(found)")
    #expect(found.first?.hasPrefix("record, collection Team, id 40, ") == true, "\(found)")
    #expect(found.last?.hasPrefix("record, collection Loose, id l7, ") == true, "\(found)")
  }

  @Test("Two records that share a unique value are found, and rebuilding names them")
  func duplicate() throws {
    let teams = try handle(Team.self)
    let (nameKey, _) = try entry(try index("name"), of: 5)
    let (oldName, id) = try entry(try index("name"), of: 12)
    let copy = Array(try stored(idBytes(5), teams.records).dropLast(4))
    try put(id, sealed(copy, id, teams), teams.records)
    try remove(oldName, id, try index("name"))
    try put(nameKey, id, try index("name"))
    #expect(try faults() == ["duplicate, collection Team, index name, id 5, also id 12"])
    let dump = try store.dump()
    let error = caught { try store.rebuild() }
    #expect(error?.code == .uniqueConflict)
    // Nothing has changed: the other indexes and their rules work as before.
    #expect(try store.dump() == dump)
    #expect(error?.context.id == "5")
    #expect(error?.context.otherID == "12")
    // After one of them is deleted, everything is correct again.
    try store.write { tx throws in _ = try tx.delete(Team.self, 12) }
    try store.rebuild()
    #expect(try store.verify().isClean)
    #expect(try store.entries("name").count == 299)
  }

  @Test("A damaged record is found beside one whose long unique value begins the same")
  func damagedBesideCutKey() throws {
    let long = String(repeating: "t", count: 300)
    for (id, name) in [(40, long + "1"), (41, long + "2")] {
      var team = Team(id: RecordID<Team>(Int64(id)), name: name, size: 1)
      try store.write { try $0.save(&team) }
    }
    let records = try handle(Team.self).records
    var value = try stored(idBytes(40), records)
    value[value.count / 2] ^= 1
    try put(idBytes(40), value, records)
    #expect(try faults() == ["checksum, collection Team, id 40, checksum_mismatch"])
  }

  @Test("Invalid keys are found, and also two entries of one key in a unique index")
  func entriesThatAreNoKeys() throws {
    for id in [1, 2] as [Int64] { try put([7, 7], idBytes(id), try index("name")) }
    #expect(
      try faults().map { $0.hasPrefix("danglingEntry, collection Team, index name, id ") }
        == [true, true])
  }

  @Test("A damaged page is reported by its number, and nothing is read through it")
  func page() throws {
    try withScratchPath { path throws in
      let store = try Store(at: path, for: Team.self, options: .quick)
      try store.saveAll((1...2000).map { Team(name: "t\($0)", size: $0 % 7) })
      let file = try #require(FileHandle(forUpdatingAtPath: path))
      let page = try store.environment.info().fileSize / 4096 - 1
      try file.seek(toOffset: UInt64(page) * 4096 + 12)
      try file.write(contentsOf: Data([0xFF, 0xFF, 0xFF, 0xFF]))
      try file.close()
      let report = try store.verify()
      #expect(report.faults.map(\.kind) == [.page])
      #expect(report.faults.first?.detail?.contains("page: \(page)") == true, "\(report)")
      store.close()
      let verified = Store.Options.quick.with { $0.isVerified = true }
      let error = caught { try Store.using(path, Team.self, options: verified) { _ in } }
      #expect(error?.code == .corrupted)
      #expect(error?.context.page == UInt64(page))
    }
  }

  @Test("All faults are counted, and the first thousand are kept")
  func many() throws {
    let size = try index("size")
    try store.environment.write { try size.empty(in: $0) }
    let name = try index("name")
    try store.environment.write { transaction in
      for number in 0..<2000 {
        try idBytes(Int64(10_000 + number)).withUnsafeBytes { id in
          _ = try name.put(id, id, in: transaction)
        }
      }
    }
    let report = try store.verify()
    #expect(report.faultCount == 2300)
    #expect(report.faults.count == 1000)
  }
}
