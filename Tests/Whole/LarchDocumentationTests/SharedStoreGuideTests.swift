import Foundation
import Larch
import LarchTestSupport
import Testing

private struct Account: Record {
  var id = RecordID<Account>()
  var balance = 0
}

@Suite("The examples of the page on shared stores")
struct SharedStoreGuideTests {
  @Test("Two servers write, read and ask for an outcome")
  func sharing() throws {
    let server = MemoryServer()
    let log = server.serverLog
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let path = paths[0]
    // snippet: shared-open
    let store = try Store(sharing: log, copy: path, for: Account.self)
    // end snippet
    defer { store.close() }
    let other = try Store(sharing: log, copy: paths[1], for: Account.self)
    defer { other.close() }
    var (one, two) = (Account(balance: 50), Account(balance: 0))
    try store.write { tx in
      try tx.save(&one)
      try tx.save(&two)
    }
    let (first, second) = (one.id, two.id)
    // snippet: shared-write
    try store.write { tx in
      guard var from = try tx.find(Account.self, first), var to = try tx.find(Account.self, second)
      else { return }
      from.balance -= 10
      to.balance += 10
      try tx.save(&from)
      try tx.save(&to)
    }
    // end snippet
    // snippet: shared-read
    let version = try store.version  // after a write; it goes along with the session, as text
    let seen = try other.read(.atLeast(version)) { tx in try tx.count(Account.all) }
    let newest = try other.read(.fresh) { tx in try tx.count(Account.all) }
    // end snippet
    #expect(seen == 2 && newest == 2)
    #expect(try other.find(Account.self, second)?.balance == 10)
    var payment = Account(balance: 1)
    // snippet: shared-unknown
    do {
      try store.write { tx in try tx.save(&payment) }
    } catch let error as LarchError where error.code == .commitUnknown {
      // When the server can be reached again:
      switch try store.outcome(of: error) {
      case .committed: break
      case .notCommitted: try store.write { tx in try tx.save(&payment) }
      }
    }
    // end snippet
    #expect(try other.read(.fresh) { tx in try tx.count(Account.all) } == 3)
  }
}
