import Foundation
import Testing

@testable import Larch

/// The texts of plans with ids and orders.
struct PlanOrderTests {
  @Test func `Ids are ranges of the records themselves`() throws {
    let plans = try PlanTable()
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
      PlanPerson.where { [9, 7].contains($0.id) }.sorted(by: \.age),
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
        id filter id > 1000
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
    let plans = try PlanTable()
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
      PlanPerson.where { ["London", "Paris"].contains($0.city) }.sorted(by: \.age),
      """
      index city_age ["London"], ["Paris"]
        sort by age
      """)
    try plans.expect(
      PlanPerson.where { ["London", "Paris"].contains($0.city) }.sorted(by: \.city, \.age),
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
        or, once that costs less
          all records
            filter note == "n"
            sort by score, keeping 5
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
}
