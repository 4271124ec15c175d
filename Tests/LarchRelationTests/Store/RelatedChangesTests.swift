import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Lists that change while they are used")
struct RelatedChangesTests {
  struct Node: Record, Equatable {
    var id = RecordID<Node>()
    var parentID: Node.ID?

    static let follows = ManyToMany<Node, Node>(named: "follows")
    static let followers = ManyToMany<Node, Node>(named: "follows", isInverse: true)
    static let children = HasMany<Node, Node>(\.parentID, onDelete: .nullify)
    static let parent = BelongsTo<Node, Node>(\.parentID)
    static let schema = Schema<Node> {
      follows
      followers
      children
      parent
    }

    var follows: Related<Node, Node> { related(Node.follows) }
    var followers: Related<Node, Node> { related(Node.followers) }
    var children: Related<Node, Node> { related(Node.children) }
    var parent: Related<Node, Node> { related(Node.parent) }
  }

  private struct Undo: Error {}

  private func nodes(_ count: Int, in tx: WriteTransaction) throws -> [Node] {
    try (0..<count).map { _ in
      var node = Node()
      try tx.save(&node)
      return node
    }
  }

  // In an asynchronous function these compiled without `await`, and blocked a thread of all tasks.
  @Test("Tasks change lists, and find or create, without blocking")
  func tasks() async throws {
    let store = try Store.checked(for: Node.self)
    let nodes = try await store.write { tx in
      try (0..<4).map { _ in
        var node = Node()
        try tx.save(&node)
        return node
      }
    }
    try await store.write { tx in
      try tx.add(nodes[1].id, to: nodes[0].follows)
      try tx.add(nodes[2], to: nodes[0].follows)
      try tx.add(contentsOf: nodes.prefix(1).map(\.id), to: nodes[0].follows)
    }
    #expect(try store.ids(nodes[0].follows) == nodes.prefix(3).map(\.id))
    try await store.write { tx in
      try tx.remove(nodes[1].id, from: nodes[0].follows)
      try tx.remove(nodes[2], from: nodes[0].follows)
    }
    #expect(try store.ids(nodes[0].follows) == [nodes[0].id])
    try await store.write { try $0.replace(nodes[0].follows, with: [nodes[3].id]) }
    #expect(try store.ids(nodes[0].follows) == [nodes[3].id])
    try await store.write { try $0.removeAll(from: nodes[0].follows) }
    #expect(try store.ids(nodes[0].follows) == [])

    let child = try await store.write { tx in
      var child = Node()
      try tx.add(&child, to: nodes[0].children)
      return child
    }
    #expect(child.id.isAssigned && child.parentID == nodes[0].id)
    let parent = nodes[0].id
    let found = try await Node.findOrCreate(by: \.parentID, equals: parent, in: store) {
      Node(parentID: parent)
    }
    #expect(found == child)
    let other = nodes[1].id
    let made = try await Node.findOrCreate(by: \.parentID, equals: other, in: store) {
      Node(parentID: other)
    }
    #expect(made.id.isAssigned && made != child)
  }

  // MARK: Records of one type

  @Test("Lists between records of one type have two directions")
  func directions() throws {
    let store = try Store.checked(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(3, in: tx)
      try tx.add(contentsOf: [nodes[1].id, nodes[2].id, nodes[0].id], to: nodes[0].follows)
      try tx.add(nodes[2].id, to: nodes[1].followers)
      #expect(try tx.ids(nodes[0].follows) == nodes.map(\.id))
      #expect(try tx.ids(nodes[0].followers) == [nodes[0].id])
      #expect(try tx.ids(nodes[2].follows) == [nodes[1].id])
      #expect(try tx.ids(nodes[1].followers) == [nodes[0].id, nodes[2].id])
      #expect(try tx.ids(nodes[1].followers.query) == [nodes[0].id, nodes[2].id])
      #expect(try tx.ids(nodes[0].follows.where { $0.id != 1 }) == [2, 3])
      try tx.remove(nodes[0].id, from: nodes[0].followers)
      #expect(try tx.ids(nodes[0].follows) == [nodes[1].id, nodes[2].id])
      try tx.removeAll(from: nodes[1].followers)
      #expect(try tx.ids(nodes[2].follows) == [])
      #expect(try tx.ids(nodes[0].follows) == [nodes[2].id])
    }
  }

  @Test("A tree of records of one type")
  func tree() throws {
    let store = try Store.checked(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(4, in: tx)
      try tx.add(contentsOf: [nodes[1].id, nodes[2].id], to: nodes[0].children)
      try tx.add(nodes[2].id, to: nodes[3].parent)
      #expect(try tx.ids(nodes[2].children) == [nodes[3].id])
      let leaf = try #require(try tx.find(Node.self, nodes[3].id))
      let middle = try #require(try tx.first(leaf.parent))
      #expect(try tx.first(middle.parent) == nodes[0])
    }
  }

  // MARK: Running loops

  @Test(
    "A loop over a list continues after its last id, and ends where the list ended at its beginning"
  )
  func loop() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(12, in: tx)
      let ids = nodes.map(\.id)
      try tx.add(contentsOf: [1, 3, 5, 7, 9].map { ids[$0] }, to: nodes[0].follows)
      var seen: [Node.ID] = []
      try tx.forEachID(of: nodes[0].follows) { id in
        seen.append(id)
        if id == ids[3] {
          try tx.remove(ids[3], from: nodes[0].follows)
          try tx.remove(ids[5], from: nodes[0].follows)
          // One that is ahead, one that is behind, one past the end.
          try tx.add(contentsOf: [ids[6], ids[2], ids[11]], to: nodes[0].follows)
        } else if id == ids[7] {
          // The one that was given last is still there.
          try tx.add(ids[4], to: nodes[0].follows)
        }
      }
      #expect(seen == [1, 3, 6, 7, 9].map { ids[$0] })
      #expect(try tx.ids(nodes[0].follows) == [1, 2, 4, 6, 7, 9, 11].map { ids[$0] })
    }
  }

  @Test("A loop that removes everything ends, and so does one that keeps adding")
  func emptying() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(50, in: tx)
      try tx.add(contentsOf: nodes.map(\.id), to: nodes[0].children)
      var count = 0
      try tx.forEach(nodes[0].children) { child in
        count += 1
        try tx.remove(child, from: nodes[0].children)
      }
      #expect(count == 50)
      #expect(try tx.count(nodes[0].children) == 0)
      try tx.add(nodes[1].id, to: nodes[0].children)
      try tx.forEachID(of: nodes[0].children) { _ in
        var new = Node()
        try tx.add(&new, to: nodes[0].children)
      }
      #expect(try tx.count(nodes[0].children) == 2)
    }
  }

  @Test("A loop may delete the records of its list")
  func deleting() throws {
    let store = try Store.checked(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(20, in: tx)
      let others = nodes.dropFirst().map(\.id)
      try tx.add(contentsOf: others, to: nodes[0].follows)
      try tx.add(contentsOf: others, to: nodes[0].children)
      try tx.add(contentsOf: others, to: nodes[1].followers)
      var seen: [Node.ID] = []
      try tx.forEachID(of: nodes[0].follows) { id in
        seen.append(id)
        if id.rawValue % 2 == 0 { try tx.delete(Node.self, id) }
      }
      #expect(seen == others)
      let rest = others.filter { $0.rawValue % 2 == 1 }
      #expect(try tx.ids(nodes[0].follows) == rest)
      #expect(try tx.ids(nodes[0].children) == rest)
      try tx.forEach(nodes[0].children) { _ = try tx.delete($0) }
      #expect(try tx.count(nodes[0].children) == 0)
      #expect(try tx.count(nodes[0].follows) == 0)
      #expect(try tx.count(Node.all) == 1)
    }
  }

  @Test("Links that cannot all be added are not added at all")
  func unsavedAmongOthers() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(3, in: tx)
      let ids = [nodes[1].id, Node().id, nodes[2].id]
      let follows = nodes[0].follows
      func expectUnsaved(_ work: () throws -> Void) {
        let error = #expect(throws: LarchError.self) { try work() }
        #expect(error?.code == .unsavedReference)
      }
      expectUnsaved { try tx.add(contentsOf: ids, to: follows) }
      expectUnsaved { try tx.replace(follows, with: ids) }
      #expect(try tx.ids(follows) == [])
    }
  }

  @Test("Loops may be nested, and have savepoints in them")
  func nested() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(6, in: tx)
      try tx.add(contentsOf: nodes.map(\.id), to: nodes[0].follows)
      var pairs = 0
      try tx.forEachID(of: nodes[0].follows) { outer in
        try? tx.savepoint {
          try tx.removeAll(from: nodes[0].follows)
          #expect(try tx.count(nodes[0].follows) == 0)
          throw Undo()
        }
        try tx.savepoint { try tx.add(outer, to: nodes[1].follows) }
        try tx.forEachID(of: nodes[0].follows) { _ in pairs += 1 }
      }
      #expect(pairs == 36)
      #expect(try tx.count(nodes[1].follows) == 6)
    }
  }

  @Test("A query that runs does not mind a list that changes")
  func queryLoop() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(8, in: tx)
      try tx.add(contentsOf: nodes.map(\.id), to: nodes[0].follows)
      var count = 0
      try tx.forEach(nodes[0].follows.where { $0.id > 2 }) { node in
        count += 1
        try tx.remove(node, from: nodes[0].follows)
      }
      #expect(count == 6)
      #expect(try tx.ids(nodes[0].follows) == [1, 2])
      var all = 0
      for node in try tx.all(Node.self) {
        all += 1
        try tx.add(node.id, to: nodes[7].follows)
      }
      #expect(all == 8)
    }
  }

  // MARK: Undoing

  @Test("What a savepoint undid is not in the lists, in either direction")
  func savepoints() throws {
    let store = try Store.checked(for: Node.self)
    try store.write { tx in
      let nodes = try nodes(4, in: tx)
      try tx.add(nodes[1].id, to: nodes[0].follows)
      try? tx.savepoint {
        try tx.add(nodes[2].id, to: nodes[0].follows)
        try tx.remove(nodes[1].id, from: nodes[0].follows)
        #expect(try tx.ids(nodes[0].follows) == [nodes[2].id])
        throw Undo()
      }
      #expect(try tx.ids(nodes[0].follows) == [nodes[1].id])
      #expect(try tx.ids(nodes[2].followers) == [])
      try tx.savepoint { try tx.add(nodes[3].id, to: nodes[0].follows) }
      #expect(try tx.ids(nodes[3].followers) == [nodes[0].id])
    }
    // A link to what never came is forgotten with its savepoint.
    try store.write { tx in
      try? tx.savepoint {
        try tx.add(99, to: Node(id: 1).follows)
        throw Undo()
      }
    }
    try? store.write { tx in
      try tx.removeAll(from: Node(id: 1).follows)
      throw Undo()
    }
    #expect(try store.ids(Node(id: 1).follows) == [2, 4])
  }

  @Test("A write that runs twice changes lists once")
  func twice() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let store = try Store.temporary(for: Node.self, options: options)
    var root = Node()
    try store.write { try $0.save(&root) }
    var child = Node()
    try store.add(&child, to: root.children)
    var friend = Node()
    try store.add(&friend, to: root.follows)
    #expect(try store.ids(root.children) == [child.id])
    #expect(try store.ids(root.follows) == [friend.id])
    #expect(try store.read { try $0.count(Node.all) } == 3)
  }

  @Test("A list of 100,000 is counted, tested, iterated and emptied")
  func longList() throws {
    let store = try Store.temporary(for: Node.self)
    let count = 100_000
    var root = Node()
    try store.write { tx in
      try tx.save(&root)
      let all = try nodes(count, in: tx)
      try tx.add(contentsOf: all.map(\.id).reversed(), to: root.follows)
    }
    #expect(try root.follows.count(in: store) == count)
    #expect(try root.follows.contains(RecordID(Int64(count)), in: store))
    #expect(try !root.follows.contains(1, in: store))
    var next: Int64 = 2
    try root.follows.forEachID(in: store) { id in if id.rawValue == next { next += 1 } }
    #expect(next == Int64(count) + 2)
    #expect(try root.follows.limit(2).ids(in: store) == [2, 3])
    try root.follows.removeAll(in: store)
    #expect(try Node(id: 500).followers.count(in: store) == 0)
  }
}
