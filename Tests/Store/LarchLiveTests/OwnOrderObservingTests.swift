import LarchTestSupport
import Testing

@testable import Larch

/// What is observed in the order of an enum whose `<` is not that of its raw values.
@Suite("Observers of an enum with its own `<`")
struct OwnOrderObservingTests {
  private enum Priority: String, Codable, CaseIterable, IndexKey, Comparable {
    case low, normal, high, urgent

    static func < (a: Self, b: Self) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  private struct Ticket: Record, Equatable {
    var id = RecordID<Ticket>()
    var priority: Priority
    var number: Int

    static let schema = Schema<Ticket> {
      Index(\.priority)
      Index(\.number, \.priority)
    }
  }

  private static func random(_ random: inout SeededGenerator) -> Ticket {
    Ticket(
      priority: Priority.allCases.randomElement(using: &random)!,
      number: Int.random(in: 0..<5, using: &random))
  }

  @Test("Rows, sections and extremes equal those of an array", arguments: UInt64(1)...3)
  func oracle(seed: UInt64) throws {
    var random = SeededGenerator(seed: 85_000 + seed)
    let store = try Store.checked(for: Ticket.self)
    try store.write { tx in
      for _ in 0..<60 { try tx.put(Self.random(&random)) }
    }
    let rows = store.observe(Ticket.all.sorted(by: \.priority, .descending).limit(20))
      .makeAsyncIterator().polled
    let sections = store.observe(Ticket.all.sectioned(by: \.priority)).makeAsyncIterator().polled
    let greatest = store.observe { tx in
      try tx.max(\.priority, of: Ticket.where { $0.number == 2 })
    }.makeAsyncIterator().polled
    let counts = store.observe { tx in
      try tx.counts(by: \.priority, of: Ticket.all).map { "\($0.value) \($0.count)" }
    }.makeAsyncIterator().polled
    var shownRows: [Ticket] = []
    var shown: [RecordSection<Ticket, Priority>] = []
    var (maximum, groups): (Priority?, [String]) = (nil, [])
    for round in 0..<60 {
      if let next = try rows.poll() { shownRows = next.rows }
      if let next = try greatest.poll() { maximum = next.value }
      if let next = try counts.poll() { groups = next.value }
      if let next = try sections.poll() {
        let changes = next.changes(from: shown)
        let isCounted =
          shown.count - changes.deletedSections.count + changes.insertedSections.count
          == next.rows.count
        #expect(isCounted, "seed \(seed), round \(round)")
        // Those that stay keep their order.
        #expect(changes.movedSections.isEmpty, "seed \(seed), round \(round)")
        shown = next.rows
      }
      let name = "seed \(seed), round \(round)" as Comment
      let all = try store.fetch(Ticket.all)
      let sorted = all.sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
      #expect(shownRows == Array(sorted.prefix(20)), name)
      #expect(maximum == all.filter { $0.number == 2 }.map(\.priority).max(), name)
      let wanted = Priority.allCases.map { priority in all.filter { $0.priority == priority } }
        .filter { !$0.isEmpty }
      #expect(shown.map { Array($0) } == wanted, name)
      #expect(groups == wanted.map { "\($0[0].priority) \($0.count)" }, name)
      try store.write { tx throws in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let id = RecordID<Ticket>(Int64.random(in: 1...70, using: &random))
          var ticket = Self.random(&random)
          if Bool.random(using: &random) {
            _ = try tx.delete(Ticket.self, id)
          } else {
            if try tx.exists(Ticket.self, id) { ticket.id = id }
            try tx.put(ticket)
          }
        }
      }
    }
  }
}
