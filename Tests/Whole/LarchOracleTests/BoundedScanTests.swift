import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A scan of the records that begins and ends at the ids of one key gives the rows of the array.
@Suite("Scans that the ids of a key bound")
struct BoundedScanTests {
  struct Ticket: Record {
    var id = RecordID<Ticket>()
    var isOpen: Bool
    var team: Int
    var tags: [Int]
    var number: Int
    static let schema = Schema<Ticket> {
      Index(\.isOpen)
      Index(\.team)
      Index(\.tags)
    }
  }

  struct NamedTicket: Record {
    var id: String
    var isOpen: Bool
    var team: Int
    var tags: [Int]
    var number: Int
    static let schema = Schema<NamedTicket> {
      Index(\.isOpen)
      Index(\.team)
      Index(\.tags)
    }
  }

  private static let count = 2_400

  /// Values that lie at either end, in the middle, or everywhere.
  private static func value(_ place: Int, _ layout: Int, _ random: inout SeededGenerator) -> Int {
    switch layout {
    case 0: place < count - 200 ? 1 : random.below(2)
    case 1: place < 300 ? random.below(3) : 2
    case 2: place / 600
    case 3: place > 900 && place < 1_300 ? random.below(2) : 3
    default: random.below(4)
    }
  }

  @Test("Random queries equal the array", arguments: 1...5 as ClosedRange<UInt64>)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &+ 600)
    let store = try Store.temporary(for: Ticket.self)
    let layouts = (random.below(5), random.below(5), random.below(5))
    try store.write { tx throws in
      for place in 0..<Self.count {
        var ticket = Ticket(
          isOpen: Self.value(place, layouts.0, &random) == 1,
          team: Self.value(place, layouts.1, &random),
          tags: place % 5 == 0 ? [] : [Self.value(place, layouts.2, &random), place % 2],
          number: random.below(10))
        try tx.insert(&ticket)
      }
    }
    let all = try store.fetch(Ticket.all)
    var bounded = 0
    for number in 0..<300 {
      let (isOpen, team, tag, most) = (
        random.chance(1, in: 2), random.below(5), random.below(5), random.below(11)
      )
      var (query, rows) = (Ticket.all, all)
      if random.chance(2, in: 3) {
        query = query.where { $0.isOpen == isOpen }
        rows = rows.filter { $0.isOpen == isOpen }
      }
      if random.chance(1, in: 2) {
        query = query.where { $0.team == team }
        rows = rows.filter { $0.team == team }
      }
      if random.chance(1, in: 3) {
        query = query.where { $0.tags.contains(tag) }
        rows = rows.filter { $0.tags.contains(tag) }
      }
      query = query.where { $0.number < most }
      rows = rows.filter { $0.number < most }
      switch random.below(4) {
      case 0:
        query = query.reversed()
        rows.reverse()
      case 1:
        query = query.sorted(by: \.number)
        rows.sort { ($0.number, $0.id) < ($1.number, $1.id) }
      default: break
      }
      let text = "seed \(seed), layouts \(layouts), query \(number)"
      #expect(try store.count(query) == rows.count, "\(text)")
      #expect(try store.exists(query) == !rows.isEmpty, "\(text)")
      if random.chance(2, in: 3) {
        let (limit, offset) = (1 + random.below(20), random.chance(1, in: 3) ? random.below(9) : 0)
        query = query.limit(limit).offset(offset)
        rows = Array(rows.dropFirst(offset).prefix(limit))
      }
      #expect(try store.fetch(query).map(\.id) == rows.map(\.id), "\(text)")
      #expect(try store.ids(query) == rows.map(\.id), "\(text)")
      #expect(try store.fetch(query.select(\.team)) == rows.map(\.team), "\(text)")
      if try store.explain(query).description.contains("ids within those of") { bounded += 1 }
    }
    #expect(bounded > 5)
  }

  @Test("A write sees what it changed itself, and pages go on where they were")
  func writes() throws {
    let store = try Store.temporary(for: NamedTicket.self)
    func ticket(_ place: Int, isOpen: Bool) -> NamedTicket {
      NamedTicket(
        id: String(place + 10_000), isOpen: isOpen, team: place % 3, tags: [], number: place % 2)
    }
    try store.write { tx throws in
      for place in 0..<Self.count {
        var made = ticket(place, isOpen: place % 2_000 > 300)
        try tx.insert(&made)
      }
    }
    let closed = NamedTicket.where { !$0.isOpen && $0.number == 1 }
    try store.write { tx throws in
      // Before all that were closed, among them, and after them.
      for place in [-5, 2_399, 5_001] {
        var made = ticket(place, isOpen: false)
        made.number = 1
        try tx.save(&made)
      }
      let all = try tx.fetch(NamedTicket.all).filter { !$0.isOpen && $0.number == 1 }
      // As text, the first of the three is the greatest.
      #expect(all.contains { $0.id == "15001" } && all.last?.id == "9995")
      #expect(try tx.first(closed)?.id == all.first?.id)
      #expect(try tx.first(closed.reversed())?.id == "9995")
      #expect(try tx.count(closed) == all.count)
      #expect(try tx.fetch(closed.limit(700)).map(\.id) == all.prefix(700).map(\.id))
      #expect(
        try tx.fetch(closed.reversed().limit(3)).map(\.id) == all.reversed().prefix(3).map(\.id))
    }
    let all = try store.fetch(closed).map(\.id)
    var seen: [String] = []
    var page = closed.limit(90)
    while true {
      let part = try store.page(page)
      seen += part.records.map(\.id)
      guard let next = part.next, seen.count <= all.count else { break }
      page = page.after(next)
    }
    #expect(seen == all)
  }

  @Test("A scan for what is only at the end reads only that")
  func work() throws {
    let store = try Store.temporary(for: Ticket.self)
    try store.write { tx throws in
      for place in 0..<Self.count {
        var ticket = Ticket(isOpen: place >= 1_600, team: 1, tags: [], number: place % 10)
        try tx.insert(&ticket)
      }
    }
    let query = Ticket.where { $0.isOpen && $0.number == 3 }.limit(5)
    let text = try store.explain(query, running: true).description
    #expect(text.contains("ids within those of index isOpen [true]"), "\(text)")
    let (rows, read) = try store.read { tx throws in
      try tx.run(query.details, of: Ticket.self, for: .records) { run, _ in
        var rows = 0
        while try run.next() != nil { rows += 1 }
        return (rows, run.counters.recordsExamined)
      }
    }
    #expect(rows == 5 && read < 60, "\(read)")
  }
}
