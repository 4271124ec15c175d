import Larch
import Workload

/// Larch with the rules and lists that the declarations of the records give it.
final class LarchAssociations: AssociationEngine {
  private let store: Store

  init(path: String) throws {
    store = try Store(at: path, for: Company.self, Employee.self, Student.self, Course.self)
  }

  func close() {
    store.close()
  }

  func addCompanies(_ count: Int) throws {
    try LarchRun.addCompanies(Company.self, count, to: store)
  }

  func addSchool(students: Int, courses: Int) throws {
    try LarchRun.addSchool(students: students, courses: courses, to: store)
  }

  func prepare(_ people: [WorkloadPerson]) -> [Employee] {
    people.map(Employee.init)
  }

  func insert(_ batch: inout [Employee]) throws {
    _ = try LarchRun.insert(&batch, into: store)
  }

  func destroy(companies: [Int64]) throws {
    try LarchRun.destroy(Company.self, companies, in: store)
  }

  func fingerprint() throws -> QueryResult {
    try LarchRun.fingerprint(companies: Company.self, store)
  }

  func fetch(companies: Int) throws -> QueryResult {
    try LarchRun.fetch(Company.self, first: companies, in: store)
  }

  func prepare(_ links: [Link]) throws -> [(Student, Course.ID)] {
    try LarchRun.prepare(links, store)
  }

  func add(_ links: [(Student, Course.ID)]) throws {
    try LarchRun.add(links, to: store)
  }

  func links() throws -> QueryResult {
    try LarchRun.links(store)
  }
}
