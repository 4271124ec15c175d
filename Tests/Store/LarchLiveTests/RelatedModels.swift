import LarchTestSupport

@testable import Larch

struct Firm: Record, Equatable {
  var id = RecordID<Firm>()
  var name: String
  var city: String
  var isOpen: Bool

  static let workers = HasMany<Firm, Worker>(\.firmID, onDelete: .nullify)
  static let license = HasOne<Firm, License>(\.firmID, onDelete: .destroy)
  static let schema = Schema<Firm> {
    workers
    license
    Index(\.city)
  }
}

/// With an association of each kind, also to its own type.
struct Worker: Record, Equatable {
  var id = RecordID<Worker>()
  var name: String
  var rank: Int
  var firmID: Firm.ID?
  var bossID: Worker.ID?
  var skillIDs: [Skill.ID] = []

  static let firm = BelongsTo<Worker, Firm>(\.firmID)
  static let boss = BelongsTo<Worker, Worker>(\.bossID)
  static let reports = HasMany<Worker, Worker>(\.bossID, onDelete: .nullify)
  static let skills = HasMany<Worker, Skill>(in: \.skillIDs)
  static let courses = HasMany<Worker, Course>(through: \Enrolment.workerID, \Enrolment.courseID)
  static let clubs = ManyToMany<Worker, Club>(named: "clubs")
  static let schema = Schema<Worker> {
    firm
    boss
    reports
    skills
    courses
    clubs
    Index(\.rank)
  }
}

/// Some ids are so long that their keys in an index are cut.
struct Skill: Record, Equatable {
  var id: String
  var level: Int

  static let workers = HasMany<Skill, Worker>(\.skillIDs, onDelete: .nullify)
  static let schema = Schema<Skill> { workers }
}

struct Course: Record, Equatable {
  var id: Int
  var points: Int
}

struct Enrolment: Record, Equatable {
  var id = RecordID<Enrolment>()
  var workerID: Worker.ID
  var courseID: Course.ID
  var grade: Int
}

struct License: Record, Equatable {
  var id = RecordID<License>()
  var firmID: Firm.ID
  var year: Int
}

struct Club: Record, Equatable {
  var id: String
  var size: Int
}

/// Random changes of them.
struct FirmWrites {
  struct Undone: Error {}

  private var random: SeededGenerator
  private let cities = ["Oslo", "Rome", "Paris"]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static func store(isChecked: Bool) throws -> Store {
    var options = Store.Options()
    options.checksQueries = isChecked
    options.durability = .none
    return try Store.temporary(
      for: Firm.self, Worker.self, Skill.self, Course.self, Enrolment.self, License.self,
      Club.self, options: options)
  }

  mutating func fill(_ store: Store) throws {
    try store.write { tx in
      for _ in 0..<8 { try tx.put(firm()) }
      for number in 0..<5 {
        try tx.put(Skill(id: skillID(number), level: number))
        try tx.put(Course(id: number, points: number))
        try tx.put(Club(id: "club \(number)", size: number))
      }
      for _ in 0..<40 { try tx.put(try worker(tx)) }
      for _ in 0..<30 { try? changeOne(tx) }
    }
  }

  private mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

  private func skillID(_ number: Int) -> String {
    String(repeating: "skill ", count: number == 0 ? 1 : 80) + "\(number)"
  }

  private mutating func some<R: Record>(_ type: R.Type, _ tx: WriteTransaction) throws -> R? {
    try tx.fetch(R.all).randomElement(using: &random)
  }

  private mutating func firm() -> Firm {
    Firm(name: "f\(number(6))", city: cities[number(3)], isOpen: number(2) == 0)
  }

  private mutating func worker(_ tx: WriteTransaction) throws -> Worker {
    var worker = Worker(name: "w\(number(9))", rank: number(9))
    worker.firmID = number(4) == 0 ? nil : try some(Firm.self, tx)?.id
    worker.bossID = number(3) == 0 ? nil : try some(Worker.self, tx)?.id
    for _ in 0..<number(3) {
      if let skill = try some(Skill.self, tx) { worker.skillIDs.append(skill.id) }
    }
    return worker
  }

  /// A whole transaction, which may be undone.
  mutating func write(to store: Store) {
    try? store.write { tx throws in
      try change(tx)
      if number(8) == 0 { throw Undone() }
    }
  }

  private mutating func change(_ tx: WriteTransaction, depth: Int = 0) throws {
    for _ in 0...number(2) {
      switch number(20) {
      case 0 where depth < 2:
        try? tx.savepoint {
          try change(tx, depth: depth + 1)
          if number(2) == 0 { throw Undone() }
        }
      case 1 where number(20) == 0: try tx.erase(Firm.self)
      case 2 where number(20) == 0: try tx.erase(Enrolment.self)
      default: try? changeOne(tx)
      }
    }
  }

  private mutating func changeOne(_ tx: WriteTransaction) throws {
    switch number(22) {
    case 0: try tx.put(firm())
    case 1, 2, 3:
      guard try tx.count(Firm.all) > 5, var firm = try some(Firm.self, tx) else {
        return try tx.put(firm())
      }
      switch number(3) {
      case 0: firm.city = cities[number(3)]
      case 1: firm.isOpen.toggle()
      default: firm.name = "f\(number(6))"
      }
      try tx.put(firm)
    case 4: if number(3) == 0, let firm = try some(Firm.self, tx) { try tx.delete(firm) }
    case 5, 6: try tx.put(try worker(tx))
    case 7, 8:
      guard let old = try some(Worker.self, tx) else { return }
      var new = try worker(tx)
      new.id = old.id
      try tx.put(new)
    case 9, 10:
      guard var worker = try some(Worker.self, tx) else { return }
      worker.rank = number(9)
      try tx.put(worker)
    case 11, 12: if let worker = try some(Worker.self, tx) { try tx.delete(worker) }
    case 13: try tx.put(Skill(id: skillID(number(5)), level: number(5)))
    case 14: try tx.delete(Skill.self, skillID(number(5)))
    case 15: try tx.put(Course(id: number(6), points: number(6)))
    case 16, 17:
      guard let worker = try some(Worker.self, tx), let course = try some(Course.self, tx) else {
        return
      }
      try tx.put(Enrolment(workerID: worker.id, courseID: course.id, grade: number(5)))
    case 18:
      guard var enrolment = try some(Enrolment.self, tx) else { return }
      if number(2) == 0 {
        try tx.delete(enrolment)
        return
      }
      if number(2) == 0, let worker = try some(Worker.self, tx) { enrolment.workerID = worker.id }
      if number(2) == 0, let course = try some(Course.self, tx) { enrolment.courseID = course.id }
      try tx.put(enrolment)
    case 19:
      guard let firm = try some(Firm.self, tx) else { return }
      if let license = try tx.first(License.where { $0.firmID == firm.id }), number(2) == 0 {
        try tx.delete(license)
        return
      }
      try tx.put(License(firmID: firm.id, year: 2018 + number(6)))
    case 20: try tx.put(Club(id: "club \(number(5))", size: number(5)))
    default:
      guard let worker = try some(Worker.self, tx), let club = try some(Club.self, tx) else {
        return
      }
      if number(2) == 0 {
        try tx.add(club.id, to: worker.related(Worker.clubs))
      } else {
        try tx.remove(club.id, from: worker.related(Worker.clubs))
      }
    }
  }
}
