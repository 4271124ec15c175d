import Testing

@testable import Larch

@Suite("Queries that are found equal by their parts")
struct SameQueryTests {
  /// Each call makes the queries again.
  private static func queries() -> [Query<CountedItem>] {
    let zero = 0.0
    return [
      CountedItem.all,
      CountedItem.where { $0.age > 3 }, CountedItem.where { $0.age >= 3 },
      CountedItem.where { $0.age < 3 },
      CountedItem.where { $0.age > 4 }, CountedItem.where { $0.age == 3 },
      CountedItem.where { $0.age != 3 },
      CountedItem.where { $0.id > 3 }, CountedItem.where { $0.big > 3 },
      CountedItem.where { $0.small > 3 },
      CountedItem.where { $0.small == nil }, CountedItem.where { $0.small != nil },
      CountedItem.where { $0.age > 3 && $0.age < 5 },
      CountedItem.where { $0.age > 3 || $0.age < 5 },
      CountedItem.where { $0.age > 3 && ($0.age < 5 || $0.age == 9) },
      CountedItem.where { $0.half == zero }, CountedItem.where { $0.half == -zero },
      CountedItem.where { $0.half == .nan }, CountedItem.where { $0.half > zero },
      CountedItem.where { $0.name == "\u{E9}" }, CountedItem.where { $0.name == "e\u{301}" },
      CountedItem.where { $0.name.hasPrefix("a") }, CountedItem.where { $0.name.hasSuffix("a") },
      CountedItem.where { $0.name.contains("a") }, CountedItem.where { $0.name.hasPrefix("b") },
      CountedItem.where { $0.city.hasPrefix("a") }, CountedItem.where { $0.name.like("a%") },
      CountedItem.where { $0.name.equals("a", options: .caseInsensitive) },
      CountedItem.where { $0.name.hasPrefix("a", options: .caseInsensitive) },
      CountedItem.where { [1, 2].contains($0.age) },
      CountedItem.where { [1, 2, 3].contains($0.age) },
      CountedItem.where { $0.name < $0.city }, CountedItem.where { $0.name <= $0.city },
      CountedItem.where { $0.city < $0.name }, CountedItem.where { $0.name == $0.city },
      CountedItem.where { $0.age + 1 > 4 }, CountedItem.where { $0.age + 2 > 4 },
      CountedItem.where { $0.age - 1 > 4 },
      CountedItem.where { $0.age * 2 + 1 > 4 }, CountedItem.where { $0.age * 3 + 1 > 4 },
      CountedItem.where { $0.id + 1 > 4 }, CountedItem.where { $0.age + $0.id > 4 },
      CountedItem.where { $0.length > 3 }, CountedItem.where { $0.rank == .high },
      CountedItem.where { $0.rank == .low },
      CountedItem.all.sorted(by: \.age), CountedItem.all.sorted(by: \.age, .descending),
      CountedItem.all.sorted(by: \.id), CountedItem.all.sorted(by: \.name),
      CountedItem.all.sorted(by: \.name, options: .caseInsensitive),
      CountedItem.all.sorted(by: \.age).then(by: \.name), CountedItem.all.reversed(),
    ]
  }

  @Test("a query equals itself made again, and no other one")
  func pairs() {
    let (some, others) = (Self.queries(), Self.queries())
    for (place, query) in some.enumerated() {
      #expect(query.details.hasKnownParts, "\(query)")
      for (other, second) in others.enumerated() {
        #expect(
          query.details.hasSameParts(as: second.details) == (place == other),
          "\(query) and \(second)")
        #expect(Self.hash(query) == Self.hash(second) || place != other, "\(query)")
        for limit in [nil, 1, 2] {
          #expect(
            query.limit(1).details.hasSameRows(as: Self.limited(second, limit).details)
              == (place == other && limit == 1), "\(query) and \(second), \(limit ?? 0)")
        }
      }
    }
    // A coarse hash would make each search slow.
    #expect(Set(some.map(Self.hash)).count > some.count * 3 / 4)
  }

  private static func limited(_ query: Query<CountedItem>, _ limit: Int?) -> Query<CountedItem> {
    limit.map { query.limit($0) } ?? query
  }

  private static func hash(_ query: Query<CountedItem>) -> Int {
    var hasher = Hasher()
    query.details.hashRows(into: &hasher)
    return hasher.finalize()
  }

  @Test(
    "a query with code of the program, a part of the rows or an order by related records is not compared"
  )
  func unknown() {
    let queries = [
      CountedItem.all.filter { $0.age > 3 }, CountedItem.where { $0.satisfies { $0.name.isEmpty } },
      CountedItem.where { $0.age > 3 }.limit(1), CountedItem.all.offset(1),
    ]
    for query in queries { #expect(!query.details.hasKnownParts, "\(query)") }
    // The first rows are known too, where they are compared with those of the same limit.
    #expect(queries.map(\.details.hasKnownRows) == [false, false, true, false])
    let related = [
      Pet.where { $0.owner.city == "Oslo" }.sorted(by: \.owner.name),
      Pet.all.sorted(by: \.owner.name),
    ]
    for query in related { #expect(!query.details.hasKnownParts, "\(query)") }
  }

  private static func relatedQueries() -> [Query<Worker>] {
    [
      Worker.where { $0.firm.city == "Oslo" }, Worker.where { $0.firm.city == "Rome" },
      Worker.where { $0.firm.name == "Oslo" }, Worker.where { $0.firm == nil },
      Worker.where { $0.boss.rank > 3 }, Worker.where { $0.boss.boss.rank > 3 },
      Worker.where { $0.reports.contains { $0.rank > 3 } },
      Worker.where { $0.reports.count >= 1 }, Worker.where { $0.reports.count >= 2 },
      Worker.where { $0.skills.count >= 2 }, Worker.where { $0.courses.contains { $0.points > 3 } },
      Worker.where { $0.clubs.contains { $0.size > 3 } },
      Worker.where { $0.rank > 3 && $0.firm.city == "Oslo" },
    ]
  }

  @Test("a query across associations equals itself made again, and no other one")
  func relatedPairs() {
    for (place, query) in Self.relatedQueries().enumerated() {
      #expect(query.details.hasKnownParts, "\(query)")
      for (other, second) in Self.relatedQueries().enumerated() {
        #expect(
          query.details.hasSameParts(as: second.details) == (place == other),
          "\(query) and \(second)")
      }
    }
  }
}
