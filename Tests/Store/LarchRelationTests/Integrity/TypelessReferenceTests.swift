import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// References by the catalog alone: checked as with their types, or reported as not checked.
@Suite("References without types")
struct TypelessReferenceTests {
  private func store<ID: RecordIdentifier>(of ids: [ID]) throws -> Store {
    let store = try Store.temporary(for: KindOwner<ID>.self, KindMember<ID>.self)
    try store.write { tx throws in
      for id in ids {
        var member = KindMember(id: id, ownerID: id == ids[0] ? nil : ids[0])
        try tx.save(&member)
        var owner = KindOwner(id: id, heldIDs: ids + ids)
        try tx.save(&owner)
      }
    }
    return store
  }

  private func check<ID: RecordIdentifier>(
    _ ids: [ID], location: SourceLocation = #_sourceLocation
  ) throws {
    let store = try store(of: ids)
    #expect(try store.proof(location).isClean, sourceLocation: location)
    #expect(try store.proof(location).referenceCount > ids.count, sourceLocation: location)
    try store.lose(KindOwner<ID>.self, ids[0])
    try store.lose(KindMember<ID>.self, ids[1])
    let kinds = try store.proof(location).faults.filter { $0.kind == .danglingReference }
    #expect(
      Set(kinds.map(\.association)) == ["Member.ownerID", "Owner.heldIDs"],
      sourceLocation: location)
  }

  @Test("Dangling references of every kind of id are found without types")
  func kinds() throws {
    let long = String(repeating: "n", count: 300)
    try check([RecordID<String>(-5), RecordID(0), RecordID(9)].map(\.rawValue))
    try check([Int8(-128), -1, 127])
    try check([Int16(-300), 7, 300])
    try check([Int32.min, 0, 70_000])
    try check([UInt8(0), 1, 255])
    try check([UInt16(0), 1, 65_535])
    try check([UInt32(0), 1, .max])
    try check([UInt64(0), 1, .max])
    try check(["", "e\u{301}", "ß"])
    try check([long + "1", long + "2", long + "3"])
    try check((1...3).map { _ in UUID() })
  }

  @Test("References with a custom key type are reported as not checked")
  func ownKeys() throws {
    let store = try store(of: [ISBN(rawValue: "a"), ISBN(rawValue: "b")])
    try store.lose(KindOwner<ISBN>.self, ISBN(rawValue: "a"))
    #expect(try store.verify().faults.contains { $0.kind == .danglingReference })
    let found = try store.verifyWithoutTypes()
    let unproved = found.unproved.compactMap { $0.association }
    let isProved = found.report.faults.contains { $0.kind == .danglingReference }
    #expect(isProved || unproved.sorted() == ["Member.ownerID", "Owner.heldIDs"])
  }

  struct OldBook: Record {
    static let collectionName = "Book"
    var id: Int
  }

  struct Book: Record {
    static let collectionName = "Book"
    var id: Int
    var shelfID: Int
    var nextID: Int?

    static let schema = Schema<Book> {
      BelongsTo(\.shelfID, to: Shelf.self)
      BelongsTo(\.nextID, to: Book.self)
      Default(\.shelfID, 1)
    }
  }

  struct Shelf: Record {
    var id: Int
  }

  @Test("A reference that older records do not have is nil if optional, otherwise not checked")
  func olderRecords() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let old = try Store(at: path, for: OldBook.self)
    try old.write { tx throws in
      for id in 1...3 {
        var book = OldBook(id: id)
        try tx.save(&book)
      }
    }
    old.close()
    let store = try Store(at: path, for: Book.self, Shelf.self)
    defer { store.close() }
    try store.write { tx throws in
      for id in 1...2 {
        var shelf = Shelf(id: id)
        try tx.save(&shelf)
      }
      for id in 4...5 {
        var book = Book(id: id, shelfID: 2, nextID: 1)
        try tx.save(&book)
      }
    }
    var found = try store.verifyWithoutTypes()
    #expect(found.report.isClean, "\(found.report)")
    #expect(found.report.referenceCount == 4)
    let silent = found.unproved.filter { $0.association != nil }
    #expect(silent.map(\.association) == ["Book.shelfID"])
    #expect(silent.map(\.records) == [3])
    try store.lose(Shelf.self, 2)
    try store.lose(Book.self, 1)
    found = try store.verifyWithoutTypes()
    let dangling = found.report.faults.filter { $0.kind == .danglingReference }
    let expected = ["Book.nextID", "Book.nextID", "Book.shelfID", "Book.shelfID"]
    #expect(dangling.compactMap(\.association).sorted() == expected)
  }

  @Test("An association whose records the catalog does not know is a fault")
  func lostCollection() throws {
    let store = try store(of: [1, 2])
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(in: transaction)
      try storage.remove(.collection("Owner"), in: transaction)
    }
    let faults = try store.verifyWithoutTypes().report.faults
    #expect(faults.map(\.kind) == [.page, .page])
    #expect(Set(faults.map(\.association)) == ["Member.ownerID", "Owner.heldIDs"])
  }
}

extension Store {
  /// The faults of a verification, which must be the same without the types.
  func proof(
    _ location: SourceLocation = #_sourceLocation
  ) throws -> VerificationReport {
    let report = try verify()
    let found = try verifyWithoutTypes()
    let lines = { (report: VerificationReport) in
      report.description.split(separator: "\n").sorted().joined(separator: "\n")
    }
    #expect(lines(found.report) == lines(report), sourceLocation: location)
    #expect(found.unproved.isEmpty, sourceLocation: location)
    return report
  }
}
