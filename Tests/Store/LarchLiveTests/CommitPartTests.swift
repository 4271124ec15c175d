import LarchTestSupport
import Testing

@testable import Larch

@Suite("The writes that share a commit")
struct CommitPartTests {
  /// The changes of each write, as texts.
  private func parts(_ listener: ChangeListener, _ tree: UInt32) -> [[String]] {
    listener.take().map { event in
      guard case .commit(_, let changes) = event else { return ["not a commit"] }
      return (changes.parts.isEmpty ? [changes] : changes.parts).map { part in
        let items = part.records[tree]?.map {
          ($0.before == nil ? "+" : $0.after == nil ? "-" : "=")
            + String(decoding: $0.id.filter { 97...122 ~= $0 }, as: UTF8.self)
        }
        return (part.authorship.names.first ?? "nobody") + " "
          + (items?.joined(separator: " ") ?? "many")
      }
    }
  }

  private func withListener(
    wantsParts: Bool = true, _ body: (Store, ChangeListener, UInt32) async throws -> Void
  ) async throws {
    let store = try Store.temporary(for: Card.self)
    defer { store.close() }
    let tree = try store.read { try $0.context.collection(of: Card.self).records.handle }
    let listener = ChangeListener(owner: store, wantsParts: wantsParts)
    store.environment.changes.add(listener)
    store.environment.changes.listen(listener, to: [tree], after: 0)
    try await body(store, listener, tree)
    store.environment.changes.remove(listener)
  }

  private static func card(_ id: String, _ rank: Int = 0) -> CardWrite.Action {
    .put(Card(id: id, pile: 0, rank: rank))
  }

  private static var writes: [CardWrite] {
    var thrown = CardWrite("thrown", [card("a", 7), card("x")])
    thrown.isThrowing = true
    return [
      CardWrite("ui", [card("a"), card("b")]),
      thrown,
      CardWrite("sync", [card("a", 1), .savepoint([card("z")], isKept: false)]),
      CardWrite("nothing", []),
      CardWrite("same", [card("a", 1)]),
      CardWrite(nil, [.delete("b"), card("c")]),
    ]
  }

  @Test("are known one by one, but for those that threw or changed nothing")
  func known() async throws {
    try await withListener { store, listener, tree in
      await store.writeTogether(Self.writes)
      let found = parts(listener, tree).map { $0.filter { $0 != "same " } }
      #expect(found == [["ui +a +b", "sync =a", "nobody -b +c"]])
      // A commit of one write is that write.
      try store.put(Card(id: "d", pile: 0, rank: 0), by: "ui")
      guard case .commit(_, let changes)? = listener.take().first else {
        Issue.record("no commit")
        return
      }
      #expect(changes.parts.isEmpty && changes.authorship == Authorship("ui"))
    }
  }

  @Test("are one if nobody asks for each, with all authors")
  func undivided() async throws {
    try await withListener(wantsParts: false) { store, listener, tree in
      await store.writeTogether(Self.writes)
      guard case .commit(_, let changes)? = listener.take().first else {
        Issue.record("no commit")
        return
      }
      #expect(changes.parts.isEmpty)
      #expect(changes.records[tree]?.count == 2)
      #expect(changes.authorship.count == 5)
      #expect(changes.authorship.names == ["ui", "sync", "nothing", "same"])
      #expect(changes.authorship.hasOthers)
    }
  }

  @Test("have the limits of one commit together")
  func flooded() async throws {
    try await withListener { store, listener, tree in
      store.environment.changes.log.limits = .init(records: 10, bytes: 4 << 20)
      let many = (0..<6).map { write in
        CardWrite("w\(write)", (0..<3).map { Self.card("\(write)\($0)") })
      }
      await store.writeTogether(many)
      let found = parts(listener, tree)
      #expect(found.count == 1 && found[0].count == 6)
      #expect(found[0].prefix(3).allSatisfy { !$0.hasSuffix("many") })
      #expect(found[0].suffix(3).allSatisfy { $0.hasSuffix("many") })

      store.environment.changes.log.limits = .init(records: 1_000, bytes: 1_000)
      let large = (0..<8).map { write in
        CardWrite(
          "w\(write)",
          [.put(Card(id: "x\(write)", pile: 0, rank: 0, text: String(repeating: "x", count: 900)))])
      }
      await store.writeTogether(large)
      guard case .commit(_, let changes)? = listener.take().first else {
        Issue.record("no commit")
        return
      }
      #expect(changes.parts.count == 8 && changes.size < 4_000)
      #expect(changes.records[tree] == nil && changes.trees.contains(tree))
    }
  }

  @Test("a listener that is too slow knows whose writes it has missed")
  func slow() async throws {
    try await withListener(wantsParts: false) { store, listener, tree in
      for number in 0..<200 {
        try store.put(
          Card(id: "a", pile: 0, rank: number), by: number % 2 == 0 ? "ui" : "sync")
      }
      let events = listener.take()
      #expect(events.count <= 64)
      let all = events.reduce(into: Authorship()) { $0.add($1.authorship) }
      #expect(all.count == 200 && all.names == ["ui", "sync"] && !all.hasOthers)
    }
  }
}
