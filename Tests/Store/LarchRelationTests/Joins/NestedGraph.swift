import LarchTestSupport

@testable import Larch

/// Records that are related in every way, and the same in arrays.
struct NestedGraph {
  protocol Ranked: Record where ID == RecordID<Self> {
    var rank: Int { get }
    static var rankField: any KeyPath<Self, Int> & Sendable { get }
  }

  struct Firm: Ranked {
    var id = RecordID<Firm>()
    var rank: Int

    static let people = HasMany<Firm, Person>(\.firmID, onDelete: .nullify)
    static let schema = Schema<Firm> { people }
    static var rankField: any KeyPath<Firm, Int> & Sendable { \.rank }
  }

  struct Person: Ranked {
    var id = RecordID<Person>()
    var rank: Int
    var firmID: Firm.ID?
    var bossID: Person.ID?
    var tagIDs: [Tag.ID] = []

    static let firm = BelongsTo<Person, Firm>(\.firmID)
    static let boss = BelongsTo<Person, Person>(\.bossID)
    static let reports = HasMany<Person, Person>(\.bossID, onDelete: .nullify)
    static let badge = HasOne<Person, Badge>(\.personID, onDelete: .destroy)
    static let tags = HasMany<Person, Tag>(in: \.tagIDs)
    static let clubs = ManyToMany<Person, Club>(named: "members")
    static let courses = HasMany<Person, Course>(
      through: \Enrolment.personID, \Enrolment.courseID)
    static let schema = Schema<Person> {
      firm
      boss
      reports
      badge
      tags
      clubs
      courses
      Index(\.rank)
    }
    static var rankField: any KeyPath<Person, Int> & Sendable { \.rank }
  }

  struct Badge: Ranked {
    var id = RecordID<Badge>()
    var rank: Int
    var personID: Person.ID

    static let person = BelongsTo<Badge, Person>(\.personID)
    static let schema = Schema<Badge> { person }
    static var rankField: any KeyPath<Badge, Int> & Sendable { \.rank }
  }

  struct Tag: Ranked {
    var id = RecordID<Tag>()
    var rank: Int

    static let people = HasMany<Tag, Person>(\.tagIDs, onDelete: .nullify)
    static let schema = Schema<Tag> { people }
    static var rankField: any KeyPath<Tag, Int> & Sendable { \.rank }
  }

  struct Club: Ranked {
    var id = RecordID<Club>()
    var rank: Int

    static let members = ManyToMany<Club, Person>(named: "members")
    static let schema = Schema<Club> { members }
    static var rankField: any KeyPath<Club, Int> & Sendable { \.rank }
  }

  struct Course: Ranked {
    var id = RecordID<Course>()
    var rank: Int

    static let students = HasMany<Course, Person>(
      through: \Enrolment.courseID, \Enrolment.personID)
    static let schema = Schema<Course> { students }
    static var rankField: any KeyPath<Course, Int> & Sendable { \.rank }
  }

  struct Enrolment: Record {
    var id = RecordID<Enrolment>()
    var personID: Person.ID
    var courseID: Course.ID
  }

  var firms: [Firm] = []
  var people: [Person] = []
  var badges: [Badge] = []
  var tags: [Tag] = []
  var clubs: [Club] = []
  var courses: [Course] = []
  var enrolments: [Enrolment] = []
  var memberships: [(person: Person.ID, club: Club.ID)] = []

  static func store(checks: Bool = false) throws -> Store {
    var options = Store.Options()
    options.checksQueries = checks
    return try Store.temporary(
      for: Firm.self, Person.self, Badge.self, Tag.self, Club.self, Course.self, Enrolment.self,
      options: options)
  }

  /// All records of a store, read without any association but the lists of clubs.
  init(_ reader: some RecordReading) throws {
    firms = try reader.fetch(Firm.all)
    people = try reader.fetch(Person.all)
    badges = try reader.fetch(Badge.all)
    tags = try reader.fetch(Tag.all)
    clubs = try reader.fetch(Club.all)
    courses = try reader.fetch(Course.all)
    enrolments = try reader.fetch(Enrolment.all)
    for person in people {
      for id in try reader.ids(person.related(Person.clubs)) { memberships.append((person.id, id)) }
    }
  }
}

// MARK: - Related records in arrays

extension NestedGraph {
  func people(_ firm: Firm) -> [Person] { people.filter { $0.firmID == firm.id } }
  func firm(_ person: Person) -> [Firm] { firms.filter { $0.id == person.firmID } }
  func boss(_ person: Person) -> [Person] { people.filter { $0.id == person.bossID } }
  func reports(_ person: Person) -> [Person] { people.filter { $0.bossID == person.id } }
  func badge(_ person: Person) -> [Badge] { badges.filter { $0.personID == person.id } }
  func person(_ badge: Badge) -> [Person] { people.filter { $0.id == badge.personID } }
  func tags(_ person: Person) -> [Tag] {
    person.tagIDs.flatMap { id in tags.filter { $0.id == id } }
  }
  func people(_ tag: Tag) -> [Person] { people.filter { $0.tagIDs.contains(tag.id) } }
  func clubs(_ person: Person) -> [Club] {
    clubs.filter { club in memberships.contains { $0 == (person.id, club.id) } }
  }
  func members(_ club: Club) -> [Person] {
    people.filter { person in memberships.contains { $0 == (person.id, club.id) } }
  }
  func courses(_ person: Person) -> [Course] {
    courses.filter { course in
      enrolments.contains { $0.personID == person.id && $0.courseID == course.id }
    }
  }
  func students(_ course: Course) -> [Person] {
    people.filter { person in
      enrolments.contains { $0.personID == person.id && $0.courseID == course.id }
    }
  }
}

/// A random condition, order, limit and offset, for a query and for an array.
struct RankedPart<R: NestedGraph.Ranked>: Sendable {
  private var least: Int?
  private var isOdd: Bool
  private var direction: SortDirection?
  private var isReversed: Bool
  private var limit: Int?
  private var offset: Int

  init(_ random: inout SeededGenerator) {
    func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    least = one(in: 3) ? Int.random(in: 0..<6, using: &random) : nil
    isOdd = one(in: 8)
    direction = one(in: 3) ? (one(in: 2) ? .ascending : .descending) : nil
    isReversed = one(in: 5)
    limit = one(in: 3) ? Int.random(in: 0..<4, using: &random) : nil
    offset = one(in: 4) ? Int.random(in: 0..<3, using: &random) : 0
  }

  var query: Query<R> {
    var query = R.all
    if let least { query = query.where { $0[R.rankField] >= least } }
    if isOdd { query = query.filter { $0.rank % 2 == 1 } }
    if let direction { query = query.sorted(by: R.rankField, direction) }
    if isReversed { query = query.reversed() }
    if let limit { query = query.limit(limit) }
    return query.offset(offset)
  }

  func callAsFunction(_ records: [R]) -> [R] {
    var records = records.filter { least == nil || $0.rank >= least! }
    if isOdd { records = records.filter { $0.rank % 2 == 1 } }
    if let direction {
      records = records.enumerated().sorted { a, b in
        let (x, y) = (a.element, b.element)
        if x.rank != y.rank { return direction == .ascending ? x.rank < y.rank : x.rank > y.rank }
        return (x.id.rawValue, a.offset) < (y.id.rawValue, b.offset)
      }.map(\.element)
    }
    if isReversed { records.reverse() }
    return Array(records.dropFirst(offset).prefix(limit ?? .max))
  }
}

// MARK: - Changes

extension NestedGraph {
  /// Fills a store.
  static func fill(_ writer: some RecordWriting, _ random: inout SeededGenerator) throws {
    try writer._writing { tx in
      for _ in 0..<Int.random(in: 0..<60, using: &random) { try change(tx, &random) }
    }
  }

  /// One random change. Early ones mostly insert.
  static func change(_ tx: WriteTransaction, _ random: inout SeededGenerator) throws {
    func any<R: Ranked>(_ type: R.Type) throws -> R? {
      try tx.fetch(R.all).randomElement(using: &random)
    }
    func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    switch below(16) {
    case 0: _ = try tx.saving(Firm(rank: below(6)))
    case 1, 2, 3:
      var person = Person(rank: below(6))
      if below(3) > 0 { person.firmID = try any(Firm.self)?.id }
      if below(3) > 0 { person.bossID = try any(Person.self)?.id }
      for _ in 0..<below(4) { if let tag = try any(Tag.self) { person.tagIDs.append(tag.id) } }
      try tx.save(&person)
    case 4:
      guard let person = try any(Person.self),
        try !tx.exists(person.related(Person.badge))
      else { return }
      _ = try tx.saving(Badge(rank: below(6), personID: person.id))
    case 5: _ = try tx.saving(Tag(rank: below(6)))
    case 6: _ = try tx.saving(Club(rank: below(6)))
    case 7: _ = try tx.saving(Course(rank: below(6)))
    case 8, 9:
      guard let person = try any(Person.self), let course = try any(Course.self) else { return }
      _ = try tx.saving(Enrolment(personID: person.id, courseID: course.id))
    case 10, 11:
      guard let person = try any(Person.self), let club = try any(Club.self) else { return }
      if below(4) == 0 {
        try tx.remove(club.id, from: person.related(Person.clubs))
      } else {
        try tx.add(club.id, to: person.related(Person.clubs))
      }
    case 12, 13:
      guard var person = try any(Person.self) else { return }
      switch below(4) {
      case 0: person.firmID = try any(Firm.self)?.id
      case 1: person.bossID = try any(Person.self)?.id
      case 2: person.tagIDs = try tx.fetch(Tag.all).map(\.id).shuffled(using: &random)
      default: person.rank = below(6)
      }
      try tx.update(person)
    case 14:
      switch below(5) {
      case 0: _ = try tx.update(Firm.where { $0.rank == 2 }) { $0.rank = below(6) }
      case 1: _ = try tx.update(Badge.where { $0.rank > 3 }) { $0.rank = below(6) }
      case 2: _ = try tx.update(Tag.where { $0.rank == 1 }) { $0.rank = below(6) }
      case 3: _ = try tx.update(Club.where { $0.rank < 2 }) { $0.rank = below(6) }
      default: _ = try tx.update(Course.where { $0.rank == 4 }) { $0.rank = below(6) }
      }
    default:
      switch below(6) {
      case 0: if let firm = try any(Firm.self) { try tx.delete(firm) }
      case 1: if let person = try any(Person.self) { try tx.delete(person) }
      case 2: if let badge = try any(Badge.self) { try tx.delete(badge) }
      case 3: if let tag = try any(Tag.self) { try tx.delete(tag) }
      case 4: if let club = try any(Club.self) { try tx.delete(club) }
      default: if let enrolment = try tx.first(Enrolment.all) { try tx.delete(enrolment) }
      }
    }
  }
}

extension WriteTransaction {
  fileprivate func saving<R: Record>(_ record: R) throws -> R {
    var record = record
    try save(&record)
    return record
  }
}
