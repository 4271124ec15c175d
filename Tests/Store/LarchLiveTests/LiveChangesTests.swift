import LarchTestSupport
import Testing

@testable import Larch

@Suite("How the rows of an object on the main actor have changed")
@MainActor
struct LiveChangesTests {
  private static func store() throws -> Store {
    try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
  }

  /// A table view that is changed only by the changes that it hears of.
  @MainActor
  private final class Table {
    var view: StepTable<Tag>
    var steps = 0
    /// A change whose steps are not known.
    var unknown = 0

    init(_ rows: [Tag]) { view = StepTable(cells: rows) }

    func show(_ changes: RowChanges?, of rows: [Tag]) throws {
      guard let changes else {
        unknown += 1
        view.cells = rows
        return
      }
      for step in changes.steps {
        steps += 1
        switch step {
        case .remove(let place): try view.remove(at: place)
        case .move(let from, let to): try view.move(from: from, to: to)
        case .insert(let place): try view.insert(rows[place], at: place)
        case .update(let place): try view.reload(rows[place], at: place)
        }
      }
    }
  }

  private static func write(_ store: Store, _ random: inout SeededGenerator) throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let id = "\(Int.random(in: 0..<12, using: &random))"
        if Bool.random(using: &random) {
          try tx.put(Tag(id: id, color: Int.random(in: 0..<6, using: &random)))
        } else if try tx.exists(Tag.self, id) {
          try tx.delete(Tag.self, id)
        }
      }
    }
  }

  @Test("a table view that asks in `apply` shows the rows at each time", arguments: UInt64(1)...4)
  func table(seed: UInt64) async throws {
    var random = SeededGenerator(seed: 75_000 + seed)
    let store = try Self.store()
    for _ in 0..<4 { try Self.write(store, &random) }
    let requests = [
      Tag.all.sorted(by: \.color), Tag.where { $0.color > 2 },
      Tag.all.sorted(by: \.id, .descending).limit(4),
    ]
    let tags = LiveResults(requests[0], in: store)
    let table = Table(tags.rows)
    var failure: (any Error)?
    tags.apply = { change in
      change()
      do {
        try table.show(tags.changes(), of: tags.rows)
      } catch {
        failure = error
      }
    }
    for round in 0..<300 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        let first: FirstValue = Bool.random(using: &random) ? .now : .later
        tags.follow(requests[Int.random(in: 0..<3, using: &random)], first: first)
      // The value of one write may be on its way when the next one is committed.
      case 1..<5: for _ in 0..<3 { try Self.write(store, &random) }
      case 5..<7:
        try Self.write(store, &random)
        await Task.yield()
      default: try Self.write(store, &random)
      }
      if Bool.random(using: &random) { await tags.settled() }
      let text = "seed \(seed), round \(round)" as Comment
      #expect(failure == nil, text)
      #expect(table.view.cells == tags.rows, text)
    }
    #expect(table.unknown == 0)
    #expect(table.steps > 300)
  }

  @Test("they are nil without a change, and empty for a change of something else")
  func others() async throws {
    let store = try Self.store()
    try store.put(Tag(id: "a", color: 1))
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows.count == 1)
    #expect(tags.changes() == nil)
    var told: [RowChanges?] = []
    tags.apply = { change in
      change()
      told.append(tags.changes())
    }
    try store.put(Tag(id: "b", color: 1))
    await tags.settled()
    #expect(told.map { $0?.insertions } == [[1]])
    // Asked later, they are still those of the last change.
    #expect(tags.changes()?.insertions == [1])
    tags.follow(Tag.all.limit(-1))
    #expect(tags.error != nil && told.count == 2)
    #expect(told.last??.isEmpty == true)
    tags.cancel()
    #expect(told.last??.isEmpty == true)
  }

  @Test("rows that are read later are insertions, and those of another request are compared")
  func later() async throws {
    let store = try Self.store()
    for number in 0..<3 { try store.put(Tag(id: "\(number)", color: number)) }
    let tags = LiveResults(Tag.all, in: store, first: .later)
    var told: [RowChanges?] = []
    tags.apply = { change in
      change()
      told.append(tags.changes())
    }
    #expect(tags.rows.isEmpty)
    await tags.settled()
    #expect(told.map { $0?.insertions } == [[0, 1, 2]])
    tags.follow(Tag.where { $0.color > 0 }.sorted(by: \.color, .descending))
    #expect(told.last??.deletions == [0])
    #expect(told.last??.moves.count == 1)
    tags.follow(Tag.all, first: .later)
    #expect(told.last??.isEmpty == true)
    await tags.settled()
    #expect(told.last??.insertions == [0])
  }

  @Test("nobody who does not ask pays for a comparison")
  func unasked() async throws {
    let store = try Self.store()
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows.isEmpty)
    try store.put(Tag(id: "a", color: 1))
    await tags.settled()
    #expect(tags.changes() == nil)
    // From the first question on, they are known.
    try store.put(Tag(id: "b", color: 1))
    await tags.settled()
    #expect(tags.changes()?.insertions == [1])
  }

  @Test("outside of a change, those of another request are known to whoever has asked before")
  func followed() async throws {
    let store = try Self.store()
    for number in 0..<3 { try store.put(Tag(id: "\(number)", color: number)) }
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows.count == 3)
    #expect(tags.changes() == nil)
    tags.follow(Tag.where { $0.color > 0 })
    #expect(tags.changes()?.deletions == [0])
    tags.follow(Tag.all)
    #expect(tags.changes()?.insertions == [0])
  }

  @Test("sections have them too")
  func sections() async throws {
    let store = try Self.store()
    let colors = LiveResults(Tag.all.sectioned(by: \.color), in: store)
    var told: [SectionChanges?] = []
    colors.apply = { change in
      change()
      told.append(colors.changes())
    }
    #expect(colors.rows.isEmpty)
    try store.put(Tag(id: "a", color: 1))
    await colors.settled()
    try store.put(Tag(id: "b", color: 1))
    await colors.settled()
    #expect(told.map { $0?.insertedSections } == [[0], []])
    #expect(told.last??.insertions == [SectionChanges.Place(section: 0, row: 1)])
  }
}
