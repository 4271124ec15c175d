import Foundation
@testable import Larch
import Testing

@Suite("Calls without a store join the running transaction")
struct AmbientTransactionTests {
  typealias Person = Ambient.Person
  typealias Company = Ambient.Company
  typealias Note = Ambient.Note

  private func lastID(_ store: Store) throws -> UInt64 {
    try store.read { try $0.live().id }
  }

  @Test("all changes in Store.transaction are one transaction")
  func transaction() throws {
    try Ambient.withStore { store throws in
      let before = try lastID(store)
      let count = try Store.transaction { () throws in
        for name in ["a", "b", "c"] { _ = try Person(name: name).saved() }
        return try Person.all.count()
      }
      #expect(count == 3)
      #expect(try lastID(store) == before + 1)
    }
  }

  @Test("ambient calls in store.write and its savepoints see its changes and add to them")
  func explicitWrite() throws {
    try Ambient.withStore { _ throws in
      // Another store than that of `Store.with`.
      let store = try Ambient.store()
      try store.write { tx throws in
        var ada = Person(name: "Ada")
        try ada.save()
        #expect(try tx.find(Person.self, ada.id) == ada)
        try? tx.savepoint {
          _ = try Person(name: "Eve").saved()
          #expect(try tx.count(Person.all) == 2)
          throw Ambient.Failure()
        }
        #expect(try Person.all.fetch() == [ada])
      }
      #expect(try store.count(Person.all) == 1)
      #expect(try Person.all.count() == 0)
    }
  }

  @Test("a thrown error undoes everything and is passed on")
  func errors() throws {
    try Ambient.withStore { _ throws in
      _ = try Person(name: "Ada").saved()
      #expect(throws: Ambient.Failure.self) {
        try Store.transaction { () throws in
          _ = try Person(name: "Eve").saved()
          try Person.erase()
          throw Ambient.Failure()
        }
      }
      #expect(try Person.all.select(\.name).fetch() == ["Ada"])
    }
  }

  @Test("Rollback undoes everything, and the transaction returns nil")
  func rollback() throws {
    try Ambient.withStore { _ throws in
      let result: Int? = try Store.transaction { () throws in
        _ = try Person(name: "Eve").saved()
        throw Rollback()
      }
      #expect(result == nil)
      #expect(try Person.all.count() == 0)
      // It also ends the write of a named store.
      try Ambient.store().write { tx throws in
        var eve = Person(name: "Eve")
        try tx.save(&eve)
        throw Rollback()
      }
      #expect(try Person.all.count() == 0)
      // A write whose result is not optional has nothing to return, so the error is passed on.
      #expect(throws: Rollback.self) {
        let _: Int = try Ambient.store().write { _ in throw Rollback() }
      }
    }
  }

  @Test("a transaction inside another one can be undone alone")
  func nested() throws {
    try Ambient.withStore { store throws in
      let before = try lastID(store)
      try Store.transaction { () throws in
        _ = try Person(name: "outer").saved()
        let inner: Void? = try Store.transaction { () throws in
          _ = try Person(name: "inner").saved()
          let innermost: Int? = try Store.transaction { () throws in
            _ = try Person(name: "innermost").saved()
            throw Rollback()
          }
          #expect(innermost == nil)
          #expect(try Person.all.count() == 2)
        }
        #expect(inner != nil)
        #expect(throws: Ambient.Failure.self) {
          try Store.transaction { () throws in
            try Person.all.delete()
            throw Ambient.Failure()
          }
        }
        let undone: Void? = try Store.transaction { () throws in
          try Person.erase()
          throw Rollback()
        }
        #expect(undone == nil)
      }
      #expect(try Person.all.select(\.name).fetch() == ["outer", "inner"])
      #expect(try lastID(store) == before + 1)
    }
  }

  @Test("the outer transaction undoes the changes of a completed inner one")
  func outerUndone() throws {
    try Ambient.withStore { _ throws in
      try Store.transaction { () throws in
        try Store.transaction { _ = try Person(name: "inner").saved() }
        throw Rollback()
      }
      #expect(try Person.all.count() == 0)
    }
  }

  @Test("a record of an undone transaction keeps its id, and no other record gets it")
  func idsOfUndone() throws {
    try Ambient.withStore { _ throws in
      var ada = Person(name: "Ada")
      try Store.transaction { () throws in
        try ada.save()
        throw Rollback()
      }
      let eve = try Person(name: "Eve").saved()
      #expect(eve.id != ada.id)
      try ada.save()
      #expect(try Person.all.fetch().map(\.name).sorted() == ["Ada", "Eve"])
    }
  }

  @Test("in store.read ambient reads see the snapshot, and writes are refused")
  func reads() throws {
    try Ambient.withStore { store throws in
      var ada = try Person(name: "Ada").saved()
      try store.read { tx throws in
        // Another thread has written this in the meantime, so it is not in this snapshot.
        let writer = Thread { try? store.write { tx in _ = try tx.erase(Person.self) } }
        writer.start()
        while try Self.isEmpty(store) == false { Thread.sleep(forTimeInterval: 0.001) }
        #expect(try Person.all.fetch() == [ada])
        #expect(try Person.find(ada.id) == ada)
        #expect(try Person.all.count() == 1)
        #expect(try Ambient.code { try ada.save() } == .readOnly)
        #expect(try Ambient.code { try ada.insert() } == .readOnly)
        #expect(try Ambient.code { try ada.update() } == .readOnly)
        #expect(try Ambient.code { try ada.delete() } == .readOnly)
        #expect(try Ambient.code { try Person.all.delete() } == .readOnly)
        #expect(try Ambient.code { try Person.erase() } == .readOnly)
        #expect(try Ambient.code { try Person.all.update { $0.age += 1 } } == .readOnly)
        #expect(try Ambient.code { try Store.transaction {} } == .readOnly)
      }
      #expect(try Person.all.count() == 0)
    }
  }

  /// Reads on another thread, which is not inside the read.
  private static func isEmpty(_ store: Store) throws -> Bool {
    let answer = Locked(false)
    let done = DispatchSemaphore(value: 0)
    Thread {
      let isEmpty = (try? store.count(Person.all)) == 0
      answer.withLock { $0 = isEmpty }
      done.signal()
    }.start()
    done.wait()
    return answer.withLock { $0 }
  }

  @Test("a read inside a write is a part of it")
  func readInsideWrite() throws {
    try Ambient.withStore { store throws in
      try Store.transaction { () throws in
        var ada = try Person(name: "Ada").saved()
        try store.read { tx throws in
          #expect(try tx.count(Person.all) == 1)
          #expect(try Person.all.count() == 1)
          ada.name = "Eve"
          try ada.save()
        }
        #expect(try Person.all.count() == 1)
        #expect(try Person.all.first()?.name == "Eve")
      }
    }
  }

  @Test("Store.with chooses the store, inside a transaction of another one too")
  func otherStores() throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    try a.write { _ throws in
      _ = try Person(name: "a").saved()
      try Store.with(b) { () throws in
        _ = try Person(name: "b").saved()
        try Store.transaction { _ = try Person(name: "b2").saved() }
        // Back in the running transaction of `a`, at whatever depth.
        try Store.with(a) { () throws in
          _ = try Person(name: "a2").saved()
          try b.read { _ throws in
            #expect(try Person.all.count() == 2)
            try Store.with(a) { () throws in #expect(try Person.all.count() == 2) }
          }
        }
      }
      #expect(try b.count(Person.all) == 2)
      _ = try Person(name: "a3").saved()
    }
    try Store.with(b) { () throws in
      try a.write { _ in _ = try Person(name: "a4").saved() }
      _ = try Person(name: "b3").saved()
    }
    #expect(try a.fetch(Person.select(\.name)) == ["a", "a2", "a3", "a4"])
    #expect(try b.fetch(Person.select(\.name)) == ["b", "b2", "b3"])
  }

  @Test("a thrown error ends a scope like a return")
  func errorsEndScopes() throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    try Store.with(a) { () throws in
      try? b.write { _ in throw Ambient.Failure() }
      try? b.read { _ in throw Ambient.Failure() }
      try? Store.with(b) { throw Ambient.Failure() }
      _ = try Person(name: "a").saved()
    }
    #expect(try a.count(Person.all) == 1)
    #expect(RunningScope.current == nil)
  }

  @Test("work after the commit sees the store and its new records, outside any transaction")
  func afterCommit() throws {
    let a = try Ambient.store()
    let b = try Ambient.store()
    var count: Int?
    try Store.with(b) { () throws in
      try a.write { tx throws in
        _ = try Person(name: "a").saved()
        tx.afterCommit {
          count = try? Person.all.count()
          _ = try? Person(name: "after").saved()
        }
      }
    }
    #expect(count == 1)
    #expect(try a.count(Person.all) == 2)
    #expect(try b.count(Person.all) == 0)
  }

  /// It joined the read, saw nothing of the commit, and could not save.
  @Test("work after a commit inside a read is no part of the read")
  func afterCommitInsideRead() throws {
    let store = try Ambient.store()
    var counts: [Int?] = []
    try store.read { read in
      try store.write { tx throws in
        _ = try Person(name: "a").saved()
        tx.afterCommit {
          counts.append(try? Person.all.count())
          Store.with(store) { counts.append(try? Person.all.count()) }
          _ = try? Person(name: "after").saved()
        }
      }
      #expect(try read.count(Person.all) == 0)
      #expect(try Person.all.count() == 0, "the read itself stays as it was")
    }
    #expect(counts == [1, 1])
    #expect(try store.count(Person.all) == 2)
  }

  @Test("a closure that runs twice leaves correct records")
  func runsTwice() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    options.clock = { Date(timeIntervalSince1970: 1) }
    try Ambient.withStore(options) { store throws in
      // Each verb by itself runs in a write of its own.
      var note = Note(text: "a")
      try note.save()
      #expect(note.saves == 1)
      note.text = "b"
      try note.update()
      #expect(note.saves == 2)
      var second = Note(text: "c")
      try second.insert()
      #expect(second.saves == 1)
      // Each verb begins its second run with the original record, so one id is not used.
      #expect(second.id.rawValue > note.id.rawValue)
      #expect(try Note.all.fetch() == [note, second])
      // Records outside the closure keep their first id.
      var ada = Person(name: "Ada")
      var runs = 0
      try Store.transaction { () throws in
        runs += 1
        try ada.save()
        _ = try Person(name: "Eve").saved()
      }
      #expect(runs == 2)
      #expect(try Person.all.fetch().map(\.name) == ["Ada", "Eve"])
      #expect(try Person.find(ada.id) == ada)
      let verified = try store.verify()
      #expect(verified.isClean)
    }
  }

  @Test("if the map grows in the middle, records are correct and nothing is stored twice")
  func mapGrowth() throws {
    var options = Store.Options()
    options.initialMapSize = 1 << 20
    try Ambient.withStore(options) { store throws in
      var runs = 0
      var first = Note(text: "first")
      try Store.transaction { () throws in
        runs += 1
        try first.save()
        for number in 0..<200 {
          _ = try Note(text: String(repeating: "\(number) ", count: 5000)).saved()
        }
      }
      #expect(runs > 1)
      #expect(try Note.all.count() == 201)
      #expect(try Note.find(first.id)?.text == "first")
      // A single save that is too large for the map.
      var large = Note(text: String(repeating: "x", count: 8 << 20))
      try large.save()
      #expect(large.saves == 1)
      #expect(try Note.find(large.id) == large)
      let verified = try store.verify()
      #expect(verified.isClean)
    }
  }
}
