import Workload

/// A student and a course that the student takes, by their ids.
struct Link: Hashable {
  var student: Int64
  var course: Int64
}

/// A peer's store with associations: people and their companies, students and their courses.
///
/// A store of its own, since rules cost something on every delete, also where the workload's other
/// operations have none.
protocol AssociationEngine: AnyObject {
  associatedtype Batch
  associatedtype Links

  init(path: String) throws
  func close()

  /// Companies with the ids 1…`count` and the names "Company 1" and up.
  func addCompanies(_ count: Int) throws
  /// Students and courses with ids and names alike.
  func addSchool(students: Int, courses: Int) throws
  func prepare(_ people: [WorkloadPerson]) -> Batch
  func insert(_ batch: inout Batch) throws
  /// Brings the files to rest, after a fill.
  func settle() throws

  /// Deletes the companies in one durable transaction, and by rule everybody in them.
  func destroy(companies: [Int64]) throws
  /// Of all people in the order of their ids, with the companies added.
  func fingerprint() throws -> QueryResult
  /// The first companies by id, each with its people, all materialised; rows are people.
  func fetch(companies: Int) throws -> QueryResult

  func prepare(_ links: [Link]) throws -> Links
  /// Links one after the other, in one durable transaction; what is linked already stays so.
  func add(_ links: Links) throws
  /// All links, read in one direction and then in the other.
  func links() throws -> QueryResult
}

extension AssociationEngine {
  func settle() throws {}

  func fill(companies: Int, people: [WorkloadPerson]) throws {
    try addCompanies(companies)
    var batch = prepare(people)
    try insert(&batch)
    try settle()
  }

  /// Nanoseconds that the links took, without making the peer's own form of them.
  func time(_ links: [Link], _ stopwatch: Stopwatch) throws -> Double {
    let prepared = try prepare(links)
    return try stopwatch.time { try add(prepared) }
  }
}
