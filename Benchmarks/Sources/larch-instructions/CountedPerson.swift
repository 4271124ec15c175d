import Larch
import Workload

/// The workload's record as a user would declare it.
struct Person: Record {
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

/// The same without indexes, coded memberwise.
struct MemberwisePerson: Record, MemberwiseCoded {
  var id = RecordID<MemberwisePerson>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var companyID: Int64

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
