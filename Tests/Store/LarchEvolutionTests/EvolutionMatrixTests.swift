import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Files that were written by the versions 1 to 4 of two types, opened by each later version.
///
/// The file of a version has ten records of each version up to it, like a file that all of them
/// have written. The files were created once, by `LARCH_WRITE_GOLDEN=1 swift test --filter
/// EvolutionMatrixTests`.
@Suite(.serialized) struct EvolutionMatrixTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("Golden")
  private static let perVersion = 10
  private static let teams = ["", "red", "blue", "green"]

  private static func fixture(_ version: Int) -> URL {
    folder.appendingPathComponent("v\(version).larch")
  }

  /// The numbers of the people that a version wrote.
  private static func ids(_ version: Int) -> ClosedRange<Int> {
    (version - 1) * perVersion + 1...version * perVersion
  }

  // MARK: Writing

  @Test(.enabled(if: ProcessInfo.processInfo.environment["LARCH_WRITE_GOLDEN"] != nil))
  func `The files are written`() throws {
    let file = try EvolutionFile()
    try write(V1.Person.self, V1.Team.self, 1, in: file)
    try write(V2.Person.self, V2.Team.self, 2, in: file)
    try write(V3.Person.self, V3.Team.self, 3, in: file)
    try write(V4.Person.self, V4.Group.self, 4, in: file)
  }

  private func write<P: PersonVersion, T: TeamVersion>(
    _ person: P.Type, _ team: T.Type, _ version: Int, in file: EvolutionFile
  ) throws where T.Person == P {
    try file.open(P.self, T.self) { store throws in
      try store.write { tx throws in
        if version == 1 {
          for id in 1...3 {
            var team = T(id: id, title: Self.teams[id])
            try tx.save(&team)
          }
        }
        for id in Self.ids(version) {
          var person = P(PersonModel(id), writtenBy: version)
          try tx.save(&person)
          let team = T(id: id % 3 + 1, title: "")
          try team.members.add(id, in: tx)
        }
      }
      let target = Self.fixture(version)
      try? FileManager.default.removeItem(at: target)
      try store.environment.copy(to: target.path, compacting: true)
    }
  }

  // MARK: Reading

  @Test(arguments: 1...4) func `Every version reads a file of version 1 correctly`(reader: Int)
    throws
  {
    try check(file: 1, reader: reader)
  }
  @Test(arguments: 2...4) func `Every later version reads a file of version 2 correctly`(
    reader: Int
  ) throws {
    try check(file: 2, reader: reader)
  }
  @Test(arguments: 3...4) func `Every later version reads a file of version 3 correctly`(
    reader: Int
  ) throws {
    try check(file: 3, reader: reader)
  }
  @Test func `Version 4 reads its own file correctly`() throws { try check(file: 4, reader: 4) }

  private func check(file version: Int, reader: Int) throws {
    switch reader {
    case 1: try check(V1.Person.self, V1.Team.self, version, reader)
    case 2: try check(V2.Person.self, V2.Team.self, version, reader)
    case 3: try check(V3.Person.self, V3.Team.self, version, reader)
    default: try check(V4.Person.self, V4.Group.self, version, reader)
    }
  }

  /// The people of a file as a version of the type reads them.
  private func expected<P: PersonVersion>(_ type: P.Type, _ version: Int) -> [P] {
    (1...version).flatMap { writer in
      Self.ids(writer).map { P(PersonModel($0), writtenBy: writer) }
    }
  }

  private func check<P: PersonVersion, T: TeamVersion>(
    _ person: P.Type, _ team: T.Type, _ version: Int, _ reader: Int
  ) throws where T.Person == P {
    for isLegacy in [false, true] {
      let file = try EvolutionFile(copyOf: Self.fixture(version))
      if isLegacy { try file.forgetHistory() }
      let before = try file.transactionID
      var options = Store.Options.quick
      options.checksQueries = true
      let people = expected(P.self, version)
      // A read-only opening sees the same.
      let reading = Store.Options.quick { $0.isReadOnly = true }
      try file.open(P.self, T.self, options: reading) { store throws in
        #expect(try store.all(P.self) == people)
      }
      #expect(try file.transactionID == before)
      try file.open(P.self, T.self, options: options) { store throws in
        #expect(try store.all(P.self) == people)
        #expect(try store.read { tx throws in try tx.count(P.all) } == people.count)
        try queries(store, people)
        for id in 1...3 {
          let team = try store.read { tx throws in try tx.find(T.self, id) }
          #expect(team?.title == Self.teams[id])
          let members = try team?.members.ids(in: store)
          #expect(members == people.map(\.id).filter { $0 % 3 + 1 == id })
        }
        try store.expectSound()
      }
      let after = try file.transactionID
      if version == reader, !isLegacy || version == 1 {
        #expect(after == before, "the same declarations write nothing")
      } else {
        // The catalog and the steps of the index builds. A file without declarations gets them,
        // since it has records of several versions.
        #expect(after > before && after <= before + 8)
      }
      try file.open(P.self, T.self, options: options) { store throws in
        #expect(try store.all(P.self) == people)
      }
      #expect(try file.transactionID == after)
    }
  }

  // MARK: Queries

  private func queries<P: PersonVersion>(_ store: Store, _ people: [P]) throws {
    switch people {
    case let people as [V1.Person]:
      try compare(store, people, \.age, \.lastName)
    case let people as [V2.Person]:
      try compare(store, people, \.age, \.lastName)
      try compare(store, people, \.rating, \.lastName)
    case let people as [V3.Person]:
      try compare(store, people, \.age, \.surname)
      try compare(store, people, \.rating, \.surname)
      try compare(store, people, \.home.zip, \.nick)
      try compare(store, people, \.score, \.home.city)
    case let people as [V4.Person]:
      try compare(store, people, \.age, \.familyName)
      try compare(store, people, \.score, \.nick)
      try compare(store, people, \.age, \.level)
    default: Issue.record("no such version")
    }
  }

  /// Filters, orders, sums and selections of a number and a text against the records in memory.
  private func compare<P: PersonVersion, Number: IndexKey & Comparable & Hashable & Sendable>(
    _ store: Store, _ people: [P], _ number: any KeyPath<P, Number> & Sendable,
    _ text: any KeyPath<P, String> & Sendable
  ) throws {
    try QueryComparison(store: store, people: people).run(number, text)
  }
}

/// The records of one version, from queries and in memory.
struct QueryComparison<P: PersonVersion> {
  let store: Store
  let people: [P]

  func run<Number: IndexKey & Comparable & Hashable & Sendable>(
    _ number: any KeyPath<P, Number> & Sendable, _ text: any KeyPath<P, String> & Sendable
  ) throws {
    for pivot in Set(people.map { $0[keyPath: number] }) {
      try expect(P.where { $0[number] == pivot }) { $0[keyPath: number] == pivot }
      try expect(P.where { $0[number] < pivot }) { $0[keyPath: number] < pivot }
    }
    for pivot in Set(people.map { $0[keyPath: text] }) {
      try expect(P.where { $0[text] == pivot }) { $0[keyPath: text] == pivot }
      try expect(P.where { $0[text] != pivot }) { $0[keyPath: text] != pivot }
    }
    let sorted = people.sorted {
      ($0[keyPath: number], $0.id) < ($1[keyPath: number], $1.id)
    }
    #expect(try store.read { tx throws in try tx.fetch(P.all.sorted(by: number)) } == sorted)
    #expect(
      try store.read { tx throws in try tx.counts(by: text) }.map(\.count).reduce(0, +)
        == people.count)
    #expect(
      try store.read { tx throws in try tx.counts(by: text) }.map(\.value).sorted()
        == Set(people.map { $0[keyPath: text] }).sorted())
    #expect(
      try store.read { tx throws in try tx.max(number, of: P.all) }
        == people.map { $0[keyPath: number] }.max())
  }

  private func expect(_ query: Query<P>, _ isIn: (P) -> Bool) throws {
    #expect(try store.read { tx throws in try tx.fetch(query) } == people.filter(isIn))
  }
}
