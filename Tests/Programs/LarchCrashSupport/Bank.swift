package import Larch

/// An account; the sum of all accounts never changes.
package struct Account: Record {
  package var id: Int
  package var balance: Int

  package init(id: Int, balance: Int) {
    self.id = id
    self.balance = balance
  }

  package static let schema = Schema<Account> { Index(\.balance) }
}

package enum Bank {
  package static let accountCount = 50
  private static let opening = 1000

  package static func open(at path: String) throws -> Store {
    try Store(at: path, for: Account.self)
  }

  /// Opens the accounts.
  package static func make(at path: String) throws {
    let store = try open(at: path)
    defer { store.close() }
    try store.write { tx throws in
      for id in 0..<accountCount {
        var account = Account(id: id, balance: opening)
        try tx.insert(&account)
      }
    }
  }

  /// Throws if the sum in the snapshot is wrong.
  package static func check(_ tx: ReadTransaction) throws {
    var count = 0
    var sum = 0
    for account in try tx.all(Account.self) {
      count += 1
      sum += account.balance
    }
    guard count == accountCount, sum == accountCount * opening else {
      throw Mismatch("\(count) accounts hold \(sum)")
    }
  }
}
