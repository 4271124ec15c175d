import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks after the commit")
struct CommitHookTests {
  private typealias Person = Office.Person

  @Test("Undone changes have no hook after the commit; the others have one, in order")
  func savepoints() throws {
    let store = try Office.store()
    try Script.run { script throws in
      try store.write { tx in
        var ada = Person(name: "ada")
        try tx.save(&ada)
        do {
          try tx.savepoint {
            ada.name = "undone"
            try tx.save(&ada)
            _ = try tx.savepoint { try tx.delete(ada) }
            throw Refused()
          }
        } catch is Refused {}
        ada.name = "grace"
        try tx.save(&ada)
        try tx.savepoint {
          ada.name = "linus"
          try tx.save(&ada)
        }
        try tx.delete(ada)
      }
      #expect(
        script.events.filter { $0.hasPrefix("didCommit") } == [
          "didCommit Person ada inserted", "didCommit Person grace updated",
          "didCommit Person linus updated", "didCommit Person linus deleted",
        ])
      _ = script.takeEvents()
      do {
        try store.write { tx in
          var bob = Person(name: "bob")
          try tx.save(&bob)
          throw Refused()
        }
      } catch is Refused {}
      #expect(!script.events.contains { $0.hasPrefix("didCommit") })
    }
  }

  @Test("A closure that ran twice has its hooks after the commit once")
  func twice() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let store = try Office.store(options)
    try Script.run { script throws in
      var ada = Person(name: "ada")
      try store.write { tx in
        ada = Person(name: "ada")
        try tx.save(&ada)
      }
      #expect(script.events.filter { $0 == "didInsert Person ada" }.count == 2)
      #expect(script.events.filter { $0.hasPrefix("didCommit") }.count == 1)
    }
    try Script.run({ step, record, _ in if step == .willSave { record.name += "!" } }) { _ in
      var bob = Person(name: "bob")
      try store.save(&bob)
      #expect(bob.name == "bob!")
      try store.update(&bob)
      #expect(bob.name == "bob!!")
      var eve = Person(name: "eve")
      try store.insert(&eve)
      #expect(eve.name == "eve!")
    }
  }

  /// Saves a note of the event, from a hook that only has the ambient store.
  private struct Order: Record {
    var id = RecordID<Order>()
    var total: Int

    static let schema = Schema<Order> {
      DidCommit { $0.didCommit($1) }
    }

    func didCommit(_ change: RecordChange) {
      Journal.notes.withLock { notes in
        let count = (try? Order.all.count()) ?? -1
        notes.append("\(change) \(total), \(count) stored")
      }
      var entry = Entry(text: "\(change) \(total)")
      do { try entry.save() } catch {
        Journal.notes.withLock { $0.append("\(error)") }
      }
    }
  }

  private struct Entry: Record {
    var id = RecordID<Entry>()
    var text: String
  }

  private enum Journal {
    static let notes = Locked<[String]>([])
  }

  @Test("A hook after the commit sees the data on disk, and reads and writes the ambient store")
  func ambient() async throws {
    let store = try Store.temporary(for: Order.self, Entry.self)
    let path = store.path
    try await store.write { tx in
      var order = Order(total: 5)
      try tx.save(&order)
      order.total = 6
      try tx.save(&order)
    }
    try Self.runSynchronously(store)
    #expect(
      Journal.notes.withLock { $0 } == [
        "inserted 5, 1 stored", "updated 6, 1 stored", "deleted 6, 0 stored",
      ])
    #expect(
      try store.fetch(Entry.all).map(\.text) == ["inserted 5", "updated 6", "deleted 6"])
    #expect(FileManager.default.fileExists(atPath: path))
  }

  private static func runSynchronously(_ store: Store) throws {
    try store.write { tx in try tx.delete(Order.all) }
  }
}
