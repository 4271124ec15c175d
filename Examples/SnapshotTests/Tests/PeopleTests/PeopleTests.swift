import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import People

@Suite("People in Swift Testing")
struct PeopleTests {
  private func makeStore() throws -> Store {
    let store = try Store.temporary(for: Person.self, Team.self)
    try store.found(
      "Engines",
      with: [
        Person(name: "Charles", born: Date(timeIntervalSince1970: -5_619_542_400)),
        Person(name: "Ada", born: Date(timeIntervalSince1970: -4_862_937_600)),
      ])
    return store
  }

  @Test("A team is stored with its people")
  func whole() throws {
    try makeStore().requireDump(
      ids: .named,
      equals: """
        collection Person: 2 records
          Person#1 {"born":"1791-12-04T00:00:00Z","id":"Person#1","name":"Charles","teamID":"Team#1"}
          Person#2 {"born":"1815-11-26T00:00:00Z","id":"Person#2","name":"Ada","teamID":"Team#1"}
          index born: 2 entries
            ["1791-12-04T00:00:00Z"] -> Person#1
            ["1815-11-26T00:00:00Z"] -> Person#2
          index teamID: 2 entries
            [Team#1] -> Person#1
            [Team#1] -> Person#2
        collection Team: 1 record
          Team#1 {"id":"Team#1","name":"Engines"}
        reference Person.teamID: Person to Team, optional, on delete none, nullify
        """)
  }

  @Test("A team is stored as the file says")
  func file() throws {
    try makeStore().requireDump(ids: .named, matches: "people.dump")
  }

  @Test("The issue is where the test is, and the test goes on")
  func issue() throws {
    let store = try makeStore()
    try withKnownIssue {
      try expectDump(of: store, [], equals: "collection Person: 0 records")
    } matching: { issue in
      issue.sourceLocation?.fileName == "PeopleTests.swift"
    }
  }

  @Test("What differs is shown by line")
  func difference() throws {
    let store = try makeStore()
    try store.write { tx in try tx.delete(Person.where { $0.name == "Ada" }) }
    let error = try #require(throws: DumpDifference.self) {
      try store.requireDump(ids: .named, matches: "people.dump")
    }
    #expect(
      error.lines?.hasPrefix(
        """
        - collection Person: 2 records
        + collection Person: 1 record
            Person#1 {"born":"1791-12-04T00:00:00Z","id":"Person#1","name":"Charles","teamID":"Team#1"}
        -   Person#2 {"born":"1815-11-26T00:00:00Z","id":"Person#2","name":"Ada","teamID":"Team#1"}
        -   index born: 2 entries
        +   index born: 1 entry
        """) == true, "\(error)")
  }
}
