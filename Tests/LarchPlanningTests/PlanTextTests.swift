import Testing

@testable import Larch

struct PlanTextTests {
  @Test func show() throws {
    let s = try PlanSimulator((1...2000).map { n in
      PlanPerson(id: RecordID(Int64(n)), name: "N\(n % 997)", email: "e\(n)", age: n % 90, city: "C\(n % 50)", country: "K\(n % 10)", score: Double(n), tags: ["t\(n % 7)", "u\(n % 11)"], company: n % 40)
    })
    func p(_ q: Query<PlanPerson>, _ need: QueryNeed = .records) throws {
      let before = s.questions
      print(try s.text(q, for: need), "   // questions \(s.questions - before)")
    }
    try p(PlanPerson.all)
    try p(PlanPerson.where { $0.email == "x" })
    try p(PlanPerson.where { $0.city == "C1" && $0.age >= 18 && $0.name.hasPrefix("A") }.sorted(by: \.age, .descending).limit(20))
    try p(PlanPerson.where { $0.city == "C1" })
    try p(PlanPerson.where { $0.age > 85 })
    try p(PlanPerson.where { $0.score > 1990 })
    try p(PlanPerson.where { $0.score > 10 })
    try p(PlanPerson.where { $0.score > 10 }.limit(5))
    try p(PlanPerson.where { $0.score > 10 }, .count)
    try p(PlanPerson.where { $0.tags.contains("t1") && $0.tags.contains("u2") })
    try p(PlanPerson.where { $0.city.isIn(["C1", "C2", "C1"]) && $0.age.isIn(3..<5) })
    try p(PlanPerson.where { $0.city == "C1" || $0.company == 3 })
    try p(PlanPerson.where { $0.id == 7 && $0.city == "C1" })
    try p(PlanPerson.where { $0.id > 7 })
    try p(PlanPerson.where { $0.name.hasPrefix("n1", .caseInsensitive) })
    try p(PlanPerson.where { $0.name.like("N1%2") })
    try p(PlanPerson.all.sorted(by: \.score).limit(3))
    try p(PlanPerson.all.sorted(by: \.note).limit(3))
    try p(PlanPerson.where { $0.age == 3 && $0.age == 4 })
    try p(PlanPerson.where { $0.height == nil })
    try p(PlanPerson.where { $0.height != nil }, .count)
    try p(PlanPerson.where { !$0.isActive })
  }
}
