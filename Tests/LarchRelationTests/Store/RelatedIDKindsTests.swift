import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct ISBN: RawRepresentable, RecordIdentifier {
  var rawValue: String
}

struct Barcode: RawRepresentable, RecordIdentifier {
  var rawValue: Int32
}

/// One end of associations whose ids are of any kind.
struct KindOwner<ID: RecordIdentifier>: Record, Equatable {
  var id: ID
  var heldIDs: [ID] = []

  static var collectionName: String { "Owner" }
  static var schema: Schema<Self> {
    Schema {
      ManyToMany<Self, KindMember<ID>>(named: "links")
      HasMany<Self, KindMember<ID>>(\.ownerID)
      HasMany<Self, KindMember<ID>>(in: \.heldIDs)
    }
  }

  var links: Related<Self, KindMember<ID>> { related(ManyToMany(named: "links")) }
  var children: Related<Self, KindMember<ID>> { related(\KindMember<ID>.ownerID) }
  var held: Related<Self, KindMember<ID>> { related(HasMany(in: \.heldIDs)) }
}

struct KindMember<ID: RecordIdentifier>: Record, Equatable {
  var id: ID
  var ownerID: ID?

  static var collectionName: String { "Member" }

  var links: Related<Self, KindOwner<ID>> { related(ManyToMany(named: "links")) }
  var owner: Related<Self, KindOwner<ID>> { related(BelongsTo(\.ownerID)) }
}

@Suite("Associations of ids of every kind")
struct RelatedIDKindsTests {
  /// The first three ids are of owners, all of them of members; in order.
  private func check<ID: RecordIdentifier>(
    _ ids: [ID], location: SourceLocation = #_sourceLocation
  ) throws {
    typealias Owner = KindOwner<ID>
    typealias Member = KindMember<ID>
    let store = try Store.checked(for: Owner.self, Member.self)
    let owners = ids.prefix(3).map { Owner(id: $0) }
    try store.write { tx in
      for var owner in owners { try tx.save(&owner) }
      // Members are saved after they were linked.
      try tx.add(contentsOf: ids.shuffled(), to: owners[0].links)
      try tx.add(ids[1], to: owners[2].links)
      for id in ids {
        var member = Member(id: id)
        try tx.save(&member)
      }
      try tx.add(contentsOf: ids.reversed(), to: owners[1].children)
      try tx.add(contentsOf: ids.reversed(), to: owners[0].held)
      try tx.add(ids[0], to: owners[2].children)
    }
    func expect(_ related: Related<Owner, Member>, _ wanted: [ID]) throws {
      #expect(try related.ids(in: store) == wanted, sourceLocation: location)
      #expect(try related.fetch(in: store).map(\.id) == wanted, sourceLocation: location)
      #expect(try related.query.ids(in: store) == wanted, sourceLocation: location)
      #expect(try related.count(in: store) == wanted.count, sourceLocation: location)
      var seen: [ID] = []
      try related.forEachID(in: store) { seen.append($0) }
      #expect(seen == wanted, sourceLocation: location)
      for id in ids {
        #expect(
          try related.contains(id, in: store) == wanted.contains(id), sourceLocation: location)
      }
    }
    try expect(owners[0].links, ids)
    try expect(owners[1].links, [])
    try expect(owners[2].links, [ids[1]])
    try expect(owners[0].children, [])
    try expect(owners[1].children, Array(ids.dropFirst()))
    try expect(owners[2].children, [ids[0]])
    let stored = try #require(try store.find(Owner.self, [ids[0]]).first)
    #expect(stored.heldIDs == ids.reversed())
    #expect(try stored.held.ids(in: store) == ids)
    let last = ids[ids.count - 1]
    #expect(try Member(id: last).related(\Owner.heldIDs).ids(in: store) == [ids[0]])
    #expect(try Member(id: ids[1]).links.ids(in: store) == [ids[0], ids[2]])
    #expect(try Member(id: ids[1]).links.where { $0.id != ids[2] }.ids(in: store) == [ids[0]])
    try store.write { tx in
      try tx.remove(ids[1], from: owners[0].links)
      try tx.remove(ids[2], from: owners[1].children)
      try tx.remove(ids[0], from: owners[0].held)
    }
    #expect(try Member(id: ids[1]).links.ids(in: store) == [ids[2]])
    try expect(owners[0].links, ids.filter { $0 != ids[1] })
    try expect(owners[1].children, ids.filter { $0 != ids[0] && $0 != ids[2] })
    #expect(try Member(id: ids[0]).related(\Owner.heldIDs).count(in: store) == 0)
  }

  @Test("Integers of every width, below zero and at their ends")
  func integers() throws {
    try check([Int8.min, -1, 0, 7, Int8.max])
    try check([Int16.min, -1, 0, 7, Int16.max])
    try check([Int32.min, -1, 0, 7, Int32.max])
    try check([Int.min, -1, 0, 7, Int.max])
    try check([UInt8.min, 1, 0x7F, 0x80, UInt8.max])
    try check([UInt16.min, 1, 0x7F, 0x8000, UInt16.max])
    try check([UInt32.min, 1, 0x7F, 0x8000, UInt32.max])
    try check([UInt64.min, 1, 0x7F, 0x8000, UInt64.max])
  }

  @Test("Texts, including those longer than keys, and those that differ only after the cut")
  func texts() throws {
    let long = String(repeating: "x", count: 200)
    try check(["", "a", "b", "ß", "日本"])
    try check([long, long + "1", long + "2", long + "3", "y"])
    try check(
      [String(repeating: "é", count: 240), "z\u{0}", "z\u{0}a", "zz", "é"].sorted {
        $0.utf8.lexicographicallyPrecedes($1.utf8)
      })
  }

  @Test("UUIDs, and types of the program's over other ids")
  func others() throws {
    try check(
      (0..<5).map { _ in UUID() }.sorted { $0.uuidString < $1.uuidString })
    try check(["1", "2", "3", String(repeating: "4", count: 130)].map(ISBN.init))
    try check([-3, 0, 9, 1000].map(Barcode.init))
  }
}
