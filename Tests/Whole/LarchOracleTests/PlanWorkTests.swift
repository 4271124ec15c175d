import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Many queries over many kinds of index: the plan of each and its reads, as a recorded text.
/// `LARCH_WRITE_PLANS=1` writes the text again; review each changed line.
@Suite("Reads of plans")
struct PlanWorkTests {
  struct Worker: Record {
    var id = RecordID<Worker>()
    var name: String
    var email: String?
    var age: Int
    var city: String
    var score: Double
    var height: Double?
    var isActive: Bool
    var tags: [String]
    var team: Int?
    var day: Date
    var note: String

    static let schema = Schema<Worker> {
      Unique(\.email)
      Index(\.city, \.age)
      Index(\.age)
      Index(\.tags)
      Index(\.name, options: .caseInsensitive)
      Index(\.height)
      Index(\.isActive)
      Index(\.team, \.name)
      Index(\.day)
    }
  }

  private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Golden/plans.txt")

  @Test("Every plan, and what it reads, equals the recorded one")
  func plans() throws {
    let store = try PlanWorkTests.store()
    var text = ""
    for (question, query) in PlanWorkTests.queries {
      text += "? \(question)\n" + (try store.explain(query, running: true)) + "\n"
      // The rows must be those of the full scan, otherwise the numbers mean nothing.
      try PlanWorkTests.compare(query, in: store, question)
      text += "# " + (try store.explain(query, counting: true, running: true)) + "\n\n"
    }
    #expect(PlanWorkTests.queries.count >= 60)
    if ProcessInfo.processInfo.environment["LARCH_WRITE_PLANS"] == "1" {
      try text.write(to: PlanWorkTests.path, atomically: true, encoding: .utf8)
    }
    let kept = try String(contentsOf: PlanWorkTests.path, encoding: .utf8)
    if let difference = TextDifference.between(expected: kept, actual: text) {
      Issue.record("plans differ from those that were kept\n\(difference)")
    }
  }

  private static func compare(
    _ query: Query<Worker>, in store: Store, _ question: String
  ) throws {
    let everyone = try store.fetch(Worker.all)
    var unlimited = query
    unlimited.details.limit = nil
    unlimited.details.offset = 0
    let wanted = Set(everyone.filter { query.details.filter.matches($0) }.map(\.id))
    #expect(Set(try store.ids(unlimited)) == wanted, "\(question)")
    #expect(try store.count(unlimited) == wanted.count, "\(question)")
  }

  private static func store() throws -> Store {
    let cities = ["Bergen", "Lyon", "Oslo", "Wien", "Z\u{FC}rich"]
    let names = ["Ada", "Bea", "Cem", "Quy"]
    let store = try Store.temporary(for: Worker.self)
    try store.write { tx throws in
      for n in 1...2000 {
        var worker = Worker(
          name: "\(names[n % 4]) \(n / 4 % 97)", email: n % 10 == 0 ? nil : "e\(n)@x",
          age: n * 7 % 90, city: n % 40 < 5 ? cities[n % 5] : "Town \(n % 40)",
          score: Double(n) / 2, height: n % 3 == 0 ? nil : 1 + Double(n % 100) / 100,
          isActive: n % 8 != 0, tags: n % 50 == 0 ? ["swift"] : ["t\(n % 7)", "u\(n % 11)"],
          team: n % 4 == 0 ? nil : n % 400, day: Date(timeIntervalSinceReferenceDate: Double(n)),
          note: n % 500 == 0 ? "n" : "m\(n)")
        try tx.insert(&worker)
      }
    }
    return store
  }
}

extension PlanWorkTests {
  private static let day = Date(timeIntervalSinceReferenceDate: 1990)

  static var queries: [(String, Query<Worker>)] {
    scans + orders + combinations + rest
  }

  private static var scans: [(String, Query<Worker>)] {
    [
      ("all", Worker.all),
      ("email ==", Worker.where { $0.email == "e7@x" }),
      ("email == nil", Worker.where { $0.email == nil }),
      ("email != nil", Worker.where { $0.email != nil }),
      ("email in", Worker.where { ["e7@x", "e8@x", "e8@x", "none"].contains($0.email) }),
      ("email in nothing", Worker.where { [].contains($0.email) }),
      ("email prefix", Worker.where { $0.email.hasPrefix("e19") }),
      ("email suffix", Worker.where { $0.email.hasSuffix("9@x") }),
      ("city ==", Worker.where { $0.city == "Oslo" }),
      ("city and age ==", Worker.where { $0.city == "Oslo" && $0.age == 14 }),
      ("city, age >=", Worker.where { $0.city == "Oslo" && $0.age >= 80 }),
      ("city, age between", Worker.where { $0.city == "Oslo" && $0.age > 18 && $0.age <= 40 }),
      ("city in, age ==", Worker.where { ["Oslo", "Lyon"].contains($0.city) && $0.age == 14 }),
      ("city prefix", Worker.where { $0.city.hasPrefix("Town 1") }),
      ("city prefix, age", Worker.where { $0.city.hasPrefix("Town 1") && $0.age == 14 }),
      ("city accented", Worker.where { $0.city == "Zu\u{308}rich" }),
      ("city like", Worker.where { $0.city.like("Os%") }),
      ("age ==", Worker.where { $0.age == 14 }),
      ("age range", Worker.where { $0.age >= 87 }),
      ("age wide range", Worker.where { $0.age >= 10 }),
      ("age !=", Worker.where { $0.age != 14 }),
      ("age not in a range", Worker.where { !($0.age < 85) }),
      ("age contradiction", Worker.where { $0.age > 5 && $0.age < 3 }),
      ("age two values", Worker.where { $0.age == 5 && $0.age == 6 }),
      ("height > ", Worker.where { $0.height > 1.98 }),
      ("height == nil", Worker.where { $0.height == nil }),
      ("height nan", Worker.where { $0.height == Double.nan }),
      ("name ignoring case", Worker.where { $0.name.equals("ADA 3", options: .caseInsensitive) }),
      ("name exact on folded", Worker.where { $0.name == "Ada 3" }),
      (
        "name prefix ignoring case",
        Worker.where { $0.name.hasPrefix("aDa 9", options: .caseInsensitive) }
      ),
      ("active", Worker.where { $0.isActive }),
      ("not active", Worker.where { !$0.isActive }),
      ("day from", Worker.where { $0.day >= day }),
    ]
  }

  private static var orders: [(String, Query<Worker>)] {
    [
      ("by age", Worker.all.sorted(by: \.age).limit(5)),
      ("by age descending", Worker.all.sorted(by: \.age, .descending).limit(5)),
      ("by age, all", Worker.all.sorted(by: \.age)),
      ("by score", Worker.all.sorted(by: \.score, .descending).limit(3)),
      ("by city and age", Worker.all.sorted(by: \.city, \.age).limit(4)),
      ("by city alone", Worker.all.sorted(by: \.city).limit(4)),
      (
        "by city, age descending",
        Worker.all.sorted(by: \.city).then(by: \.age, .descending).limit(4)
      ),
      ("city, by age", Worker.where { $0.city == "Oslo" }.sorted(by: \.age).limit(5)),
      (
        "city, by age descending",
        Worker.where { $0.city == "Oslo" }.sorted(by: \.age, .descending).limit(5)
      ),
      ("city, by name", Worker.where { $0.city == "Oslo" }.sorted(by: \.name).limit(5)),
      ("city, by city", Worker.where { $0.city == "Oslo" }.sorted(by: \.city).limit(5)),
      ("by name ignoring case", Worker.all.sorted(by: \.name, options: .caseInsensitive).limit(3)),
      ("by height, nil first", Worker.all.sorted(by: \.height).limit(3)),
      ("by height from the top", Worker.all.sorted(by: \.height, .descending).limit(3)),
      ("reversed", Worker.all.reversed().limit(3)),
      ("reversed range", Worker.where { $0.age > 80 }.sorted(by: \.age).reversed().limit(3)),
      ("offset", Worker.all.sorted(by: \.day).offset(10).limit(5)),
      ("limit 0", Worker.all.limit(0)),
    ]
  }

  private static var combinations: [(String, Query<Worker>)] {
    [
      ("or of one field", Worker.where { $0.age == 14 || $0.age == 21 }),
      ("or of two indexes", Worker.where { $0.email == "e7@x" || $0.age == 21 }),
      ("or with an unindexed", Worker.where { $0.email == "e7@x" || $0.note == "n" }),
      ("and of two indexes", Worker.where { $0.age == 14 && $0.tags.contains("swift") }),
      ("and with a residue", Worker.where { $0.city == "Oslo" && $0.note.hasPrefix("m1") }),
      ("tag", Worker.where { $0.tags.contains("swift") }),
      ("either tag", Worker.where { $0.tags.containsAny(of: ["swift", "t3"]) }),
      ("both tags", Worker.where { $0.tags.containsAll(of: ["t3", "u5"]) }),
      ("tag prefix", Worker.where { $0.tags.contains { $0.hasPrefix("sw") } }),
      ("team ==", Worker.where { $0.team == 7 }),
      ("team, name prefix", Worker.where { $0.team == 7 && $0.name.hasPrefix("Q") }),
      ("team nil, by name", Worker.where { $0.team == nil }.sorted(by: \.name).limit(3)),
      ("negated and", Worker.where { !($0.age >= 3 && $0.isActive) }),
    ]
  }

  private static var rest: [(String, Query<Worker>)] {
    [
      ("id ==", Worker.where { $0.id == 77 }),
      ("id in", Worker.where { [5, 3, 9999, 3].contains($0.id) }),
      ("id range", Worker.where { $0.id > 1990 }),
      ("id and index", Worker.where { $0.id > 1000 && $0.age == 14 }),
      ("unindexed", Worker.where { $0.note == "n" }),
      ("two fields", Worker.where { $0.age == $0.team }),
      ("a closure", Worker.where { $0.age == 14 }.filter { $0.note.count > 3 }),
      ("a pattern", Worker.where { $0.note.contains(pattern: "^m1..$") }),
      ("computed", Worker.where { $0.tags.isEmpty || $0.name.count > 5 }.limit(3)),
    ]
  }
}
