import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Types whose fields are stored under snake_case names.
@Suite struct KeyStrategyTests {
  struct Address: Codable, Hashable, KeyNaming {
    var zipCode: String
    var streetName: String?
    static let keyStrategy = KeyStrategy.snakeCase
  }
  /// Without a strategy.
  struct Mark: Codable, Hashable { var givenBy: String }
  enum Mood: String, Codable, IndexKey { case veryGood, quiteBad }

  struct Person: Record, Equatable {
    static let keyStrategy = KeyStrategy.snakeCase
    static let schema = Schema<Person> {
      Unique(\.homeURL)
      Index(\.lastName, \.birthYear)
      Index(\.nickNames)
      Index(\.moodNow)
      Default(\.birthYear, 1900)
    }
    var id = RecordID<Person>()
    var lastName: String
    var birthYear: Int
    var homeURL: String?
    var nickNames: [String] = []
    var workAddress: Address?
    var markList: [Mark] = []
    var moodNow = Mood.veryGood
    var scoreTable: [String: Int] = [:]
    var renamedHere: Int = 0

    enum CodingKeys: String, CodingKey {
      case id, lastName, birthYear, homeURL, nickNames, workAddress, markList, moodNow, scoreTable
      case renamedHere = "otherName"
    }
  }
  struct Fast: Record, Equatable, MemberwiseCoded {
    static let keyStrategy = KeyStrategy.snakeCase
    static let collectionName = "Person"
    var id = RecordID<Fast>()
    var lastName: String
    var birthYear: Int
    var homeURL: String?
  }
  struct Slow: Record, Equatable, CustomCoded {
    static let keyStrategy = KeyStrategy.snakeCase
    static let collectionName = "Person"
    var id = RecordID<Slow>()
    var lastName: String
    var birthYear: Int
    var homeURL: String?
  }

  struct Camelless: Record {
    static let keyStrategy = KeyStrategy.snakeCase
    var id: Int
    var lastName: String
    var birthYear: Int?
  }

  static func person(_ number: Int) -> Person {
    Person(
      lastName: "N\(number % 5)", birthYear: 1950 + number,
      homeURL: number % 3 == 0 ? nil : "h\(number)", nickNames: ["n\(number % 4)"],
      workAddress: number % 2 == 0 ? nil : Address(zipCode: "z\(number)", streetName: nil),
      markList: [Mark(givenBy: "m\(number)")], moodNow: number % 2 == 0 ? .veryGood : .quiteBad,
      scoreTable: ["firstTry": number], renamedHere: number)
  }

  static let names = [
    "id", "last_name", "birth_year", "home_url", "nick_names", "work_address", "mark_list",
    "mood_now", "score_table", "other_name",
  ]

  @Test func `Names follow the rule of JSONEncoder exactly`() throws {
    struct Key: CodingKey, Hashable {
      let stringValue: String
      let intValue: Int? = nil
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    struct One: Encodable {
      let key: String
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(1, forKey: Key(stringValue: key))
      }
    }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    func expected(_ key: String) throws -> String? {
      let object = try JSONSerialization.jsonObject(with: encoder.encode(One(key: key)))
      return (object as? [String: Any])?.keys.first
    }
    var random = SeededGenerator(seed: 5)
    let letters = Array("abZQXy_19É")
    var keys = ["", "a", "A", "_", "__a__", "homeURL", "myURLPath", "userID", "URL", "_URLPath_"]
    for _ in 0..<3_000 {
      keys.append(
        String(
          (0..<Int.random(in: 1...9, using: &random)).map { _ in
            letters[Int.random(in: 0..<letters.count, using: &random)]
          }))
    }
    for key in keys { #expect(KeyStrategy.snakeCase.fieldName(for: key) == (try expected(key))) }
    #expect(KeyStrategy.snakeCase.fieldName(for: "homeURL") == "home_url")
    #expect(KeyStrategy.asWritten.fieldName(for: "homeURL") == "homeURL")
  }

  @Test func `Records are saved, found and queried by index under their stored names`() throws {
    var options = Store.Options.quick
    options.checksQueries = true
    let file = try EvolutionFile()
    var people = (0..<40).map { Self.person($0) }
    try file.open(Person.self, options: options) { store throws in
      try store.write { tx throws in
        for place in people.indices { try tx.save(&people[place]) }
      }
      #expect(try store.all(Person.self) == people)
      for name in 0..<5 {
        let query = Person.where { $0.lastName == "N\(name)" && $0.birthYear > 1960 }
        #expect(
          Set(try store.fetch(query).map(\.id))
            == Set(
              people.filter { $0.lastName == "N\(name)" && $0.birthYear > 1960 }.map(\.id)))
        #expect(try store.explain(query).contains("index lastName_birthYear"))
      }
      #expect(
        try store.fetch(Person.where { $0.nickNames.contains("n1") }).map(\.id)
          == people.filter { $0.nickNames.contains("n1") }.map(\.id))
      #expect(try store.find(Person.self, by: \.homeURL, equals: "h4") == people[4])
      #expect(try store.fetch(Person.where { $0.workAddress.zipCode == "z7" }) == [people[7]])
      #expect(
        try store.count(Person.where { $0.moodNow == .quiteBad })
          == people.count { $0.moodNow == .quiteBad })
      try store.expectSound()
    }
    try file.open(Person.self, options: options) { store throws in
      #expect(try store.all(Person.self) == people)
      let error = caught {
        try store.write { tx throws in
          var second = people[4]
          second.id = RecordID()
          try tx.save(&second)
        }
      }
      #expect(error?.code == .uniqueConflict)
      #expect(error?.context.index == "homeURL")
    }
    let fields = try #require(try file.history("Person")?.declarations.last)
    guard case .record(let record) = fields else {
      Issue.record("no record")
      return
    }
    #expect(Set(record.fields.map(\.name)) == Set(Self.names))
    guard case .record(let address)? = record.field("work_address")?.form,
      case .list(.record(let mark))? = record.field("mark_list")?.form
    else {
      Issue.record("no nested record")
      return
    }
    #expect(Set(address.fields.map(\.name)) == ["zip_code", "street_name"])
    // Its type has no strategy.
    #expect(mark.fields.map(\.name) == ["givenBy"])
  }

  @Test func `Values are read by their stored names`() throws {
    let person = Self.person(7)
    #expect(try person.values().map(\.name) == Self.names)
    #expect(try person.value(named: "last_name") == "N2")
    #expect(try person.value(named: "birth_year") == 1957)
    #expect(try person.value(named: "work_address.zip_code").string == "z7")
    #expect(try person.value(named: "work_address.street_name") == .null)
    #expect(try person.value(named: "work_address.street_name").isNil)
    #expect(try !person.value(named: "last_name").isNil)
    #expect(try person.value(named: "mark_list") == [["givenBy": "m7"]])
    #expect(try person.value(named: "score_table.firstTry") == 7)
    #expect(try person.value(named: "score_table.nobody") == .null)
    #expect(try Self.person(6).value(named: "work_address.zip_code") == .null)
    #expect(try Self.person(6).value(named: "home_url") == .null)
    #expect(try person.value(named: "mood_now") == "quiteBad")
    for (name, similar) in [
      ("lastName", "last_name"), ("birt_year", "birth_year"), ("zip_code", "work_address.zip_code"),
      ("work_address.zipCode", "work_address.zip_code"), ("home_url.x", nil), ("", nil),
      ("last_name.", nil), (".", nil),
    ] {
      let error = caught { _ = try person.value(named: name) }
      #expect(error?.code == .unknownField, "\(name)")
      #expect(error?.context.field == name)
      if let similar { #expect(error?.context.detail?.contains(similar) == true, "\(name)") }
    }
    // A nil value has the same fields as another one.
    #expect(throws: LarchError.self) { try Self.person(6).value(named: "work_address.zip") }
  }

  @Test func `Memberwise coding and Codable write the same bytes`() throws {
    #expect(MemberwisePlan.plan(for: Fast.self).reasonForFallback == nil)
    #expect(
      MemberwisePlan.plan(for: Fast.self).properties.map(\.codingName)
        == ["id", "last_name", "birth_year", "home_url"])
    let fast = try EvolutionFile()
    try fast.save(
      Fast(lastName: "A", birthYear: 1), Fast(lastName: "B", birthYear: 2, homeURL: "u"))
    try fast.open(Slow.self) { store throws in
      #expect(try store.all(Slow.self).map(\.lastName) == ["A", "B"])
      #expect(try store.all(Slow.self).map(\.homeURL) == [nil, "u"])
      try store.put([Slow(lastName: "C", birthYear: 3)])
    }
    try fast.open(Fast.self) { store throws in
      #expect(try store.all(Fast.self).map(\.lastName) == ["A", "B", "C"])
      try store.expectSound()
    }
    // The proof, for a type that says nothing.
    let proved = MemberwisePlan.plan(for: Camelless.self, proving: true)
    #expect(proved.reasonForFallback == nil)
    #expect(proved.properties.map(\.codingName) == ["id", "last_name", "birth_year"])
  }

  // MARK: Associations, times and changes

  struct Team: Record {
    static let keyStrategy = KeyStrategy.snakeCase
    static let players = HasMany<Team, Player>(\.homeTeamID, onDelete: .nullify)
    static let schema = Schema<Team> { players }
    var id = RecordID<Team>()
    var teamName: String
  }
  struct Player: Record, Timestamped {
    static let keyStrategy = KeyStrategy.snakeCase
    static let homeTeam = BelongsTo<Player, Team>(\.homeTeamID)
    static let schema = Schema<Player> {
      homeTeam
      Versioned(\.saveCount)
      Validate(\.fullName, .presence)
    }
    var id = RecordID<Player>()
    var fullName: String
    var homeTeamID: Team.ID?
    var saveCount = 0
    var createdAt: Date?
    var updatedAt: Date?
  }

  @Test func `Associations, versions, times, rules and changes go by the stored names`() throws {
    let store = try Store.temporary(
      for: Team.self, Player.self, options: .quick.with { $0.checksQueries = true })
    defer { store.close() }
    var team = Team(teamName: "A")
    var player = Player(fullName: "P")
    try store.write { tx throws in
      try tx.save(&team)
      player.homeTeamID = team.id
      try tx.save(&player)
    }
    #expect(try store.fetch(team.related(Team.players)).map(\.fullName) == ["P"])
    #expect(try store.fetch(Player.where { $0.homeTeam.teamName == "A" }).count == 1)
    let error = caught {
      try store.write { tx throws in
        var nameless = Player(fullName: "", homeTeamID: team.id)
        try tx.save(&nameless)
      }
    }
    #expect(error?.code == .invalid)
    var changed = player
    changed.fullName = "Q"
    // As properties, which the program knows.
    #expect(try changed.changes(in: store).map(\.field) == ["fullName"])
    let created = try #require(try store.find(Player.self, player.id)?.createdAt)
    try store.write { tx throws in try tx.delete(team) }
    let left = try #require(try store.find(Player.self, player.id))
    #expect(left.homeTeamID == nil)
    #expect(left.saveCount == 2)
    #expect(left.createdAt == created)
    #expect(try #require(left.updatedAt) >= created)
    #expect(try left.value(named: "home_team_id") == .null)
    #expect(try left.value(named: "save_count") == 2)
    try store.expectSound()
  }

  // MARK: JSON

  @Test func `An export has the stored names, and an import reads them back`() throws {
    let people = (0..<9).map { Self.person($0) }
    let store = try Store.temporary(for: Person.self)
    defer { store.close() }
    try store.saveAll(people)
    let json = try store.read { tx in try tx.json(of: Person.all) }
    let objects = try #require(
      try JSONSerialization.jsonObject(with: json) as? [[String: Any]])
    #expect(Set(objects.flatMap(\.keys)) == Set(Self.names))
    #expect((objects[1]["work_address"] as? [String: Any])?["zip_code"] as? String == "z1")
    #expect((objects[1]["mark_list"] as? [[String: Any]])?[0]["givenBy"] as? String == "m1")
    let other = try Store.temporary(for: Person.self)
    defer { other.close() }
    var report = try other.importJSON(Person.self, from: .data(json))
    #expect(report.unknownKeys.isEmpty)
    #expect(try other.everything(Person.self) == store.everything(Person.self))
    // Defaults, merging and matching go by the same names.
    let changes = """
      [{"home_url": "h1", "last_name": "Changed"}, {"home_url": "new", "last_name": "New",
        "nick_names": [], "mark_list": [], "mood_now": "quiteBad", "score_table": {},
        "other_name": 1, "lastName": "ignored"}]
      """
    report = try other.importJSON(
      Person.self, from: .text(changes), matching: \.homeURL, existing: .merge)
    #expect(report.unknownKeys.keys.sorted() == ["lastName"])
    let changed = try other.find(Person.self, by: \.homeURL, equals: "h1")
    #expect(changed?.lastName == "Changed")
    #expect(changed?.birthYear == people[1].birthYear)
    #expect(try other.find(Person.self, by: \.homeURL, equals: "new")?.birthYear == 1900)
    #expect(try other.count(Person.all) == 10)
  }

  // MARK: Keys that a type handles itself

  /// Its keys are listed, and one is a number of times nested by hand.
  struct Listing: Record, Equatable {
    static let keyStrategy = KeyStrategy.snakeCase
    var id: Int
    var firstPart: String
    var homeURL: String

    enum Keys: String, CodingKey, CaseIterable { case id, firstPart, homeURL }
    enum Inner: String, CodingKey { case deepName }

    init(id: Int, firstPart: String, homeURL: String) {
      self.id = id
      self.firstPart = firstPart
      self.homeURL = homeURL
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      id = try container.decode(Int.self, forKey: .id)
      let nested = try container.nestedContainer(keyedBy: Inner.self, forKey: .firstPart)
      firstPart = try nested.decode(String.self, forKey: .deepName)
      homeURL = try container.decode(String.self, forKey: .homeURL)
      guard Set(container.allKeys) == Set(Keys.allCases), container.contains(.homeURL) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: [], debugDescription: "\(container.allKeys)"))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(id, forKey: .id)
      var nested = container.nestedContainer(keyedBy: Inner.self, forKey: .firstPart)
      try nested.encode(firstPart, forKey: .deepName)
      try container.encode(homeURL, forKey: .homeURL)
    }
  }

  @Test func `A type that nests its keys itself is read back, with its listed keys`() throws {
    let file = try EvolutionFile()
    let all = [
      Listing(id: 1, firstPart: "a", homeURL: "b"), Listing(id: 2, firstPart: "", homeURL: ""),
    ]
    try file.open(Listing.self) { store throws in
      try store.put(all)
      #expect(try store.all(Listing.self) == all)
      #expect(try all[0].value(named: "home_url") == "b")
      let json = try store.read { tx in try tx.json(of: Listing.all) }
      #expect(String(decoding: json, as: UTF8.self).contains(#""first_part":{"deepName":"a"}"#))
      try store.importJSON(Listing.self, from: .data(json))
      #expect(try store.all(Listing.self) == all)
    }
  }
}
