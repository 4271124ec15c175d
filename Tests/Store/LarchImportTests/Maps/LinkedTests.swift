import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A map saves and links nested objects")
struct LinkedTests {
  @discardableResult
  private func take(
    _ text: String, _ map: ImportMap<Staffer>, _ store: Store,
    existing: ImportExisting = .replace, policy: ImportErrorPolicy = .stop
  ) throws -> ImportReport {
    try store.importJSON(
      Staffer.self, from: .text(text), map: map, matching: \.name, existing: existing,
      onError: policy)
  }

  @Test("An object of a BelongsTo is inserted, then merged, and linked from both ends")
  func belongsTo() throws {
    let firms = ImportMap<Firm> { Mapped(\.city, from: "town") }
    let map = ImportMap<Staffer> {
      Linked(Staffer.firm, from: "employer.main", "firm", by: \.name, map: firms)
    }
    try Store.staffed { store in
      let report = try take(
        """
        {"name":"Ada","firm":{"name":"Acme","size":5}}
        {"name":"Bo","employer":{"main":{"name":"Acme","town":"Oslo"},"x":1}}
        {"name":"Cy","firm":"Acme"}
        {"name":"Di","firm":"Best"}
        {"name":"Ed"}
        """, map, store)
      let firms = try store.everything(Firm.self)
      #expect(firms.map(\.name) == ["Acme", "Best"])
      #expect(firms[0].size == 5 && firms[0].city == "Oslo")
      #expect(try store.fetch(firms[0].related(Firm.staff)).map(\.name) == ["Ada", "Bo", "Cy"])
      #expect(
        report.related
          == ["Firm": ImportRelated(inserted: 2, updated: 1, unchanged: 1, linked: 4)])
      #expect(report.inserted == 5 && report.unknownKeys == ["employer.x": 1])
      // Null is nil, and an absent key stays in a merge only.
      let text = #"{"name":"Ada","firm":null}"# + "\n" + #"{"name":"Bo","age":4}"#
      try take(text, map, store, existing: .merge)
      #expect(try store.fetch(firms[0].related(Firm.staff)).map(\.name) == ["Bo", "Cy"])
      try take(#"{"name":"Cy","age":4}"#, map, store)
      #expect(try store.fetch(firms[0].related(Firm.staff)).map(\.name) == ["Bo"])
      #expect(try store.verify().isClean)
    }
  }

  @Test("The objects of a HasMany get the id of the element; replacing unlinks the others")
  func hasMany() throws {
    let staff = ImportMap<Staffer> { Mapped(\.age, from: "years", coercing: true) }
    func map(_ replacing: Bool) -> ImportMap<Firm> {
      ImportMap<Firm> {
        Linked(Firm.staff, from: "people", by: \.name, replacing: replacing, map: staff)
      }
    }
    func take(_ text: String, _ replacing: Bool, _ store: Store) throws -> ImportReport {
      try store.importJSON(
        Firm.self, from: .text(text), map: map(replacing), matching: \.name)
    }
    try Store.staffed { store in
      let report = try take(
        #"{"name":"Acme","people":[{"name":"Ada","years":"36"},{"name":"Bo","odd":1},{"name":"Ada"}]}"#,
        false, store)
      #expect(report.coercedKeys == ["people[].years": 1])
      #expect(report.unknownKeys == ["people[].odd": 1])
      #expect(
        report.related["Staffer"]
          == ImportRelated(inserted: 2, updated: 0, unchanged: 1, linked: 3))
      let acme = try #require(try store.only(Firm.self))
      func names() throws -> [String] {
        try store.fetch(acme.related(Firm.staff)).map(\.name).sorted()
      }
      #expect(try names() == ["Ada", "Bo"])
      _ = try take(#"{"name":"Acme","people":{"name":"Cy"}}"#, false, store)
      #expect(try names() == ["Ada", "Bo", "Cy"])
      _ = try take(#"{"name":"Acme","people":["Cy","Bo"]}"#, true, store)
      #expect(try names() == ["Bo", "Cy"])
      _ = try take(#"{"name":"Acme"}"#, true, store)
      _ = try take(#"{"name":"Acme","people":null}"#, false, store)
      #expect(try names() == ["Bo", "Cy"])
      _ = try take(#"{"name":"Acme","people":null}"#, true, store)
      #expect(try names().isEmpty)
      #expect(try store.find(Staffer.self, by: \.name, equals: "Ada")?.age == 36)
      #expect(try store.verify().isClean)
    }
  }

  /// An answer of a server often repeats the id of the parent, which is that of the server.
  @Test("An object that names another owner belongs to the element it is in")
  func ownersOfObjects() throws {
    let map = ImportMap<Firm> { Linked(Firm.staff, from: "people", by: \.name) }
    try Store.staffed { store in
      var other = Firm(name: "Other")
      try store.save(&other)
      let text = """
        {"name":"Acme","people":[{"name":"Ada","firmID":\(other.id)},{"name":"Bo","firmID":null},
        {"name":"Cy","firmID":999},{"name":"Di"}]}
        """
      for _ in 0..<2 {
        _ = try store.importJSON(
          Firm.self, from: .text(text.replacing("\n", with: "")), map: map, matching: \.name)
        let acme = try #require(try store.find(Firm.self, by: \.name, equals: "Acme"))
        let names = try store.fetch(acme.related(Firm.staff)).map(\.name).sorted()
        #expect(names == ["Ada", "Bo", "Cy", "Di"])
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("A HasOne takes the place of another record")
  func hasOne() throws {
    let map = ImportMap<Staffer> { Linked(Staffer.badge, from: "badge", by: \.code) }
    try Store.staffed { store in
      try take(#"{"name":"Ada","badge":{"code":1}}"#, map, store)
      try take(#"{"name":"Ada","badge":2}"#, map, store)
      try take(#"{"name":"Ada","badge":[2]}"#, map, store)
      let ada = try #require(try store.only(Staffer.self))
      #expect(try store.fetch(ada.related(Staffer.badge)).map(\.code) == [2])
      #expect(try store.find(Badge.self, by: \.code, equals: 1)?.stafferID == nil)
      // A badge goes over to another one.
      try take(#"{"name":"Bo","badge":2}"#, map, store)
      #expect(try store.fetch(ada.related(Staffer.badge)).isEmpty)
      let failure = stopping(caught { try take(#"{"name":"Bo","badge":[1,2]}"#, map, store) })
      #expect(failure?.key == "badge")
      #expect(try store.verify().isClean)
    }
  }

  @Test("A list of ids keeps the stored ids, in their order, unless it replaces them")
  func listOfIDs() throws {
    func map(_ replacing: Bool) -> ImportMap<Staffer> {
      ImportMap<Staffer> { Linked(Staffer.skills, from: "skills", replacing: replacing) }
    }
    try Store.staffed { store in
      func skills() throws -> [String] { try store.only(Staffer.self)?.skillIDs ?? ["?"] }
      try take(#"{"name":"Ada","skills":[{"id":"c"},{"id":"a","level":3}]}"#, map(false), store)
      #expect(try skills() == ["c", "a"])
      try take(#"{"name":"Ada","skills":["b","c"]}"#, map(false), store)
      #expect(try skills() == ["c", "a", "b"])
      try take(#"{"name":"Ada","skills":"d"}"#, map(false), store, existing: .merge)
      #expect(try skills() == ["c", "a", "b", "d"])
      try take(#"{"name":"Ada"}"#, map(false), store)
      #expect(try skills() == ["c", "a", "b", "d"])
      try take(#"{"name":"Ada"}"#, map(true), store, existing: .merge)
      #expect(try skills() == ["c", "a", "b", "d"])
      try take(#"{"name":"Ada","skills":["b","a"]}"#, map(true), store)
      #expect(try skills() == ["b", "a"])
      // An id that is there twice stays so.
      try store.update(Staffer.all) { $0.skillIDs = ["b", "a", "b"] }
      try take(#"{"name":"Ada","skills":["d"]}"#, map(false), store)
      #expect(try skills() == ["b", "a", "b", "d"])
      try take(#"{"name":"Ada","skills":null}"#, map(true), store)
      #expect(try skills() == [])
      #expect(try store.find(Skill.self, "a")?.level == 3)
      #expect(try store.verify().isClean)
    }
  }

  @Test("Lists of a ManyToMany get members, from either end")
  func manyToMany() throws {
    func map(_ replacing: Bool) -> ImportMap<Staffer> {
      ImportMap<Staffer> {
        Linked(Staffer.clubs, from: "clubs", by: \.title, replacing: replacing)
      }
    }
    let members = ImportMap<Club> { Linked(Club.members, from: "members", by: \.name) }
    try Store.staffed { store in
      try take(#"{"name":"Ada","clubs":[{"title":"Chess","motto":"x"},"Go"]}"#, map(false), store)
      try store.importJSON(
        Club.self, from: .text(#"{"title":"Go","members":["Bo",{"name":"Ada","age":3}]}"#),
        map: members, matching: \.title)
      let go = try #require(try store.find(Club.self, by: \.title, equals: "Go"))
      #expect(try store.fetch(go.related(Club.members)).map(\.name).sorted() == ["Ada", "Bo"])
      let ada = try #require(try store.find(Staffer.self, by: \.name, equals: "Ada"))
      #expect(ada.age == 3)
      #expect(try store.count(ada.related(Staffer.clubs)) == 2)
      try take(#"{"name":"Ada","clubs":["Chess"]}"#, map(true), store)
      #expect(try store.fetch(ada.related(Staffer.clubs)).map(\.motto) == ["x"])
      #expect(try store.fetch(go.related(Club.members)).map(\.name) == ["Bo"])
      #expect(try store.verify().isClean)
    }
  }

  @Test("A join record is made once for two records")
  func through() throws {
    func map(_ replacing: Bool) -> ImportMap<Staffer> {
      ImportMap<Staffer> {
        Linked(Staffer.courses, from: "courses", by: \.code, replacing: replacing)
      }
    }
    try Store.staffed { store in
      try take(#"{"name":"Ada","courses":[{"code":"A"},"B"]}"#, map(false), store)
      var first = try #require(try store.everything(Enrolment.self).first)
      first.grade = 5
      try store.save(&first)
      try take(#"{"name":"Ada","courses":["A","C","A"]}"#, map(false), store)
      let ada = try #require(try store.only(Staffer.self))
      #expect(
        try store.fetch(ada.related(Staffer.courses)).map(\.code).sorted() == ["A", "B", "C"])
      #expect(try store.everything(Enrolment.self).map(\.grade) == [5, 0, 0])
      try take(#"{"name":"Ada","courses":["A","D"]}"#, map(true), store)
      #expect(try store.fetch(ada.related(Staffer.courses)).map(\.code).sorted() == ["A", "D"])
      #expect(try store.everything(Enrolment.self).map(\.grade) == [5, 0])
      #expect(try store.verify().isClean)
    }
  }

  @Test("A map that contains itself reads a tree")
  func tree() throws {
    try Store.staffed { store in
      let report = try store.importJSON(
        Topic.self,
        from: .text(#"{"t":"a","sub":[{"t":"b","sub":[{"t":"c"},{"t":"d","x":1}]},"e"]}"#),
        map: Topic.map)
      let all = try store.everything(Topic.self)
      let names = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.title) })
      #expect(
        Set(all.map { "\($0.title)<\($0.parentID.flatMap { names[$0] } ?? "")" })
          == ["a<", "b<a", "c<b", "d<b", "e<a"])
      #expect(report.unknownKeys == ["sub[].sub[].x": 1])
    }
  }

  @Test("An object may contain the element that it is in")
  func cycles() throws {
    let firms: ImportMap<Firm> = ImportMap { Linked(Firm.boss, from: "boss", by: \.email) }
    let map = ImportMap<Staffer> { Linked(Staffer.firm, from: "firm", by: \.name, map: firms) }
    try Store.staffed { store in
      let texts = [
        #"{"name":"Ada","email":"a@x","firm":{"name":"Acme","boss":"a@x"}}"#,
        #"{"name":"Ada","email":"a@x","firm":{"name":"Acme","boss":{"email":"a@x","age":36}}}"#,
      ]
      for round in 0..<2 {
        for text in texts {
          let report = try take(text, map, store)
          #expect(report.elements == 1)
          let ada = try #require(try store.only(Staffer.self))
          let acme = try #require(try store.only(Firm.self))
          #expect(ada.firmID == acme.id && acme.bossID == ada.id, "round \(round)")
          #expect(ada.age == (text == texts[1] ? 36 : nil))
        }
      }
      #expect(try store.verify().isClean)
      // The report counts what the link added to the element.
      let told = try take(
        #"{"name":"Ada","email":"a@x","firm":{"name":"Acme","boss":{"email":"a@x","age":1,"odd":2}}}"#,
        map, store)
      #expect(told.unknownKeys == ["firm.boss.odd": 1])
      #expect(told.related["Staffer"]?.updated == 1)
      let wrong = caught {
        try take(
          #"{"name":"Ada","email":"a@x","firm":{"name":"Acme","boss":{"email":"a@x","age":"1"}}}"#,
          map, store)
      }
      #expect(stopping(wrong)?.key == "firm.boss.age")
      // A cycle that cannot be: the boss has no name.
      let error = caught {
        try take(#"{"name":"Bo","email":"b@x","firm":{"name":"Acme","boss":"z@x"}}"#, map, store)
      }
      #expect(stopping(error)?.key == "firm.boss.name" && stopping(error)?.field == "name")
      #expect(try store.count(Staffer.all) == 1)
    }
  }

  @Test("A cycle through lists in both directions ends")
  func widerCycle() throws {
    let clubs: ImportMap<Club> = ImportMap { Linked(Club.members, from: "members", by: \.name) }
    let map = ImportMap<Staffer> { Linked(Staffer.clubs, from: "clubs", by: \.title, map: clubs) }
    try Store.staffed { store in
      try take(
        #"{"name":"Ada","clubs":[{"title":"Go","members":["Ada",{"name":"Ada","age":9},"Bo"]}]}"#,
        map, store)
      let go = try #require(try store.only(Club.self))
      #expect(try store.fetch(go.related(Club.members)).map(\.name).sorted() == ["Ada", "Bo"])
      #expect(try store.find(Staffer.self, by: \.name, equals: "Ada")?.age == 9)
      #expect(try store.verify().isClean)
    }
  }

  @Test("An element that fails leaves nothing of its linked objects, and the others stay")
  func undone() throws {
    let map = ImportMap<Staffer> {
      Linked(Staffer.firm, from: "firm", by: \.name)
      Linked(Staffer.clubs, from: "clubs", by: \.title)
      Linked(Staffer.badge, from: "badge", by: \.code)
    }
    let text = """
      {"name":"Ada","firm":{"name":"Acme"},"clubs":["Go"],"badge":1}
      {"name":"Bo","firm":{"name":"Best"},"clubs":["Chess"],"badge":"x"}
      {"name":"Cy","firm":{"name":"Core"},"clubs":[null]}
      {"name":"Di","firm":{"name":"Dove"},"age":999}
      {"name":"Ed","firm":{"name":7}}
      {"name":"Fy","firm":{"name":"Acme","city":"Oslo"},"badge":2}
      """
    try Store.staffed { store in
      let report = try take(text, map, store, policy: .skip)
      #expect(report.inserted == 2 && report.skipped == 4)
      #expect(report.failures.map(\.key) == ["badge.code", "clubs[]", "age", "firm.name"])
      #expect(report.failures.map(\.line) == [2, 3, 4, 5])
      #expect(
        report.related["Firm"] == ImportRelated(inserted: 1, updated: 1, unchanged: 0, linked: 2))
      #expect(try store.everything(Firm.self).map(\.name) == ["Acme"])
      #expect(try store.everything(Club.self).map(\.title) == ["Go"])
      #expect(try store.everything(Badge.self).map(\.code) == [1, 2])
      let error = caught { try take(text, map, store) }
      #expect(error?.code == .importStopped && stopping(error)?.line == 2)
      #expect(try store.count(Staffer.all) == 2)
      #expect(try store.verify().isClean)
    }
  }

  @Test("In a transaction an import with links is a part of it")
  func inTransaction() throws {
    let map = ImportMap<Staffer> { Linked(Staffer.firm, from: "firm", by: \.name) }
    let good = JSONSource.text(#"{"name":"Ada","firm":"Acme"}"#)
    let bad = JSONSource.text(
      #"{"name":"Bo","firm":"Best"}"# + "\n" + #"{"name":5,"firm":"Core"}"#)
    try Store.staffed { store in
      try store.write { tx throws in
        try tx.importJSON(Staffer.self, from: good, map: map)
        #expect(caught { try tx.importJSON(Staffer.self, from: bad, map: map) } != nil)
        let report = try tx.importJSON(Staffer.self, from: bad, map: map, onError: .skip)
        #expect(report.inserted == 1 && report.skipped == 1)
      }
      #expect(try store.everything(Firm.self).map(\.name) == ["Acme", "Best"])
    }
  }

  @Test("Small batches and large ones give the same")
  func batches() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.name, from: "n")
      Linked(Staffer.firm, from: "f", by: \.name)
    }
    let text = (0..<40).map { #"{"n":"p\#($0)","f":{"name":"f\#($0 % 7)","size":\#($0)}}"# }
      .joined(separator: "\n")
    for policy in [ImportErrorPolicy.stop, .skip] {
      for size in [1, 7, 1000] {
        try Store.staffed { store in
          var calls = 0
          let report = try store.importJSON(
            Staffer.self, from: .text(text), map: map, onError: policy, batchSize: size
          ) { _ in calls += 1 }
          #expect(report.inserted == 40 && calls == (40 + size - 1) / size)
          #expect(
            report.related["Firm"]
              == ImportRelated(inserted: 7, updated: 33, unchanged: 0, linked: 40))
          #expect(
            try store.everything(Firm.self).map(\.size) == Array([35, 36, 37, 38, 39, 33, 34]))
        }
      }
    }
  }

  @Test("Linked objects are nested at most 32 deep")
  func depth() throws {
    func tree(_ depth: Int) -> String {
      (0..<depth).map { #"{"t":"\#($0)","sub":"# }.joined() + "null"
        + String(repeating: "}", count: depth)
    }
    try Store.staffed { store in
      try store.importJSON(Topic.self, from: .text(tree(33)), map: Topic.map)
      #expect(try store.count(Topic.all) == 33)
      let error = caught {
        try store.importJSON(
          Topic.self, from: .text(tree(34)), map: Topic.map, matching: \.title)
      }
      #expect((stopping(error)?.reason as? LarchError)?.code == .elementMismatch)
      #expect(try store.count(Topic.all) == 33)
    }
  }
}
