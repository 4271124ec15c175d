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
  ///   - durability: what this commit waits for; by default the option of the store.
  ///   - file: the calling file, for the log; do not pass it.
  ///   - line: the calling line; do not pass it.
  ///   - body: makes the changes.
  /// - Throws: the errors of `body`, after everything is undone, except ``Rollback`` if `body`
  ///   returns nothing or an optional; `.nestedWrite` inside a write of the same store;
  ///   `.readOnly`, `.closed`, `.diskFull`, `.ioFailure`, `.mapFull`, `.schemaChanged`.
  /// - Complexity: two flushes of the disk with `.durable`, none if nothing was changed, without
  ///   `body`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func write<T>(
    durability: WriteDurability = .storeDefault, file: StaticString = #fileID, line: UInt = #line,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    do {
      return try writeBlocking(durability, file: file, line: line, body)
    } catch let error as Rollback {
      guard let result = Rollback.result(T.self) else { throw error }
      return result
    }
  }

  /// The same for callers that are synchronous, whatever calls them.
  func writeBlocking<T>(
    _ durability: WriteDurability = .storeDefault, file: StaticString = #fileID, line: UInt = #line,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    guard let post else { return try writeBlocking(durability, nil, body) }
    let timer = writeTimer(file, line)
    defer {
      if let timer { self.post(write: timer) }
      // Also what reads inside of the write have left.
      if !post.isEmpty { post.deliver() }
    }
    return try writeBlocking(durability, timer, body)
  }

  @inline(__always)  // So that nothing is left of a timer where there is none.
  private func writeBlocking<T>(
    _ durability: WriteDurability, _ timer: OperationTimer?,
    _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    let durability = try lmdbDurability(durability)
    // A store that is closed says so without waiting for other writes.
    _ = try currentCatalog()
    var hasRun = false
    var finished: Run<T>?
    // A run whose commit failed was undone, as one that threw.
    defer { finished?.outcome?.resolve(.undone) }
    let run = try environment.write(durability: durability) {
      try self.attempt { transaction, open in
        finished?.outcome?.resolve(.undone)
        finished = nil
        let run = try self.run(body, on: open.writer.context, transaction, &hasRun, timer)
        finished = run
        return run
      }
    }
    finished = nil
    timer?.commit()
    run.outcome?.resolve(.kept)
    runAfterCommit(run)
    return run.result
  }

  /// Begins a transaction and runs a body in it, with the write lock held and with handles of the
  /// schema that the transaction finds: where another program changed that, they are opened again.
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
      // Opening handles takes the write lock, and this thread has it.
      try environment.writeQueue.lending { try renewCatalog() }
    }
  }

  /// What the commit must wait for, in a store that can be written to.
  func lmdbDurability(_ durability: WriteDurability) throws -> LMDBDurability {
    try checkWritable()
    switch durability {
    case .durable: return .durable
    // What a store does not flush at all is not made safer by half.
    case .relaxed: return options.durability == .none ? .none : .relaxed
    case .storeDefault: return environment.options.durability
    }
  }

  private func checkWritable() throws {
    if options.isReadOnly {
      throw LarchError(.readOnly, "The store was opened read-only; open it without `isReadOnly`.") {
        $0.path = path
      }
    }
  }

  /// Whether the handles are those of the file as the write finds it: the environment may have been
  /// opened again in between, or the schema changed.
  private func isCurrent(_ open: OpenCatalog, forWriting transaction: LMDBTransaction) throws
    -> Bool
  {
    guard environment.generation == open.environmentGeneration else { return false }
    // A write changes the snapshot before it.
    return try isCurrent(open, transaction, snapshot: transaction.id &- 1)
  }

  // MARK: One run of a closure

  /// What a closure that ran to its end leaves for the commit.
  struct Run<T> {
    let result: T
    let afterCommit: [() -> Void]
    let outcome: TransactionOutcome?
  }

  /// Runs a closure in an LMDB transaction, which the caller ends.
  ///
  /// `hasRun` is false before the first run, and kept by the caller for those that follow.
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
      defer { child.abort() }
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

  /// Does what was put off until after the commit.
  func runAfterCommit<T>(_ run: Run<T>) {
    if run.afterCommit.isEmpty { return }
    // The transaction is over; what the work asks for without a store, it asks of this one.
    Store.with(self) { for item in run.afterCommit { item() } }
  }
}
