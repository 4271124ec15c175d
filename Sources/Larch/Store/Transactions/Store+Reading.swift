extension Store {
  /// Runs `body` on a snapshot, which does not change meanwhile.
  ///
  /// A long read keeps the space of everything that is deleted meanwhile; end it soon. The place of
  /// the call is noted, so that ``openReads()`` and the log can name it.
  ///
  /// Inside a `write` of this store, on its thread, `body` gets the running transaction and sees
  /// its changes. The same applies to every read through the store there, and in an observed
  /// closure. Inside another `read`, it may see a later state than that one.
  ///
  /// - Throws: the errors of `body`; `.closed`, `.schemaChanged`, `.readersFull`.
  /// - Complexity: O(1), about a tenth of a microsecond and no system call, without `body`.
  public func read<T>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    if RunningScope.isInside, let running = RunningScope.joined(by: self) {
      return try RunningScope.enter(self, running) { try body(running) }
    }
    return try readCommitted(file: file, line: line, body)
  }

  /// Reads the committed state, even inside a write. For calls that examine the file.
  @inline(__always)
  func readCommitted<T>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    guard let timer = readTimer(file, line) else {
      return try read(at: CodePlace(file: file, line: line), nil, body)
    }
    timer.begin()
    defer { tell(read: timer) }
    return try read(at: timer.place, timer, body)
  }

  @inline(__always)  // So that the code for a timer disappears if there is none.
  private func read<T>(
    at place: CodePlace, _ timer: OperationTimer?, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    let (reader, open) = try beginRead(at: place)
    defer { environment.endRead(reader) }
    let context = try context(of: reader, open)
    context.begin(reader.transaction, isReading: true)
    defer { context.end() }
    let transaction = ReadTransaction(context)
    defer { transaction.end() }
    return try OperationTimer.run(timer, in: context) {
      let result = try RunningScope.enter(self, transaction) { try body(transaction) }
      if let error = transaction.sequenceError { throw error }
      return result
    }
  }

  /// The context that is attached to the reader, or a new one.
  @inline(__always)
  func context(of reader: LMDBReader, _ open: OpenCatalog) throws -> TransactionContext {
    if let kept = reader.attachment as? TransactionContext, kept.catalog === open.catalog {
      return kept
    }
    return try newContext(of: reader, open)
  }

  @inline(never)
  private func newContext(
    of reader: LMDBReader, _ open: OpenCatalog
  ) throws -> TransactionContext {
    let context = try TransactionContext(
      open.catalog, of: environment, checksQueries: options.checksQueries,
      provesCoding: options.provesCoding)
    reader.detach()
    reader.attachment = context
    return context
  }

  func beginRead(at place: CodePlace) throws -> (LMDBReader, OpenCatalog) {
    while true {
      let open = try currentCatalog()
      let reader = try environment.beginRead(at: place)
      do {
        // The environment may have been opened again between these two calls.
        if reader.generation == open.environmentGeneration,
          try isCurrent(open, reader.transaction, snapshot: reader.transaction.id)
        {
          return (reader, open)
        }
      } catch {
        environment.endRead(reader)
        throw error
      }
      environment.endRead(reader)
      try renewCatalog()
    }
  }
}
