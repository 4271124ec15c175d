import Foundation
import LarchTestSupport

@testable import Larch

/// Records for imports with maps: one association of each kind.
struct Firm: Record, Equatable {
  var id = RecordID<Firm>()
  var name: String
  var city: String?
  var size = 0
  var bossID: Staffer.ID?

  static let boss = BelongsTo<Firm, Staffer>(\.bossID)
  static let staff = HasMany<Firm, Staffer>(\.firmID, onDelete: .nullify)
  static let schema = Schema<Firm> {
    boss
    staff
    Unique(\.name)
    Default(\.size, 0)
  }
}

struct Staffer: Record, Equatable {
  enum Role: String, Codable { case member, guest }

  var id = RecordID<Staffer>()
  var name: String
  var email: String?
  var age: Int?
  var birthday: Date?
  var isActive: Bool?
  var role: Role
  var firmID: Firm.ID?
  var skillIDs: [Skill.ID]

  static let firm = BelongsTo<Staffer, Firm>(\.firmID)
  static let skills = HasMany<Staffer, Skill>(Skill.self, in: \.skillIDs)
  static let badge = HasOne<Staffer, Badge>(\.stafferID)
  static let clubs = ManyToMany<Staffer, Club>(named: "clubs")
  static let courses = HasMany<Staffer, Course>(
    Course.self, through: \Enrolment.stafferID, \Enrolment.courseID)
  static let schema = Schema<Staffer> {
    firm
    skills
    badge
    clubs
    courses
    Unique(\.email)
    Unique(\.name)
    Default(\.role, .member)
    Default(\.skillIDs, [])
    Validate(\.age, .range(0...150))
  }
}

struct Skill: Record, Equatable {
  var id: String
  var level = 1

  static let schema = Schema<Skill> { Default(\.level, 1) }
}

struct Badge: Record, Equatable {
  var id = RecordID<Badge>()
  var code: Int
  var stafferID: Staffer.ID?

  static let schema = Schema<Badge> { Unique(\.code) }
}

struct Club: Record, Equatable {
  var id = UUID()
  var title: String
  var motto: String?

  static let members = ManyToMany<Club, Staffer>(named: "clubs")
  static let schema = Schema<Club> {
    members
    Unique(\.title)
  }
}

struct Course: Record, Equatable {
  var id = RecordID<Course>()
  var code: String

  static let schema = Schema<Course> { Unique(\.code) }
}

struct Enrolment: Record, Equatable {
  var id = RecordID<Enrolment>()
  var stafferID: Staffer.ID
  var courseID: Course.ID
  var grade: Int

  static let schema = Schema<Enrolment> { Default(\.grade, 0) }
}

/// A tree, which a map that contains itself reads.
struct Topic: Record, Equatable {
  var id = RecordID<Topic>()
  var title: String
  var parentID: Topic.ID?

  static let parent = BelongsTo<Topic, Topic>(\.parentID)
  static let subtopics = HasMany<Topic, Topic>(\.parentID, onDelete: .nullify)
  static let schema = Schema<Topic> {
    parent
    subtopics
    Unique(\.title)
  }

  static let map: ImportMap<Topic> = ImportMap {
    Mapped(\.title, from: "t")
    Linked(Topic.subtopics, from: "sub", by: \.title, map: map)
  }
}

extension Store {
  static func staffed(_ body: (Store) throws -> Void) throws {
    try Store.scratch(
      Firm.self, Staffer.self, Skill.self, Badge.self, Club.self, Course.self, Enrolment.self,
      Topic.self
    ) { store throws in try body(store) }
  }

  func only<R: Record>(_ type: R.Type = R.self) throws -> R? {
    let all = try everything(type)
    return all.count == 1 ? all[0] : nil
  }
}

/// The failure that stopped an import.
func stopping(_ error: LarchError?) -> ImportFailure? { error?.underlying as? ImportFailure }
