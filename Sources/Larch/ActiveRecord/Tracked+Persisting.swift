extension Tracked {
  /// Inserts, updates or deletes the record, or does nothing, as its ``state`` asks.
  ///
  /// An update writes the fields that were changed in memory, and leaves the others as they are
  /// stored now: what others saved meanwhile is kept. The unit is a stored property of the record;
  /// a nested value, a list and a dictionary are one each. Where the same field was changed on both
  /// sides, this call wins. A type with ``Versioned`` gets `.conflict` where anybody else saved the
  /// record meanwhile.
  ///
  /// The record is then what is stored, with the fields of others, and what hooks and
  /// ``Timestamped`` made of it. On a store this is a transaction of its own; an unchanged record
  /// begins none.
  ///
  /// - Returns: what was done; nil when there was nothing to do.
  /// - Throws: `.recordNotFound` for a changed record that somebody else deleted, `.idExists` for a
  ///   new one whose id is taken, `.idChanged` for a stored one that got another id,
  ///   `.decodingFailed` where the stored record cannot be read; as
  ///   ``RecordWriting/insert(_:)``, `RecordWriting.update(_:)` and
  ///   ``RecordWriting/delete(_:_:)``. The record is then as it was before.
  /// - Complexity: as ``state``; where something is done, as ``RecordWriting/save(_:)`` or
  ///   ``RecordWriting/delete(_:_:)``, and for an update also a read of the stored record.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public mutating func persist(
    in writer: some RecordWriting = AmbientStore()
  ) throws -> RecordChange? {
    settle()
    guard let task = try PersistTask(self) else { return nil }
    return take(try writer._writing { try task.run(in: $0) })
  }

  /// Inserts, updates or deletes the record, or does nothing, as its ``state`` asks, without
  /// blocking the task's thread.
  ///
  /// - Parameters:
  ///   - store: the store; that of the task, else ``Store/default``, when it is nil.
  ///   - isolation: the caller's; leave it out.
  /// - Returns: as the synchronous form.
  /// - Throws: as the synchronous form; `CancellationError` when the task was cancelled before its
  ///   turn came.
  /// - Complexity: as the synchronous form.
  @discardableResult
  public mutating func persist(
    in store: Store? = nil, isolation: isolated (any Actor)? = #isolation
  ) async throws -> RecordChange? {
    settle()
    guard let task = try PersistTask(self) else { return nil }
    let store = try AmbientStore.chosen(store)
    return take(try await store.writeSuspending { try task.run(in: $0) })
  }

  private mutating func take(_ result: PersistResult<R>) -> RecordChange? {
    learn(result.known, result.record, before: current, result.outcome)
    return result.change
  }

  /// Makes the record what is stored under its id now, and takes ``markDeleted()`` back.
  ///
  /// - Throws: `.recordNotFound` when nothing is stored; `.idUnassigned` for a record that never
  ///   was; as ``RecordReading/find(_:_:)->R?``. The record is then as it was before.
  /// - Complexity: as ``RecordReading/find(_:_:)->R?``.
  public mutating func reload(in reader: some RecordReading = AmbientStore()) throws {
    settle()
    let id = known.standing == .stored ? known.record.id : current.id
    if id.isUnassigned {
      throw LarchError(
        .idUnassigned, "The record was never saved, so there is nothing to reload; persist it."
      ) { $0.collection = R.collectionName }
    }
    let (found, outcome) = try reader._reading { (try $0.find(R.self, id), $0.outcomeOfReads) }
    guard let found else {
      throw LarchError(
        .recordNotFound, "No record has this id, so there is nothing to reload; it was deleted."
      ) {
        $0.collection = R.collectionName
        $0.id = "\(id)"
      }
    }
    marker = false
    // What was read stays when something else of the transaction is taken back.
    edits &+= 1
    let known = Known(record: Known.snapshot(found), standing: .stored)
    learn(known, found, before: found, outcome)
  }
}

/// What is to be done, apart from the tracked record, so that it can be done on another thread and
/// more than once.
private struct PersistTask<R: Record>: Sendable {
  enum Action { case insert, update, delete, save }

  let action: Action
  let record: R
  /// The record before the changes.
  let base: R
  /// The id of what is stored.
  let id: R.ID

  /// Nil when there is nothing to do.
  init?(_ tracked: Tracked<R>) throws {
    let known = tracked.known
    record = tracked.current
    base = known.record
    id = known.standing == .stored ? known.record.id : record.id
    switch tracked.state {
    case .unchanged: return nil
    case .new: action = .insert
    case .deleted:
      if known.standing == .absent { return nil }
      action = .delete
    case .changed:
      action = known.standing == .uncertain ? .save : .update
      guard id == record.id else {
        throw LarchError(
          .idChanged,
          "The id of a tracked record was changed; track a new record to store it under another id."
        ) {
          $0.collection = R.collectionName
          $0.id = "\(id)"
        }
      }
    }
  }

  func run(in tx: WriteTransaction) throws -> PersistResult<R> {
    var record = record
    var change: RecordChange?
    let changeCount = tx.changeCount
    switch action {
    case .insert:
      try tx.insert(&record)
      change = .inserted
    case .update:
      if let stored = try tx.find(R.self, id) { record = try merged(into: stored, in: tx) }
      try tx.update(&record)
      change = .updated
    case .save:
      let stored = try tx.find(R.self, id)
      if let stored { record = try merged(into: stored, in: tx) }
      try tx.save(&record)
      change = stored == nil ? .inserted : .updated
    case .delete:
      try tx.delete(R.self, id)
      change = .deleted
    }
    // A hook, or somebody else, may have made both the same.
    if tx.changeCount == changeCount { change = nil }
    let known = Tracked<R>.Known(
      record: Tracked<R>.Known.snapshot(record), standing: action == .delete ? .absent : .stored)
    return PersistResult(known: known, record: record, change: change, outcome: tx.outcome)
  }
}

extension PersistTask {
  /// What is stored now, with what was changed in memory.
  private func merged(into stored: R, in tx: WriteTransaction) throws -> R {
    // A type with versions refuses what is not made of the stored record.
    if try tx.isVersioned(R.self) { return record }
    let changed = record.keepingTimes(of: base)
    return try RecordComparer.with { try $0.merged(base, changed, into: stored) }
  }
}

private struct PersistResult<R: Record>: Sendable {
  let known: Tracked<R>.Known
  let record: R
  let change: RecordChange?
  let outcome: TransactionOutcome
}
