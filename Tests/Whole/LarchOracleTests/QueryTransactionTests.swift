import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Queries see exactly the state of their transaction: its snapshot and its own changes.
@Suite("Queries in transactions")
struct QueryTransactionTests {
  // MARK: Own changes, at random

  @Test(
    "Queries in a write see its inserts, updates, deletions and savepoints, not what was undone",
    arguments: OracleKind.allCases, [false, true])
  func ownChanges(kind: OracleKind, isChecked: Bool) throws {
    try Self.ownChanges(kind.indexes, isChecked: isChecked)
  }

  private static func ownChanges<K: OracleIndexes>(_ kind: K.Type, isChecked: Bool) throws {
    var options = Store.Options()
    options.checksQueries = isChecked
    for seed in UInt64(1)...(isChecked ? 4 : 8) {
      let store = try Store.temporary(for: OracleThing<K>.self, options: options)
      var run = OwnChanges<K>(seed: seed)
      for round in 0..<4 {
        let before = run.things
        do {
          try store.write { tx throws in
            try run.change(tx, steps: 40, depth: 0)
            if round % 2 == 1 { throw TakenBack() }
          }
        } catch is TakenBack { run.things = before }
        try store.read { tx throws in try run.check(tx) }
      }
      #expect(try store.verify().isClean)
    }
  }

  // MARK: Changes while a query is being visited

  @Test(
    "In a write, forEach and a cursor visit the initial matches in their current state",
    arguments: OracleKind.allCases)
  func changedWhileVisited(kind: OracleKind) throws { try Self.changedWhileVisited(kind.indexes) }

  private static func changedWhileVisited<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let store = try Store.temporary(for: Thing.self)
    try store.write { tx throws in
      for number in 0..<10 {
        var thing = Thing(plain: number)
        try tx.insert(&thing)
      }
      let query = Thing.where { (2..<8).contains($0.number) }.sorted(by: \.number, .descending)
      for isCursor in [false, true] {
        do {
          try tx.savepoint {
            var seen: [String] = []
            func visit(_ thing: Thing) throws {
              seen.append("\(thing.number) \(thing.text)")
              if thing.number == 7 {
                // Records after it, before it, outside the filter, deleted ones, and new matches.
                try tx.delete(Thing.where { $0.number == 5 })
                try tx.update(Thing.where { $0.number == 4 }) { $0.text = "changed" }
                try tx.update(Thing.where { $0.number == 3 }) { $0.number = 100 }
                var new = Thing(plain: 6)
                try tx.insert(&new)
                try tx.update(Thing.where { $0.number == 9 }) { $0.number = 3 }
              }
              var other = Thing(plain: 2)
              try tx.insert(&other)
            }
            if isCursor {
              let cursor = try tx.cursor(query)
              while let thing = try cursor.next() { try visit(thing) }
            } else {
              try tx.forEach(query) { try visit($0) }
            }
            #expect(seen == ["7 t7", "6 t6", "4 changed", "100 t3", "2 t2"])
            throw TakenBack()
          }
        } catch is TakenBack {}
      }
      #expect(try tx.count(Thing.all) == 10)
    }
  }

  @Test("Erasing all records while they are visited ends the visit")
  func erasedWhileVisited() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let store = try Store.temporary(for: Thing.self)
    try store.write { tx throws in
      for number in 0..<10 {
        var thing = Thing(plain: number)
        try tx.insert(&thing)
      }
      var seen: [Int] = []
      try tx.forEach(Thing.where { $0.number > 3 }) {
        seen.append($0.number)
        if $0.number == 5 { try tx.erase(Thing.self) }
      }
      #expect(seen == [4, 5])
      #expect(try !tx.exists(Thing.where { $0.number > 3 }))
    }
  }

  @Test("A cursor continues after a savepoint began, ended or was undone while it was open")
  func cursorOverSavepoint() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let store = try Store.temporary(for: Thing.self)
    try store.write { tx throws in
      for number in 0..<8 {
        var thing = Thing(plain: number)
        try tx.insert(&thing)
      }
      let cursor = try tx.cursor(Thing.where { $0.number >= 1 }.sorted(by: \.number))
      #expect(try cursor.next()?.number == 1)
      try tx.savepoint {
        #expect(try cursor.next()?.number == 2)
        try tx.delete(Thing.where { $0.number == 3 })
        #expect(try cursor.next()?.number == 4)
      }
      try? tx.savepoint {
        try tx.delete(Thing.where { $0.number == 5 })
        throw TakenBack()
      }
      #expect(try cursor.next()?.number == 5)
      cursor.close()
      #expect(try tx.count(Thing.all) == 7)
    }
  }

  @Test("A cursor that is used after its transaction throws a typed error")
  func cursorAfterEnd() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let store = try Store.temporary(for: Thing.self)
    try store.write { tx throws in
      for number in 0..<3 {
        var thing = Thing(plain: number)
        try tx.insert(&thing)
      }
    }
    var kept: [QueryCursor<Thing>] = []
    try store.read { tx throws in
      for query in [
        Thing.all, Thing.where { $0.number > 0 }, Thing.all.sorted(by: \.blob),
        Thing.where { $0.number == 1 || $0.text == "t2" },
      ] {
        let cursor = try tx.cursor(query)
        _ = try cursor.next()
        kept.append(cursor)
      }
    }
    try store.write { tx throws in kept.append(try tx.cursor(Thing.all)) }
    for cursor in kept {
      #expect(throws: LarchError.self) { try cursor.next() }
      do { _ = try cursor.next() } catch let error as LarchError {
        #expect(error.code == .transactionEnded)
      }
      cursor.close()
    }
    // The kept ones do not conflict with others.
    try store.write { tx throws in
      #expect(try tx.delete(Thing.all) == 3)
      for cursor in kept { #expect(throws: LarchError.self) { try cursor.next() } }
    }
    kept = []
    #expect(try store.count(Thing.all) == 0)
  }

  @Test(
    "Queries inside the visit of another query do not disturb it", arguments: OracleKind.allCases)
  func nested(kind: OracleKind) throws { try Self.nested(kind.indexes) }

  private static func nested<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of(Array(0..<20)) {
      $0.number = $1 % 5
      $0.text = "x\($1)"
    }
    let queries = [
      Thing.all, Thing.where { $0.number > 1 }, Thing.where { $0.text.hasPrefix("x1") },
      Thing.where { $0.number == 1 || $0.text == "x7" }, Thing.all.sorted(by: \.blob),
      Thing.where { $0.number == 2 && $0.flag }.sorted(by: \.text, .descending),
    ]
    try clause.store.read { tx throws in
      let wanted = try queries.map { try tx.ids($0) }
      let cursors = try queries.map { try tx.cursor($0) }
      var seen = queries.map { _ in [RecordID<Thing>]() }
      var isDone = false
      while !isDone {
        isDone = true
        for (place, cursor) in cursors.enumerated() {
          guard let thing = try cursor.next() else { continue }
          isDone = false
          seen[place].append(thing.id)
          #expect(try tx.find(Thing.self, by: \.text, equals: thing.text)?.text == thing.text)
        }
      }
      #expect(seen == wanted)
    }
  }

  // MARK: update, delete, findOrCreate

  @Test(
    "An update of the field that is filtered and sorted by changes each record once",
    arguments: OracleKind.allCases)
  func halloween(kind: OracleKind) throws { try Self.halloween(kind.indexes) }

  private static func halloween<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of(Array(0..<30)) { $0.number = $1 }
    try clause.store.write { tx throws in
      let all = try tx.fetch(Thing.all).map(\.number)
      #expect(try tx.update(Thing.where { $0.number >= 0 }) { $0.number += 7 } == 60)
      #expect(try tx.fetch(Thing.all).map(\.number) == all.map { $0 + 7 })
      #expect(
        try tx.update(
          Thing.where { $0.number > 10 }.sorted(by: \.number, .descending)
        ) { $0.number += 1 } == 52
      )
      #expect(
        try tx.fetch(Thing.all).map(\.number) == all.map { $0 + 7 > 10 ? $0 + 8 : $0 + 7 })
      #expect(try tx.update(Thing.all.sorted(by: \.number).limit(4)) { $0.number += 1000 } == 4)
      #expect(try tx.count(Thing.where { $0.number >= 1000 }) == 4)
      // Records that no longer match after a change of an earlier one are changed too.
      var given = 0
      let count = try tx.update(Thing.where { $0.flag && $0.number < 1000 }) {
        given += 1
        $0.flag = false
        $0.number = -$0.number
      }
      #expect(count == given)
      #expect(try tx.count(Thing.where { $0.flag && $0.number < 1000 }) == 0)
    }
    #expect(try clause.store.verify().isClean)
  }

  @Test("An update counts the records that were given to the closure")
  func updateCount() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let clause = try OracleClause<SingleIndexes>.of(Array(0..<5)) { $0.number = $1 }
    try clause.store.write { tx throws in
      var given = 0
      let count = try tx.update(Thing.where { $0.number < 3 }) {
        given += 1
        try tx.delete(Thing.where { $0.number == 1 })
        $0.text = "changed"
      }
      #expect(given == 4)
      #expect(count == given)
    }
  }

  @Test("A unique conflict in the middle of an update changes nothing, and the write continues")
  func conflictHalfWay() throws {
    typealias Member = OracleRuleTests.Member
    let store = try Store.temporary(for: Member.self)
    try store.write { tx throws in
      for number in 0..<6 {
        var member = Member(email: "\(number)", score: Double(number), name: "n")
        try tx.insert(&member)
      }
      let before = try tx.fetch(Member.all)
      do {
        try tx.update(Member.where { $0.score >= 1 }) {
          $0.name = "changed"
          if $0.score == 4 { $0.email = "2" }
        }
        Issue.record("no conflict")
      } catch let error as LarchError { #expect(error.code == .uniqueConflict) }
      #expect(try tx.fetch(Member.all) == before)
      #expect(try tx.count(Member.where { $0.name == "changed" }) == 0)
      #expect(try tx.find(Member.self, by: \.email, equals: "2")?.score == 2)
      // Values that rise by one take the place of each other.
      #expect(throws: LarchError.self) {
        try tx.update(Member.all) { $0.score = ($0.score ?? 0) + 1 }
      }
      #expect(try tx.fetch(Member.all) == before)
      #expect(
        try tx.update(Member.all.sorted(by: \.score, .descending)) {
          $0.score = ($0.score ?? 0) + 1
        } == 6)
      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try tx.update(Member.all) { member in
          member.name = "x"
          if member.score == 3 { throw Stop() }
        }
      }
      #expect(try tx.count(Member.where { $0.name == "n" }) == 6)
    }
    let scores = try store.fetch(Member.all.select(\.score))
    #expect(scores == [1, 2, 3, 4, 5, 6])
    #expect(try store.verify().isClean)
  }

  @Test(
    "findOrCreate finds what it created, in one write and in the next",
    arguments: OracleKind.allCases)
  func findOrCreate(kind: OracleKind) throws { try Self.findOrCreate(kind.indexes) }

  private static func findOrCreate<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let store = try Store.temporary(for: Thing.self)
    let long = String(repeating: "\u{E9}", count: 400)
    func thing(_ text: String) -> Thing {
      var thing = Thing(plain: 1)
      thing.text = text
      return thing
    }
    var created = 0
    func get(_ text: String, _ writer: some RecordWriting) throws -> Thing {
      try writer.findOrCreate(by: \.text, equals: text) {
        created += 1
        return thing(text)
      }
    }
    let ids = try store.write { tx throws in
      created = 0
      let ids = try ["a", "e\u{301}", long, "a", "\u{E9}", long].map { try get($0, tx).id }
      #expect(created == 3)
      return ids
    }
    #expect(ids[0..<3] == ids[3..<6])
    #expect(try get("a", store).id == ids[0])
    #expect(try get(long, store).id == ids[2])
    #expect(created == 3)
    #expect(try get(long + "x", store).id != ids[2])
    #expect(try store.count(Thing.all) == 4)
  }
}
