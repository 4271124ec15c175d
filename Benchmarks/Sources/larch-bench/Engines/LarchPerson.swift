import Larch
import Workload

/// What the operations need of a record type; its store assigns the ids.
protocol BenchmarkRecord: Record where ID == RecordID<Self> {
  var name: String { get }
  var email: String { get }
  var age: Int { get set }
  var score: Double { get }
  var active: Bool { get }
  var createdAt: Double { get }
  var city: String { get }
  var companyID: Int64 { get }

  init(_ record: WorkloadPerson)
}

/// The workload's record as a user would declare it.
struct Person: BenchmarkRecord {
  var id = RecordID<Person>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var companyID: Int64

  static let schema = Schema<Person> {
    Unique(\.email)
    Index(\.age)
    Index(\.city, \.age)
    Index(\.createdAt)
    Index(\.companyID)
  }

  init(_ record: WorkloadPerson) {
    name = record.name
    email = record.email
    age = record.age
    score = record.score
    active = record.active
    createdAt = record.createdAt
    city = record.city
    companyID = record.companyID
  }
}

/// The same, coded memberwise.
struct MemberwisePerson: BenchmarkRecord {
  var id = RecordID<MemberwisePerson>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var companyID: Int64

  static let schema = Schema<MemberwisePerson> {
    Unique(\.email)
    Index(\.age)
    Index(\.city, \.age)
    Index(\.createdAt)
    Index(\.companyID)
  }

  init(_ record: WorkloadPerson) {
    name = record.name
    email = record.email
    age = record.age
    score = record.score
    active = record.active
    createdAt = record.createdAt
    city = record.city
    companyID = record.companyID
  }
}

extension MemberwisePerson: MemberwiseCoded {}

extension BenchmarkRecord {
  @inline(__always)
  var checksum: UInt64 {
    personChecksum(
      id: id.rawValue, name: name, email: email, age: age, score: score, active: active,
      createdAt: createdAt, city: city, companyID: companyID)
  }

  var workloadPerson: WorkloadPerson {
    WorkloadPerson(
      id: id.rawValue, name: name, email: email, age: age, score: score, active: active,
      createdAt: createdAt, city: city, companyID: companyID)
  }
}
