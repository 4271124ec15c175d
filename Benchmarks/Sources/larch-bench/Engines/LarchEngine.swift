import Larch
import Workload

var larchPeers: [any Engine.Type] { [LarchEngine.self, MemberwiseLarchEngine.self] }

/// Larch as a user meets it: a plain `Codable` struct and the public API.
final class LarchEngine: Engine {
  static let peer = "larch"

  private let store: Store

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
final class MemberwiseLarchEngine: Engine {
  static let peer = "larch-m"

  private let store: Store

  init(path: String) throws {
    store = try Store(at: path, for: MemberwisePerson.self)
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
