import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A document of the tests, which knows nothing of the library.
private indirect enum Doc {
  case null, number(Int), text(String), list([Doc]), object([String: Doc])

  var json: String {
    switch self {
    case .null: "null"
    case .number(let number): "\(number)"
    case .text(let text): "\"\(text)\""
    case .list(let items): "[" + items.map(\.json).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\"\($0.key)\": \($0.value.json)" }.joined(separator: ", ") + "}"
    }
  }

  subscript(key: String) -> Doc? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  var isNull: Bool {
    if case .null = self { return true }
    return false
  }
}

/// What an import with the map of the test does, written for plain dictionaries.
private struct MapModel {
  struct Bad: Error {}
  struct Person: Equatable {
    var name = ""
    var email: String?
    var age: Int?
    var birthday: String?
    var role = "guest"
    var firm: String?
  }
  struct Firm: Equatable {
    var city: String?
    var size = 0
  }

  var people: [String: Person] = [:]
  var firms: [String: Firm] = [:]
  var clubs: [String: String?] = [:]
  var members: Set<[String]> = []
  var unused = 0
  var coerced = 0
  var unknown: [String: Int] = [:]
  var counts = [0, 0, 0]
  var bad: [Int] = []

  mutating func take(_ doc: Doc, _ index: Int, merges: Bool) {
    let before = self
    do { try apply(doc, merges: merges) } catch {
      self = before
      bad.append(index)
    }
  }

  private mutating func apply(_ doc: Doc, merges: Bool) throws {
    guard case .text(let name)? = doc["n"] else { throw Bad() }
    let stored = people[name]
    var person = merges ? stored ?? Person() : Person()
    person.name = name
    let first = doc["c"]?["mail"]
    let second = doc["mail"]
    if let value = [first, second].compactMap({ $0 }).first(where: { !$0.isNull }) ?? first
      ?? second
    {
      person.email = try text(value)
    }
    if let first, !first.isNull, let second, !second.isNull { unused += 1 }
    if let age = doc["years"] { person.age = try number(age) }
    if let born = doc["born"] {
      let text = try text(born)
      if let text, !text.hasPrefix("2") { throw Bad() }
      person.birthday = text
    }
    if let role = doc["role"] {
      guard let text = try text(role), ["guest", "member"].contains(text) else { throw Bad() }
      person.role = text
    }
    if let age = person.age, !(0...150).contains(age) { throw Bad() }
    if let firm = doc["firm"] { person.firm = firm.isNull ? nil : try take(firm: firm) }
    if let clubs = doc["clubs"] {
      for club in try list(clubs) { members.insert([name, try take(club: club)]) }
    }
    if let email = person.email,
      people.contains(where: { $0.key != name && $0.value.email == email })
    {
      throw Bad()
    }
    if doc["odd"] != nil { unknown["odd", default: 0] += 1 }
    people[name] = person
    counts[stored == nil ? 0 : stored == person ? 2 : 1] += 1
  }

  private mutating func number(_ doc: Doc) throws -> Int? {
    switch doc {
    case .null: return nil
    case .number(let number): return number
    case .text(let text):
      guard let number = Int(text) else { throw Bad() }
      coerced += 1
      return number
    default: throw Bad()
    }
  }

  private func text(_ doc: Doc) throws -> String? {
    switch doc {
    case .null: nil
    case .text(let text): text
    default: throw Bad()
    }
  }

  private func list(_ doc: Doc) throws -> [Doc] {
    switch doc {
    case .null: []
    case .list(let items): items
    default: [doc]
    }
  }

  private mutating func take(firm doc: Doc) throws -> String {
    var doc = doc
    var key = "firm"
    if case .list(let items) = doc {
      guard items.count == 1 else { throw Bad() }
      doc = items[0]
      key = "firm[]"
    }
    if case .text(let name) = doc {
      if firms[name] == nil { firms[name] = Firm() }
      return name
    }
    guard case .object(let members) = doc, case .text(let name)? = members["name"] else {
      throw Bad()
    }
    var firm = firms[name] ?? Firm()
    if let town = members["town"] { firm.city = try text(town) }
    if let size = members["size"] {
      guard case .number(let number) = size else { throw Bad() }
      firm.size = number
    }
    if members["odd"] != nil { unknown["\(key).odd", default: 0] += 1 }
    firms[name] = firm
    return name
  }

  private mutating func take(club doc: Doc) throws -> String {
    if case .text(let title) = doc {
      if clubs[title] == nil { clubs[title] = .some(nil) }
      return title
    }
    guard case .object(let members) = doc, case .text(let title)? = members["title"] else {
      throw Bad()
    }
    let motto = try members["motto"].map { try text($0) } ?? clubs[title] ?? nil
    clubs[title] = .some(motto)
    return title
  }
}

@Suite("Random documents with a map against a model")
struct RandomMapTests {
  private static let firms = ImportMap<Firm> { Mapped(\.city, from: "town") }
  private static let map = ImportMap<Staffer> {
    Mapped(\.name, from: "n")
    Mapped(\.email, from: "c.mail", "mail")
    Mapped(\.age, from: "years", coercing: true)
    Mapped(\.birthday, from: "born", date: .format("yyyy-MM-dd"))
    Mapped(\.role, from: "role", default: .guest)
    Linked(Staffer.firm, from: "firm", by: \.name, map: firms)
    Linked(Staffer.clubs, from: "clubs", by: \.title)
  }

  private static func document(_ generator: inout SeededGenerator) -> Doc {
    func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    func pick(_ docs: Doc...) -> Doc { docs.randomElement(using: &generator) ?? .null }
    func small(_ letter: String, _ count: Int) -> Doc {
      .text("\(letter)\(Int.random(in: 0..<count, using: &generator))")
    }
    func firm() -> Doc {
      if chance(3) { return small("f", 5) }
      var members = ["name": small("f", 5)]
      if chance(2) { members["town"] = pick(.null, small("t", 3)) }
      if chance(2) { members["size"] = .number(Int.random(in: 0..<3, using: &generator)) }
      if chance(5) { members["odd"] = .object(["x": .number(1)]) }
      if chance(20) { members["size"] = .text("big") }
      if chance(20) { members["name"] = pick(.null, .number(1)) }
      return .object(members)
    }
    func club() -> Doc {
      if chance(2) { return small("c", 4) }
      var members = ["title": small("c", 4)]
      if chance(2) { members["motto"] = pick(.null, small("m", 3)) }
      if chance(25) { members["title"] = .null }
      return .object(members)
    }
    var members = ["n": small("p", 12)]
    if chance(2) { members["mail"] = pick(.null, small("e", 30)) }
    if chance(3) { members["c"] = pick(.null, .object(["mail": pick(.null, small("e", 30))])) }
    if chance(2) {
      members["years"] = pick(.null, .number(5), .number(6), .text("5"), .text("x"), .number(999))
    }
    if chance(2) {
      members["born"] = pick(.null, .text("2026-01-02"), .text("2025-12-31"), .text("1/2"))
    }
    if chance(3) { members["role"] = pick(.text("guest"), .text("member"), .text("none")) }
    if chance(2) {
      members["firm"] = chance(6) ? pick(.null, .list([firm()]), .list([firm(), firm()])) : firm()
    }
    if chance(2) { members["clubs"] = pick(.null, club(), .list([club(), club()]), .list([])) }
    if chance(6) { members["odd"] = .list([.number(1)]) }
    if chance(20) { members["n"] = pick(.null, .number(3), .list([])) }
    return .object(members)
  }

  @Test("Records, links, counts and failures are those of the model")
  func random() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("random maps, seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for round in 0..<12 {
      try Store.staffed { store in
        var model = MapModel()
        for _ in 0..<4 {
          let docs = (0..<Int.random(in: 1..<60, using: &generator))
            .map { _ in RandomMapTests.document(&generator) }
          try compare(store, docs, &model, &generator, "seed \(seed) round \(round)")
        }
        #expect(try store.verify().isClean)
      }
    }
  }

  private func compare(
    _ store: Store, _ docs: [Doc], _ model: inout MapModel, _ generator: inout SeededGenerator,
    _ place: String
  ) throws {
    let merges = Bool.random(using: &generator)
    let stops = Int.random(in: 0..<5, using: &generator) == 0
    var wanted = model
    (wanted.counts, wanted.bad, wanted.unknown) = ([0, 0, 0], [], [:])
    (wanted.unused, wanted.coerced) = (0, 0)
    for (index, doc) in docs.enumerated() { wanted.take(doc, index, merges: merges) }
    do {
      let report = try store.importJSON(
        Staffer.self, from: .text(docs.map { $0.json + "\n" }.joined()), map: RandomMapTests.map,
        matching: \.name, existing: merges ? .merge : .replace, onError: stops ? .stop : .skip,
        batchSize: Int.random(in: 1...30, using: &generator))
      #expect(report.failures.map(\.index) == wanted.bad, "\(place) \(report.failures)")
      #expect(
        [report.inserted, report.updated, report.unchanged] == wanted.counts, "\(place)")
      #expect(report.unknownKeys == wanted.unknown, "\(place)")
      #expect(report.unusedKeys == (wanted.unused > 0 ? ["mail": wanted.unused] : [:]), "\(place)")
      #expect(
        report.coercedKeys == (wanted.coerced > 0 ? ["years": wanted.coerced] : [:]), "\(place)")
      model = wanted
    } catch let error as LarchError {
      #expect(error.code == .importStopped && stops && !wanted.bad.isEmpty, "\(place) \(error)")
    }
    try check(store, model, place)
  }

  private func check(_ store: Store, _ model: MapModel, _ place: String) throws {
    let firms = try store.everything(Firm.self)
    let names = Dictionary(uniqueKeysWithValues: firms.map { ($0.id, $0.name) })
    #expect(
      Dictionary(
        uniqueKeysWithValues: firms.map {
          ($0.name, MapModel.Firm(city: $0.city, size: $0.size))
        }) == model.firms, "\(place)")
    var people: [String: MapModel.Person] = [:]
    var members: Set<[String]> = []
    for person in try store.everything(Staffer.self) {
      people[person.name] = MapModel.Person(
        name: person.name, email: person.email, age: person.age,
        birthday: person.birthday.map { String($0.formatted(.iso8601).prefix(10)) },
        role: person.role.rawValue, firm: person.firmID.flatMap { names[$0] })
      for club in try store.fetch(person.related(Staffer.clubs)) {
        members.insert([person.name, club.title])
      }
    }
    #expect(people == model.people, "\(place)")
    #expect(members == model.members, "\(place)")
    let clubs = try store.everything(Club.self)
    #expect(
      Dictionary(uniqueKeysWithValues: clubs.map { ($0.title, $0.motto) }) == model.clubs,
      "\(place)")
  }

  @Test("Many lines are imported with progress, and the counts are exact")
  func many() throws {
    let count = Int(ProcessInfo.processInfo.environment["LARCH_MAP_LINES"] ?? "") ?? 2000
    try withScratchPath { path in
      try Data().write(to: URL(filePath: path))
      let file = try #require(FileHandle(forWritingAtPath: path))
      for start in stride(from: 0, to: count, by: 1000) {
        let lines = (start..<min(count, start + 1000)).map { number in
          #"{"n":"p\#(number)","years":"\#(number % 90)","born":"2026-01-0\#(number % 9 + 1)","#
            + #""firm":{"name":"f\#(number % 97)","town":"t\#(number % 97)"},"x":1}"# + "\n"
        }
        file.write(Data(lines.joined().utf8))
      }
      try file.close()
      try Store.staffed { store in
        var seen: [Int] = []
        let start = ContinuousClock.now
        let report = try store.importJSON(
          Staffer.self, from: .file(path), map: RandomMapTests.map, matching: \.name
        ) { seen.append($0.elements) }
        print("\(count) lines: \(report), \(ContinuousClock.now - start)")
        #expect(report.inserted == count && report.unknownKeys == ["x": count])
        #expect(report.coercedKeys == ["years": count])
        #expect(
          report.related["Firm"]
            == ImportRelated(
              inserted: 97, updated: 0, unchanged: count - 97, linked: count))
        #expect(seen.last == count && seen == seen.sorted() && seen.count >= count / 1000)
        #expect(try store.count(Staffer.all) == count)
      }
    }
  }
}
