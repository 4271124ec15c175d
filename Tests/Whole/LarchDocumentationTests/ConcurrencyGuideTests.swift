import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/concurrency.md that are about writing.

/// The records of the examples.
private struct Account: Record {
  var id = RecordID<Account>()
  var owner: String
  var balance = 0

  static let schema = Schema<Account> { Unique(\.owner) }
}

private struct Reading: Record {
  var id = RecordID<Reading>()
  var sensor: Int
  var value: Double
}

@Suite("The examples of the guide to concurrency: writing")
struct ConcurrencyGuideTests {
  private struct Overdrawn: Error {}

  @Test("a transfer, from any number of tasks")
  func transfers() async throws {
    let store = try Store.temporary(for: Account.self)
    var ada = Account(owner: "Ada", balance: 100)
    var ben = Account(owner: "Ben")
    try await ada.save(in: store)
    try await ben.save(in: store)
    let (from, to) = (ada.id, ben.id)
    // snippet: concurrent-transfer
    let left = try await store.write { tx in
      guard var source = try tx.find(Account.self, from),
        var target = try tx.find(Account.self, to), source.balance >= 30
      else { throw Overdrawn() }
      source.balance -= 30
      target.balance += 30
      try tx.save(&source)
      try tx.save(&target)
      return source.balance
    }
    // end snippet
    #expect(left == 70)
    await #expect(throws: Overdrawn.self) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await store.write { tx in
              var source = try #require(try tx.find(Account.self, from))
              source.balance -= 30
              try tx.save(&source)
              if source.balance < 0 { throw Overdrawn() }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let source = try store.find(Account.self, from)
    #expect(try #require(source).balance >= 0)
  }

  @Test("a write returns the record that it made")
  func returned() async throws {
    let store = try Store.temporary(for: Account.self)
    // snippet: concurrent-return
    var ada = try await store.write { tx in
      var account = Account(owner: "Ada", balance: 100)
      try tx.insert(&account)
      return account  // with the id that it got
    }
    ada.balance += 50
    ada = try await store.write { [ada] tx in  // a copy of the record goes in
      var account = ada
      try tx.save(&account)
      return account
    }
    // end snippet
    #expect(try store.find(Account.self, ada.id)?.balance == 150)
    #expect(try store.count(Account.all) == 1)
  }

  @Test("readings that may be lost, and the flush at the end")
  func relaxed() async throws {
    let store = try Store.temporary(for: Reading.self)
    let values = [0.5, 0.75]
    // snippet: concurrent-relaxed
    for value in values {
      try await store.write(durability: .relaxed) { tx in
        var reading = Reading(sensor: 7, value: value)
        try tx.insert(&reading)
      }
    }
    try await store.sync()
    // end snippet
    #expect(try store.count(Reading.all) == 2)
  }

  @Test("a store whose small commits are logged")
  func logged() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "bank.larch").path
    // snippet: concurrent-logged
    var options = Store.Options()
    options.durability = .logged
    let store = try Store(at: path, for: Account.self, options: options)
    // end snippet
    var account = Account(owner: "Ada", balance: 100)
    try store.write { tx throws in try tx.save(&account) }
    let log = try #require(try store.statistics().log)
    #expect(log.commits > 0)
    store.close()
    #expect(!FileManager.default.fileExists(atPath: path + "-log"))
  }
}
