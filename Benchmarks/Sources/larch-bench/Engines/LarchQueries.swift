import Larch

/// The queries as a user writes them, on the user's own type.
protocol QueriedRecord: BenchmarkRecord {
  static func find(email: String, in tx: ReadTransaction) throws -> Self?
  static func with(ages: ClosedRange<Int>) -> Query<Self>
  static func youngest(in city: String, limit: Int) -> Query<Self>
  static func of(company: Int64) -> Query<Self>
  static func with(emailPrefix: String) -> Query<Self>
  static func with(cityPrefix: String) -> Query<Self>
  static func from(age: Int) -> Query<Self>
  static func above(score: Double) -> Query<Self>
  static func best(limit: Int) -> Query<Self>
}

extension Person: QueriedRecord {
  static func find(email: String, in tx: ReadTransaction) throws -> Person? {
    try tx.find(Person.self, by: \.email, equals: email)
  }

  static func with(ages: ClosedRange<Int>) -> Query<Person> {
    Person.where { $0.age >= ages.lowerBound && $0.age <= ages.upperBound }
  }

  static func youngest(in city: String, limit: Int) -> Query<Person> {
    Person.where { $0.city == city }.sorted(by: \.age).limit(limit)
  }

  static func of(company: Int64) -> Query<Person> {
    Person.where { $0.companyID == company }
  }

  static func with(emailPrefix: String) -> Query<Person> {
    Person.where { $0.email.hasPrefix(emailPrefix) }
  }

  static func with(cityPrefix: String) -> Query<Person> {
    Person.where { $0.city.hasPrefix(cityPrefix) }
  }

  static func from(age: Int) -> Query<Person> {
    Person.where { $0.age >= age }
  }

  static func above(score: Double) -> Query<Person> {
    Person.where { $0.score > score }
  }

  static func best(limit: Int) -> Query<Person> {
    Person.all.sorted(by: \.score, .descending).limit(limit)
  }
}

extension MemberwisePerson: QueriedRecord {
  static func find(email: String, in tx: ReadTransaction) throws -> MemberwisePerson? {
    try tx.find(MemberwisePerson.self, by: \.email, equals: email)
  }

  static func with(ages: ClosedRange<Int>) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.age >= ages.lowerBound && $0.age <= ages.upperBound }
  }

  static func youngest(in city: String, limit: Int) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.city == city }.sorted(by: \.age).limit(limit)
  }

  static func of(company: Int64) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.companyID == company }
  }

  static func with(emailPrefix: String) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.email.hasPrefix(emailPrefix) }
  }

  static func with(cityPrefix: String) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.city.hasPrefix(cityPrefix) }
  }

  static func from(age: Int) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.age >= age }
  }

  static func above(score: Double) -> Query<MemberwisePerson> {
    MemberwisePerson.where { $0.score > score }
  }

  static func best(limit: Int) -> Query<MemberwisePerson> {
    MemberwisePerson.all.sorted(by: \.score, .descending).limit(limit)
  }
}
