import LarchTestSupport
import Testing

@testable import Larch

/// With every form of a field that may make sections.
private struct SectionedItem: Record, Equatable {
  var id = RecordID<SectionedItem>()
  var group: String
  var number: Int
  var half: Double?

  var length: Int { group.count }

  static let schema = Schema<SectionedItem> { Index(\.number, \.group) }
}

/// A request with sections, in a form that forgets the type of the value.
private struct Case: Sendable {
  var name: String
  /// In the order of the sections.
  var sorted: Query<SectionedItem>
  /// The sections of a store, and those of an array: each value as text with the records.
  var stored: @Sendable (any RecordReading) throws -> [String]
  var expected: @Sendable ([SectionedItem]) -> [String]
  var others: @Sendable (any RecordReading) throws -> [String]
  var observe: @Sendable (Store) -> () throws -> [String]?

  init<Value: IndexKey & Sendable & Hashable>(
    _ name: String, _ query: Query<SectionedItem>,
    by field: any KeyPath<SectionedItem, Value> & Sendable,
    _ direction: SortDirection = .ascending
  ) {
    self.name = name
    sorted = query.sorted(by: field, direction)
    let request = query.sectioned(by: field, direction)
    let text: @Sendable (RecordSection<SectionedItem, Value>) -> String = { section in
      "\(section.value): \(section.map { "\($0)" })"
    }
    stored = { try $0.fetch(request).map(text) }
    expected = { items in
      // Texts are compared by their letters; all NaN are one group.
      let groups = Dictionary(grouping: items) { "\($0[keyPath: field])".ofGroup }
      var seen: Set<String> = []
      return items.compactMap { item in
        let key = "\(item[keyPath: field])".ofGroup
        guard seen.insert(key).inserted else { return nil }
        return "\(item[keyPath: field]): \(groups[key]!.map { "\($0)" })"
      }
    }
    others = { reader in
      var visited: [String] = []
      try reader.forEach(request) { visited.append(text($0)) }
      #expect(try reader.count(request) == visited.count)
      #expect(try reader.exists(request) == !visited.isEmpty)
      #expect(try reader.first(request).map(text) == visited.first)
      return visited
    }
    observe = { store in
      let observer = store.observe(request).makeAsyncIterator().polled
      return { try observer.poll()?.rows.map(text) }
    }
  }
}

extension String {
  /// The sign of zero and of NaN does not count.
  fileprivate var ofGroup: String {
    switch self {
    case "Optional(-0.0)": "Optional(0.0)"
    case "Optional(-nan)": "Optional(nan)"
    default: self
    }
  }
}

@Suite("Records in sections")
struct SectionTests {
  private static let cases = [
    Case("text", SectionedItem.all, by: \.group),
    Case("text descends", SectionedItem.all.sorted(by: \.number), by: \.group, .descending),
    Case("number of an index", SectionedItem.all, by: \.number),
    Case("number and order of an index", SectionedItem.all.sorted(by: \.group), by: \.number),
    Case("optional", SectionedItem.all.sorted(by: \.id, .descending), by: \.half),
    Case("optional descends", SectionedItem.where { $0.number > 1 }, by: \.half, .descending),
    Case("computed", SectionedItem.where { $0.half != nil }.sorted(by: \.number), by: \.length),
    Case("limit", SectionedItem.all.sorted(by: \.half).limit(7), by: \.group),
    Case("offset", SectionedItem.where { $0.number < 4 }.limit(9).offset(3), by: \.number),
    Case("nothing", SectionedItem.where { $0.number > 1_000 }, by: \.number),
  ]

  private static func random(_ random: inout SeededGenerator) -> SectionedItem {
    SectionedItem(
      group: ["a", "\u{e4}", "a\u{308}", "", "b", "ab"].randomElement(using: &random)!,
      number: Int.random(in: 0..<6, using: &random),
      half: [nil, .nan, -.nan, -0.0, 0, 0.5, -.infinity].randomElement(using: &random)!)
  }

  @Test("equal the groups of the sorted array, on every path", arguments: UInt64(1)...4)
  func oracle(seed: UInt64) throws {
    var random = SeededGenerator(seed: 71_000 + seed)
    for size in [0, 1, 7, 60] {
      let store = try Store.checked(for: SectionedItem.self)
      try store.write { tx in
        for _ in 0..<size { try tx.put(Self.random(&random)) }
      }
      for item in Self.cases {
        // The records of a query are right: other tests show it.
        let name = "\(item.name), seed \(seed), \(size)" as Comment
        let sorted = try store.fetch(item.sorted)
        let expected = item.expected(sorted)
        #expect(try item.stored(store) == expected, name)
        #expect(try item.others(store) == expected, name)
        try store.write { tx throws in
          #expect(try item.stored(tx) == expected, name)
          #expect(try item.others(tx) == expected, name)
        }
      }
    }
  }

  @Test("that are observed equal a fetch after each commit", arguments: UInt64(1)...3)
  func observed(seed: UInt64) throws {
    var random = SeededGenerator(seed: 72_000 + seed)
    let store = try Store.checked(for: SectionedItem.self)
    try store.write { tx in
      for _ in 0..<80 { try tx.put(Self.random(&random)) }
    }
    let polls = Self.cases.map { $0.observe(store) }
    var last = try polls.map { try #require(try $0()) }
    for round in 0..<120 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          var item = Self.random(&random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: try tx.put(item)
          case 1:
            _ = try tx.delete(
              SectionedItem.self, RecordID(Int64.random(in: 1...90, using: &random)))
          default:
            let id = RecordID<SectionedItem>(Int64.random(in: 1...90, using: &random))
            guard try tx.exists(SectionedItem.self, id) else { continue }
            item.id = id
            try tx.put(item)
          }
        }
      }
      for (place, poll) in polls.enumerated() {
        let name = "\(Self.cases[place].name), seed \(seed), round \(round)" as Comment
        let known = try Self.cases[place].stored(store)
        if let found = try poll() {
          #expect(found == known, name)
          #expect(found != last[place], name)
        } else {
          #expect(last[place] == known, name)
        }
        last[place] = known
      }
    }
  }

  @Test("show their plan with the field")
  func plan() throws {
    let store = try Store.temporary(for: SectionedItem.self)
    let request = SectionedItem.all.sectioned(by: \.number)
    #expect(try store.explain(request).hasSuffix("\nsections by number"))
    #expect(try store.explain(request, counting: true).contains("number_group"))
  }
}

@Suite("How sections differ from earlier ones")
struct SectionChangesTests {
  /// What a table view shows after the changes, by its own rules.
  private func applied(
    _ changes: SectionChanges, to old: [RecordSection<SectionedItem, Int>],
    of new: [RecordSection<SectionedItem, Int>], reloading: Bool
  ) throws -> [[SectionedItem]] {
    typealias Table = BatchTable<SectionedItem>
    let place = { (place: SectionChanges.Place) in
      Table.Place(section: place.section, row: place.row)
    }
    let moved = Set(changes.moves)
    var table = Table(cells: old.map(\.records))
    try table.perform(
      Table.Batch(
        deletedSections: changes.deletedSections, insertedSections: changes.insertedSections,
        deletions: changes.deletions.map(place), insertions: changes.insertions.map(place),
        moves: changes.moves.map { (place($0.old), place($0.new)) },
        reloads: reloading
          ? changes.updates.filter { !moved.contains($0) }.map { place($0.old) } : []),
      counts: new.map(\.count)
    ) { new[$0.section][$0.row] }
    // Updated rows are configured again after the batch, if they are not loaded again with it.
    for update in changes.updates where !reloading || moved.contains(update) {
      table.cells[update.new.section][update.new.row] = new[update.new.section][update.new.row]
    }
    return table.cells
  }

  @Test(
    "a table view takes them as a batch, and shows the new sections", arguments: UInt64(1)...4)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: 73_000 + seed)
    for round in 0..<2_500 {
      let direction = round % 2 == 0 ? SortDirection.ascending : .descending
      let request = SectionedItem.all.sectioned(by: \.number, direction)
      func sections(_ items: [SectionedItem]) -> [RecordSection<SectionedItem, Int>] {
        let sorted = items.enumerated().sorted {
          let (first, second) = ($0.element.number, $1.element.number)
          if first == second { return $0.offset < $1.offset }
          return direction == .ascending ? first < second : first > second
        }
        return request.sections(of: sorted.map(\.element))
      }
      func item(_ id: Int64) -> SectionedItem {
        SectionedItem(
          id: RecordID(id), group: "", number: Int.random(in: 0..<4, using: &random), half: nil)
      }
      let old = (0..<Int64.random(in: 0..<9, using: &random)).map(item).shuffled(using: &random)
      var new = old.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
      for id in 10..<10 + Int64.random(in: 0..<3, using: &random) { new.append(item(id)) }
      for place in new.indices {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: new[place].number = Int.random(in: 0..<4, using: &random)
        case 1: new[place].group += "x"
        case 2: new.swapAt(place, Int.random(in: new.indices, using: &random))
        default: break
        }
      }
      let (before, after) = (sections(old), sections(new))
      let changes = SectionChanges(from: before, to: after)
      for reloading in [false, true] {
        #expect(
          try applied(changes, to: before, of: after, reloading: reloading)
            == after.map(\.records), "seed \(seed)")
      }
      #expect(changes.isEmpty == (before == after), "seed \(seed)")
      // Sections in the other order are not moved.
      let reversed = Array(after.reversed())
      let turned = SectionChanges(from: before, to: reversed)
      #expect(
        try applied(turned, to: before, of: reversed, reloading: true)
          == reversed.map(\.records), "seed \(seed)")
    }
  }

  @Test("a record that changes its section is one move")
  func move() throws {
    let store = try Store.temporary(for: SectionedItem.self)
    for number in [1, 1, 2, 2, 3] {
      try store.put(SectionedItem(group: "", number: number, half: nil))
    }
    let observer = store.observe(SectionedItem.all.sectioned(by: \.number)).makeAsyncIterator()
      .polled
    let first = try #require(try observer.poll())
    try store.write { tx in
      try tx.put(SectionedItem(id: RecordID(1), group: "", number: 2, half: nil))
      _ = try tx.delete(SectionedItem.self, RecordID(5))
      try tx.put(SectionedItem(group: "new", number: 0, half: nil))
    }
    let second = try #require(try observer.poll())
    #expect(observer.reads == 1 && observer.patches == 1)
    let changes = second.changes(from: first.rows)
    #expect(changes.deletedSections == [2] && changes.insertedSections == [0])
    let move = SectionChanges.Kept(
      old: .init(section: 0, row: 0), new: .init(section: 2, row: 0))
    #expect(changes.moves == [move] && changes.updates == [move])
    #expect(changes.deletions.isEmpty && changes.insertions.isEmpty)
  }
}
