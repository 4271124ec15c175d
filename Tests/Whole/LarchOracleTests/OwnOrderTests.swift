import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Beside the orders, pages and figures of the random tests, whose medals have such an order.
@Suite("Enums whose `<` is not the order of their raw values")
struct OwnOrderTests {
  enum Priority: String, Codable, CaseIterable, IndexKey, Comparable {
    case low, normal, high, urgent

    static func < (a: Self, b: Self) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  /// The greater number comes first.
  enum Level: Int, Codable, CaseIterable, IndexKey, Comparable {
    case first = 30
    case second = 20
    case third = -5

    static func < (a: Self, b: Self) -> Bool { a.rawValue > b.rawValue }
  }

  struct Team: Record {
    var id = RecordID<Team>()
    var name: String
    var rank: Priority
    var level: Level?
  }

  struct Ticket: Record, Equatable {
    var id = RecordID<Ticket>()
    var priority: Priority
    var other: Priority?
    var level: Level
    var number: Int
    var teamID: RecordID<Team>?

    static let team = BelongsTo<Ticket, Team>(\.teamID)
    static let schema = Schema<Ticket> {
      team
      Index(\.priority)
      Index(\.number, \.level)
      Index(\.priority, \.other)
    }
  }

  private static func random(_ random: inout SeededGenerator, teams: Int) -> Ticket {
    Ticket(
      priority: random.pick(Priority.allCases),
      other: random.optional(random.pick(Priority.allCases)),
      level: random.pick(Level.allCases), number: random.below(5),
      teamID: random.optional(RecordID(Int64(1 + random.below(teams)))))
  }

  private static func store(_ random: inout SeededGenerator) throws -> Store {
    let store = try Store.checked(for: Team.self, Ticket.self)
    try store.write { tx throws in
      for (place, rank) in Priority.allCases.enumerated() {
        let level = place == 0 ? nil : Level.allCases[place - 1]
        var team = Team(name: "team \(place)", rank: rank, level: level)
        try tx.insert(&team)
      }
      for _ in 0..<120 {
        var ticket = Self.random(&random, teams: 4)
        try tx.insert(&ticket)
      }
    }
    return store
  }

  private func nilsFirst<Value: Comparable>(_ a: Value?, _ b: Value?) -> Int {
    nilFirst(a, b, ordered)
  }

  @Test("Sections come in the order of `<`", arguments: UInt64(1)...3)
  func sections(seed: UInt64) throws {
    var random = SeededGenerator(seed: 81_000 + seed)
    let store = try Self.store(&random)
    let all = try store.fetch(Ticket.all)
    let sections = try store.fetch(
      Ticket.where { $0.number < 4 }.sectioned(by: \.priority, .descending))
    let wanted = Priority.allCases.reversed().map { priority in
      all.filter { $0.number < 4 && $0.priority == priority }
    }
    #expect(sections.map { Array($0) } == wanted.filter { !$0.isEmpty })
    let optional = try store.fetch(Ticket.all.sorted(by: \.number).sectioned(by: \.other))
    let values = ([nil] + Priority.allCases).filter { value in all.contains { $0.other == value } }
    #expect(optional.map(\.value) == values)
    #expect(try store.count(Ticket.all.sectioned(by: \.level)) == Set(all.map(\.level)).count)
  }

  @Test("Groups, and the least and greatest value of each, follow `<`", arguments: UInt64(1)...3)
  func groups(seed: UInt64) throws {
    var random = SeededGenerator(seed: 82_000 + seed)
    let store = try Self.store(&random)
    let all = try store.fetch(Ticket.all)
    let byPriority = try store.fetch(
      Ticket.all.grouped(by: \.priority).select(.count, .min(\.level), .max(\.other)))
    let present = Priority.allCases.filter { priority in all.contains { $0.priority == priority } }
    #expect(byPriority.map(\.key) == present)
    for row in byPriority {
      let members = all.filter { $0.priority == row.key }
      #expect(row.1 == members.count)
      #expect(row.2 == members.map(\.level).min())
      #expect(row.3 == members.compactMap(\.other).max())
    }
    // From the keys of an index, without records.
    let byNumber = try store.fetch(
      Ticket.all.grouped(by: \.number).select(.max(\.level), .min(\.level)))
    for row in byNumber {
      let levels = all.filter { $0.number == row.key }.map(\.level)
      #expect(row.1 == levels.max() && row.2 == levels.min())
    }
    let byTwo = try store.fetch(Ticket.all.grouped(by: \.level, \.other).select(.count))
    let keys = byTwo.map { ($0.key.0, $0.key.1) }
    #expect(
      zip(keys, keys.dropFirst()).allSatisfy { a, b in
        a.0 < b.0 || (a.0 == b.0 && nilsFirst(a.1, b.1) < 0)
      })
  }

  @Test("An order by a field of a related record follows `<`")
  func related() throws {
    var random = SeededGenerator(seed: 83_000)
    let store = try Self.store(&random)
    let all = try store.fetch(Ticket.all)
    let teams = Dictionary(uniqueKeysWithValues: try store.fetch(Team.all).map { ($0.id, $0) })
    func team(_ ticket: Ticket) -> Team? { ticket.teamID.flatMap { teams[$0] } }
    func sorted(_ order: (Ticket, Ticket) -> Int) -> [RecordID<Ticket>] {
      all.sorted { a, b in
        let place = order(a, b)
        return place != 0 ? place < 0 : a.id < b.id
      }.map(\.id)
    }
    #expect(
      try store.ids(Ticket.all.sorted(by: \.team.rank))
        == sorted { nilsFirst(team($0)?.rank, team($1)?.rank) })
    #expect(
      try store.ids(Ticket.all.sorted(by: \.team.level, .descending))
        == sorted { -nilsFirst(team($0)?.level, team($1)?.level) })
    var seen: [RecordID<Ticket>] = []
    var query = Ticket.all.sorted(by: \.team.rank).then(by: \.level).limit(7)
    while seen.count <= all.count {
      let page = try store.page(query)
      seen += page.records.map(\.id)
      guard let token = page.next else { break }
      query = query.after(try PageToken(token.text))
    }
    #expect(
      seen
        == sorted { a, b in
          let rank = nilsFirst(team(a)?.rank, team(b)?.rank)
          return rank != 0 ? rank : ordered(a.level, b.level)
        })
  }

  /// In an index as a number in the order of its `<`.
  enum Size: String, Codable, CaseIterable, IndexKey, Comparable {
    case small, medium, large

    var indexValue: Int { self == .small ? 1 : self == .medium ? 2 : 3 }

    static func < (a: Self, b: Self) -> Bool { a.indexValue < b.indexValue }
  }

  struct Shirt: Record {
    var id = RecordID<Shirt>()
    var size: Size
    static let schema = Schema<Shirt> { Index(\.size) }
  }

  @Test("An index value in the order of `<` lets the index serve it")
  func indexValue() throws {
    let store = try Store.checked(for: Shirt.self)
    try store.write { tx throws in
      for number in 0..<30 {
        var shirt = Shirt(size: Size.allCases[number * 7 % 3])
        try tx.insert(&shirt)
      }
    }
    let query = Shirt.where { $0.size > .small }.sorted(by: \.size, .descending)
    #expect(
      try store.fetch(query).map(\.size)
        == store.fetch(Shirt.all).map(\.size).filter { $0 > .small }.sorted(by: >))
    let plan = try store.explain(query)
    #expect(plan.contains("index size") && !plan.contains("sort"), "\(plan)")
    #expect(try store.max(\Shirt.size) == .large)
  }

  @Test("An equality of the field leaves the order to the next one, which an index has")
  func fixed() throws {
    var random = SeededGenerator(seed: 86_000)
    let store = try Self.store(&random)
    let query = Ticket.where { $0.level == .second && $0.number == 2 }
      .sorted(by: \.number).then(by: \.level)
    let plan = try store.explain(query)
    #expect(!plan.contains("sort by"), "\(plan)")
    let all = try store.fetch(Ticket.all).filter { $0.level == .second && $0.number == 2 }
    #expect(try !all.isEmpty && store.fetch(query) == all)
    var (pages, next) = ([RecordID<Ticket>](), query.limit(2))
    while pages.count <= all.count {
      let page = try store.page(next)
      pages += page.records.map(\.id)
      guard let token = page.next else { break }
      next = next.after(token)
    }
    #expect(pages == all.map(\.id))
  }

  /// The enum of an older version of the program.
  enum OldPriority: String, Codable, CaseIterable, IndexKey, Comparable {
    case low, high, urgent

    static func < (a: Self, b: Self) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  struct OldTask: Record {
    var id = RecordID<OldTask>()
    var priority: OldPriority
    static let collectionName = "Task"
  }

  struct NewTask: Record {
    var id = RecordID<NewTask>()
    var priority: Priority
    static let collectionName = "Task"
  }

  @Test("A token of another order of the cases is refused")
  func tokens() throws {
    try withScratchPath { path throws in
      do {
        let store = try Store(at: path, for: OldTask.self)
        try store.write { tx throws in
          for number in 0..<9 {
            var task = OldTask(priority: OldPriority.allCases[number % 3])
            try tx.insert(&task)
          }
        }
        let token = try #require(
          try store.page(OldTask.all.sorted(by: \.priority).limit(4)).next)
        store.close()
        let new = try Store(at: path, for: NewTask.self)
        defer { new.close() }
        let query = NewTask.all.sorted(by: \.priority).after(token)
        #expect(caught { _ = try new.fetch(query) }?.code == .invalidQuery)
      }
    }
  }

  /// Two cases are equal, and so are their keys.
  enum Grade: String, Codable, CaseIterable, IndexKey, Comparable {
    case third, second, middle, first

    private var rank: Int {
      switch self {
      case .third: 0
      case .second, .middle: 1
      case .first: 2
      }
    }
    var indexValue: String { ["z", "m", "a"][rank] }

    static func == (a: Self, b: Self) -> Bool { a.rank == b.rank }
    static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }
    func hash(into hasher: inout Hasher) { hasher.combine(rank) }
  }

  struct Pupil: Record {
    var id = RecordID<Pupil>()
    var grade: Grade
    var name: Int
  }

  @Test("Cases that are equal are one value of an order, a section and a group")
  func equalCases() throws {
    let store = try Store.checked(for: Pupil.self)
    try store.write { tx throws in
      for number in 0..<24 {
        var pupil = Pupil(grade: Grade.allCases[number % 4], name: number * 7 % 24)
        try tx.insert(&pupil)
      }
    }
    let all = try store.fetch(Pupil.all)
    let sorted = all.sorted { ($0.grade, $0.name) < ($1.grade, $1.name) }
    #expect(
      try store.ids(Pupil.all.sorted(by: \.grade).then(by: \.name)) == sorted.map(\.id))
    let sections = Pupil.all.sectioned(by: \.grade)
    #expect(try store.fetch(sections).map(\.count) == [6, 12, 6])
    #expect(try store.count(sections) == 3)
    #expect(try store.counts(by: \Pupil.grade).map(\.count) == [6, 12, 6])
    #expect(try store.max(\Pupil.grade) == .first && store.min(\Pupil.grade) == .third)
  }

  @Test("Joins follow `<`, and the text of a query the stored values")
  func others() throws {
    var random = SeededGenerator(seed: 84_000)
    let store = try Self.store(&random)
    let query = Ticket.all.sorted(by: \.priority, .descending)
    let sorted = try store.fetch(Ticket.all).sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
    #expect(try store.fetch(query) == sorted)
    let plan = try store.explain(query)
    #expect(plan.contains("sort by priority by its own < descending"), "\(plan)")
    // The language of the tool, which does not know the type.
    let text = try Ticket.query(text: "order by priority limit 1")
    #expect(try store.fetch(text).map(\.priority) == [.high])

    let join = Ticket.all.joined(with: Team.all, on: \.teamID, equals: \.id, kind: .inner)
    let byLevel = try store.fetch(join.sorted(byLeft: \.level)).map { $0.0.level }
    #expect(!byLevel.isEmpty && byLevel == byLevel.sorted())
    let byRank = try store.fetch(join.sorted(byRight: \.rank, .descending)).map { $0.1.rank }
    #expect(byRank == byRank.sorted(by: >) && Set(byRank).count > 1)
  }
}
