import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Members of a list that are not saved yet")
struct UnsavedMemberTests {
  struct Club: Record {
    var id = RecordID<Club>()

    static let members = ManyToMany<Club, Guest>(named: "members")
    static let schema = Schema<Club> { members }

    var members: Related<Club, Guest> { related(Club.members) }
  }

  struct Guest: Record, Equatable {
    var id = UUID()
    var age = 0

    static let clubs = ManyToMany<Guest, Club>(named: "members")
    static let schema = Schema<Guest> { Index(\.age) }
  }

  @Test("Queries skip a member that is not saved yet, and find it after its save")
  func skipped() throws {
    let store = try Store.checked(for: Club.self, Guest.self)
    try store.write { tx in
      var clubs = [Club(), Club()]
      for place in clubs.indices { try tx.save(&clubs[place]) }
      var saved = Guest(age: 30)
      var late = Guest(age: 40)
      try tx.save(&saved)
      for club in clubs { try tx.add(contentsOf: [late.id, saved.id], to: club.members) }
      let members = clubs[0].members
      // The list has both; the collection has one of them.
      #expect(try tx.contains(late.id, in: members))
      #expect(try tx.fetch(members) == [saved])
      let queries = [
        members.query, members.where { $0.age >= 30 }, members.sorted(by: \.age),
        members.limit(5), members.reversed(),
        Guest.where { $0.clubs.contains { $0.id >= 1 } },
        Guest.where { $0.clubs.contains { $0.id >= 1 } || $0.age == 40 },
      ]
      func expect(_ guests: [Guest]) throws {
        for query in queries {
          #expect(try Set(tx.fetch(query).map(\.id)) == Set(guests.map(\.id)))
          #expect(try Set(tx.ids(query)) == Set(guests.map(\.id)))
          #expect(try tx.count(query) == guests.count)
          #expect(try tx.exists(query))
        }
      }
      try expect([saved])
      try tx.save(&late)
      try expect([saved, late])
    }
    #expect(try store.count(Guest.where { !$0.clubs.isEmpty }) == 2)
    #expect(try store.verify().isClean)
  }

  /// Calls with a club whose list has guests that are saved only after the closure.
  private func withLateMembers(
    _ count: Int, _ body: (WriteTransaction, Club, [Guest]) throws -> Void
  ) throws {
    let store = try Store.checked(for: Club.self, Guest.self)
    try store.write { tx in
      var club = Club()
      try tx.save(&club)
      let late = (0..<count).map { Guest(age: 40 + $0) }
      try tx.add(contentsOf: late.map(\.id), to: club.members)
      try body(tx, club, late)
      for var guest in late { try tx.save(&guest) }
      #expect(try tx.count(club.members) == count)
    }
    #expect(try store.verify().isClean)
  }

  // It threw that the file is corrupted: an id in a list always had to have a record.
  @Test("Records with their related ones come without a member that is not saved yet")
  func eager() throws {
    try withLateMembers(1) { tx, club, late in
      #expect(try tx.fetch(Club.all.with(Club.members)).map(\.1) == [[]])
      var saved = Guest(age: 30)
      try tx.add(&saved, to: club.members)
      let rows = try tx.fetch(Club.all.with(Club.members))
      #expect(rows.map(\.0.id) == [club.id])
      #expect(rows.map(\.1) == [[saved]])
      try tx.delete(saved)
    }
  }

  // The first id of the list was the answer, and each id was counted.
  @Test("A member that is not saved yet is not a related record of a filter")
  func filters() throws {
    try withLateMembers(2) { tx, club, late in
      func expect(
        _ filter: (Fields<Club>) -> Filter<Club>, _ isTrue: Bool,
        location: SourceLocation = #_sourceLocation
      ) throws {
        let ids = isTrue ? [club.id] : []
        // As the whole filter, and as one that each record is tested with.
        for query in [Club.where(filter), Club.where { filter($0) || $0.id == 99 }] {
          #expect(try tx.ids(query) == ids, sourceLocation: location)
          #expect(try tx.count(query) == ids.count, sourceLocation: location)
          #expect(try tx.exists(query) == isTrue, sourceLocation: location)
        }
      }
      try expect({ !$0.members.isEmpty }, false)
      try expect({ $0.members.isEmpty }, true)
      try expect({ $0.members.count >= 1 }, false)
      try expect({ $0.members.count >= 2 }, false)
      try expect({ $0.members.count == 0 }, true)
      try expect({ $0.members.contains(late[0].id) }, false)
      try expect({ !$0.members.contains(late[1].id) }, true)
      try expect({ $0.members.contains { $0.age >= 40 } }, false)
      var first = late[0]
      try tx.save(&first)
      try expect({ !$0.members.isEmpty }, true)
      try expect({ $0.members.count == 1 }, true)
      try expect({ $0.members.count >= 2 }, false)
      try expect({ $0.members.contains(late[0].id) }, true)
      try expect({ $0.members.contains(late[1].id) }, false)
    }
  }

  // They were the length of the list, although `fetch` gave nothing.
  @Test("The related records are counted without a member that is not saved yet")
  func counted() throws {
    try withLateMembers(2) { tx, club, late in
      #expect(try tx.count(club.members) == 0)
      #expect(try !tx.exists(club.members))
      #expect(try tx.fetch(club.members).isEmpty)
      var first = late[0]
      try tx.save(&first)
      #expect(try tx.count(club.members) == 1)
      #expect(try tx.exists(club.members))
      #expect(try tx.fetch(club.members) == [first])
    }
  }

  // A full scan did not find the record with the lists, and the check of the query failed.
  @Test("A record that is not saved yet has the related records of its list")
  func unsavedOwner() throws {
    try withLateMembers(1) { tx, club, late throws in
      let clubs = late[0].related(Guest.clubs)
      #expect(try tx.fetch(clubs).map(\.id) == [club.id])
      #expect(try tx.count(clubs) == 1)
      #expect(try tx.exists(clubs))
      for query in [clubs.query, clubs.where { $0.id >= 1 }, clubs.limit(3)] {
        #expect(try tx.fetch(query).map(\.id) == [club.id])
        #expect(try tx.count(query) == 1)
        #expect(try tx.exists(query))
      }
      #expect(try tx.ids(clubs.where { $0.id > club.id }).isEmpty)
    }
  }
}
