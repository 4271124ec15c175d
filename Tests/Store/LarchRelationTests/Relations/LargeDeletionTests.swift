import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Deep and wide deletions")
struct LargeDeletionTests {
  struct Folder: Record {
    var id: Int
    var parentID: Int?

    static let schema = Schema<Folder> { HasMany(\Folder.parentID, onDelete: .destroy) }
  }

  struct Parent: Record {
    var id: Int

    static let schema = Schema<Parent> { HasMany(\Child.parentID, onDelete: .destroy) }
  }

  struct Child: Record {
    var id: Int
    var parentID: Int
    var groupID: Int?
    var tagIDs: [Int] = []

    static let schema = Schema<Child> {
      BelongsTo(\.groupID, to: Group.self, onDelete: .destroyLast)
      ManyToMany(Group.self, named: "groups", onDelete: .destroyLast)
    }
  }

  struct Group: Record {
    var id: Int

    static let members = ManyToMany<Group, Child>(named: "groups")
    static let schema = Schema<Group> { members }

    var members: Related<Group, Child> { related(Group.members) }
  }

  private func expectClean(_ store: Store) throws {
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  @Test("A chain of a hundred thousand records is deleted as one")
  func chain() throws {
    let store = try Store.temporary(for: Folder.self)
    let depth = 100_000
    try store.write { tx in
      for id in 1...depth {
        var folder = Folder(id: id, parentID: id > 1 ? id - 1 : nil)
        try tx.save(&folder)
      }
    }
    let plan = try store.deletionPlan(for: Folder.self, depth / 2 + 1)
    #expect(plan.ids(Folder.self) == Array(depth / 2 + 1...depth))
    #expect(try store.write { try $0.delete(Folder.self, 1) })
    #expect(try store.count(Folder.all) == 0)
    try expectClean(store)
  }

  struct Level: Record {
    var id: Int
    var aboveID: Int?

    static let schema = Schema<Level> {
      HasMany(\Level.aboveID, onDelete: .destroy)
      HasMany(\Seal.levelID, onDelete: .deny)
      HasMany(\Mark.levelID, onDelete: .nullify)
    }
  }

  struct Seal: Record {
    var id: Int
    var levelID: Int
  }

  struct Mark: Record {
    var id: Int
    var levelID: Int?
  }

  @Test("A rule that refuses a thousand levels down undoes all of it")
  func deepDeny() throws {
    let store = try Store.temporary(for: Level.self, Seal.self, Mark.self)
    try store.write { tx in
      for id in 1...1_000 {
        var level = Level(id: id, aboveID: id > 1 ? id - 1 : nil)
        try tx.save(&level)
        var mark = Mark(id: id, levelID: id)
        try tx.save(&mark)
      }
      var seal = Seal(id: 1, levelID: 1_000)
      try tx.save(&seal)
    }
    let error = #expect(throws: LarchError.self) {
      try store.write { try $0.delete(Level.self, 1) }
    }
    #expect(error?.code == .deleteDenied)
    #expect(error?.context.id == "1000")
    #expect(try store.count(Level.all) == 1_000)
    #expect(try store.count(Mark.where { $0.levelID != nil }) == 1_000)
    let plan = try store.deletionPlan(for: Level.self, 1)
    #expect(plan.refused.map(\.id) == ["1000"])
    #expect(plan.deleted.count == 1_000 && plan.nullified.count == 1_000)
    try expectClean(store)
    try store.write { tx in
      try tx.delete(Seal.self, 1)
      try tx.delete(Level.self, 1)
    }
    #expect(try store.count(Level.all) == 0)
    #expect(try store.count(Mark.where { $0.levelID == nil }) == 1_000)
    try expectClean(store)
  }

  @Test("A record that cannot be saved without its reference undoes a deep cascade")
  func failingSurvivor() throws {
    let store = try Store.temporary(for: Level.self, Seal.self, Picky.self, Mark.self)
    try store.write { tx in
      for id in 1...1_000 {
        var level = Level(id: id, aboveID: id > 1 ? id - 1 : nil)
        try tx.save(&level)
        var mark = Mark(id: id, levelID: id)
        try tx.save(&mark)
      }
      var picky = Picky(id: 1, levelID: 700)
      try tx.save(&picky)
    }
    let error = #expect(throws: LarchError.self) {
      try store.write { try $0.delete(Level.self, 1) }
    }
    #expect(error?.code == .encodingFailed)
    #expect(try store.count(Level.all) == 1_000)
    #expect(try store.count(Mark.where { $0.levelID != nil }) == 1_000)
    try expectClean(store)
  }

  /// Refuses to be written without a level.
  struct Picky: Record {
    var id: Int
    var levelID: Int?

    init(id: Int, levelID: Int?) {
      self.id = id
      self.levelID = levelID
    }

    static let schema = Schema<Picky> {
      BelongsTo(\.levelID, to: Level.self)
      Index(\.levelID)
    }

    func encode(to encoder: any Encoder) throws {
      guard let levelID else {
        throw EncodingError.invalidValue(
          self, .init(codingPath: encoder.codingPath, debugDescription: "no level"))
      }
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(levelID, forKey: .levelID)
    }

    private enum CodingKeys: CodingKey { case id, levelID }
  }

  @Test("A hundred thousand children of one parent cost no more each than a thousand do")
  func children() throws {
    func time(_ count: Int) throws -> Double {
      let store = try Store.temporary(for: Parent.self, Child.self, Group.self)
      try store.write { tx in
        for id in 1...2 {
          var parent = Parent(id: id)
          try tx.save(&parent)
        }
        var group = Group(id: 1)
        try tx.save(&group)
        var linked = Group(id: 2)
        try tx.save(&linked)
        for id in 1...count {
          var child = Child(id: id, parentID: 1, groupID: 1)
          try tx.save(&child)
        }
        var other = Child(id: count + 1, parentID: 2)
        try tx.save(&other)
        try tx.add(contentsOf: Array(1...count + 1), to: linked.members)
      }
      // The work of the processor: others may take most of it meanwhile.
      let start = ThreadTime.nanoseconds
      let isDeleted = try store.write { try $0.delete(Parent.self, 1) }
      let duration = ThreadTime.nanoseconds - start
      #expect(isDeleted)
      try store.read { tx throws in
        // The group lost its last member, the linked one has one left.
        #expect(try tx.all(Group.self).map(\.id) == [2])
        #expect(try tx.ids(Group(id: 2).members) == [count + 1])
        #expect(try tx.count(Child.all) == 1)
        #expect(try tx.count(Parent.all) == 1)
      }
      try expectClean(store)
      return Double(duration) / Double(count)
    }
    let few = try time(1_000)
    let many = try time(100_000)
    // Quadratic work would be a hundred times as much.
    #expect(many < few * 10, "\(few) ns, \(many) ns a child")
  }
}
