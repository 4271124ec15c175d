import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Salvage of associations")
struct LinkSalvageTests {
  struct Actor: Record {
    var id = RecordID<Actor>()
    var name = ""
    var agentID: Actor.ID?
    static let schema = Schema<Actor> {
      ManyToMany(Film.self, named: "cast")
      ManyToMany(Actor.self, named: "friends")
      BelongsTo(\.agentID, to: Actor.self)
    }
  }
  struct Film: Record {
    var id: String
  }

  private static let types: [any Record.Type] = [Actor.self, Film.self]
  private static let count = 600

  /// Lists of all sizes: one member, a small page, a tree; packed ids and texts.
  private func make(_ path: String) throws {
    let store = try Store(path: path, types: Self.types, options: .init(), isTemporary: false)
    defer { store.close() }
    try store.write { tx in
      for number in 1...Self.count {
        var actor = Actor(name: String(repeating: "n", count: 40), agentID: number > 1 ? 1 : nil)
        try tx.save(&actor)
      }
      for number in 1...40 {
        var film = Film(id: "film\(number)")
        try tx.save(&film)
      }
    }
    let all = try StoredLists.all(in: store.environment) { _, _ in }
    try store.environment.write { transaction in
      func add(_ key: String, _ first: [UInt8], _ second: [UInt8]) throws {
        guard let lists = all.first(where: { $0.stored.key == key })?.databases else {
          Issue.record("There are no lists \(key)")
          return
        }
        try first.withUnsafeBytes { first throws in
          try second.withUnsafeBytes { second throws in
            _ = try lists.forward.put(first, second, in: transaction)
            _ = try lists.inverse.put(second, first, in: transaction)
          }
        }
      }
      for actor in 1...Self.count {
        let id = try bytes(of: Actor.ID(Int64(actor)))
        try add("Actor/Film/cast", id, try bytes(of: "film1"))
        try add("Actor/Film/cast", id, try bytes(of: "film\(actor % 39 + 2)"))
        try add("Actor/Actor/friends", try bytes(of: Actor.ID(7)), id)
        if actor % 5 == 0 { try add("Actor/Actor/friends", id, try bytes(of: Actor.ID(8))) }
      }
    }
  }

  private func with(_ body: (_ source: String, _ target: String) throws -> Void) throws {
    let source = ScratchFile.freshPath()
    let target = ScratchFile.freshPath()
    defer {
      ScratchFile.remove(source)
      ScratchFile.remove(target)
    }
    try make(source)
    try body(source, target)
  }

  private func open<T>(_ path: String, _ body: (Store) throws -> T) throws -> T {
    let store = try Store(path: path, types: Self.types, options: .init(), isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  @Test("A sound store comes out the same, with its associations and lists")
  func sound() throws {
    try with { source, target throws in
      let report = try Store.salvage(source, to: target)
      #expect(report.damage == [])
      #expect(report.lists.map(\.name) == ["Actor/Actor/friends", "Actor/Film/cast"])
      #expect(report.lists.map(\.linkCount) == [720, 1200])
      #expect(report.lists.map(\.droppedCount) == [0, 0])
      let before = try open(source) { try $0.dump() }
      let after = try open(target) { store throws in
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
        return try store.dump()
      }
      #expect(TextDifference.between(expected: before, actual: after) == nil)
      // Numbers of new lists do not meet old ones.
      let number = try open(target) { store throws in
        try StoredLists.all(in: store.environment) { _, _ in }.map(\.stored.number)
      }
      #expect(Set(number).count == 2)
    }
  }

  @Test("Lists of which one direction is destroyed come back from the other")
  func oneDirection() throws {
    for isForward in [true, false] {
      try with { source, target throws in
        let store = try Store(at: source, options: .init())
        let lists = try StoredLists.all(in: store.environment) { _, _ in }
        let cast = try #require(lists.first { $0.stored.key == "Actor/Film/cast" })
        let number = cast.stored.number
        let expected = try store.dump()
        store.close()
        // The page that the tree of this direction begins with.
        var file = [UInt8](try Data(contentsOf: URL(filePath: source)))
        let tree = try PageTree(path: source)
        let name =
          isForward ? CatalogStorage.linksName(number) : CatalogStorage.inverseLinksName(number)
        let root = try #require(tree.database(named: name) { _, _ in }).record.root
        let start = Int(root) * tree.pageSize
        for place in start..<(start + tree.pageSize) { file[place] = 0x5A }
        try Data(file).write(to: URL(filePath: source))
        let report = try Store.salvage(source, to: target)
        #expect(!report.damage.isEmpty)
        #expect(report.lists.map(\.linkCount) == [720, 1200])
        try open(target) { store throws in
          #expect(try store.verify().isClean)
          #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
        }
      }
    }
  }

  @Test("Links to lost records are skipped and counted; references stay and are reported")
  func lostRecords() throws {
    try with { source, target throws in
      try open(source) { store throws in
        try store.lose(Film.self, "film1")
        try store.lose(Actor.self, 8)
      }
      let report = try Store.salvage(source, to: target)
      #expect(report.lists.map(\.linkCount) == [719 - 120, 600 - 1])
      #expect(report.lists.map(\.droppedCount) == [121, 601])
      try open(target) { store throws in
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
        try store.lose(Actor.self, 1)
      }
      ScratchFile.remove(source)
      let again = try Store.salvage(target, to: source)
      #expect(again.lists.map(\.droppedCount) == [1, 1])
      try open(source) { store throws in
        let faults = try store.verify().faults
        #expect(faults.count == Self.count - 2)
        #expect(Set(faults.map(\.kind)) == [.danglingReference])
      }
    }
  }

  @Test(
    "Whatever is damaged, what comes out is sound but for references, and no link is made up",
    arguments: FileDamage.allCases)
  func damaged(_ damage: FileDamage) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    try with { source, target throws in
      let sound = [UInt8](try Data(contentsOf: URL(filePath: source)))
      let links = try open(source) { store throws in
        try ["Actor/Actor/friends", "Actor/Film/cast"].map { key in
          Set(try DamagedLinks(store: store, key: key).pairs(isForward: true))
        }
      }
      for _ in 0..<25 {
        var bytes = sound
        damage.apply(to: &bytes, pageSize: 4096, using: &random)
        try Data(bytes).write(to: URL(filePath: source))
        // As it is, opening and proving it gives an error or a report.
        _ = caught {
          var options = Store.Options()
          options.isVerified = true
          let store = try Store(
            path: source, types: Self.types, options: options, isTemporary: false)
          defer { store.close() }
          _ = try store.verify()
        }
        try Data(bytes).write(to: URL(filePath: source))
        ScratchFile.remove(target)
        guard caught({ try Store.salvage(source, to: target) }) == nil else { continue }
        try open(target) { store throws in
          let kinds = Set(try store.verify().faults.map(\.kind))
          #expect(kinds.isSubset(of: [.danglingReference]), "\(damage), seed \(seed): \(kinds)")
          for (key, expected) in zip(["Actor/Actor/friends", "Actor/Film/cast"], links) {
            let found = Set(try DamagedLinks(store: store, key: key).pairs(isForward: true))
            // A flipped bit may make another id of one; few can, since both must be there.
            #expect(found.subtracting(expected).count <= 64, "\(damage), seed \(seed)")
          }
        }
      }
    }
  }
}
