import Foundation
import Testing

@testable import Larch

/// The texts of plans over the same two thousand people.
struct PlanTableTests {
  @Test func `A scan of one index goes from one key to another`() throws {
    let plans = try Plans()
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
      PlanPerson.where { $0.city.isIn(["Paris", "London", "Paris"]) },
      """
      index city_age ["London"], ["Paris"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { ["Paris", "London"].contains($0.city) && $0.age.isIn([30, 40]) },
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
        filter height == nil
        filter score >= 0.0
      """)
    try plans.expect(
      PlanPerson.where { $0.height.isNotNil && $0.height < 1.05 },
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
      index role_joined ["owner"] ..< ["owner", date(60.0)]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.initial == "Q" },
      """
      index initial ["Q"]
      """)
  }

  @Test func `Upper and lower case are told apart on the record`() throws {
    let plans = try Plans()
    try plans.expect(
      PlanPerson.where { $0.name == "Ada 41" },
      """
      index name ["ada 41"]
        filter name == "Ada 41"
      """)
    try plans.expect(
      PlanPerson.where { $0.name.equals("ADA 41", .caseInsensitive) },
      """
      index name ["ada 41"]
      """)
    try plans.expect(
      PlanPerson.where { $0.name.isIn(["Ada 41", "ADA 41"]) },
      """
      index name ["ada 41"]
        filter name.isIn(["ADA 41", "Ada 41"])
      """)
    try plans.expect(
      PlanPerson.where { $0.name.hasPrefix("ada 4", .caseInsensitive) },
      """
      index name ["ada 4"*]
        key filter name.hasPrefix("ada 4", .caseInsensitive)
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
      PlanPerson.where { $0.name.like("ada 4_", .caseInsensitive) }, for: .count,
      """
      index name ["ada 4"*]
        key filter name.like("ada 4_", .caseInsensitive)
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.name > "Z" },
      """
      all records
        filter name > "Z"
      """)
    try plans.expect(
      PlanPerson.where { $0.city.equals("LONDON", .caseInsensitive) },
      """
      all records
        filter city.equals("LONDON", .caseInsensitive)
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.name, .caseInsensitive, .ascending).limit(5),
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

  @Test func `An index with several entries of a record answers what bounds it`() throws {
    let plans = try Plans()
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

  @Test func `Ids are ranges of the records themselves`() throws {
    let plans = try Plans()
    try plans.expect(
      PlanPerson.where { $0.id == 7 },
      """
      records [7]
      """)
    try plans.expect(
      PlanPerson.where { $0.id == 7 && $0.city == "London" },
      """
      records [7]
        filter city == "London"
      """)
    try plans.expect(
      PlanPerson.where { $0.id.isIn([9, 7]) }.sorted(by: \.age),
      """
      records [7], [9]
        sort by age
      """)
    try plans.expect(
      PlanPerson.where { $0.id > 7 && $0.id <= 20 },
      """
      records [7] <.. [20]
      """)
    try plans.expect(
      PlanPerson.where { $0.id >= 1990 }.reversed(),
      """
      records [1990] ... descending
      """)
    try plans.expect(
      PlanPerson.where { $0.id == 7 || $0.id > 1990 }, for: .ids,
      """
      records [7], [1990] <..
        answered from the ids alone
      """)
    try plans.expect(
      PlanPerson.where { $0.id == 7 && $0.id == 8 },
      """
      nothing
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.id > 1000 },
      """
      index city_age ["London"]
        filter id > 1000
        sort by id
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.id, .descending).limit(3),
      """
      all records descending
        limit 3
      """)
  }

  @Test func `An index keeps the order where it can`() throws {
    let plans = try Plans()
    try plans.expect(
      PlanPerson.where { $0.city == "London" && $0.age >= 18 && $0.name.hasPrefix("A") }
        .sorted(by: \.age, .descending).limit(20),
      """
      index city_age ["London", 18] ... ["London"] descending
        filter name.hasPrefix("A")
        order served by the index
        limit 20
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age).limit(20),
      """
      index city_age ["London"]
        order served by the index
        limit 20
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age).reversed().limit(20),
      """
      index city_age ["London"] descending
        order served by the index, ids descending
        limit 20
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.city, \.age),
      """
      index city_age ["London"]
        order served by the index
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.city),
      """
      index city_age ["London"]
        sort by id
      """)
    try plans.expect(
      PlanPerson.where { $0.city.isIn(["London", "Paris"]) }.sorted(by: \.age),
      """
      index city_age ["London"], ["Paris"]
        sort by age
      """)
    try plans.expect(
      PlanPerson.where { $0.city.isIn(["London", "Paris"]) }.sorted(by: \.city, \.age),
      """
      index city_age ["London"], ["Paris"]
        order served by the index
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.city).then(by: \.age, .descending).limit(5),
      """
      all records
        sort by city, age descending, keeping 5
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.city, \.age).limit(5).offset(10),
      """
      index city_age all entries
        order served by the index
        offset 10
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.score).limit(5),
      """
      index score all entries
        order served by the index
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.score),
      """
      index score all entries
        order served by the index
      """)
    try plans.expect(
      PlanPerson.where { $0.note == "n" }.sorted(by: \.score).limit(5),
      """
      index score all entries
        filter note == "n"
        order served by the index
        limit 5
      """)
    try plans.expect(
      PlanPerson.where { $0.note == "n" }.sorted(by: \.score),
      """
      all records
        filter note == "n"
        sort by score
      """)
    try plans.expect(
      PlanPerson.where { $0.score > 10 }.limit(5),
      """
      all records
        filter score > 10.0
        limit 5
      """)
    try plans.expect(
      PlanPerson.where { $0.score > 990 }.limit(5),
      """
      index score [990.0] <..
        sort by id
        limit 5
      """)
    try plans.expect(
      PlanPerson.where { $0.score > 10 }.sorted(by: \.score, .descending).limit(5),
      """
      index score [10.0] <.. descending
        order served by the index
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.note, .descending).limit(5).offset(2),
      """
      all records
        sort by note descending, keeping 7
        offset 2
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.note).then(by: \.id, .descending),
      """
      all records
        sort by note, ids descending
      """)
    try plans.expect(
      PlanPerson.all.limit(0),
      """
      nothing
        limit 0
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.limit(5),
      """
      index city_age ["London"]
        sort by id
        limit 5
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.tags.count).limit(5),
      """
      all records
        sort by <Int>, keeping 5
        limit 5
      """)
  }

  @Test func `Nothing but keys is read where they tell the answer`() throws {
    let plans = try Plans()
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
      PlanPerson.where { $0.city == "London" }, for: .fields(cityAndAge),
      """
      index city_age ["London"]
        sort by id
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age), for: .fields(cityAndAge),
      """
      index city_age ["London"]
        order served by the index
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.where { $0.name.hasPrefix("Ada") }, for: .fields(name),
      """
      all records
        filter name.hasPrefix("Ada")
      """)
    try plans.expect(
      PlanPerson.where { $0.company.isNotNil }.sorted(by: \.company, .descending).limit(1),
      for: .fields(company),
      """
      index company_name [company != nil] descending
        order served by the index
        limit 1
        answered from the index alone
      """)
    try plans.expect(
      PlanPerson.all.sorted(by: \.score).limit(1), for: .fields(score),
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
    let plans = try Plans()
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
        filter isActive
      """)
    try plans.expect(
      PlanPerson.where { !$0.isActive },
      """
      index isActive [false]
      """)
  }

  @Test func `What can never be true is not looked for`() throws {
    let plans = try Plans()
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
      PlanPerson.where { $0.city.isIn([]) },
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

private let cityAndAge: [FieldReference] = [
  TypedField.of(\PlanPerson.city), TypedField.of(\PlanPerson.age),
]
private let name: [FieldReference] = [TypedField.of(\PlanPerson.name)]
private let company: [FieldReference] = [TypedField.of(\PlanPerson.company)]
private let score: [FieldReference] = [TypedField.of(\PlanPerson.score)]

private final class Plans {
  let simulator: PlanSimulator<PlanPerson>

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

  /// Also follows the plan, and compares its rows with those of the query.
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
