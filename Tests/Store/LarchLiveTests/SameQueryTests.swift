import Testing

@testable import Larch

@Suite("Queries that are found equal by their parts")
struct SameQueryTests {
  /// Each call makes the queries again.
  private static func queries() -> [Query<Item>] {
    let zero = 0.0
    return [
      Item.all,
      Item.where { $0.age > 3 }, Item.where { $0.age >= 3 }, Item.where { $0.age < 3 },
      Item.where { $0.age > 4 }, Item.where { $0.age == 3 }, Item.where { $0.age != 3 },
      Item.where { $0.id > 3 }, Item.where { $0.big > 3 }, Item.where { $0.small > 3 },
      Item.where { $0.small == nil }, Item.where { $0.small != nil },
      Item.where { $0.age > 3 && $0.age < 5 }, Item.where { $0.age > 3 || $0.age < 5 },
      Item.where { $0.age > 3 && ($0.age < 5 || $0.age == 9) },
      Item.where { $0.half == zero }, Item.where { $0.half == -zero },
      Item.where { $0.half == .nan }, Item.where { $0.half > zero },
      Item.where { $0.name == "\u{E9}" }, Item.where { $0.name == "e\u{301}" },
      Item.where { $0.name.hasPrefix("a") }, Item.where { $0.name.hasSuffix("a") },
      Item.where { $0.name.contains("a") }, Item.where { $0.name.hasPrefix("b") },
      Item.where { $0.city.hasPrefix("a") }, Item.where { $0.name.like("a%") },
      Item.where { $0.name.equals("a", options: .caseInsensitive) },
      Item.where { $0.name.hasPrefix("a", options: .caseInsensitive) },
      Item.where { [1, 2].contains($0.age) }, Item.where { [1, 2, 3].contains($0.age) },
      Item.where { $0.name < $0.city }, Item.where { $0.name <= $0.city },
      Item.where { $0.city < $0.name }, Item.where { $0.name == $0.city },
      Item.where { $0.age + 1 > 4 }, Item.where { $0.age + 2 > 4 }, Item.where { $0.age - 1 > 4 },
      Item.where { $0.age * 2 + 1 > 4 }, Item.where { $0.age * 3 + 1 > 4 },
      Item.where { $0.id + 1 > 4 }, Item.where { $0.age + $0.id > 4 },
      Item.where { $0.length > 3 }, Item.where { $0.rank == .high }, Item.where { $0.rank == .low },
      Item.all.sorted(by: \.age), Item.all.sorted(by: \.age, .descending),
      Item.all.sorted(by: \.id), Item.all.sorted(by: \.name),
      Item.all.sorted(by: \.name, options: .caseInsensitive),
      Item.all.sorted(by: \.age).then(by: \.name), Item.all.reversed(),
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
      }
    }
  }

  @Test("a query with code of the program, a part of the rows or related records is not compared")
  func unknown() {
    let queries = [
      Item.all.filter { $0.age > 3 }, Item.where { $0.satisfies { $0.name.isEmpty } },
      Item.where { $0.age > 3 }.limit(1), Item.all.offset(1),
    ]
    for query in queries { #expect(!query.details.hasKnownParts, "\(query)") }
    let related = [
      Pet.where { $0.owner.city == "Oslo" }, Pet.all.sorted(by: \.owner.name),
    ]
    for query in related { #expect(!query.details.hasKnownParts, "\(query)") }
  }
}
