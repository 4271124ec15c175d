import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A log that names each verb")
struct VerbTraceTests {
  private let messages = Messages()

  private func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options.quick
    options.log = { [messages] in messages.add($0) }
    options.logLevel = .trace
    options.slowRead = nil
    options.slowWrite = nil
    change(&options)
    let store = try Store.temporary(for: Person.self, Club.self, options: options)
    _ = messages.take()
    return store
  }

  /// The verbs since the last call, each with its collection.
  private func verbs() -> [String] {
    messages.take().filter { $0.event == .verb }.map {
      "\($0.details.verb ?? "?") \($0.context.collection ?? "?")"
    }
  }

  @Test("Each verb of a write is named with its time and its changes, and then the commit")
  func writing() throws {
    let store = try store()
    var ada = Person(name: "Ada", email: "secret@a", city: "Oslo")
    let line: UInt = #line + 1
    try store.write { tx throws in
      try tx.save(&ada)
      try tx.save(&ada)
      ada.city = "Rome"
      try tx.update(ada)
      var club = Club(name: "C")
      try tx.insert(&club)
      try tx.add(club.id, to: ada.related(Person.clubs))
      _ = try tx.find(Person.self, by: \.email, equals: "secret@a")
      _ = try tx.find(Person.self, ada.id)
      _ = try tx.exists(Person.self, RecordID(99))
      _ = try tx.fetch(Person.where { $0.city == "Rome" })
      _ = try tx.count(Person.all)
      try tx.delete(Person.self, ada.id)
      try tx.delete(Club.where { $0.name == "C" })
      try tx.erase(Person.self)
    }
    let all = messages.take()
    let verbs = all.filter { $0.event == .verb }
    #expect(
      verbs.map { "\($0.details.verb ?? "") \($0.context.collection ?? "")" } == [
        "save Person", "save Person", "update Person", "insert Club", "add Club", "find Person",
        "find Person", "exists Person", "fetch Person", "count Person", "delete Person",
        "ids Club", "delete Club", "erase Person",
      ])
    #expect(verbs.allSatisfy { $0.level == .trace && $0.details.ran != nil })
    #expect(verbs.allSatisfy { $0.details.place?.line == line && $0.context.path == store.path })
    #expect(verbs[0].context.id == "1" && verbs[0].details.changes == 1)
    #expect(verbs[1].details.changes == 0)
    #expect(verbs[6].details.results == 1 && verbs[7].details.results == 0)
    #expect(verbs[8].details.plan?.hasPrefix("index city […]") == true)
    #expect(verbs[8].details.results == 1)
    let write = try #require(all.last)
    #expect(write.event == .write && write.message == "A write was committed.")
    #expect(write.details.committed != nil && (write.details.changes ?? 0) >= 6)
    // No value is in it.
    for message in all {
      for value in ["secret", "Rome", "Ada"] { #expect(!message.description.contains(value)) }
    }
  }

  @Test("Single calls, reads, joins and tasks are named too")
  func others() async throws {
    let store = try store()
    var ada = Person(name: "Ada", email: "a", city: "Oslo")
    func synchronous() throws {
      try store.save(&ada)
      #expect(verbs() == ["save Person"])
      _ = try store.fetch(Person.where { $0.name == "x" })
      #expect(verbs() == ["fetch Person"])
      try store.read { tx throws in
        _ = try tx.ids(Person.all)
        _ = try tx.first(Person.all.sorted(by: \.city))
        _ = try tx.exists(Person.where { $0.city == "Oslo" })
        _ = try tx.fetch(Person.all.select(\.city))
        _ = try tx.counts(by: \.city, of: Person.all)
      }
      #expect(
        verbs() == [
          "ids Person", "fetch Person", "exists Person", "select Person", "counts Person",
        ])
      var club = Club(name: "C")
      try store.save(&club)
      try store.add(club.id, to: ada.related(Person.clubs))
      _ = verbs()
      try store.read { tx throws in
        let clubs = ada.related(Person.clubs)
        #expect(try tx.fetch(clubs).count == 1 && tx.count(clubs) == 1)
        #expect(try tx.ids(clubs) == [club.id] && tx.contains(club.id, in: clubs))
        #expect(try tx.count(Person.all) == 1)
        #expect(try Array(tx.all(Person.self)).count == 1)
      }
      #expect(
        verbs() == [
          "fetch Club", "count Club", "ids Club", "contains Club", "count Person", "all Person",
        ])
    }
    try synchronous()
    _ = messages.take()
    try await ada.delete(in: store)
    // Messages of asynchronous writes come on another thread.
    while messages.all(.write).isEmpty { await Task.yield() }
    #expect(verbs() == ["delete Person"])
  }

  @Test("A verb that throws says so, and a write that is undone too")
  func errors() throws {
    let store = try store()
    try store.saveAll([Person(name: "a", email: "same", city: "x")])
    _ = messages.take()
    #expect(throws: LarchError.self) {
      try store.saveAll([Person(name: "b", email: "same", city: "y")])
    }
    let all = messages.take()
    #expect(all.map(\.event) == [.verb, .write])
    #expect(
      all[0].message == "A verb threw an error." && all[0].context.detail == "unique_conflict")
    #expect(all[1].message == "A write was undone." && all[1].details.committed == nil)
  }

  @Test("Values and ids of the program are in it only where that was asked for")
  func values() throws {
    for shows in [false, true] {
      let store = try store { $0.logsValues = shows }
      _ = try store.fetch(Person.where { $0.city == "Oslo" })
      let fetch = try #require(messages.take().first)
      #expect(fetch.details.plan?.contains("Oslo") == shows)
    }
    struct Place: Record {
      var id: String
    }
    for shows in [false, true] {
      let options = Store.Options.quick.with {
        $0.log = { [messages] in messages.add($0) }
        $0.logLevel = .trace
        $0.logsValues = shows
      }
      let places = try Store.temporary(for: Place.self, options: options)
      _ = messages.take()
      _ = try places.find(Place.self, "Oslo")
      #expect(messages.take().first?.context.id == (shows ? "Oslo" : nil))
    }
  }

  @Test("A large write names its first thousand verbs, and has the sums of the others")
  func many() throws {
    let store = try store()
    try store.saveAll((0..<1500).map { Person(name: "n", email: "\($0)", city: "x") })
    let all = messages.take()
    #expect(all.count == 1002)
    let sum = all[1000]
    #expect(sum.details.times == 500 && sum.details.verb == "save")
    #expect(sum.context.collection == "Person" && sum.description.contains("times: 500"))
    #expect(all[1001].details.changes == 1500)
  }

  @Test("A write that must run again names the verbs of its last run")
  func again() throws {
    let store = try store { $0.runsWritesTwice = true }
    try store.saveAll([Person(name: "n", email: "a", city: "x")])
    #expect(messages.all(.verb).count >= 1)
    _ = messages.take()
    let growing = try self.store { $0.initialMapSize = 1 << 16 }
    var runs = 0
    try growing.write { tx throws in
      runs += 1
      for number in 0..<900 {
        var person = Person(
          name: "n", email: "\(number)", city: "x", notes: String(repeating: "x", count: 900))
        try tx.save(&person)
      }
    }
    #expect(runs > 1)
    #expect(messages.all(.verb).count == 900 && messages.all(.write).count == 1)
  }

  @Test("The level says which messages come, and only a trace makes messages about verbs")
  func levels() throws {
    for level in LogMessage.Level.allCases {
      let store = try store {
        $0.logLevel = level
        $0.slowRead = .zero
      }
      _ = try store.fetch(Person.all)
      store.close()
      let found = messages.take()
      #expect(found.allSatisfy { $0.level >= level })
      #expect(found.contains { $0.event == .verb } == (level == .trace))
      #expect(found.contains { $0.event == .closed } == (level <= .debug))
      #expect(found.contains { $0.event == .slowRead } == (level <= .warning))
    }
    // Without a log the level makes nothing.
    let silent = try Store.temporary(
      for: Person.self, Club.self, options: Store.Options.quick.with { $0.logLevel = .trace })
    #expect(silent.writeTimer("", 0) == nil && silent.readTimer("", 0) == nil)
    let debug = try store { $0.logLevel = .debug }
    #expect(debug.writeTimer("", 0) == nil)
  }
}
