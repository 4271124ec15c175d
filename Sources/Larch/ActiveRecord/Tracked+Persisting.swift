extension Tracked {
  /// Inserts, updates or deletes the record, or does nothing, according to its ``state``.
  ///
  /// An update writes the fields that were changed in memory, and keeps the others as they are
  /// stored now, with the changes of others. The unit is a stored property of the record; a nested
  /// value, a list or a dictionary is one field. If both sides changed the same field, this call
  /// wins. A type with ``Versioned`` gets `.conflict` if anyone else saved the record meanwhile.
  ///
  /// The record then equals the stored one, including the changes of others, of hooks and of
  /// ``Timestamped``. On a store this is a transaction of its own; an unchanged record begins none.
  ///
  /// - Returns: what was done; nil if there was nothing to do.
  /// - Throws: `.recordNotFound` for a changed record that somebody else deleted, `.idExists` for a
  ///   new one whose id is taken, `.idChanged` for a stored one that got another id,
  ///   `.decodingFailed`, with the id, where the stored record cannot be decoded, so that an update
  ///   has nothing to merge its fields into (save ``value`` to replace all of it; a type with
  ///   ``Versioned`` does that, or gets its `.conflict`); as
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

  /// Inserts, updates or deletes the record, or does nothing, according to its ``state``, without
  /// blocking the task's thread.
  ///
  /// - Parameters:
  ///   - store: the store; if nil, that of the task, or else ``Store/default``.
  ///   - isolation: that of the caller; do not pass it.
  /// - Returns: the same as the synchronous form.
  /// - Throws: the errors of the synchronous form; `CancellationError` if the task was cancelled
  ///   before its turn.
  /// - Complexity: that of the synchronous form.
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

  /// Replaces the record by the stored one with its id, and undoes ``markDeleted()``.
  ///
  /// - Throws: `.recordNotFound` when nothing is stored; `.idUnassigned` for a record that never
  ///   was; and the errors of ``RecordReading/find(_:_:)->R?``. The record is then as it was
  ///   before.
  /// - Complexity: that of ``RecordReading/find(_:_:)->R?``.
  public mutating func reload(in reader: some RecordReading = AmbientStore()) throws {
    settle()
    let id = known.standing == .stored ? known.record.id : current.id
    if id._isUnassigned {
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
    // The result of the read stays if another part of the transaction is undone.
    edits &+= 1
    let known = Known(record: Known.snapshot(found), standing: .stored)
    learn(known, found, before: found, outcome)
  }
}

/// The work to do, separate from the tracked record, so that it can run on another thread and more
/// than once.
private struct PersistTask<R: Record>: Sendable {
  enum Action { case insert, update, delete, save }

  let action: Action
  let record: R
  /// The record before the changes.
  let base: R
  /// The id of the stored record.
  let id: R.ID

  /// Nil if there is nothing to do.
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
      _ = try merge(into: &record, in: tx)
      try tx.update(&record)
      change = .updated
    case .save:
      let isStored = try merge(into: &record, in: tx)
      try tx.save(&record)
      change = isStored ? .updated : .inserted
    case .delete:
      try tx.delete(R.self, id)
      change = .deleted
    }
    // A hook, or another writer, may have made both equal.
    if tx.changeCount == changeCount { change = nil }
    let known = Tracked<R>.Known(
      record: Tracked<R>.Known.snapshot(record), standing: action == .delete ? .absent : .stored)
    return PersistResult(known: known, record: record, change: change, outcome: tx.outcome)
  }
}

extension PersistTask {
  /// Makes the record what is stored now, with what was changed in memory; returns whether anything is
  /// stored.
  private func merge(into record: inout R, in tx: WriteTransaction) throws -> Bool {
    // A type with versions refuses what is not made of the stored record, so that one is not needed.
    if try tx.isVersioned(R.self) { return try tx.exists(R.self, id) }
    guard let stored = try tx.find(R.self, id) else { return false }
    let changed = self.record.keepingTimes(of: base)
    record = try RecordComparer.with { try $0.merged(base, changed, into: stored) }
    return true
  }
}

private struct PersistResult<R: Record>: Sendable {
  let known: Tracked<R>.Known
  let record: R
  let change: RecordChange?
  let outcome: TransactionOutcome
}
