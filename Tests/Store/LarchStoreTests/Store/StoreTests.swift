import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Store")
struct StoreTests {
  let store: Store

  init() throws {
    store = try Store.temporary(for: Person.self, Company.self, Document.self, Token.self)
  }

  private func expectClean() throws {
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  struct Stop: Error {}

  private func stops(_ work: () throws -> Void) -> Bool {
    do {
      try work()
      return false
    } catch {
      return error is Stop
    }
  }

  private func code(_ work: () throws -> Void) -> LarchError.Code? {
    do {
      try work()
      return nil
    } catch {
      return (error as? LarchError)?.code
    }
  }

  @Test("What was saved is found again, and ids are assigned from 1 on")
  func saveAndFind() throws {
    var ada = Person(name: "Ada", email: "ada@mail.example", age: 36)
    var bo = Person(name: "Bo", age: 41)
    try store.write { tx throws in
      try tx.save(&ada)
      try tx.save(&bo)
    }
    #expect(ada.id.rawValue == 1)
    #expect(bo.id.rawValue == 2)
    try store.read { tx throws in
      #expect(try tx.find(Person.self, ada.id) == ada)
      #expect(try tx.find(Person.self, 2) == bo)
      #expect(try tx.find(Person.self, 3) == nil)
      #expect(try tx.exists(Person.self, 2))
      #expect(try !tx.exists(Person.self, 9))
      #expect(try tx.count(Person.all) == 2)
      #expect(Array(try tx.all(Person.self)) == [ada, bo])
    }
    try expectClean()
  }

  @Test("A unique conflict names the index, the value and the other record, and changes nothing")
  func uniqueConflict() throws {
    var ada = Person(name: "Ada", email: "a@mail.example", age: 36)
    try store.write { try $0.save(&ada) }
    let before = try store.dump()
    var other = Person(name: "Eve", email: "a@mail.example", age: 1)
    let error = #expect(throws: LarchError.self) { try store.write { try $0.save(&other) } }
    #expect(error?.code == .uniqueConflict)
    #expect(error?.context.index == "email")
    #expect(error?.context.otherID == "1")
    #expect(error?.context.detail == "[\"a@mail.example\"]")
    #expect(!other.id.isAssigned)
    #expect(try store.dump() == before)
    try expectClean()
  }

  @Test("Many records may have nil in a unique index, and a record keeps its own value")
  func uniqueNil() throws {
    try store.write { tx throws in
      for number in 0..<5 {
        var person = Person(name: "p\(number)", age: number)
        try tx.save(&person)
      }
      var one = Person(name: "q", email: "q@mail.example", age: 1)
      try tx.save(&one)
      one.age = 2
      try tx.save(&one)
    }
    try expectClean()
  }

  @Test("Within one transaction a unique value can move from one record to another")
  func uniqueMoves() throws {
    try store.write { tx throws in
      var a = Company(name: "A")
      var b = Company(name: "B")
      try tx.save(&a)
      try tx.save(&b)
      a.name = "C"
      try tx.save(&a)
      b.name = "A"
      try tx.save(&b)
      a.name = "B"
      try tx.save(&a)
    }
    #expect(try store.read { try $0.find(Company.self, 1)?.name } == "B")
    try expectClean()
  }

  @Test("Long strings with the same first bytes are different unique values")
  func longUnique() throws {
    let long = String(repeating: "long ", count: 200)
    var conflict: LarchError.Code?
    try store.write { tx throws in
      for number in 0..<4 {
        var document = Document(id: "d\(number)", text: long + String(number))
        try tx.save(&document)
      }
      var same = Document(id: "other", text: long + "2")
      conflict = code { try tx.save(&same) }
      var exact = Document(id: "exact", text: String(long.prefix(128)))
      try tx.save(&exact)
    }
    #expect(conflict == .uniqueConflict)
    #expect(try store.read { try $0.count(Document.all) } == 5)
    try expectClean()
  }

  @Test("Insert refuses an existing id, update a missing one, and save accepts both")
  func insertUpdateSave() throws {
    try store.write { tx throws in
      var token = Token(value: 1)
      #expect(code { try tx.update(token) } == .recordNotFound)
      try tx.insert(&token)
      #expect(code { try tx.insert(&token) } == .idExists)
      token.value = 2
      try tx.update(token)
      #expect(try tx.find(Token.self, token.id)?.value == 2)
      token.value = 3
      try tx.save(&token)
      #expect(try tx.count(Token.all) == 1)
      #expect(code { try tx.update(Person(name: "", age: 0)) } == .idUnassigned)
    }
    try expectClean()
  }

  @Test("Deleting returns whether there was a record, and a deleted one can be saved again")
  func delete() throws {
    var ada = Person(name: "Ada", email: "a", age: 1)
    try store.write { tx throws in
      try tx.save(&ada)
      #expect(try tx.delete(ada))
      #expect(try !tx.delete(ada))
      #expect(try tx.find(Person.self, ada.id) == nil)
      try tx.save(&ada)
      #expect(ada.id.rawValue == 1)
    }
    #expect(try store.read { try $0.count(Person.all) } == 1)
    try expectClean()
  }

  @Test("An id is not assigned again after its record was deleted, also after reopening")
  func idsAreNotReused() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    for expected in Int64(1)...4 {
      let store = try Store(at: path, for: Company.self)
      try store.write { tx throws in
        var company = Company(name: "c")
        try tx.save(&company)
        #expect(company.id.rawValue == expected)
        if expected == 3 {
          try tx.erase(Company.self)
        } else {
          try tx.delete(company)
        }
      }
      store.close()
    }
  }

  @Test("A thrown error undoes records, indexes, ids in the file and work for after the commit")
  func rollback() throws {
    var ada = Person(name: "Ada", age: 1)
    try store.write { try $0.save(&ada) }
    let before = try store.dump()
    var ran = false
    let isUndone = stops {
      try store.write { tx throws in
        tx.afterCommit { ran = true }
        var other = Person(name: "x", email: "x", age: 2)
        try tx.save(&other)
        ada.age = 99
        try tx.save(&ada)
        try tx.erase(Company.self)
        throw Stop()
      }
    }
    #expect(isUndone)
    #expect(!ran)
    #expect(try store.dump() == before)
    try store.write { tx throws in
      tx.afterCommit { ran = true }
      var next = Person(name: "next", age: 3)
      try tx.save(&next)
      // Number 2 was assigned to a record that a variable may still have.
      #expect(next.id.rawValue == 3)
    }
    #expect(ran)
    try expectClean()
  }

  @Test("A savepoint that throws undoes only itself, nested ones too")
  func savepoints() throws {
    try store.write { tx throws in
      var kept = Company(name: "kept")
      try tx.save(&kept)
      let isUndone = stops {
        try tx.savepoint {
          var lost = Company(name: "lost")
          try tx.save(&lost)
          try tx.savepoint {
            var inner = Company(name: "inner")
            try tx.save(&inner)
          }
          kept.name = "changed"
          try tx.save(&kept)
          throw Stop()
        }
      }
      #expect(isUndone)
      try tx.savepoint {
        var second = Company(name: "lost")
        try tx.save(&second)
      }
    }
    let names = try store.read { tx in Array(try tx.all(Company.self)).map(\.name) }
    #expect(names == ["kept", "lost"])
    try expectClean()
  }

  @Test("Saving a record that did not change writes nothing")
  func unchangedSave() throws {
    var ada = Person(name: "Ada", age: 1)
    try store.write { try $0.save(&ada) }
    let before = try store.environment.info().lastTransactionID
    try store.write { try $0.save(&ada) }
    #expect(try store.environment.info().lastTransactionID == before)
  }

  @Test("A write inside a write throws at once")
  func nestedWrite() throws {
    try store.write { tx throws in
      #expect(code { try store.write { _ in } } == .nestedWrite)
      var company = Company(name: "still works")
      try tx.save(&company)
    }
    #expect(try store.read { try $0.count(Company.all) } == 1)
  }

  @Test("A transaction that outlives its closure throws")
  func escapedTransaction() throws {
    var read: ReadTransaction?
    var write: WriteTransaction?
    try store.read { read = $0 }
    try store.write { write = $0 }
    #expect(code { _ = try read?.count(Company.all) } == .transactionEnded)
    #expect(code { _ = try write?.count(Company.all) } == .transactionEnded)
    #expect(
      code {
        var company = Company(name: "x")
        try write?.save(&company)
      } == .transactionEnded)
    // Another transaction that runs now does not make the old one valid.
    try store.read { _ throws in
      #expect(code { _ = try read?.count(Company.all) } == .transactionEnded)
    }
  }

  @Test("A snapshot does not see what is written while it is open")
  func snapshot() throws {
    var ada = Company(name: "A")
    try store.write { try $0.save(&ada) }
    try store.read { tx throws in
      #expect(try tx.count(Company.all) == 1)
      try store.write { writer in
        var other = Company(name: "B")
        try writer.save(&other)
      }
      #expect(try tx.count(Company.all) == 1)
      #expect(try store.read { try $0.count(Company.all) } == 2)
    }
  }

  @Test("Records may be changed, deleted and inserted while all of them are visited")
  func changingWhileVisiting() throws {
    try store.write { tx throws in
      for number in 0..<100 {
        var company = Company(name: "c\(number)")
        try tx.save(&company)
      }
      var visited = 0
      for var company in try tx.all(Company.self) {
        visited += 1
        var more = Company(name: "new\(visited)")
        try tx.save(&more)
        if visited % 3 == 0 {
          try tx.delete(company)
        } else {
          company.name += "!"
          try tx.save(&company)
        }
      }
      #expect(visited == 100)
      #expect(try tx.count(Company.all) == 167)
    }
    try expectClean()
  }

  @Test("A sequence continues across savepoints")
  func sequenceAcrossSavepoints() throws {
    try store.write { tx throws in
      for number in 0..<20 {
        var company = Company(name: "c\(number)")
        try tx.save(&company)
      }
      var seen: [Int64] = []
      for company in try tx.all(Company.self) {
        seen.append(company.id.rawValue)
        try? tx.savepoint {
          try tx.delete(company)
          if seen.count % 2 == 0 { throw Stop() }
        }
      }
      #expect(seen == Array(1...20))
      #expect(try tx.count(Company.all) == 10)
    }
    try expectClean()
  }

  @Test("A type that the store was not opened for is refused with its name")
  func unknownCollection() throws {
    let small = try Store.temporary(for: Company.self)
    let error = #expect(throws: LarchError.self) { try small.read { try $0.count(Person.all) } }
    #expect(error?.code == .unknownCollection)
    #expect(error?.context.collection == "Person")
  }

  @Test("A closed store throws, and closing twice is not an error")
  func closed() throws {
    store.close()
    store.close()
    #expect(code { try store.read { _ in } } == .closed)
    #expect(code { try store.write { _ in } } == .closed)
  }

  @Test("Running every write twice has the same result as running it once")
  func runsTwice() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let twice = try Store.temporary(for: Company.self, options: options)
    var runs = 0
    var commits = 0
    try twice.write { tx throws in
      runs += 1
      tx.afterCommit { commits += 1 }
      var company = Company(name: "once")
      try tx.save(&company)
      // The id of the first run may exist outside the closure, and is not assigned again.
      #expect(company.id.rawValue == Int64(runs))
    }
    #expect(runs == 2)
    #expect(commits == 1)
    #expect(try twice.read { try $0.count(Company.all) } == 1)
    #expect(try twice.verify().isClean)
  }

  @Test("The map grows by itself under a large write")
  func growth() throws {
    var options = Store.Options()
    options.initialMapSize = 256 << 10
    let small = try Store.temporary(for: Document.self, options: options)
    var runs = 0
    try small.write { tx throws in
      runs += 1
      for number in 0..<2000 {
        var document = Document(
          id: "d\(number)", text: "text \(number)", data: Data(repeating: 7, count: 1000))
        try tx.save(&document)
      }
    }
    #expect(runs > 1)
    #expect(try small.read { try $0.count(Document.all) } == 2000)
    #expect(try small.verify().isClean)
  }

  @Test("A million records with custom ids fit into one transaction", .enabled(if: isSoak))
  func million() throws {
    try store.write { tx throws in
      for number in 0..<1_000_000 {
        var token = Token(value: UInt32(number))
        try tx.insert(&token)
      }
    }
    #expect(try store.read { try $0.count(Token.all) } == 1_000_000)
    try expectClean()
  }
}

/// Long versions of tests, by hand: `LARCH_SOAK=1 swift test`.
let isSoak = ProcessInfo.processInfo.environment["LARCH_SOAK"] != nil

@Suite("Ids that a store assigns")
struct AssignedIDTests {
  @Test("An id of an undone write is not assigned again after a rebuild")
  func afterRebuild() throws {
    struct Stop: Error {}
    let store = try Store.temporary(for: Company.self)
    var undone = Company(name: "undone")
    try? store.write { tx in
      try tx.save(&undone)
      throw Stop()
    }
    try store.rebuild()
    var kept = Company(name: "kept")
    try store.write { try $0.save(&kept) }
    #expect(undone.id.rawValue == 1)
    #expect(kept.id.rawValue == 2)
  }
}
