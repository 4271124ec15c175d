import Foundation
import Testing

@testable import Larch

/// Plans over the same two thousand people, which are also run.
final class PlanTable {
  let simulator: PlanSimulator<PlanPerson>
  let cityAndAge: [FieldReference] = [
    TypedField.of(\PlanPerson.city), TypedField.of(\PlanPerson.age),
  ]
  let name: [FieldReference] = [TypedField.of(\PlanPerson.name)]
  let company: [FieldReference] = [TypedField.of(\PlanPerson.company)]
  let score: [FieldReference] = [TypedField.of(\PlanPerson.score)]

  init() throws {
    let cities = ["London", "Paris", "Rome", "Wien", "Zürich"]
    let names = ["Ada", "Bea", "Cem", "Quy"]
    simulator = try PlanSimulator(
      (1...2000).map { n in
        var person = PlanPerson(id: RecordID(Int64(n)))
        person.name = "\(names[n % 4]) \(n / 4 % 97)"
        person.email = n % 10 == 0 ? nil : "e\(n)@x"
        person.age = n * 7 % 90
        person.city = n % 40 < 5 ? cities[n % 5] : "Town \(n % 40)"
        person.country = "K\(n % 10)"
        person.score = Double(n) / 2
        person.height = n % 3 == 0 ? nil : 1 + Double(n % 100) / 100
        person.isActive = n % 8 != 0
        person.role = n % 100 == 0 ? .owner : n % 2 == 0 ? .member : .guest
        person.tags = n % 50 == 0 ? ["swift"] : ["t\(n % 7)", "u\(n % 11)"]
        person.address = PlanAddress(city: n % 20 == 0 ? "x" : "y", street: n % 2 == 0 ? nil : "s")
        person.joined = Date(timeIntervalSinceReferenceDate: Double(n))
        person.company = n % 4 == 0 ? nil : n % 400
        person.version = PlanVersion(major: n % 10, minor: Double(n % 30))
        person.note = n % 500 == 0 ? "n" : "m\(n)"
        return person
      })
  }

  /// Also runs the plan, and compares its rows with those of the query.
  func expect(
    _ query: Query<PlanPerson>, for need: QueryNeed = .records, _ text: String,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let plan = try simulator.plan(query, for: need)
    #expect(plan.text(in: simulator.schema) == text, sourceLocation: location)
    let rows = try simulator.rows(plan)
    let expected = simulator.expected(query.details)
    if case .any = plan.order {
      #expect(rows.count == expected.count, sourceLocation: location)
    } else {
      #expect(rows == expected, sourceLocation: location)
    }
  }
}
