import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Verbs for several records at once")
struct BatchTests {
  typealias Team = League.Team
  typealias Player = League.Player

  @Test("A save of a batch tells what it did with each record, and gives back the stored ones")
  func save() throws {
    let store = try League.store()
    let first = try store.save(contentsOf: [
      Player(name: "Ada", email: "a"), Player(name: "Bo"), Player(name: "Cy"),
    ])
    #expect(first.changes == [.inserted, .inserted, .inserted])
    #expect(first.records.map(\.id) == [1, 2, 3])
    #expect(first.description == "3 inserted, 0 updated, 0 unchanged")
    var next = first.records
    next[1].score = 5
    next.append(Player(name: "Di"))
    // The same record twice: the later one counts.
    next.append(next[0])
    next[4].score = 9
    let second = try store.save(contentsOf: next)
    #expect(second.changes == [.unchanged, .updated, .unchanged, .inserted, .updated])
    #expect(try store.everything(Player.self).map(\.score) == [9, 5, 0, 0])
    #expect(try store.save(contentsOf: [Player]()).records.isEmpty)
    // Ids that the program chose.
    let cities = ["Oslo", "Rome"].map { League.City(id: $0, people: 1) }
    #expect(try store.save(contentsOf: cities).inserted == 2)
    #expect(try store.save(contentsOf: cities).unchanged == 2)
  }

  @Test("Records of a batch may refer to later ones, and a reference to nothing names its place")
  func references() throws {
    let store = try League.store()
    try store.write { tx throws in
      let players = (1...3).map { Player(name: "P\($0)", teamID: 1) }
      #expect(try tx.save(contentsOf: players).inserted == 3)
      try tx.save(contentsOf: [Team(name: "Later")])
    }
    let lost = [Player(name: "fine", teamID: 1), Player(name: "lost", teamID: 77)]
    let error = caught { try store.save(contentsOf: lost) }
    #expect(error?.code == .danglingReference && error?.context.position == 1)
    #expect(error?.description.contains("position: 1") == true)
    #expect(try store.count(Player.all) == 3)
  }

  @Test("An error names the place of its record, and nothing of the batch stays")
  func errors() throws {
    let store = try League.store()
    try store.save(contentsOf: [Player(name: "Ada", email: "a")])
    let before = try store.dump()
    let conflict = caught {
      try store.save(contentsOf: [
        Player(name: "x", email: "b"), Player(name: "y", email: "c"), Player(name: "z", email: "b"),
      ])
    }
    #expect(conflict?.code == .uniqueConflict && conflict?.context.position == 2)
    let invalid = caught { try store.save(contentsOf: [Player(name: "x"), Player(name: "")]) }
    #expect(invalid?.code == .invalid && invalid?.context.position == 1)
    let long = League.City(id: String(repeating: "x", count: 600), people: 1)
    let tooLong = caught { try store.save(contentsOf: [League.City(id: "a", people: 1), long]) }
    #expect(tooLong?.code == .idTooLong && tooLong?.context.position == 1)
    #expect(try store.dump() == before)
    // In a transaction only the batch is undone.
    try store.write { tx throws in
      try tx.save(contentsOf: [Player(name: "kept")])
      #expect(throws: LarchError.self) {
        try tx.save(contentsOf: [Player(name: "gone"), Player(name: "")])
      }
    }
    #expect(try store.everything(Player.self).map(\.name) == ["Ada", "kept"])
  }

  @Test("An error of a hook stops the batch with its place, and is the cause")
  func hooks() throws {
    let store = try League.store()
    let saved = try store.save(contentsOf: ["a ", "b"].map { League.Member(name: $0) })
    #expect(saved.records.map(\.name) == ["a", "b"] && saved.inserted == 2)
    // The second is equal, although its hook changed another record.
    var again = saved.records
    again[0].name = "c"
    #expect(try store.save(contentsOf: again).changes == [.updated, .unchanged])
    #expect(try store.find(League.Count.self, 1) == League.Count(id: 1, looks: 4, saves: 3))
    let names = ["d", "refused", "e"]
    let error = caught { try store.save(contentsOf: names.map { League.Member(name: $0) }) }
    #expect(error?.code == .batchStopped && error?.context.position == 1)
    #expect(error?.underlying is League.Member.Refused)
    #expect(error?.context.collection == "Member")
    #expect(try store.find(League.Count.self, 1)?.saves == 3)
    #expect(try store.count(League.Member.all) == 2)
  }

  @Test("A batch that is matched by a unique field keeps ids and versions")
  func matching() throws {
    let store = try League.store()
    let first = try store.save(
      contentsOf: [
        Player(name: "Ada", email: "a"), Player(name: "No mail"), Player(name: "No mail"),
        // It matches the first of the batch.
        Player(name: "Ada L", email: "a"),
      ], matching: \.email)
    #expect(first.changes == [.inserted, .inserted, .inserted, .updated])
    #expect(first.records[3].id == first.records[0].id)
    let again = try store.save(
      contentsOf: [Player(id: 99, name: "Ada L", email: "a")], matching: \.email)
    #expect(again.changes == [.unchanged] && again.records[0].id == first.records[0].id)
    let taken = caught {
      try store.save(
        contentsOf: [Player(name: "x"), Player(id: 1, name: "Other", email: "o")],
        matching: \.email)
    }
    #expect(taken?.code == .idExists && taken?.context.position == 1)
    #expect(
      caught { try store.save(contentsOf: [Player(name: "x")], matching: \.score) }?.code
        == .unsuitableMatch)
    // A page from elsewhere does not know the version.
    let page = League.Page(slug: "home", text: "one")
    try store.save(contentsOf: [page], matching: \.slug)
    let next = try store.save(
      contentsOf: [League.Page(slug: "home", text: "two")], matching: \.slug)
    #expect(next.changes == [.updated] && next.records[0].version == 2)
    #expect(try store.everything(League.Page.self).map(\.text) == ["two"])
    // By the id it is compared.
    let stale = League.Page(id: 1, slug: "home", text: "three", version: 1)
    #expect(caught { try store.save(contentsOf: [stale]) }?.code == .conflict)
  }

  @Test("A deletion of ids applies the rules to all of them together, and tells which were missing")
  func delete() throws {
    let store = try League.store()
    try store.save(contentsOf: (1...4).map { Team(name: "T\($0)") })
    try store.save(
      contentsOf: (1...8).map { Player(name: "P\($0)", teamID: RecordID(($0 + 1) / 2)) })
    let ids: [Team.ID] = [3, 9, 1, 3, 9, RecordID()]
    let result = try store.delete(Team.self, ids: ids)
    #expect(result.deleted == 2 && result.missing == [9, RecordID()])
    #expect(try store.everything(Team.self).map(\.id) == [2, 4])
    #expect(try store.everything(Player.self).map(\.id) == [3, 4, 7, 8])
    #expect(try store.delete(Player.self, ids: [3, 3, 100] as Set).deleted == 1)
    #expect(try store.delete(Player.self, ids: []).missing.isEmpty)
    #expect(try store.verify().isClean)
  }

  @Test("An update of a query tells how many records it wrote")
  func update() throws {
    let store = try League.store()
    try store.save(contentsOf: (1...10).map { Player(name: "P\($0)", score: $0) })
    let result = try store.update(Player.where { $0.score > 4 }, progress: nil) { player in
      if player.score % 2 == 0 { player.name = "even" }
    }
    #expect(result == UpdatedBatch(updated: 3, unchanged: 3))
    #expect(try store.count(Player.where { $0.name == "even" }) == 3)
    struct Mine: Error {}
    #expect(throws: Mine.self) {
      try store.update(Player.all, progress: nil) { if $0.score == 3 { throw Mine() } }
    }
    let error = caught {
      try store.update(Player.all.sorted(by: \.score), progress: nil) { player in
        if player.score == 7 { player.name = "" } else { player.score += 100 }
      }
    }
    #expect(error?.code == .invalid && error?.context.position == 6)
    #expect(try store.count(Player.where { $0.score > 50 }) == 0)
  }

  @Test("Long batches tell their progress, and an error of the closure ends them")
  func progress() throws {
    let store = try League.store()
    let steps = BatchSteps()
    let players = (0..<2500).map { Player(name: "P\($0)", email: "\($0)") }
    try store.save(contentsOf: players) { steps.add($0) }
    #expect(steps.all.map(\.done) == [1000, 2000, 2500])
    #expect(steps.all.allSatisfy { $0.total == 2500 } && steps.all.last?.fraction == 1)
    struct Enough: Error {}
    #expect(throws: Enough.self) {
      try store.save(contentsOf: players, matching: \.email) {
        if $0.done == 2000 { throw Enough() }
      }
    }
    let ids = try store.ids(Player.all)
    let deleting = BatchSteps()
    #expect(throws: Enough.self) {
      try store.delete(Player.self, ids: ids) { step throws in
        deleting.add(step)
        if step.done == 2000 { throw Enough() }
      }
    }
    #expect(deleting.all.map(\.done) == [1000, 2000])
    #expect(try store.count(Player.all) == 2500)
    let updating = BatchSteps()
    try store.update(Player.all, progress: { updating.add($0) }) { $0.score += 1 }
    #expect(updating.all.map(\.done) == [1000, 2000, 2500])
    // Deletions with rules are done together, so there is one step.
    try store.save(contentsOf: (0..<1500).map { Team(name: "T\($0)") })
    let together = BatchSteps()
    try store.delete(Team.self, ids: try store.ids(Team.all)) { together.add($0) }
    #expect(together.all == [BatchProgress(done: 1500, total: 1500)])
  }

  @Test("A batch of a store that must grow in the middle is as one that need not")
  func growing() throws {
    let store = try Store.temporary(
      for: League.City.self, options: Store.Options.quick.with { $0.initialMapSize = 1 << 16 })
    let steps = BatchSteps()
    let cities = (0..<20_000).map { League.City(id: "city \($0)", people: $0) }
    let saved = try store.save(contentsOf: cities) { steps.add($0) }
    #expect(saved.records == cities && saved.inserted == 20_000)
    #expect(steps.all.filter { $0.done == 1000 }.count > 1)
    #expect(try store.verify().isClean)
  }

  @Test("The verbs exist for the ambient store and for tasks")
  func ambientAndAsync() async throws {
    let store = try League.store()
    func synchronous() throws {
      try Store.with(store) { () throws in
        let saved = try Player.save(contentsOf: [Player(name: "a", email: "a")])
        try Store.transaction { () throws in
          #expect(try Player.save(contentsOf: saved.records, matching: \.email).unchanged == 1)
          #expect(try Player.all.update(progress: nil) { $0.score = 1 }.updated == 1)
        }
        #expect(try Player.delete(ids: [1, 2]).missing == [2])
      }
    }
    try synchronous()
    let saved = try await Player.save(contentsOf: [Player(name: "b", email: "b")], in: store)
    let again = try await Player.save(contentsOf: saved.records, matching: \.email, in: store)
    #expect(again.unchanged == 1)
    let updated = try await Player.all.update(in: store, progress: nil) { $0.score = 2 }
    #expect(updated.updated == 1)
    #expect(try await Player.delete(ids: saved.records.map(\.id), in: store).deleted == 1)
    let task = Task {
      try await Player.save(contentsOf: (0..<3000).map { Player(name: "\($0)") }, in: store) {
        if $0.done == 1000 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.count(Player.all) == 0)
  }
}
