import Foundation
import Testing

@testable import Larch

/// The texts of plans with indexes of several entries, with several indexes, and with keys alone.
struct PlanSourceTests {
  @Test func `An index with several entries for a record answers the tests that bound it`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.where { $0.tags.contains("swift") },
      """
      index tags ["swift"]
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.containsAny(of: ["swift", "rust"]) }, for: .count,
      """
      index tags ["rust"], ["swift"]
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.contains { $0.hasPrefix("sw") } },
      """
      index tags ["sw"*]
        filter tags.contains { $0.hasPrefix("sw") }
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.contains("swift") && $0.tags.contains("t3") },
      """
      index tags ["swift"]
        filter tags.contains("t3")
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.contains("t3") && $0.tags.contains("u5") },
      """
      intersection
        index tags ["u5"]
        index tags ["t3"]
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.containsAll(of: ["t3", "u5"]) && $0.role == .owner }, for: .count,
      """
      index role_joined ["owner"]
        filter tags.contains("t3")
        filter tags.contains("u5")
      """)
    try plans.expect(
      PlanPerson.where { $0.country == "K1" },
      """
      all records
        filter country == "K1"
      """)
    try plans.expect(
      PlanPerson.where { $0.country == "K1" && $0.tags.contains("t3") },
      """
      index country_tags_age ["K1", "t3"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.country == "K1" && $0.tags.contains("t3") }.sorted(by: \.age),
      """
      index country_tags_age ["K1", "t3"]
        order served by the index
      """)
    try plans.expect(
      PlanPerson.where { $0.country == "K1" && $0.tags.containsAny(of: ["t3", "t4"]) }.sorted(
        by: \.age),
      """
      index country_tags_age ["K1", "t3"], ["K1", "t4"]
        sort by age
      """)
    try plans.expect(
      PlanPerson.where { !$0.tags.contains("swift") },
      """
      all records
        filter !tags.contains("swift")
      """)
  }

  @Test func `Only keys are read if they have the answer`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.all, for: .count,
      """
      all records
        answered from the ids alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }, for: .count,
      """
      index city_age ["London"]
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }, for: .ids,
      """
      index city_age ["London"]
        sort by id
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age != 30 }, for: .exists,
      """
      index city_age ["London"]
        key filter age != 30
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city.contains("ond") }, for: .count,
      """
      index city_age all entries
        key filter city.contains("ond")
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city.contains("ond") },
      """
      all records
        filter city.contains("ond")
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.note == "n" }, for: .count,
      """
      index city_age ["London"]
        filter note == "n"
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }, for: .fields(plans.cityAndAge),
      """
      index city_age ["London"]
        sort by id
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age), for: .fields(plans.cityAndAge),
      """
      index city_age ["London"]
        order served by the index
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.name.hasPrefix("Ada") }, for: .fields(plans.name),
      """
      all records
        filter name.hasPrefix("Ada")
      """)
    try plans.expect(
      PlanPerson.where { $0.company != nil }.sorted(by: \.company, .descending).limit(1),
      for: .fields(plans.company),
      """
      index company_name [company != nil] descending
        order served by the index
        limit 1
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.score).limit(1), for: .fields(plans.score),
      """
      index score all entries
        order served by the index
        limit 1
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all, for: .ids,
      """
      all records
        answered from the ids alone
      """)
  }

  @Test func `Several indexes answer together`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.where { $0.city == "London" || $0.company == 3 },
      """
      union
        index city_age ["London"]
        index company_name [3]
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" || $0.company == 3 }, for: .count,
      """
      union
        index city_age ["London"]
        index company_name [3]
        answered from the indexes alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" || $0.note == "n" },
      """
      all records
        filter city == "London" || note == "n"
      """)
    try plans.expect(
      PlanPerson.where { ($0.city == "London" || $0.company == 3) && $0.age > 30 },
      """
      union
        index city_age ["London", 30] <.. ["London"]
        index company_name [3]
        filter city == "London" || company == 3
        filter age > 30
      """)
    try plans.expect(
      PlanPerson.where { ($0.city == "London" && $0.note == "n") || $0.id == 3 },
      """
      union
        index city_age ["London"]
        records [3]
        filter (city == "London" && note == "n") || id == 3
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.company == 3 },
      """
      index company_name [3]
        filter city == "London"
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.isActive && $0.role == .owner && $0.note == "n" },
      """
      index role_joined ["owner"]
        filter isActive
        filter note == "n"
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.isActive && $0.tags.contains("swift") }, for: .count,
      """
      index tags ["swift"]
        filter isActive
      """)
    try plans.expect(
      PlanPerson.where { $0.tags.contains("t3") && $0.role == .guest }, for: .count,
      """
      index tags ["t3"]
        filter role == "guest"
      """)
    try plans.expect(
      PlanPerson.where { $0.isActive },
      """
      all records
        ids within those of index isActive [true]
        filter isActive
      """)
    try plans.expect(
      PlanPerson.where { !$0.isActive },
      """
      index isActive [false]
      """)
  }

  @Test func `A filter that can never be true reads nothing`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.city == "Paris" },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.age > 30 && $0.age < 30 },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.age >= 30 && $0.age <= 30 },
      """
      all records
        filter age == 30
      """)
    try plans.expect(
      PlanPerson.where { [].contains($0.city) },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.city.hasPrefix("L") && $0.city.hasPrefix("P") },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.city.hasPrefix("P") },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.height == nil && $0.height > 1 },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.age == 3 || $0.age != 3 && $0.age == 3 },
      """
      all records
        filter age == 3
      """)
    try plans.expect(
      PlanPerson.where { $0.note.hasPrefix("") && !($0.age == 3 && $0.age == 4) },
      """
      all records
        filter age != 3 || age != 4
      """)
  }
}
