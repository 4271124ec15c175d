extension Observer {
  /// A commit of more records is left to a task.
  private static var fewRecords: Int { 4 }

  /// Whether the events that have come leave the value as it is.
  ///
  /// A commit asks on its own thread, since the task that would find it out takes longer to begin. So this
  /// reads only the bytes of the changed records, runs no code of the program and waits for nobody. False
  /// if these do not tell: then a task must find out.
  ///
  /// Changes that concern no row are forgotten. Those of rows beyond a limit wait for the next value.
  func isStill() -> Bool {
    // This thread may be in a read of the observed closure of another one.
    if hasRules || RunningScope.hasTransaction { return false }
    return state.withLockIfAvailable { state in
      guard state.isStarted, state.ahead == 0, !listener.isEnded else { return false }
      let events = listener.take().filter { $0.isLater(than: state.version) }
      guard let last = events.last else { return state.waiting.isEmpty }
      let found = (try? store.readAtOnce { try concern(of: events, state, $0) }) ?? .shown
      if found == .nothing, state.waiting.isEmpty {
        state.version = last.transaction
        state.looks &+= 1
        return true
      }
      state.waiting.add(events, ObservationRules(), state.facts.trees, isByStep: false)
      if found == .shown || state.waiting.areMany { return false }
      state.looks &+= 1
      return true
    } ?? false
  }

  private func concern(
    of events: [ChangeEvent], _ state: State, _ tx: ReadTransaction
  ) throws -> RowConcern {
    guard state.catalog === tx.context.catalog, state.generation == store.environment.generation
    else { return .shown }
    let dataTrees = tx.context.catalog.dataTrees
    var all = RowConcern.nothing
    for event in events {
      guard case .commit(_, let changes) = event, changes.since == nil else { return .shown }
      let changed = state.facts.trees.intersection(changes.trees)
      guard let first = changed.first(where: { _ in true }) else { continue }
      guard let tree = dataTrees.records(of: first),
        changed.allSatisfy({ dataTrees.records(of: $0) == tree }),
        let records = changes.records.changes(of: tree), records.count <= Self.fewRecords
      else { return .shown }
      if let patcher = state.patcher {
        let concern = patcher.tree == tree ? try patcher.concern(of: records, tx) : .shown
        if concern == .shown { return .shown }
        if concern == .hidden { all = .hidden }
      } else if try state.aggregates?.areStill(records, of: tree, changed, tx) != true {
        return .shown
      }
    }
    return all
  }
}

extension Store {
  /// Reads the committed state, if that needs no wait; else nil.
  fileprivate func readAtOnce<T>(_ body: (ReadTransaction) throws -> T) throws -> T? {
    let open = try currentCatalog()
    guard let reader = environment.beginReadWithoutWaiting() else { return nil }
    // The log function of the program must not run here.
    defer { environment.endReadSilently(reader) }
    guard reader.generation == open.environmentGeneration,
      try isCurrent(open, reader.transaction, snapshot: reader.transaction.id)
    else { return nil }
    let context = try context(of: reader, open)
    context.begin(reader.transaction, isReading: true)
    defer { context.end() }
    let transaction = ReadTransaction(context)
    defer { transaction.end() }
    return try body(transaction)
  }
}
