import Larch
import Workload

extension LarchRun {
  @inline(__always)
  static func addCompanies<C: CompanyRecord>(_ type: C.Type, _ count: Int, to store: Store) throws {
    try store.write { tx in
      for number in 1...count {
        var company = C(name: "Company \(number)")
        try tx.insert(&company)
      }
    }
  }

  static func addSchool(students: Int, courses: Int, to store: Store) throws {
    try store.write { tx in
      for number in 1...students {
        var student = Student(name: "Student \(number)")
        try tx.insert(&student)
      }
      for number in 1...courses {
        var course = Course(name: "Course \(number)")
        try tx.insert(&course)
      }
    }
  }

  @inline(__always)
  static func destroy<C: CompanyRecord>(
    _ type: C.Type, _ companies: [Int64], in store: Store
  ) throws {
    try store.write { tx in
      for company in companies { try tx.delete(type, RecordID(company)) }
    }
  }

  static func fingerprint<C: CompanyRecord>(companies type: C.Type, _ store: Store) throws
    -> QueryResult
  {
    var result = try fingerprint(C.Member.self, store)
    try store.read { tx in
      for company in try tx.all(type) {
        result.checksum &+= companyChecksum(
          id: company.id.rawValue, name: company.name, people: 0)
      }
    }
    return result
  }

  @inline(__always)
  static func fetch<C: CompanyRecord>(
    _ type: C.Type, first count: Int, in store: Store
  ) throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult(rows: 0, checksum: 0)
      for (company, members) in try tx.fetch(C.all.limit(count).with(C.people)) {
        for member in members { result.add(member) }
        result.checksum &+= companyChecksum(
          id: company.id.rawValue, name: company.name, people: members.count)
      }
      return result
    }
  }

  /// Students as they are at hand when they take a course.
  static func prepare(_ links: [Link], _ store: Store) throws -> [(Student, Course.ID)] {
    let students = try store.fetch(Student.all)
    return links.map { (students[Int($0.student) - 1], Course.ID($0.course)) }
  }

  static func add(_ links: [(Student, Course.ID)], to store: Store) throws {
    try store.write { tx in
      for (student, course) in links { try tx.add(course, to: student.courses) }
    }
  }

  static func links(_ store: Store) throws -> QueryResult {
    var result = QueryResult(rows: 0, checksum: 0)
    try store.read { tx in
      for student in try tx.all(Student.self) {
        for course in try tx.ids(student.courses) {
          result.rows += 1
          result.checksum &+= linkChecksum(
            student: student.id.rawValue, course: course.rawValue)
        }
      }
      for course in try tx.all(Course.self) {
        for student in try tx.ids(course.students) {
          result.rows += 1
          result.checksum &+=
            3 &* linkChecksum(student: student.rawValue, course: course.id.rawValue)
        }
      }
    }
    return result
  }
}
