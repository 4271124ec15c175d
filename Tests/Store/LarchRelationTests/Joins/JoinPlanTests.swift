import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A join reads no more than it needs, and explains its plan")
struct JoinPlanTests {
  struct Firm: Record {
    var id = RecordID<Firm>()
    var name: String
    var town: String
    var size: Int

    static let staff = HasMany<Firm, Worker>(\.firmID, onDelete: .none)
    static let schema = Schema<Firm> {
      Unique(\.name)
      staff
    }
  }

  struct Worker: Record {
    var id = RecordID<Worker>()
    var name: String
    var firmID: Firm.ID?
    var city: String
    var age: Int
    var skills: [String] = []

    static let firm = BelongsTo<Worker, Firm>(\.firmID)
    static let schema = Schema<Worker> {
      firm
      Index(\.city, \.age)
      Index(\.age)
      Index(\.skills)
    }
  }

  /// 100 firms with 10 workers each, and one worker of none.
  private static func store(checks: Bool = true) throws -> Store {
    var options = Store.Options()
    options.checksQueries = checks
    let store = try Store.temporary(for: Firm.self, Worker.self, options: options)
    try store.write { tx in
      var firms: [Firm] = []
      for number in 0..<100 {
        var firm = Firm(name: "firm \(number)", town: "town \(number % 10)", size: number)
        try tx.save(&firm)
        firms.append(firm)
      }
      for number in 0..<1000 {
        var worker = Worker(
          name: "worker \(number)", firmID: firms[number % 100].id, city: "town \(number % 20)",
          age: number / 20, skills: number % 100 == 0 ? ["chess"] : [])
        try tx.save(&worker)
      }
      var last = Worker(name: "idle", firmID: nil, city: "", age: 99)
      try tx.save(&last)
    }
    return store
  }

  @Test("A reference is followed by id, and each referenced record is read once")
  func byID() throws {
    let store = try Self.store()
    let join = Worker.all.joined(with: Firm.all, on: \.firmID, kind: .left)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        left join, Worker.firmID == Firm.id
          outer Worker
            all records
          inner Firm
            by id
        outer examined 0 index entries, 1001 records; inner examined 0 index entries, 100 records; returned 1001
        """)
    #expect(try store.count(join) == 1001)
    #expect(try store.fetch(join).last?.1 == nil)
  }

  @Test("The index of a reference is used for the inner side")
  func byReference() throws {
    let store = try Self.store()
    let join = Firm.where { $0.name == "firm 7" }
      .joined(with: Worker.where { $0.age > 20 }, on: \.id, equals: \.firmID)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        inner join, Firm.id == Worker.firmID
          outer Firm
            index name ["firm 7"]
          inner Worker
            by index firmID
              filter age > 20
        outer examined 1 index entry, 1 record; inner examined 10 index entries, 10 records; returned 5
        """)
  }

  @Test("An index that begins with the field is used too")
  func byComposite() throws {
    let store = try Self.store()
    let join = Firm.where { $0.size < 2 }
      .joined(with: Worker.all.sorted(by: \.name), on: \.town, equals: \.city, kind: .left)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        left join, Firm.town == Worker.city
          outer Firm
            all records
              filter size < 2
          inner Worker
            by index city_age
              sort those of each row
        outer examined 0 index entries, 100 records; inner examined 100 index entries, 100 records; returned 100
        """)
  }

  @Test("Without an index the inner side is read once, not once for each row")
  func byTable() throws {
    let store = try Self.store()
    let join = Worker.all.joined(
      with: Firm.where { $0.size > 49 }, on: \.city, equals: \.town, kind: .inner)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        inner join, Worker.city == Firm.town
          outer Worker
            all records
          inner Firm
            table of
              all records
                filter size > 49
        outer examined 0 index entries, 1001 records; inner examined 0 index entries, 100 records; returned 2500
        """)
  }

  // Each firm found 50 workers of its town in the index and read them, to refuse all but one.
  @Test("A few records on the right are read once, although an index would find them")
  func fewOnTheRight() throws {
    let store = try Self.store()
    let one = Firm.all.joined(
      with: Worker.where { $0.id == 5 }, on: \.town, equals: \.city, kind: .left)
    let text = try store.explain(one, running: true)
    #expect(
      text == """
        left join, Firm.town == Worker.city
          outer Firm
            all records
          inner Worker
            table of
              records [5]
        outer examined 0 index entries, 100 records; inner examined 0 index entries, 1 record; returned 100
        """)
    let firms = try store.fetch(Firm.all)
    #expect(
      try store.fetch(one).map { $0.1?.name }
        == firms.map { $0.town == "town 4" ? "worker 4" : nil })

    let three = Firm.all.joined(
      with: Worker.where { [5, 7, 25].contains($0.id) }.sorted(by: \.name, .descending),
      on: \.town, equals: \.city)
    #expect(try store.explain(three).contains("table of"))
    let partners = ["town 4": ["worker 4", "worker 24"], "town 6": ["worker 6"]]
    let expected = firms.flatMap { firm in
      (partners[firm.town] ?? []).map { [firm.name, $0] }
    }
    #expect(try store.fetch(three).map { [$0.0.name, $0.1.name] } == expected)

    // Most workers of each town pass the filter, and few firms look for theirs.
    let most = Firm.where { $0.size < 3 }.joined(
      with: Worker.where { $0.id > 5 }, on: \.town, equals: \.city)
    #expect(try store.explain(most).contains("by index city_age"))
  }

  @Test("If rows without a left record are kept, the whole right side is read")
  func right() throws {
    let store = try Self.store()
    let join = Worker.where { $0.age == 3 }
      .joined(with: Firm.all.limit(5), on: \.firmID, kind: .full)
      .sorted(byRight: \.size, .descending).then(byLeft: \.name).offset(1).limit(3)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        full join, Worker.firmID == Firm.id
          outer Worker
            index age [3]
          inner Firm
            table of
              all records
                limit 5
          sort by right.size descending, left.name
          offset 1
          limit 3
        outer examined 20 index entries, 20 records; inner examined 0 index entries, 5 records; returned 3
        """)
  }

  @Test("A few records on the right find their partners on the left, and the order stays")
  func turned() throws {
    let store = try Self.store()
    let join = Worker.all.joined(with: Firm.where { $0.name == "firm 42" }, on: \.firmID)
      .sorted(byLeft: \.age, .descending)
    let text = try store.explain(join, running: true)
    #expect(
      text == """
        inner join, Worker.firmID == Firm.id
          outer Firm
            index name ["firm 42"]
          inner Worker
            by index firmID
          sort by the order of the left
        outer examined 1 index entry, 1 record; inner examined 10 index entries, 10 records; returned 10
        """)
    let ages = try store.fetch(join).map(\.0.age)
    #expect(ages == ages.sorted(by: >))
    #expect(ages.count == 10)
  }

  @Test("An order by the left uses its index, and the first rows end the join")
  func orderByLeft() throws {
    let store = try Self.store(checks: false)
    let join = Worker.all.joined(with: Firm.all, on: \.firmID)
      .sorted(byLeft: \.age, .descending).limit(3)
    let text = try store.explain(join, running: true)
    // The outer records are found several at once, at most as many as were taken before.
    #expect(
      text == """
        inner join, Worker.firmID == Firm.id
          outer Worker
            index age all entries descending
              order served by the index
          inner Firm
            by id
          limit 3
        outer examined 6 index entries, 4 records; inner examined 0 index entries, 3 records; returned 3
        """)
    #expect(try store.fetch(join).map(\.0.age) == [49, 49, 49])
  }

  @Test("Elements of an array are found in its index")
  func elements() throws {
    let store = try Self.store()
    let join = Worker.where { $0.skills.contains("chess") }
      .joined(with: Worker.all, on: \.skills, equals: \.skills)
    let text = try store.explain(join, running: true)
    #expect(text.contains("by index skills"))
    #expect(text.contains("inner examined 100 index entries"))
    #expect(try store.count(join) == 100)
  }

  @Test("Records joined with others of their own type are two sides")
  func selfJoin() throws {
    let store = try Self.store()
    let older = Worker.where { $0.age == 10 }
      .joined(with: Worker.where { $0.age == 11 }, on: \.city, equals: \.city)
      .sorted(byRight: \.name).sorted(byLeft: \.name)
    let workers = try store.fetch(Worker.all)
    var expected: [[String]] = []
    for left in workers.filter({ $0.age == 10 }).sorted(by: { $0.name < $1.name }) {
      for right in workers.filter({ $0.age == 11 }).sorted(by: { $0.name < $1.name })
      where left.city == right.city {
        expected.append([left.name, right.name])
      }
    }
    #expect(try store.fetch(older).map { [$0.0.name, $0.1.name] } == expected)
  }

  @Test("Texts may be ordered with upper and lower case the same")
  func ignoringCase() throws {
    struct Word: Record {
      var id = RecordID<Word>()
      var text: String
    }
    let store = try Store.temporary(for: Word.self)
    try store.write { tx in
      for text in ["b", "A", "a", "B"] {
        var word = Word(text: text)
        try tx.save(&word)
      }
    }
    let join = Word.all.joined(with: Word.all, on: \.id, equals: \.id, kind: .full)
    #expect(
      try store.fetch(join.sorted(byRight: \.text, options: .caseInsensitive)).map(\.0?.text)
        == ["A", "a", "b", "B"])
    #expect(
      try store.fetch(join.sorted(byLeft: \.text, options: .caseInsensitive, .descending)).map(
        \.1?.text)
        == ["b", "B", "A", "a"])
    let order = join.sorted(byLeft: \.text, options: .caseInsensitive).then(
      byRight: \.id, .descending)
    #expect(try store.fetch(order).map(\.1?.text) == ["a", "A", "B", "b"])
    #expect(try store.explain(order).contains("left.text ignoring case, right.id descending"))
  }

  @Test("Nil and NaN have no partners, not even each other")
  func nothing() throws {
    struct Point: Record {
      var id = RecordID<Point>()
      var x: Double?
    }
    let store = try Store.temporary(for: Point.self)
    try store.write { tx in
      for x in [nil, .nan, 0.0, -0.0] as [Double?] {
        var point = Point(x: x)
        try tx.save(&point)
      }
    }
    let join = Point.all.joined(with: Point.all, on: \.x, equals: \.x, kind: .full)
    let rows = try store.fetch(join).map { [$0.0?.id.rawValue, $0.1?.id.rawValue] }
    #expect(
      rows == [[1, nil], [2, nil], [3, 3], [3, 4], [4, 3], [4, 4], [nil, 1], [nil, 2]])
  }

  @Test("A negative limit, and one of a side, are errors")
  func invalid() throws {
    let store = try Self.store()
    for join in [
      Worker.all.joined(with: Firm.all, on: \.firmID).limit(-1),
      Worker.all.joined(with: Firm.all, on: \.firmID).offset(-1),
      Worker.all.limit(-1).joined(with: Firm.all, on: \.firmID),
      Worker.all.joined(with: Firm.all.offset(-1), on: \.firmID),
    ] {
      let error = #expect(throws: LarchError.self) { _ = try store.fetch(join) }
      #expect(error?.code == .invalidQuery)
    }
  }

  @Test("Filters may test records that are related to joined or eagerly fetched ones")
  func relatedFilters() throws {
    let store = try Self.store()
    let workers = try store.fetch(Worker.all)
    let firms = try store.fetch(Firm.all)
    let staff = Dictionary(grouping: workers, by: \.firmID)
    let left = workers.filter { worker in
      firms.contains { $0.id == worker.firmID && $0.size > 95 }
    }
    let right = firms.filter { firm in
      staff[firm.id]?.contains { $0.age == 4 && $0.city > "town 18" } ?? false
    }
    let expected = left.map { worker in
      [worker.name, right.first { $0.id == worker.firmID }?.name]
    }
    let join = Worker.where { $0.firm.size > 95 }
      .joined(
        with: Firm.where { $0.staff.contains { $0.age == 4 && $0.city > "town 18" } },
        on: \.firmID, kind: .left)
    #expect(try store.fetch(join).map { [$0.0.name, $0.1?.name] } == expected)
    #expect(try store.explain(join).contains("related"))
    let rows = try store.fetch(
      Firm.where { $0.size > 95 }
        .with(Firm.staff, from: Worker.where { $0.firm.name == "firm 97" }))
    #expect(rows.map(\.1.count) == [0, 10, 0, 0])
    try store.write { tx in
      var late = Worker(name: "late", firmID: firms[97].id, city: "", age: 1)
      try tx.save(&late)
      let last = ["late", right.first { $0.id == firms[97].id }?.name]
      #expect(try tx.fetch(join).map { [$0.0.name, $0.1?.name] } == expected + [last])
    }
  }

  @Test("A sort of more rows than fit into memory uses a file")
  func spilled() throws {
    let store = try Self.store(checks: false)
    let join = Worker.all.joined(with: Firm.all, on: \.firmID, kind: .left)
      .sorted(byRight: \.size, .descending)
    let expected = try store.fetch(join).map(\.0.id.rawValue)
    try store.read { tx in
      try tx.storage { _ in
        let prepared: PreparedJoin<Worker, Firm> = try tx.prepare(join.details, isOrdered: true)
        var settings = SortSettings()
        settings.budget = 4096
        let run = try JoinRun(
          prepared.plan, prepared.sides, context: tx.context, settings: settings)
        defer { run.close() }
        let rows = JoinRows(run, prepared.left, prepared.right, join.kind)
        var ids: [Int64] = []
        while let row = try rows.next() { ids.append(row.0.id.rawValue) }
        #expect(ids == expected)
        #expect(run.counters.spilled > 0)
      }
    }
  }

  @Test("In a write the closure may change the joined records")
  func changes() throws {
    let store = try Self.store()
    let join = Worker.where { $0.age == 3 }.joined(with: Firm.all, on: \.firmID)
    try store.write { tx in
      var count = 0
      try tx.forEach(join) { worker, firm in
        var worker = worker
        worker.age = 4
        try tx.save(&worker)
        try tx.delete(worker)
        count += 1
      }
      #expect(count == 20)
      #expect(try tx.count(join) == 0)
    }
  }
}
