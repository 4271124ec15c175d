import Foundation
import Testing

@testable import Larch

/// The texts of plans with one index.
struct PlanScanTests {
  @Test func `A scan of one index goes from one key to another`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.all,
      """
      all records
      """)
    try plans.expect(
      PlanPerson.where { $0.email == "e7@x" },
      """
      index email ["e7@x"]
      """)
    try plans.expect(
      PlanPerson.where { $0.email == nil },
      """
      index email [nil]
      """)
    try plans.expect(
      PlanPerson.where { $0.email != nil }, for: .count,
      """
      index email [email != nil]
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" },
      """
      index city_age ["London"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age == 30 },
      """
      index city_age ["London", 30]
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age >= 18 },
      """
      index city_age ["London", 18] ... ["London"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age > 18 && $0.age <= 65 },
      """
      index city_age ["London", 18] <.. ["London", 65]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age < 18 },
      """
      index city_age ["London"] ..< ["London", 18]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && (18..<65).contains($0.age) },
      """
      index city_age ["London", 18] ..< ["London", 65]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city > "W" },
      """
      index city_age ["W"] <..
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city.hasPrefix("Lon") },
      """
      index city_age ["Lon"*]
        key filter city.hasPrefix("Lon")
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city.like("Lon%") && $0.age == 30 },
      """
      index city_age ["Lon"*]
        key filter city.like("Lon%")
        key filter age == 30
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age != 30 },
      """
      index city_age ["London"]
        key filter age != 30
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && ($0.age < 5 || $0.age > 85) },
      """
      index city_age ["London", age < 5 || age > 85]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city >= "London" && $0.city.hasPrefix("Lon") },
      """
      index city_age [city >= "London" && city.hasPrefix("Lon")]
        key filter city.hasPrefix("Lon")
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { ["Paris", "London", "Paris"].contains($0.city) },
      """
      index city_age ["London"], ["Paris"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { ["Paris", "London"].contains($0.city) && [30, 40].contains($0.age) },
      """
      index city_age ["London", 30], ["London", 40], ["Paris", 30], ["Paris", 40]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" || $0.city == "Paris" },
      """
      index city_age ["London"], ["Paris"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.age == 30 },
      """
      all records
        filter age == 30
      """)
    try plans.expect(
      PlanPerson.where { $0.score < 2 },
      """
      index score ..< [2.0]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.score > -1 },
      """
      all records
        filter score > -1.0
      """)
    try plans.expect(
      PlanPerson.where { $0.score == .nan },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.height == nil && $0.score >= 0 },
      """
      all records
        ids within those of index height [nil]
        filter height == nil
        filter score >= 0.0
      """)
    try plans.expect(
      PlanPerson.where { $0.height != nil && $0.height < 1.05 },
      """
      index height ..< [1.05]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.company > 395 },
      """
      index company_name [395] <..
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { !($0.city < "W") },
      """
      index city_age ["W"] ...
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.version == PlanVersion(major: 1, minor: 2) },
      """
      index version [(1, 2.0)]
      """)
    try plans.expect(
      PlanPerson.where { $0.version < PlanVersion(major: 0, minor: 4) },
      """
      index version ..< [(0, 4.0)]
        filter version < (0, 4.0)
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.address.city == "x" && $0.address.street == nil },
      """
      index address.city_address.street ["x", nil]
      """)
    try plans.expect(
      PlanPerson.where {
        $0.role == .owner && $0.joined < Date(timeIntervalSinceReferenceDate: 60)
      },
      """
      index role_joined ["owner"] ..< ["owner", 2001-01-01T00:01:00Z]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.initial == "Q" },
      """
      index initial ["Q"]
      """)
  }

  @Test func `Upper and lower case are distinguished by the record`() throws {
    let plans = try PlanTable()
    try plans.expect(
      PlanPerson.where { $0.name == "Ada 41" },
      """
      index name ["ada 41"]
        filter name == "Ada 41"
      """)
    try plans.expect(
      PlanPerson.where { $0.name.equals("ADA 41", options: .caseInsensitive) },
      """
      index name ["ada 41"]
      """)
    try plans.expect(
      PlanPerson.where { ["Ada 41", "ADA 41"].contains($0.name) },
      """
      index name ["ada 41"]
        filter ["ADA 41", "Ada 41"].contains(name)
      """)
    try plans.expect(
      PlanPerson.where { $0.name.hasPrefix("ada 4", options: .caseInsensitive) },
      """
      index name ["ada 4"*]
        key filter name.hasPrefix("ada 4", options: .caseInsensitive)
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.name.hasPrefix("Ada 4") },
      """
      index name ["ada 4"*]
        filter name.hasPrefix("Ada 4")
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.name.like("ada 4_", options: .caseInsensitive) }, for: .count,
      """
      index name ["ada 4"*]
        key filter name.like("ada 4_", options: .caseInsensitive)
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.name > "Z" },
      """
      all records
        filter name > "Z"
      """)
    try plans.expect(
      PlanPerson.where { $0.city.equals("LONDON", options: .caseInsensitive) },
      """
      all records
        filter city.equals("LONDON", options: .caseInsensitive)
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.name, options: .caseInsensitive, .ascending).limit(5),
      """
      index name all entries
        order served by the index
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.name).limit(5),
      """
      all records
        sort by name, keeping 5
        limit 5
      """)
  }
}
