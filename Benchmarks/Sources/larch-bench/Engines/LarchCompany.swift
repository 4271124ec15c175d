import Larch
import Workload

/// Somebody who belongs to a company: the workload's record with a reference that has a rule.
protocol MemberRecord: BenchmarkRecord {
  associatedtype Owner: CompanyRecord where Owner.Member == Self

  var employerID: RecordID<Owner> { get }
}

/// A company as the operations need it.
protocol CompanyRecord: Record where ID == RecordID<Self> {
  associatedtype Member: MemberRecord where Member.Owner == Self

  /// Makes the index on who employs them, and destroys them with the company.
  static var people: HasMany<Self, Member> { get }
  var name: String { get }

  init(name: String)
}

struct Company: CompanyRecord {
  typealias Member = Employee

  var id = RecordID<Company>()
  var name: String

  static let people = HasMany<Company, Employee>(\.employerID, onDelete: .destroy)
  static let schema = Schema<Company> {
    Unique(\.name)
    people
  }

  init(name: String) {
    self.name = name
  }
}

/// The workload's record in a company.
struct Employee: MemberRecord {
  typealias Owner = Company

  var id = RecordID<Employee>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var employerID: RecordID<Company>

  var companyID: Int64 { employerID.rawValue }

  static let schema = Schema<Employee> {
    Unique(\.email)
    Index(\.age)
    Index(\.city, \.age)
    Index(\.createdAt)
  }

  init(_ record: WorkloadPerson) {
    name = record.name
    email = record.email
    age = record.age
    score = record.score
    active = record.active
    createdAt = record.createdAt
    city = record.city
    employerID = RecordID(record.companyID)
  }
}

struct MemberwiseCompany: CompanyRecord {
  typealias Member = MemberwiseEmployee

  var id = RecordID<MemberwiseCompany>()
  var name: String

  static let people = HasMany<MemberwiseCompany, MemberwiseEmployee>(
    \.employerID, onDelete: .destroy)
  static let schema = Schema<MemberwiseCompany> {
    Unique(\.name)
    people
  }

  init(name: String) {
    self.name = name
  }
}

extension MemberwiseCompany: MemberwiseCoded {}

/// The same, coded memberwise.
struct MemberwiseEmployee: MemberRecord {
  typealias Owner = MemberwiseCompany

  var id = RecordID<MemberwiseEmployee>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var employerID: RecordID<MemberwiseCompany>

  var companyID: Int64 { employerID.rawValue }

  static let schema = Schema<MemberwiseEmployee> {
    Unique(\.email)
    Index(\.age)
    Index(\.city, \.age)
    Index(\.createdAt)
  }

  init(_ record: WorkloadPerson) {
    name = record.name
    email = record.email
    age = record.age
    score = record.score
    active = record.active
    createdAt = record.createdAt
    city = record.city
    employerID = RecordID(record.companyID)
  }
}

extension MemberwiseEmployee: MemberwiseCoded {}

/// Students and courses hold nothing of each other: the store keeps the lists.
struct Student: Record {
  var id = RecordID<Student>()
  var name: String

  static let enrolment = ManyToMany<Student, Course>(named: "enrolment")
  static let schema = Schema<Student> { enrolment }

  var courses: Related<Student, Course> { related(Student.enrolment) }
}

struct Course: Record {
  var id = RecordID<Course>()
  var name: String

  static let enrolment = ManyToMany<Course, Student>(named: "enrolment")
  static let schema = Schema<Course> { enrolment }

  var students: Related<Course, Student> { related(Course.enrolment) }
}
