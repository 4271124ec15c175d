import Foundation
import Testing

@testable import Larch

/// The texts of plans that read groups.
struct PlanGroupTests {
  @Test func `Groups are read from an index that begins with the fields`() throws {
    let plans = try PlanTable()
    let city = plans.cityAndAge[0]
    try plans.expect(
      PlanPerson.all, for: .counts(city),
      """
      index city_age all entries
        counts group by group
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all, for: .distinctCount(plans.cityAndAge),
      """
      index city_age all entries
        skips from group to group
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all, for: .distinct([city]),
      """
      index city_age all entries
        sort by id
        reads keys group by group
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.city, .descending), for: .distinct([city]),
      """
      index city_age all entries descending
        order served by the index
        skips from group to group
        answered from the index alone
      """)
  }

  @Test func `Fields that the filter sets equal come before those of the groups`() throws {
    let plans = try PlanTable()
    let age = plans.cityAndAge[1]
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age > 30 }, for: .counts(age),
      """
      index city_age ["London", 30] <.. ["London"]
        counts group by group
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { ["London", "Paris"].contains($0.city) },
      for: .distinctCount(plans.cityAndAge),
      """
      index city_age ["London"], ["Paris"]
        skips from group to group
        answered from the index alone
      """)
  }

  @Test func `Rows are read where no index tells the groups, or another one has fewer`() throws {
    let plans = try PlanTable()
    let city = plans.cityAndAge[0]
    // The order is that of ages first, so the cities are not side by side.
    try plans.expect(
      PlanPerson.all.sorted(by: \.age), for: .distinct([city]),
      """
      all records
        sort by age
      """)
    try plans.expect(
      PlanPerson.where { $0.email == "e7@x" }, for: .counts(city),
      """
      index email ["e7@x"]
      """)
    try plans.expect(
      PlanPerson.where { $0.note == "n" }, for: .distinctCount([city]),
      """
      all records
        filter note == "n"
      """)
  }

  @Test func `An index that is not complete gives no groups`() throws {
    let people = [PlanPerson(id: RecordID(1))]
    let simulator = try PlanSimulator(people, unreadable: ["city_age"])
    let city = TypedField.of(\PlanPerson.city)
    for need in [QueryNeed.counts(city), .distinct([city]), .distinctCount([city])] {
      let plan = try simulator.plan(PlanPerson.all, for: need)
      #expect(plan.groups == nil)
      #expect(!plan.indexes.hasBit(simulator.schema.indexes.firstIndex { $0.name == "city_age" }!))
    }
  }
}
