import LarchTestSupport
import Testing

@testable import Larch

/// With every form of a field that an order may have.
private struct Entry: Record, Equatable {
  var id: String
  var text: String
  var number: Int
  var half: Double?
  var words: [Int]

  var length: Int { text.count }

  static let schema = Schema<Entry> { Index(\.number, \.text) }
}

@Suite("Rows that are brought up to date from changed records")
struct RowPatcherTests {
  private static let queries: [(String, Query<Entry>)] = [
    ("all", Entry.all),
    ("ids descend", Entry.all.reversed()),
    ("index", Entry.where { $0.number == 3 }),
    ("scan", Entry.where { $0.text.hasPrefix("a") }),
    ("closure", Entry.all.filter { $0.length > 2 }),
    ("number", Entry.all.sorted(by: \.number)),
    ("text descends", Entry.all.sorted(by: \.text, .descending)),
    ("optional", Entry.all.sorted(by: \.half).then(by: \.text)),
    ("computed", Entry.where { $0.number > 2 }.sorted(by: \.length).then(by: \.id, .descending)),
    ("elements", Entry.where { $0.words.contains(3) }.sorted(by: \.number, .descending)),
    ("window", Entry.all.sorted(by: \.number).limit(5)),
    ("window of ids", Entry.all.limit(3)),
    ("window of a filter", Entry.where { $0.number > 4 }.sorted(by: \.text).limit(4)),
    ("window of one", Entry.where { $0.half != nil }.sorted(by: \.half, .descending).limit(1)),
    ("wide window", Entry.where { $0.number < 3 }.limit(1_000)),
    ("no end", Entry.where { $0.number < 5 }.sorted(by: \.text).limit(.max)),
  ]

  private static func random(_ random: inout SeededGenerator) -> Entry {
    let letters = ["a", "ab", "ä", "b", "á", "\u{1F600}", ""]
    let number = Int.random(in: 0..<140, using: &random)
    return Entry(
      // Ids of fewer and of more than eight bytes.
      id: number % 3 == 0 ? "\(number)" : "a longer name \(number)",
      text: letters.randomElement(using: &random)! + letters.randomElement(using: &random)!,
      number: Int.random(in: 0..<8, using: &random),
      half: [nil, .nan, -0.0, 0, 0.5, -.infinity, 7].randomElement(using: &random)!,
      words: (0..<Int.random(in: 0..<3, using: &random)).map { $0 * 3 })
  }

  @Test("equal those of a fetch after each commit, and few are read again", arguments: 1...4)
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: 52_000 + seed)
    let store =
      try seed % 2 == 0 ? Store.checked(for: Entry.self) : Store.temporary(for: Entry.self)
    try store.write { tx in
      for _ in 0..<100 { try tx.put(Self.random(&random)) }
    }
    let observers = Self.queries.map { store.observe($0.1).makeAsyncIterator().polled }
    var last: [[Entry]] = []
    for (observer, query) in zip(observers, Self.queries) {
      let first = try #require(try observer.poll())
      #expect(Self.isSame(first.rows, try store.fetch(query.1)), "\(query.0)")
      last.append(first.rows)
    }
    var values = 0
    for round in 0..<250 {
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        try store.write { tx in
          for _ in 0..<Int.random(in: 1...3, using: &random) {
            let entry = Self.random(&random)
            if Int.random(in: 0..<3, using: &random) == 0 {
              try tx.delete(Entry.self, entry.id)
            } else {
              try tx.put(entry)
            }
          }
        }
      }
      for (place, observer) in observers.enumerated() {
        // Some get the changes of several rounds at once.
        if round % (1 + place % 3) != 0 { continue }
        let comment = "seed \(seed), round \(round), \(Self.queries[place].0)" as Comment
        let known = try store.fetch(Self.queries[place].1)
        guard let found = try observer.poll() else {
          #expect(Self.isSame(last[place], known), comment)
          continue
        }
        values += 1
        #expect(Self.isSame(found.rows, known), comment)
        #expect(!Self.isSame(found.rows, last[place]), comment)
        last[place] = found.rows
      }
    }
    let patches = observers.reduce(0) { $0 + $1.patches }
    #expect(values > 1_000)
    #expect(Double(patches) > 0.8 * Double(values), "\(patches) of \(values)")
    #expect(observers[0].reads == 1)
  }

  /// NaN counts as equal to itself here.
  private static func isSame(_ a: [Entry], _ b: [Entry]) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { $0 == $1 || "\($0)" == "\($1)" }
  }

  @Test("many changes at once are read again")
  func many() throws {
    let store = try Store.temporary(for: Entry.self)
    let observer = store.observe(Entry.all).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.isEmpty == true)
    try store.write { tx in
      for number in 0..<500 {
        try tx.put(Entry(id: "\(number)", text: "", number: number, half: nil, words: []))
      }
    }
    #expect(try observer.poll()?.rows.count == 500)
    #expect(observer.reads == 2 && observer.patches == 0)
    try store.put(Entry(id: "7", text: "x", number: 1, half: nil, words: []))
    #expect(try observer.poll()?.rows.count == 500)
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("many changed records of which few are rows are not read again", arguments: [16, 17])
  func bulk(rows: Int) throws {
    let store = try Store.temporary(for: Entry.self)
    // The second one has no index.
    let observers = [
      store.observe(Entry.where { $0.number < rows }).makeAsyncIterator().polled,
      store.observe(Entry.where { $0.half == nil && $0.number < rows }).makeAsyncIterator().polled,
    ]
    for observer in observers { #expect(try observer.poll()?.rows.isEmpty == true) }
    try store.write { tx in
      for number in 0..<500 { try tx.put(Self.entry("\(number)", number)) }
    }
    for observer in observers {
      #expect(try observer.poll()?.rows.count == rows)
      #expect(observer.patches == (rows == 16 ? 1 : 0))
      #expect(observer.reads == (rows == 16 ? 1 : 2))
    }
  }

  private func store(of count: Int) throws -> Store {
    let store = try Store.temporary(for: Entry.self)
    try store.write { tx in
      for number in 0..<count { try tx.put(Self.entry("\(number)", number)) }
    }
    return store
  }

  private static func entry(_ id: String, _ number: Int) -> Entry {
    Entry(id: id, text: "", number: number, half: nil, words: [])
  }

  @Test("the first row that leaves a full window makes it read a reserve")
  func window() throws {
    let store = try store(of: 6)
    let observer = store.observe(Entry.all.sorted(by: \.number).limit(3)).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.map(\.id) == ["0", "1", "2"])
    try store.write { _ = try $0.delete(Entry.self, "1") }
    #expect(try observer.poll()?.rows.map(\.id) == ["0", "2", "3"])
    #expect(observer.reads == 2 && observer.patches == 0)
    // To the end of all.
    try store.put(Self.entry("0", 9))
    #expect(try observer.poll()?.rows.map(\.id) == ["2", "3", "4"])
    try store.put(Self.entry("6", 0))
    #expect(try observer.poll()?.rows.map(\.id) == ["6", "2", "3"])
    try store.write { tx in
      _ = try tx.delete(Entry.self, "6")
      try tx.put(Self.entry("7", 1))
    }
    #expect(try observer.poll()?.rows.map(\.id) == ["7", "2", "3"])
    for (id, rows) in [("7", ["2", "3", "4"]), ("3", ["2", "4", "5"]), ("4", ["2", "5", "0"])] {
      try store.write { _ = try $0.delete(Entry.self, id) }
      #expect(try observer.poll()?.rows.map(\.id) == rows)
    }
    // No more than these are there, and it knows that.
    try store.write { _ = try $0.delete(Entry.self, "5") }
    #expect(try observer.poll()?.rows.map(\.id) == ["2", "0"])
    #expect(observer.reads == 2 && observer.patches == 7)
  }

  @Test("changes behind a window give no value, and are there when rows move up")
  func reserve() throws {
    let store = try store(of: 200)
    let query = Entry.all.sorted(by: \.number).limit(10)
    let observer = store.observe(query).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 10)
    try store.write { _ = try $0.delete(Entry.self, "0") }
    #expect(try observer.poll()?.rows.first?.id == "1")
    #expect(observer.reads == 2)
    // In the reserve: changed, gone, come, moved behind its end.
    try store.put(Entry(id: "12", text: "changed", number: 12, half: nil, words: []))
    try store.write { _ = try $0.delete(Entry.self, "13") }
    try store.put(Self.entry("come", 14))
    try store.put(Self.entry("15", 190))
    // Behind the reserve, and from there into it.
    try store.put(Self.entry("150", 151))
    try store.put(Self.entry("160", 16))
    #expect(try observer.poll() == nil)
    for number in 1...8 {
      try store.write { _ = try $0.delete(Entry.self, "\(number)") }
      #expect(try observer.poll()?.rows == (try store.fetch(query)))
    }
    #expect(
      try store.fetch(query).map(\.id) == [
        "9", "10", "11", "12", "14", "come", "16", "160", "17", "18",
      ])
    #expect(observer.reads == 2)
  }

  @Test("a reserve that runs out is read again, and grows")
  func refill() throws {
    let store = try store(of: 600)
    let query = Entry.all.sorted(by: \.number).limit(20)
    let observer = store.observe(query).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 20)
    for number in 0..<500 {
      try store.write { _ = try $0.delete(Entry.self, "\(number)") }
      #expect(try observer.poll()?.rows == (try store.fetch(query)), "\(number)")
    }
    // The first one, and then after 33, 65, 129 and 257 more.
    #expect(observer.reads == 6)
    #expect(observer.patches == 495)
  }

  @Test("rows that others push out of a window are its reserve")
  func pushed() throws {
    let store = try store(of: 100)
    let query = Entry.all.sorted(by: \.number).limit(10)
    let observer = store.observe(query).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 10)
    for number in 1...60 {
      try store.put(Self.entry("new \(number)", -number))
      #expect(try observer.poll()?.rows == (try store.fetch(query)))
    }
    for number in (29...60).reversed() {
      try store.write { _ = try $0.delete(Entry.self, "new \(number)") }
      #expect(try observer.poll()?.rows == (try store.fetch(query)))
    }
    #expect(observer.reads == 1)
    // It keeps no more than 32.
    try store.write { _ = try $0.delete(Entry.self, "new 28") }
    #expect(try observer.poll()?.rows == (try store.fetch(query)))
    #expect(observer.reads == 2)
  }
}
