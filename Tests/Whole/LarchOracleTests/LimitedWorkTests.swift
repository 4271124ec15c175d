import LarchTestSupport
import Testing

@testable import Larch

/// What queries with a limit read. `Index(\.word, \.n3)` and `where { $0.word == "even" }` with a
/// limit of one read all 10,000 entries of the word and sorted them by id, which took 78 ms;
/// without the index it took 0.6 ms. The planner expected that a limit shortens a scan, but a scan
/// in another order must read all entries.
@Suite("Reads of queries with a limit")
struct LimitedWorkTests {
  struct Word: Record {
    var id = RecordID<Word>()
    var word: String
    var n3: Int
    var note = 0
    static let schema = Schema<Word> { Index(\.word, \.n3) }
  }

  struct Issue: Record {
    enum State: String, Codable, IndexKey { case open, closed }
    var id = RecordID<Issue>()
    var project: Int
    var state: State
    var updatedAt: Int
    static let schema = Schema<Issue> {
      Index(\.project, \.state)
      Index(\.updatedAt)
    }
  }

  struct Mark: Record {
    var id = RecordID<Mark>()
    var rank = 0
    var number: Int
    var grade: Int
    static let schema = Schema<Mark> { Index(\.rank, \.number, \.grade) }
  }

  private static func words(_ word: (Int) -> String) throws -> Store {
    let store = try Store.temporary(for: Word.self)
    try store.write { tx in
      for n in 0..<2000 {
        var new = Word(word: word(n), n3: n % 3, note: n)
        try tx.insert(&new)
      }
    }
    return store
  }

  private static func looked<R: Record>(
    _ query: Query<R>, in store: Store, for need: QueryNeed = .records
  ) throws -> Int {
    try store.read { tx in
      try tx.run(query.details, of: R.self, for: need) { run, _ in
        while try run.next() != nil {}
        return run.counters.entriesExamined + run.counters.recordsExamined
      }
    }
  }

  @Test("If many records match, a few are found among the first records")
  func few() throws {
    let store = try Self.words { $0 % 2 == 0 ? "even" : "odd" }
    let even = Word.where { $0.word == "even" }
    #expect(try Self.looked(even.limit(1), in: store) <= 20)
    #expect(try Self.looked(even.limit(1), in: store, for: .ids) <= 20)
    #expect(try Self.looked(even.reversed().limit(3), in: store) <= 40)
    #expect(try Self.looked(even.offset(5).limit(5), in: store) <= 60)
    var token: PageToken?
    var seen: [Int] = []
    for _ in 0..<4 {
      var query = even.limit(10)
      if let token { query = query.after(token) }
      #expect(try Self.looked(query, in: store) <= 80)
      let page = try store.page(query)
      seen += page.records.map(\.note)
      token = page.next
    }
    #expect(seen == (0..<40).map { $0 * 2 })
    #expect(try store.first(even)?.note == 0)
  }

  @Test("Of many records that are equal in the order, those of the least ids are read")
  func equalInOrder() throws {
    let store = try Store.temporary(for: Mark.self)
    var marks: [Mark] = []
    try store.write { tx in
      for n in 0..<2000 {
        var mark = Mark(number: n % 20 == 0 ? n : 7, grade: n * 7 % 5)
        try tx.insert(&mark)
        marks.append(mark)
      }
    }
    let ranked = Mark.where { $0.rank == 0 }
    let sorted = marks.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
    let descending = marks.sorted { ($1.number, $0.id) < ($0.number, $1.id) }
    for (query, expected) in [
      (ranked.sorted(by: \.number), sorted),
      (ranked.sorted(by: \.number).reversed(), sorted.reversed()),
      (ranked.sorted(by: \.number, .descending), descending),
      (ranked.sorted(by: \.number).where { $0.grade != 2 }, sorted.filter { $0.grade != 2 }),
      (
        ranked.sorted(by: \.number).where { $0.id.rawValue % 3 != 1 },
        sorted.filter { $0.id.rawValue % 3 != 1 }
      ),
    ] {
      for limit in [1, 2, 7, 150] {
        for offset in [0, 1, 5, 101] {
          let part = query.offset(offset).limit(limit)
          let ids = expected.dropFirst(offset).prefix(limit).map(\.id)
          #expect(try store.fetch(part).map(\.id) == ids)
          #expect(try store.ids(part) == ids)
          #expect(
            try store.fetch(part.select(\.number, \.grade)).map(\.0)
              == expected.dropFirst(offset).prefix(limit).map(\.number))
          #expect(try store.write { tx in try tx.fetch(part).map(\.id) } == ids)
        }
      }
    }
    // Five keys, each with 380 entries or so, from which the first two are taken.
    #expect(try Self.looked(ranked.sorted(by: \.number).limit(2), in: store) <= 40)
    #expect(try Self.looked(ranked.sorted(by: \.number).offset(1).limit(3), in: store) <= 60)
  }

  @Test("If few records match, the index finds them")
  func rare() throws {
    let store = try Self.words { $0 % 400 == 399 ? "rare" : "common" }
    let rare = Word.where { $0.word == "rare" }
    #expect(try Self.looked(rare.limit(1), in: store) <= 20)
    #expect(try store.first(rare)?.note == 399)
  }

  @Test("If the matching records are at the other end, the query continues with the index")
  func otherEnd() throws {
    let store = try Self.words { $0 < 1800 ? "old" : "new" }
    let query = Word.where { $0.word == "new" }
    // 200 entries, after reads of the same cost.
    #expect(try Self.looked(query.limit(3), in: store) <= 450)
    #expect(try store.fetch(query.limit(3)).map(\.note) == [1800, 1801, 1802])
    #expect(try store.fetch(query.offset(2).limit(2)).map(\.note) == [1802, 1803])
    #expect(try Self.looked(query.reversed().limit(3), in: store) <= 20)
    // Some rows are returned before the run changes to the other access path.
    let mixed = try Self.words { $0 == 1 || $0 > 1800 ? "new" : "old" }
    #expect(try mixed.fetch(query.limit(3)).map(\.note) == [1, 1801, 1802])
    #expect(try mixed.fetch(query.limit(3).select(\.note)) == [1, 1801, 1802])
    #expect(try mixed.ids(query.limit(3)).map(\.rawValue) == [2, 1802, 1803])
    let first = try mixed.page(query.limit(2))
    #expect(first.records.map(\.note) == [1, 1801])
    let next = try mixed.page(query.limit(2).after(#require(first.next)))
    #expect(next.records.map(\.note) == [1802, 1803])
    try mixed.write { tx in
      var new = Word(word: "new", n3: 1, note: -1)
      try tx.insert(&new)
      #expect(try tx.fetch(query.reversed().limit(2)).map(\.note) == [-1, 1999])
      #expect(try tx.fetch(query.limit(3)).map(\.note) == [1, 1801, 1802])
    }
  }

  @Test("Where few match and they are the first ones, not all of them are read")
  func thisEnd() throws {
    let first = try Self.words { $0 < 70 ? "new" : "old" }
    let query = Word.where { $0.word == "new" && [3, 40, 1950].contains($0.note) }
    // 70 entries and records, had the index been read.
    #expect(try Self.looked(query.limit(1), in: first) <= 10)
    #expect(try first.fetch(query.limit(2)).map(\.note) == [3, 40])
    // Where they are the last ones, some records are read in vain.
    let last = try Self.words { $0 >= 1930 ? "new" : "old" }
    #expect(try Self.looked(query.limit(1), in: last) <= 320)
    #expect(try last.fetch(query.limit(2)).map(\.note) == [1950])
    #expect(try last.ids(query.limit(2)).map(\.rawValue) == [1951])
    #expect(try last.fetch(query.limit(2).select(\.note)) == [1950])
  }

  @Test("Whether there is a record is found out by whatever costs less")
  func exists() throws {
    let store = try Self.words { $0 < 1800 ? "old" : "new" }
    func looked(_ query: Query<Word>) throws -> Int {
      try store.read { tx in
        try tx.run(query.details, of: Word.self, for: .exists) { run, _ in
          let found = try run.exists()
          #expect(try found == !store.fetch(query).isEmpty)
          return run.counters.entriesExamined + run.counters.recordsExamined
        }
      }
    }
    #expect(try looked(Word.where { $0.word == "new" }) <= 2)
    #expect(try looked(Word.where { $0.word == "new" && $0.note > 1900 }) <= 900)
    #expect(try looked(Word.where { $0.word == "old" && $0.note > 5 }) <= 20)
    #expect(try looked(Word.where { $0.word == "new" && $0.note > 5000 }) <= 1200)
    #expect(try store.count(Word.where { $0.word == "new" && $0.note > 1900 }.limit(30)) == 30)
  }

  @Test("The text of a plan shows the alternative too")
  func text() throws {
    let store = try Self.words { $0 < 1800 ? "old" : "new" }
    #expect(
      try store.explain(Word.where { $0.word == "new" }.limit(3)) == """
        all records
          filter word == "new"
          limit 3
          or, once that costs less
            index word_n3 ["new"]
              sort by id
        """)
  }

  @Test("A plan is good for a store of 500 records")
  func small() throws {
    let store = try Store.temporary(for: Issue.self)
    try store.write { tx in
      for n in 0..<513 {
        var issue = Issue(
          project: n % 4, state: n % 3 == 0 ? .open : .closed, updatedAt: n * 38 % 513)
        try tx.insert(&issue)
      }
    }
    for project in 0..<5 {
      for state in [Issue.State.open, .closed] {
        let query = Issue.where { $0.project == project && $0.state == state }
          .sorted(by: \.updatedAt, .descending).limit(10)
        // 43 or 86 match.
        #expect(try Self.looked(query, in: store) <= 200)
        let all = try store.fetch(Issue.all)
          .filter { $0.project == project && $0.state == state }
          .sorted { $0.updatedAt > $1.updatedAt }
        #expect(try store.fetch(query).map(\.id) == all.prefix(10).map(\.id))
      }
    }
  }
}
