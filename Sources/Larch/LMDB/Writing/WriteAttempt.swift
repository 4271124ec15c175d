/// One attempt of a write: an LMDB transaction that `beginWrite` began with the write lock held,
/// and that detects a full map.
///
/// Every attempt ends: by `commit`, by `abort`, or by `run` if that throws or returns nil.
struct WriteAttempt {
  let environment: LMDBEnvironment
  let transaction: LMDBTransaction

  /// A child could not be merged into its parent transaction, which may have only half of it. The
  /// whole attempt must be aborted and run again.
  struct HalfMerged: Error { let cause: any Error }

  /// Runs a body in the transaction; nil if the map was full, or if there is room on the disk that was not there
  /// before. Then, and if the body throws, the whole attempt is undone.
  func run<T: ~Copyable>(_ body: (LMDBTransaction) throws -> T) throws -> T? {
    do {
      return try run(in: transaction, undo: { transaction.abort() }, body)
    } catch {
      if environment.makesRoom(after: error) { return nil }
      throw error
    }
  }

  /// Runs a body in a child of the transaction; nil if the map was full. Then, and if the body
  /// throws, only the changes of this body are undone.
  func runChild<T>(_ body: (LMDBTransaction) throws -> T) throws -> T? {
    let child: LMDBTransaction
    do { child = try transaction.beginChild() } catch { throw environment.translated(error) }
    guard let value = try run(in: child, undo: { child.abortChild() }, body) else { return nil }
    do { try child.commitChild() } catch { throw HalfMerged(cause: environment.translated(error)) }
    return value
  }

  /// The body may catch the error of a full map and return with half of its changes missing, so the
  /// environment keeps track of a full map.
  private func run<T: ~Copyable>(
    in transaction: LMDBTransaction, undo: () -> Void, _ body: (LMDBTransaction) throws -> T
  ) throws -> T? {
    environment.map.wasFull = false
    do {
      let value = try body(transaction)
      if !environment.map.wasFull { return value }
      undo()
      return nil
    } catch {
      undo()
      if environment.map.wasFull { return nil }
      throw environment.translated(error)
    }
  }

  /// Commits the attempt; false if the map was full. Then, and if it throws, the whole attempt is
  /// undone.
  func commit(_ durability: LMDBDurability) throws -> Bool {
    try environment.commit(transaction, durability)
  }

  /// Undoes everything.
  func abort() { transaction.abort() }
}
