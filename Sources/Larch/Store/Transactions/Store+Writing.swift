extension Store {
  /// Runs `body` as one change of the store: all of it is committed, or nothing.
  ///
  /// Writes run one after the other, in the order of their calls; this call waits for earlier ones
  /// on the calling thread, where `body` also runs. When it returns, the data is on disk (as far as
  /// the durability requires). The closure **may run more than once**, if the map has to grow:
  /// effects that must happen once belong into ``WriteTransaction/afterCommit(_:)``.
  ///
  /// A task must not block its thread: use the asynchronous form there, with `await`.
  ///
  /// - Parameters:
  ///   - author: who writes, for observers that ignore or name it (``Observed/authors``). It is not
  ///     stored.
  ///   - durability: what this commit waits for; by default the option of the store.
  ///   - file: the calling file, for the log; do not pass it.
  ///   - line: the calling line; do not pass it.
  ///   - body: makes the changes.
  /// - Throws: the errors of `body`, after everything is undone, except ``Rollback`` if `body`
  ///   returns nothing or an optional; `.nestedWrite` inside a write of the same store;
  ///   `.readOnly`, also in an observed closure; `.closed`, `.diskFull`, `.ioFailure`, `.mapFull`,
  ///   `.schemaChanged`.
  /// - Complexity: two flushes of the disk with `.durable`, none if nothing was changed, without
  ///   `body`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func write<T>(
    author: String? = nil, durability: WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    do {
      return try writeBlocking(durability, author: author, file: file, line: line, body)
    } catch let error as Rollback {
      guard let result = Rollback.result(T.self) else { throw error }
      return result
    }
  }

  /// The same, callable from synchronous code inside a task, and it also passes on ``Rollback``.
  func writeBlocking<T>(
    _ durability: WriteDurability = .storeDefault, author: String? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    if RunningScope.isInside { try RunningScope.expectWritable(self) }
    guard let post else { return try writeBlocking(durability, author, nil, body) }
    let timer = writeTimer(file, line)
    defer {
      if let timer { self.post(write: timer) }
      // These include messages of reads inside the write.
      if !post.isEmpty { post.deliver() }
    }
    return try writeBlocking(durability, author, timer, body)
  }

  @inline(__always)  // So that the code for a timer disappears if there is none.
  private func writeBlocking<T>(
    _ durability: WriteDurability, _ author: String?, _ timer: OperationTimer?,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    let durability = try lmdbDurability(durability)
    // A closed store throws at once, without waiting for other writes.
    _ = try currentCatalog()
    var hasRun = false
    var finished: Run<T>?
    // If the commit fails, the run was undone, as if it had thrown.
    defer { finished?.outcome?.resolve(.undone) }
    let run = try environment.write(durability: durability) {
      try self.attempt { transaction, open in
        finished?.outcome?.resolve(.undone)
        finished = nil
        let run = try self.run(body, on: open.writer.context, transaction, &hasRun, timer)
        finished = run
        environment.endWrite(of: author, in: transaction)
        return run
      }
    }
    finished = nil
    timer?.commit()
    run.outcome?.resolve(.kept)
    runAfterCommit(run)
    return run.result
  }

  /// Begins a transaction and runs a body in it, with the write lock held. If another program has
  /// changed the schema, the handles are opened again first.
  func attempt<T>(
    _ body: (LMDBTransaction, OpenCatalog) throws -> T
  ) throws -> (WriteAttempt, T) {
    while true {
      let open = try currentCatalog()
      let (attempt, result): (WriteAttempt, T?) = try environment.attempt { transaction in
        guard try isCurrent(open, forWriting: transaction) else { return nil }
        return try body(transaction, open)
      }
      if let result { return (attempt, result) }
      attempt.abort()
      // Opening handles needs the write lock, which this thread has.
      try environment.writeQueue.lending { try renewCatalog() }
    }
  }

  /// The durability of a commit. Throws if the store is read-only.
  func lmdbDurability(_ durability: WriteDurability) throws -> LMDBDurability {
    try checkWritable()
    switch durability {
    case .durable: return .durable
    // A store that never flushes does not flush for one write either.
    case .relaxed: return options.durability == .none ? .none : .relaxed
    case .storeDefault: return environment.options.durability
    }
  }

  private func checkWritable() throws {
    if isFollowing {
      throw LarchError(
        .readOnly,
        "The store follows the log of another one; write at that one, or promote this copy."
      ) { $0.path = path }
    }
    if options.isReadOnly {
      throw LarchError(.readOnly, "The store was opened read-only; open it without `isReadOnly`.") {
        $0.path = path
      }
    }
  }

  /// Whether the handles are still valid: the environment may have been opened again, or the schema
  /// may have changed.
  private func isCurrent(_ open: OpenCatalog, forWriting transaction: LMDBTransaction) throws
    -> Bool
  {
    guard environment.generation == open.environmentGeneration else { return false }
    // The schema is that of the snapshot before this write.
    return try isCurrent(open, transaction, snapshot: transaction.id &- 1)
  }

  // MARK: One run of a closure

  /// The result of a closure that has finished, for the commit.
  struct Run<T> {
    let result: T
    let afterCommit: [() -> Void]
    let outcome: TransactionOutcome?
  }

  /// Runs a closure in an LMDB transaction, which the caller commits or aborts.
  ///
  /// The caller keeps `hasRun`, which is false before the first run.
  func run<T>(
    _ body: (WriteTransaction) throws -> T, on writer: WriteContext,
    _ lmdb: LMDBTransaction, _ hasRun: inout Bool, _ timer: OperationTimer?
  ) throws -> Run<T> {
    guard let timer else { return try run(body, on: writer, lmdb, &hasRun) }
    timer.begin(environment.writeQueue.wait)
    environment.writeQueue.noteHolder(at: timer.place)
    defer { timer.end() }
    return try OperationTimer.run(timer, in: writer.context) {
      try run(body, on: writer, lmdb, &hasRun)
    }
  }

  private func run<T>(
    _ body: (WriteTransaction) throws -> T, on writer: WriteContext,
    _ lmdb: LMDBTransaction, _ hasRun: inout Bool
  ) throws -> Run<T> {
    if options.runsWritesTwice, !hasRun {
      let child = try lmdb.beginChild()
      defer { child.abortChild() }
      let rehearsal = try? runOnce(body, on: writer, child)
      writer.rollBack()
      rehearsal?.outcome?.resolve(.undone)
    }
    hasRun = true
    return try runOnce(body, on: writer, lmdb)
  }

  private func runOnce<T>(
    _ body: (WriteTransaction) throws -> T, on writer: WriteContext, _ lmdb: LMDBTransaction
  ) throws -> Run<T> {
    let context = writer.context
    var started: WriteTransaction?
    do {
      try writer.begin(lmdb)
      defer { writer.end() }
      let transaction = WriteTransaction(writer, versions)
      started = transaction
      defer {
        context.timer?.changes = transaction.changeCount
        transaction.end()
      }
      let result = try RunningScope.enter(self, transaction) { try body(transaction) }
      if let error = context.failure ?? transaction.sequenceError { throw error }
      transaction.closeCursors()
      try writer.finish()
      return Run(
        result: result, afterCommit: transaction.takeAfterCommitWork(),
        outcome: transaction.startedOutcome)
    } catch {
      writer.rollBack()
      started?.startedOutcome?.resolve(.undone)
      throw context.failure ?? error
    }
  }

  /// Runs the work for after the commit.
  func runAfterCommit<T>(_ run: Run<T>) {
    if run.afterCommit.isEmpty { return }
    // The transaction has ended. Calls in the work that name no store use this one.
    Store.withNewest(self) { for item in run.afterCommit { item() } }
  }
}
