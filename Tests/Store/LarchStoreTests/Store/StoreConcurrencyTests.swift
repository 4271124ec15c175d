import Dispatch
import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

struct Account: Record, Equatable {
  var id = RecordID<Account>()
  var owner: String
  var balance: Int

  static let schema = Schema<Account> {
    Unique(\.owner)
    Index(\.balance)
  }
}

@Suite("Store used by many threads")
struct StoreConcurrencyTests {
  struct Stop: Error {}

  @Test("Transfers between accounts add up in every snapshot, while the map grows")
  func transfers() throws {
    var options = Store.Options()
    options.initialMapSize = 128 << 10
    let store = try Store.temporary(for: Account.self, Document.self, options: options)
    let count = 20
    try store.write { tx in
      for number in 0..<count {
        var account = Account(owner: "owner \(number)", balance: 100)
        try tx.save(&account)
      }
    }
    let failures = Locked<[String]>([])
    let writersLeft = Atomic<Int>(3)
    DispatchQueue.concurrentPerform(iterations: 6) { worker in
      do {
        if worker < 3 {
          defer { writersLeft.subtract(1, ordering: .relaxed) }
          var random = SeededGenerator(seed: UInt64(worker))
          for round in 0..<150 {
            do {
              try store.write { tx in
                let from = RecordID<Account>(Int64(1 + random.below(count)))
                let to = RecordID<Account>(Int64(1 + random.below(count)))
                guard var source = try tx.find(Account.self, from), from != to else { return }
                source.balance -= 7
                try tx.save(&source)
                if random.below(5) == 0 { throw Stop() }
                guard var target = try tx.find(Account.self, to) else { return }
                target.balance += 7
                try tx.save(&target)
                var document = Document(
                  id: "\(worker)/\(round)", text: "text \(worker) \(round)",
                  data: Data(repeating: 1, count: 500))
                try tx.save(&document)
              }
            } catch is Stop {}
          }
        } else {
          while writersLeft.load(ordering: .relaxed) > 0 {
            let sum = try store.read { tx in
              try tx.all(Account.self).reduce(0) { $0 + $1.balance }
            }
            if sum != count * 100 { failures.withLock { $0.append("sum \(sum)") } }
          }
        }
      } catch {
        failures.withLock { $0.append("worker \(worker): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  @Test("A transaction that is used on another thread throws")
  func otherThread() throws {
    struct Handed: @unchecked Sendable {
      let transaction: WriteTransaction
    }
    let store = try Store.temporary(for: Account.self)
    let code = Locked<LarchError.Code?>(nil)
    try store.write { tx in
      let handed = Handed(transaction: tx)
      let thread = Thread {
        do {
          _ = try handed.transaction.count(Account.all)
        } catch {
          code.withLock { $0 = (error as? LarchError)?.code }
        }
      }
      thread.start()
      while !thread.isFinished { usleep(1000) }
    }
    #expect(code.withLock { $0 } == .transactionEnded)
  }

  @Test("A store that is opened twice is one store, and both see all writes")
  func openedTwice() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let first = try Store(at: path, for: Account.self)
    let second = try Store(at: path, for: Account.self)
    #expect(first.environment === second.environment)
    for (number, store) in [first, second, first, second].enumerated() {
      try store.write { tx in
        var account = Account(owner: "\(number)", balance: number)
        try tx.save(&account)
      }
    }
    #expect(try first.read { try $0.count(Account.all) } == 4)
    first.close()
    #expect(try second.read { try $0.count(Account.all) } == 4)
    #expect(try second.verify().isClean)
    second.close()
  }
}
