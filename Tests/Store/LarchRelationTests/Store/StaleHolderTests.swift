import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// `add` to a list of ids in the owner changed the stored owner, but not the caller's copy:
/// counting through the copy gave 0, and saving it silently removed the new member again.
@Suite("A copy of a record whose association was changed")
struct StaleHolderTests {
  struct User: Record {
    var id = RecordID<User>()
    var name: String
    var bossID: User.ID?
    static let boss = BelongsTo<User, User>(\.bossID)
    static let reports = HasMany<User, User>(\.bossID)
    static let schema = Schema<User> { boss }
  }
  struct Group: Record {
    var id = RecordID<Group>()
    var name: String
    var userIDs: [User.ID] = []
    var version = 0
    static let users = HasMany<Group, User>(in: \.userIDs)
    static let schema = Schema<Group> {
      users
      Versioned(\.version)
    }
  }
  struct Circle: Record {
    var id = RecordID<Circle>()
    var name: String
    var userIDs: Set<User.ID> = []
    static let users = HasMany<Circle, User>(in: \.userIDs)
    static let schema = Schema<Circle> { users }
  }
  struct Team: Record {
    var id = RecordID<Team>()
    var name: String
    var userIDs: [User.ID] = []
    static let users = HasMany<Team, User>(in: \.userIDs)
    static let schema = Schema<Team> {
      users
      Validate(\.name, .presence)
    }
  }

  private static func store() throws -> (Store, [User]) {
    let store = try Store.temporary(for: User.self, Group.self, Circle.self, Team.self)
    var users = (0..<4).map { User(name: "\($0)") }
    try store.write { tx throws in for place in users.indices { try tx.save(&users[place]) } }
    return (store, users)
  }

  @Test("An owner that is passed with & is changed too, and can be counted and saved")
  func inHand() throws {
    let (store, users) = try StaleHolderTests.store()
    var group = Group(name: "a")
    try store.save(&group)
    group.name = "b"
    try store.add(users[0], to: &group, Group.users)
    #expect(group.userIDs == [users[0].id] && group.name == "b")
    #expect(try store.count(group.related(Group.users)) == 1)
    // With its version, which the stored one has too.
    try store.save(&group)
    #expect(try store.find(Group.self, group.id)?.userIDs == [users[0].id])
    #expect(try store.find(Group.self, group.id)?.name == "b")
    try store.replace(Group.users, of: &group, with: [users[2].id, users[1].id])
    #expect(group.userIDs == [users[2].id, users[1].id])
    try store.remove(users[2], from: &group, Group.users)
    #expect(group.userIDs == [users[1].id])
    try store.save(&group)
    var user = users[3]
    try store.add(users[0], to: &user, User.boss)
    #expect(user.bossID == users[0].id)
    try store.remove(users[0].id, from: &user, User.boss)
    #expect(user.bossID == nil)
    // An owner that somebody else changed meanwhile keeps its old version.
    var other = group
    other.name = "c"
    try store.save(&other)
    try store.add(users[3], to: &group, Group.users)
    #expect(caught { try store.save(&group) }?.code == .conflict)
    // A failure changes nothing.
    let before = group.userIDs
    let error = caught { try store.add(User.ID(99), to: &group, Group.users) }
    #expect(error?.code == .danglingReference)
    #expect(group.userIDs == before)
  }

  @Test("Without blocking the thread")
  func asynchronous() async throws {
    let (store, users) = try StaleHolderTests.store()
    let saved = try await store.write { tx in
      var circle = Circle(name: "a")
      try tx.save(&circle)
      try tx.add(users[0], to: &circle, Circle.users)
      try tx.add(users[1].id, to: &circle, Circle.users)
      return circle
    }
    #expect(saved.userIDs == [users[0].id, users[1].id])
    let circle = try await store.write { tx in
      var circle = saved
      try tx.remove(users[0], from: &circle, Circle.users)
      try tx.replace(Circle.users, of: &circle, with: [users[2].id])
      try tx.save(&circle)
      return circle
    }
    #expect(circle.userIDs == [users[2].id])
    let count = try store.count(circle.related(Circle.users))
    #expect(count == 1)
  }

  /// The save of a type with rules had its own path, which ignored the changes of `add`: the new
  /// member was silently removed again.
  @Test("An older copy of a type with rules cannot be saved either")
  func staleWithRules() throws {
    let (store, users) = try StaleHolderTests.store()
    var team = Team(name: "a")
    try store.save(&team)
    try store.write { tx throws in
      try tx.add(users[0], to: team.related(Team.users))
      team.name = "b"
      let error = caught { try tx.save(&team) }
      #expect(error?.code == .conflict && error?.context.field == "Team.userIDs")
    }
    #expect(try store.find(Team.self, team.id)?.userIDs == [users[0].id])
  }

  @Test("In the same transaction an older copy can be neither used for reading nor saved")
  func stale() throws {
    let (store, users) = try StaleHolderTests.store()
    var circle = Circle(name: "a")
    try store.save(&circle)
    try store.write { tx throws in
      try tx.add(users[0], to: circle.related(Circle.users))
      #expect(caught { _ = try tx.count(circle.related(Circle.users)) }?.code == .conflict)
      circle.name = "b"
      let error = caught { try tx.save(&circle) }
      #expect(error?.code == .conflict && error?.context.id == "1")
      #expect(error?.context.field == "Circle.userIDs")
      var fresh = try #require(try tx.find(Circle.self, circle.id))
      fresh.name = "c"
      try tx.save(&fresh)
      #expect(try tx.count(fresh.related(Circle.users)) == 1)
      // If its association has removed a member, it may be saved without it.
      try tx.remove(users[0], from: fresh.related(Circle.users))
      try tx.save(&circle)
      #expect(try tx.count(circle.related(Circle.users)) == 0)
    }
    // The record with the property is the other end here.
    var worker = users[1]
    try store.write { tx throws in
      try tx.add(worker.id, to: users[0].related(User.reports))
      worker.name = "x"
      #expect(caught { try tx.save(&worker) }?.code == .conflict)
    }
    #expect(try store.count(users[0].related(User.reports)) == 1)
  }

  /// Each id but the one of `add` was refused, as if the record had been read before.
  @Test("A record that was read after a change of its one reference may get another")
  func newer() throws {
    let (store, users) = try StaleHolderTests.store()
    let older = users[1]
    try store.write { tx throws in
      try tx.add(users[1].id, to: users[0].related(User.reports))
      var fresh = try #require(try tx.find(User.self, users[1].id))
      fresh.bossID = users[2].id
      try tx.save(&fresh)
      try tx.add(users[1].id, to: users[3].related(User.reports))
      // Each of the ids that it had before.
      for stale in [nil, users[0].id, users[2].id] {
        var copy = older
        copy.bossID = stale
        #expect(caught { try tx.save(&copy) }?.code == .conflict, "\(String(describing: stale))")
      }
    }
  }

  @Test("Changes that were undone, or made by a deletion or a rule, are not required")
  func forgotten() throws {
    struct Undone: Error {}
    let (store, users) = try StaleHolderTests.store()
    var circle = Circle(name: "a")
    try store.save(&circle)
    try store.write { tx throws in
      try? tx.savepoint { () throws -> Void in
        try tx.add(users[0], to: circle.related(Circle.users))
        throw Undone()
      }
      circle.name = "b"
      try tx.save(&circle)
      try tx.add(users[0], to: circle.related(Circle.users))
      try tx.delete(users[0])
      circle.name = "c"
      try tx.save(&circle)
      try tx.add(users[1], to: circle.related(Circle.users))
      try tx.delete(circle)
      try tx.save(&circle)
      circle.name = "d"
      try tx.save(&circle)
    }
    #expect(try store.find(Circle.self, circle.id)?.userIDs == [])
  }

  @Test("Random changes: added ids stay until they are removed", arguments: 1...15)
  func random(seed: UInt64) throws {
    let (store, users) = try StaleHolderTests.store()
    var generator = SeededGenerator(seed: seed)
    var circle = Circle(name: "a")
    try store.save(&circle)
    for _ in 0..<40 {
      // A copy that was read before, and is saved somewhere in the middle.
      var hand = try #require(try store.find(Circle.self, circle.id))
      var model = hand.userIDs
      try store.write { tx throws in
        for _ in 0..<5 {
          let user = users[Int.random(in: 0..<4, using: &generator)]
          switch Int.random(in: 0..<5, using: &generator) {
          case 0:
            try tx.add(user, to: hand.related(Circle.users))
            model.insert(user.id)
          case 1:
            try tx.remove(user, from: hand.related(Circle.users))
            model.remove(user.id)
          case 2:
            try tx.add(user, to: &hand, Circle.users)
            model.insert(user.id)
            #expect(hand.userIDs == model)
          case 3:
            hand = try #require(try tx.find(Circle.self, circle.id))
          default:
            hand.name += "x"
            if let error = caught({ try tx.save(&hand) }) {
              #expect(error.code == .conflict)
              #expect(hand.userIDs != model)
            }
          }
          let stored = try tx.find(Circle.self, circle.id)?.userIDs
          #expect(stored == model)
        }
      }
    }
  }

  /// Larch read the records itself, but refused them as older than the change.
  @Test("An update of a query may change a reference back in the same write")
  func updatedByQuery() throws {
    let (store, users) = try StaleHolderTests.store()
    var team = Team(name: "a")
    try store.save(&team)
    try store.write { tx in
      try tx.add(users[0], to: team.related(Team.users))
      #expect(try tx.update(Team.all) { $0.userIDs.removeAll() } == 1)
      #expect(try tx.find(Team.self, team.id)?.userIDs.isEmpty == true)
      try tx.add(users[1], to: team.related(Team.users))
      // An update that fails leaves the knowledge of the change.
      let refused = caught { try tx.update(Team.all) { ($0.name, $0.userIDs) = ("", []) } }
      #expect(refused?.code == .invalid)
      #expect(caught { try tx.update(team) }?.code == .conflict)
    }
    #expect(try store.find(Team.self, team.id)?.userIDs == [users[1].id])
  }

  @Test("A savepoint that is undone takes its changes back, and only these")
  func undone() throws {
    let (store, users) = try StaleHolderTests.store()
    var teams = [Team(name: "a"), Team(name: "b")]
    for place in teams.indices { try store.save(&teams[place]) }
    try store.write { tx in
      try tx.add(users[0], to: teams[0].related(Team.users))
      try? tx.savepoint {
        try tx.add(users[1], to: teams[0].related(Team.users))
        try tx.add(users[1], to: teams[1].related(Team.users))
        throw CancellationError()
      }
      try tx.update(teams[1])
      #expect(caught { try tx.update(teams[0]) }?.code == .conflict)
      teams[0].userIDs = [users[0].id]
      try tx.update(teams[0])
    }
    #expect(try store.find(Team.self, teams[0].id)?.userIDs == [users[0].id])
  }

  @Test("The copy gets the ids as they are stored, also one that is there twice")
  func twice() throws {
    let (store, users) = try StaleHolderTests.store()
    var team = Team(name: "a", userIDs: [users[0].id, users[0].id])
    try store.save(&team)
    try store.add(users[1], to: &team, Team.users)
    #expect(team.userIDs == [users[0].id, users[0].id, users[1].id])
    #expect(try store.find(Team.self, team.id)?.userIDs == team.userIDs)
  }
}
