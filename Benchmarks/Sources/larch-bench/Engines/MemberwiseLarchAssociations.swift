import Larch
import Workload

/// The same with memberwise coding opted in.
final class MemberwiseLarchAssociations: AssociationEngine {
  private let store: Store

  init(path: String) throws {
    store = try Store(
      at: path, for: MemberwiseCompany.self, MemberwiseEmployee.self, Student.self, Course.self)
  }

  func close() {
    store.close()
  }

  func addCompanies(_ count: Int) throws {
    try LarchRun.addCompanies(MemberwiseCompany.self, count, to: store)
  }

  func addSchool(students: Int, courses: Int) throws {
    try LarchRun.addSchool(students: students, courses: courses, to: store)
  }

  func prepare(_ people: [WorkloadPerson]) -> [MemberwiseEmployee] {
    people.map(MemberwiseEmployee.init)
  }

  func insert(_ batch: inout [MemberwiseEmployee]) throws {
    _ = try LarchRun.insert(&batch, into: store)
  }

  func destroy(companies: [Int64]) throws {
    try LarchRun.destroy(MemberwiseCompany.self, companies, in: store)
  }

  func fingerprint() throws -> QueryResult {
    try LarchRun.fingerprint(companies: MemberwiseCompany.self, store)
  }

  func fetch(companies: Int) throws -> QueryResult {
    try LarchRun.fetch(MemberwiseCompany.self, first: companies, in: store)
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
