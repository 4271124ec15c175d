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
}
