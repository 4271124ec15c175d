import Larch
import Workload

var larchPeers: [any Engine.Type] {
  [LarchEngine.self, MemberwiseLarchEngine.self, LoggedLarchEngine.self]
}

/// Larch as a user meets it: a plain `Codable` struct and the public API.
final class LarchEngine: Engine {
  static let peer = "larch"
  static var associations: (any AssociationEngine.Type)? { LarchAssociations.self }

  fileprivate let store: Store

  init(path: String) throws {
    store = try Store(at: path, for: Person.self)
  }

  func close() {
    store.close()
  }

  func prepare(_ records: [WorkloadPerson]) -> [Person] {
    records.map(Person.init)
  }

  func insert(_ batch: inout [Person]) throws -> Int64 {
    try LarchRun.insert(&batch, into: store)
  }

  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    try LarchRun.timeConcurrentInserts(writers.map(prepare), into: store, stopwatch)
  }

  func incrementAges(_ ids: [Int64]) throws -> UInt64 {
    try LarchRun.incrementAges(Person.self, ids, in: store)
  }

  func delete(_ ids: [Int64]) throws -> UInt64 {
    try LarchRun.delete(Person.self, ids, from: store)
  }

  func find(_ ids: [Int64]) throws -> QueryResult {
    try LarchRun.find(Person.self, ids, in: store)
  }

  func findEach(_ ids: [Int64]) throws -> QueryResult {
    try LarchRun.findEach(Person.self, ids, in: store)
  }

  func scan() throws -> QueryResult {
    try LarchRun.scan(Person.self, store)
  }

  func fingerprint() throws -> QueryResult {
    try LarchRun.fingerprint(Person.self, store)
  }
}

/// The same with memberwise coding opted in.
class MemberwiseLarchEngine: Engine {
  class var peer: String { "larch-m" }
  class var associations: (any AssociationEngine.Type)? { MemberwiseLarchAssociations.self }
  class var durability: Store.Options.Durability { .durable }

  fileprivate let store: Store

  required init(path: String) throws {
    var options = Store.Options()
    options.durability = Self.durability
    store = try Store(at: path, for: MemberwisePerson.self, options: options)
  }

  func close() {
    store.close()
  }

  func prepare(_ records: [WorkloadPerson]) -> [MemberwisePerson] {
    records.map(MemberwisePerson.init)
  }

  func insert(_ batch: inout [MemberwisePerson]) throws -> Int64 {
    try LarchRun.insert(&batch, into: store)
  }

  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    try LarchRun.timeConcurrentInserts(writers.map(prepare), into: store, stopwatch)
  }

  func incrementAges(_ ids: [Int64]) throws -> UInt64 {
    try LarchRun.incrementAges(MemberwisePerson.self, ids, in: store)
  }

  func delete(_ ids: [Int64]) throws -> UInt64 {
    try LarchRun.delete(MemberwisePerson.self, ids, from: store)
  }

  func find(_ ids: [Int64]) throws -> QueryResult {
    try LarchRun.find(MemberwisePerson.self, ids, in: store)
  }

  func findEach(_ ids: [Int64]) throws -> QueryResult {
    try LarchRun.findEach(MemberwisePerson.self, ids, in: store)
  }

  func scan() throws -> QueryResult {
    try LarchRun.scan(MemberwisePerson.self, store)
  }

  func fingerprint() throws -> QueryResult {
    try LarchRun.fingerprint(MemberwisePerson.self, store)
  }
}

/// The same with logged commits.
final class LoggedLarchEngine: MemberwiseLarchEngine {
  override class var peer: String { "larch-log" }
  override class var associations: (any AssociationEngine.Type)? { nil }
  override class var durability: Store.Options.Durability { .logged }
}

extension LarchEngine {
  func prepare(_ texts: [String]) -> [String] {
    texts
  }

  func find(emails: [String]) throws -> QueryResult {
    try LarchRun.find(Person.self, emails: emails, in: store)
  }

  func find(ages: ClosedRange<Int>) throws -> QueryResult {
    try LarchRun.fetch(in: store) { Person.with(ages: ages) }
  }

  func find(cities: [String], limit: Int) throws -> QueryResult {
    try LarchRun.fetch(cities, in: store) { Person.youngest(in: $0, limit: limit) }
  }

  func find(companies: [Int64]) throws -> QueryResult {
    try LarchRun.fetch(companies, in: store) { Person.of(company: $0) }
  }

  func find(emailPrefix: String) throws -> QueryResult {
    try LarchRun.fetch(in: store) { Person.with(emailPrefix: emailPrefix) }
  }

  func find(cityPrefix: String) throws -> QueryResult {
    try LarchRun.fetch(in: store) { Person.with(cityPrefix: cityPrefix) }
  }

  func count(from age: Int) throws -> QueryResult {
    try LarchRun.count(in: store) { Person.from(age: age) }
  }

  func find(scoreAbove: Double) throws -> QueryResult {
    try LarchRun.fetch(in: store) { Person.above(score: scoreAbove) }
  }

  func top(scores limit: Int) throws -> QueryResult {
    try LarchRun.fetch(in: store) { Person.best(limit: limit) }
  }
}

extension MemberwiseLarchEngine {
  func prepare(_ texts: [String]) -> [String] {
    texts
  }

  func find(emails: [String]) throws -> QueryResult {
    try LarchRun.find(MemberwisePerson.self, emails: emails, in: store)
  }

  func find(ages: ClosedRange<Int>) throws -> QueryResult {
    try LarchRun.fetch(in: store) { MemberwisePerson.with(ages: ages) }
  }

  func find(cities: [String], limit: Int) throws -> QueryResult {
    try LarchRun.fetch(cities, in: store) { MemberwisePerson.youngest(in: $0, limit: limit) }
  }

  func find(companies: [Int64]) throws -> QueryResult {
    try LarchRun.fetch(companies, in: store) { MemberwisePerson.of(company: $0) }
  }

  func find(emailPrefix: String) throws -> QueryResult {
    try LarchRun.fetch(in: store) { MemberwisePerson.with(emailPrefix: emailPrefix) }
  }

  func find(cityPrefix: String) throws -> QueryResult {
    try LarchRun.fetch(in: store) { MemberwisePerson.with(cityPrefix: cityPrefix) }
  }

  func count(from age: Int) throws -> QueryResult {
    try LarchRun.count(in: store) { MemberwisePerson.from(age: age) }
  }

  func find(scoreAbove: Double) throws -> QueryResult {
    try LarchRun.fetch(in: store) { MemberwisePerson.above(score: scoreAbove) }
  }

  func top(scores limit: Int) throws -> QueryResult {
    try LarchRun.fetch(in: store) { MemberwisePerson.best(limit: limit) }
  }
}
