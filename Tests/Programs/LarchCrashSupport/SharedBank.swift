package import Larch
internal import LarchTestSupport

/// A transfer of money; the newest ones of each teller are kept.
package struct Transfer: Record {
  package var id: Int
  package var teller: Int
  package var number: Int
  package var amount: Int
  /// Sometimes longer than a page, so that it has overflow pages.
  package var note: String

  package static let schema = Schema<Transfer> {
    Index(\.teller, \.number)
    Index(\.amount)
  }
}

/// The progress of a process, which each of its transactions changes.
package struct Teller: Record {
  package var id: Int
  package var done = 0
}

/// A bank whose tellers are processes. Every transfer is a function of the seed, the teller and its
/// number, so that a snapshot determines the amount of every account.
package struct SharedBank: Sendable {
  package static let tellerCount = 4
  package static let accountCount = 40
  /// The number of kept transfers of each teller, so that the store stops growing.
  package static let window = 2500
  private static let opening = 1000

  package let seed: UInt64

  package init(seed: UInt64) { self.seed = seed }

  /// Opens the store with the smallest map that there is, so that it must grow again and again.
  package static func open(
    at path: String, _ change: (inout Store.Options) -> Void = { _ in }
  ) throws -> Store {
    var options = Store.Options()
    options.initialMapSize = 64 << 10
    change(&options)
    return try Store(
      at: path, for: Account.self, Transfer.self, Teller.self, options: options)
  }

  /// Opens the accounts; each teller has already done this number of transfers.
  package func make(at path: String, transfers: Int = 0) throws {
    let store = try Self.open(at: path)
    defer { store.close() }
    try store.write { tx throws in
      for id in 0..<Self.accountCount {
        var account = Account(id: id, balance: Self.opening)
        try tx.insert(&account)
      }
      for id in 0..<Self.tellerCount {
        var teller = Teller(id: id)
        try tx.insert(&teller)
      }
    }
    for step in 0..<(transfers / 50 * Self.tellerCount) {
      try store.write { tx throws in
        try move(50, teller: step % Self.tellerCount, in: tx) {}
      }
    }
  }

  // MARK: What a teller does

  private struct Plan {
    let from: Int
    let to: Int
    let amount: Int
    let noteLength: Int
  }

  private func plan(_ number: Int, of teller: Int) -> Plan {
    var random = SeededGenerator(
      seed: seed ^ (UInt64(teller) &* 0xD1B5_4A32_D192_ED03)
        ^ (UInt64(number) &* 0x9E37_79B9_7F4A_7C15))
    return Plan(
      from: random.below(Self.accountCount), to: random.below(Self.accountCount),
      amount: random.below(100),
      noteLength: random.below(16) == 0 ? 4096 + random.below(6000) : random.below(300))
  }

  private func transfer(_ number: Int, of teller: Int) -> Transfer {
    let plan = plan(number, of: teller)
    return Transfer(
      id: teller << 32 | number, teller: teller, number: number, amount: plan.amount,
      note: String(repeating: "n", count: plan.noteLength))
  }

  /// Does the next transfers of a teller in one transaction. `midway` is called between the two
  /// halves of each one, when the money has left one account and has not reached the other.
  package func move(
    _ count: Int, teller id: Int, in tx: WriteTransaction, midway: () throws -> Void
  ) throws {
    guard var teller = try tx.find(Teller.self, id) else { throw Mismatch("no teller \(id)") }
    for _ in 0..<count {
      teller.done += 1
      let plan = plan(teller.done, of: id)
      try change(plan.from, by: -plan.amount, in: tx)
      try midway()
      // The other half is sometimes in a savepoint, so that there are child transactions too.
      if plan.amount % 4 == 0 {
        try tx.savepoint { try change(plan.to, by: plan.amount, in: tx) }
      } else {
        try change(plan.to, by: plan.amount, in: tx)
      }
      var transfer = transfer(teller.done, of: id)
      try tx.insert(&transfer)
      let old = teller.done - Self.window
      if old > 0, try !tx.delete(Transfer.self, id << 32 | old) {
        throw Mismatch("transfer \(old) of teller \(id) is not there to be deleted")
      }
    }
    try tx.update(teller)
  }

  private func change(_ id: Int, by amount: Int, in tx: WriteTransaction) throws {
    guard var account = try tx.find(Account.self, id) else { throw Mismatch("no account \(id)") }
    account.balance += amount
    try tx.update(account)
  }

  // MARK: What must hold

  /// The progress of each teller. Throws if money was lost or created in the snapshot.
  package func check(_ tx: ReadTransaction) throws -> [Int] {
    var count = 0
    var sum = 0
    for account in try tx.all(Account.self) {
      count += 1
      sum += account.balance
    }
    guard count == Self.accountCount, sum == Self.accountCount * Self.opening else {
      throw Mismatch("\(count) accounts hold \(sum)")
    }
    let done = try tx.all(Teller.self).map(\.done)
    guard done.count == Self.tellerCount else { throw Mismatch("\(done.count) tellers") }
    let kept = try tx.count(Transfer.all)
    let expected = done.reduce(0) { $0 + min($1, Self.window) }
    guard kept == expected else { throw Mismatch("\(kept) transfers of \(expected)") }
    return done
  }

  /// All records of a snapshot. The expected ones are computed later, since an open read keeps the
  /// space that others free.
  package struct Contents {
    package let done: [Int]
    fileprivate let balances: [Int]
    fileprivate let transfers: [Transfer]
  }

  package func contents(_ tx: ReadTransaction) throws -> Contents {
    Contents(
      done: try check(tx), balances: try tx.all(Account.self).map(\.balance),
      transfers: Array(try tx.all(Transfer.self)))
  }

  /// Throws if an account or a kept transfer does not agree with all transfers.
  package func checkEverything(_ contents: Contents) throws {
    var balances = [Int](repeating: Self.opening, count: Self.accountCount)
    var rows = contents.transfers.makeIterator()
    for (teller, done) in contents.done.enumerated() where done > 0 {
      for number in 1...done {
        let plan = plan(number, of: teller)
        balances[plan.from] -= plan.amount
        balances[plan.to] += plan.amount
        guard number > done - Self.window else { continue }
        let transfer = transfer(number, of: teller)
        guard let found = rows.next(), found.id == transfer.id, found.amount == transfer.amount,
          found.note == transfer.note
        else { throw Mismatch("transfer \(number) of teller \(teller) is another one") }
      }
    }
    guard rows.next() == nil, contents.balances == balances else {
      throw Mismatch("accounts hold \(contents.balances), not \(balances)")
    }
  }
}
