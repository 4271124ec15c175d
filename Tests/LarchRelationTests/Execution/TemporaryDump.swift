import Testing
@testable import Larch
extension RelatedPlanTests {
  @Test func dump() throws {
    let store = try store()
    func p<R: Record>(_ q: Query<R>) throws { print("=====\n" + (try store.explain(q, running: true))) }
    func c<R: Record>(_ q: Query<R>) throws { print("=====count\n" + (try store.explain(counting: q, running: true))) }
    try p(Company.where { $0.people.contains { $0.age == 3 && $0.name == "person 3" } }.limit(5))
    try p(Company.where { $0.name == "company 9" && $0.people.contains { $0.age > 30 } })
    try p(Company.where { !$0.people.contains { $0.age > 30 } })
    try p(Person.where { $0.company.size >= 2 }.limit(3))
    try p(Person.where { $0.company.size >= 2 })
    try c(Person.where { $0.company.size >= 2 })
    let query = Person.where { $0.projects.contains(Project.ID(4)) }
    try p(query)
    try c(query)
    try p(query.sorted(by: \.age).limit(3))
    try p(query.where { $0.age == 50 })
    try p(query.where { $0.projects.contains(Project.ID(5)) })
    try p(query.limit(2))
    if let token = try store.page(query.limit(50)).next { try p(query.after(token).limit(2)) }
    try p(Person.where { $0.projects.contains { $0.title == "project 3" } && $0.age < 50 })
    try p(Project.where { $0.members.contains { $0.name == "person 3" && $0.age == 3 } })
    try p(Company.where { $0.people.contains { $0.projects.contains { $0.title == "project 3" } } })
    try p(Person.where { $0.company.name == "company 7" || $0.projects.contains(Project.ID(2)) })
    try p(Person.where { $0.company.name != "company 7" })
    try p(Company.where { $0.people.isEmpty })
    try c(Company.where { !$0.people.isEmpty })
    try p(Project.where { $0.members.isEmpty })
    try p(Person.where { $0.company.isNil })
  }
}
