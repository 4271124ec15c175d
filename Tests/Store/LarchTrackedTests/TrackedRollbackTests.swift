import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Tracked records in undone transactions")
struct TrackedRollbackTests {
  @Test("After an undone insertion the record is new and has no id")
  func insertion() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    #expect(throws: Stop.self) {
      try store.write { tx throws in
        try ada.persist(in: tx)
        #expect(ada.state == .unchanged && ada.id == 1)
        throw Stop()
      }
    }
    #expect(ada.state == .new && !ada.id.isAssigned && ada.stored == nil)
    #expect(try ada.persist(in: store) == .inserted)
    #expect(try store.count(Person.all) == 1)
    #expect(try store.find(Person.self, ada.id) == ada.value)
  }

  @Test("An update that is undone leaves the change in memory to be persisted again")
  func update() throws {
    let store = try Fixtures.store()
    try Store.with(store) {
      var ada = Tracked(Person(name: "Ada"))
      try ada.persist()
      ada.age = 1
      try Store.transaction {
        try ada.persist()
        ada.age = 2
        #expect(ada.state == .changed && ada.stored?.age == 1)
        throw Rollback()
      }
      #expect(ada.state == .changed && ada.age == 2 && ada.stored?.age == 0)
      try ada.persist()
      #expect(try store.find(Person.self, ada.id)?.age == 2)
    }
  }

  @Test("A deletion that is undone leaves a stored record that is marked deleted")
  func deletion() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    try ada.persist(in: store)
    ada.markDeleted()
    _ = try? store.write { tx throws in
      try ada.persist(in: tx)
      #expect(ada.state == .deleted && ada.stored == nil)
      ada.unmarkDeleted()
      #expect(ada.state == .new)
      throw Stop()
    }
    #expect(ada.state == .unchanged && ada.stored != nil)
    ada.markDeleted()
    #expect(try ada.persist(in: store) == .deleted)
  }

  @Test("Savepoints are undone one by one, and with the transaction around them")
  func savepoints() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    try ada.persist(in: store)
    _ = try? store.write { tx throws in
      ada.age = 1
      try ada.persist(in: tx)
      _ = try? tx.savepoint {
        ada.age = 2
        try ada.persist(in: tx)
        try tx.savepoint {
          ada.age = 3
          try ada.persist(in: tx)
        }
        #expect(ada.stored?.age == 3 && ada.state == .unchanged)
        throw Stop()
      }
      #expect(ada.stored?.age == 1 && ada.state == .changed)
      try tx.savepoint {
        ada.age = 4
        try ada.persist(in: tx)
      }
      #expect(ada.stored?.age == 4 && ada.state == .unchanged)
      throw Stop()
    }
    #expect(ada.stored?.age == 0 && ada.state == .changed && ada.age == 4)
    #expect(try ada.persist(in: store) == .updated)
    #expect(try store.find(Person.self, ada.id)?.age == 4)
  }

  @Test("The changes of a completed savepoint in a committed transaction are kept")
  func kept() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    var bo = Tracked(Person(name: "Bo"))
    try store.write { tx throws in
      _ = try tx.savepoint { try ada.persist(in: tx) }
      try bo.persist(in: tx)
      try tx.savepoint {
        bo.age = 2
        try bo.persist(in: tx)
      }
      _ = try? tx.savepoint {
        bo.age = 3
        try bo.persist(in: tx)
        throw Stop()
      }
    }
    #expect(ada.state == .unchanged && ada.id == 1)
    #expect(bo.stored?.age == 2 && bo.state == .changed)
    #expect(try store.find(Person.self, bo.id)?.age == 2)
  }

  @Test("Changes by hooks and the clock are reverted with their transaction")
  func hooksAndTimes() throws {
    let store = try Fixtures.store()
    var article = Tracked(Article(title: " First "))
    var note = Tracked(Note(text: "a"))
    _ = try? store.write { tx throws in
      try article.persist(in: tx)
      try note.persist(in: tx)
      note.text = "b"
      #expect(article.title == "First" && note.createdAt != nil)
      throw Stop()
    }
    #expect(article.title == " First " && article.version == 0 && article.state == .new)
    // It was changed after that, so only the times are taken back.
    #expect(note.text == "b" && note.createdAt == nil && note.updatedAt == nil)
    #expect(note.state == .new && !note.id.isAssigned)
  }

  @Test("A closure that runs twice persists once", arguments: [1, 3])
  func twice(_ count: Int) throws {
    let store = try Fixtures.store { $0.runsWritesTwice = true }
    let runs = Locked(0)
    var people = (0..<count).map { Tracked(Person(name: "p\($0)")) }
    var article = Tracked(Article(title: " First "))
    try store.write { tx throws in
      runs.withLock { $0 += 1 }
      for index in people.indices {
        #expect(people[index].state == .new && !people[index].id.isAssigned)
        #expect(try people[index].persist(in: tx) == .inserted)
        people[index].age += 1
        #expect(try people[index].persist(in: tx) == .updated)
      }
      #expect(article.version == 0)
      try article.persist(in: tx)
    }
    #expect(runs.withLock { $0 } == 2)
    // The first run also assigned ids, and no record gets these.
    #expect(people.map(\.id.rawValue) == (1...count).map { Int64(count + $0) })
    #expect(people.allSatisfy { $0.state == .unchanged })
    #expect(article.version == 1)
    let stored = try store.fetch(Person.all)
    #expect(stored == people.map(\.value))

    var ada = people[0]
    ada.markDeleted()
    #expect(try ada.persist(in: store) == .deleted)
    #expect(ada.stored == nil)
  }

  @Test("A closure that runs again because the map was full persists once")
  func mapGrowth() throws {
    let store = try Fixtures.store { $0.initialMapSize = 1 << 20 }
    let runs = Locked(0)
    var pages: [Tracked<Page>] = []
    var ada = Tracked(Person(name: "Ada"))
    try store.write { tx throws in
      runs.withLock { $0 += 1 }
      pages = []
      #expect(ada.state == .new)
      try ada.persist(in: tx)
      let text = String(repeating: "x", count: 2000)
      for number in 0..<1000 {
        var page = Tracked(Page(id: "\(number)", text: text))
        try page.persist(in: tx)
        pages.append(page)
      }
    }
    #expect(runs.withLock { $0 } > 1)
    #expect(try store.find(Person.self, ada.id) == ada.value && ada.state == .unchanged)
    #expect(pages.allSatisfy { $0.state == .unchanged && $0.pending.count == 1 })
    #expect(try store.count(Person.all) == 1)
  }

  @Test("A record that was read in an undone transaction after a change is uncertain")
  func uncertain() throws {
    let store = try Fixtures.store()
    var ada = Person(name: "Ada")
    try store.save(&ada)
    var early: Tracked<Person>?
    var late: Tracked<Person>?
    var gone: Tracked<Person>?
    _ = try? store.write { tx throws in
      early = try tx.tracked(Person.self, ada.id)
      ada.age = 1
      try tx.save(&ada)
      late = try tx.tracked(Person.self, ada.id)
      var bo = Person(name: "Bo")
      try tx.save(&bo)
      gone = try tx.fetchTracked(Person.where { $0.name == "Bo" }).first
      #expect(late?.state == .unchanged && late?.stored?.age == 1 && gone?.state == .unchanged)
      throw Stop()
    }
    #expect(early?.state == .unchanged && early?.stored?.age == 0)
    #expect(late?.state == .changed && late?.stored == nil && late?.age == 1)
    // Nothing was changed in memory, so nothing is written over what is stored.
    #expect(try late?.persist(in: store) == nil)
    #expect(try store.find(Person.self, ada.id)?.age == 0 && late?.age == 0)
    #expect(late?.state == .unchanged)
    #expect(gone?.state == .changed)
    #expect(try gone?.persist(in: store) == .inserted)
    #expect(try store.count(Person.all) == 2)
    #expect(gone?.state == .unchanged)
  }

  @Test("A record that was read in a committed transaction is certain")
  func certain() throws {
    let store = try Fixtures.store()
    var bo: Tracked<Person>?
    try store.write { tx throws in
      var ada = Person(name: "Ada")
      try tx.save(&ada)
      bo = try tx.tracked(Person.self, ada.id)
      try tx.savepoint {
        bo?.age = 4
        try bo?.reload(in: tx)
      }
    }
    #expect(bo?.state == .unchanged && bo?.age == 0 && bo?.stored != nil)
  }

  @Test("A new record that is reloaded in the transaction that is undone is new again")
  func reloaded() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    _ = try? store.write { tx throws in
      try ada.persist(in: tx)
      ada.age = 9
      try ada.reload(in: tx)
      #expect(ada.age == 0 && ada.state == .unchanged)
      throw Stop()
    }
    #expect(ada.state == .new && !ada.id.isAssigned)
  }

  @Test("Many saves in one transaction are remembered as one")
  func compact() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    _ = try? store.write { tx throws in
      for age in 1...1000 {
        ada.age = age
        try ada.persist(in: tx)
        if age.isMultiple(of: 100) {
          try tx.savepoint {
            ada.age = -age
            try ada.persist(in: tx)
          }
        }
      }
      #expect(ada.pending.count <= 2)
      throw Stop()
    }
    #expect(ada.state == .new && ada.age == -1000 && !ada.id.isAssigned)
  }

  @Test("A copy on another thread sees the end of the transaction")
  func threads() async throws {
    let store = try Fixtures.store()
    let ada = try await store.write { tx throws in
      var ada = Tracked(Person(name: "Ada"))
      try ada.persist(in: tx)
      return ada
    }
    #expect(ada.state == .unchanged)
    let kept = Locked<Tracked<Person>?>(nil)
    _ = try? await store.write { tx throws in
      var bo = Tracked(Person(name: "Bo"))
      try bo.persist(in: tx)
      let copy = bo
      kept.withLock { $0 = copy }
      throw Stop()
    }
    #expect(kept.withLock { $0 }?.state == .new)
  }

  @Test("A hook that refuses a save leaves records that its hooks persisted undone")
  func hooks() throws {
    struct Guarded: Record {
      static let inner = Locked<Tracked<Page>?>(nil)
      var id = RecordID<Guarded>()

      static let schema = Schema<Guarded> {
        DidSave { try $0.didSave(in: $1) }
      }

      func didSave(in tx: WriteTransaction) throws {
        var page = Tracked(Page(id: "p"))
        try page.persist(in: tx)
        let copy = page
        Guarded.inner.withLock { $0 = copy }
        throw Stop()
      }
    }
    let store = try Store.temporary(for: Guarded.self, Page.self)
    try store.write { tx throws in
      var guarded = Tracked(Guarded())
      #expect(throws: Stop.self) { try guarded.persist(in: tx) }
      #expect(guarded.state == .new && !guarded.id.isAssigned)
      #expect(Guarded.inner.withLock { $0 }?.state == .new)
    }
    #expect(try store.count(Page.all) == 0)
  }
}
