/// One try of a write: an LMDB transaction that `beginWrite` began with the write lock held, and that
/// notices when the map has no room for it.
///
/// Every attempt ends: by `commit`, by `abort`, or by `run` where that throws or returns nil.
struct WriteAttempt {
  let environment: LMDBEnvironment
  let transaction: LMDBTransaction

  /// A child could not be merged into its transaction, which may hold half of it now. All of the
  /// attempt must be aborted, and run again.
  struct HalfMerged: Error { let cause: any Error }

  /// Runs a body in the transaction; nil when the map was full. Then, and when the body throws, all of
  /// the attempt is undone.
  func run<T: ~Copyable>(_ body: (LMDBTransaction) throws -> T) throws -> T? {
    try run(in: transaction, body)
  }

  /// Runs a body in a child of the transaction; nil when the map was full. Then, and when the body
  /// throws, what this body did is undone, and the rest of the attempt stays.
  func runChild<T>(_ body: (LMDBTransaction) throws -> T) throws -> T? {
    let child: LMDBTransaction
    do { child = try transaction.beginChild() } catch { throw environment.translated(error) }
    guard let value = try run(in: child, body) else { return nil }
    do { try child.commit() } catch { throw HalfMerged(cause: environment.translated(error)) }
    return value
  }

  /// The body may catch the error of a full map and return, with half of its changes missing: so it is
  /// the environment that knows of a full map.
  private func run<T: ~Copyable>(
    in transaction: LMDBTransaction, _ body: (LMDBTransaction) throws -> T
  ) throws -> T? {
    environment.map.wasFull = false
    do {
      let value = try body(transaction)
      if !environment.map.wasFull { return value }
      transaction.abort()
      return nil
    } catch {
      transaction.abort()
      if environment.map.wasFull { return nil }
      throw environment.translated(error)
    }
  }

  /// Commits what was run; false when the map was full. Then, and when it throws, all of the attempt is
  /// undone.
  func commit(_ durability: LMDBDurability) throws -> Bool {
    try environment.commit(transaction, durability)
  }

  /// Undoes everything.
  func abort() { transaction.abort() }
}
