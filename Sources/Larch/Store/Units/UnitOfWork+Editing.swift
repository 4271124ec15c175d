extension UnitOfWork {
  /// Adds a record that the next commit inserts.
  ///
  /// An unassigned id is assigned now, and kept for this record: other drafts of the unit can refer
  /// to it before the commit. It comes from a transaction that writes nothing, which waits for
  /// the running write as each write does. An id that is never committed is not used again while
  /// the store is open, so that numbers may be skipped.
  ///
  /// A record whose id the unit is deleting takes the place of the deleted one: the same draft, and
  /// the commit updates.
  ///
  /// - Returns: its draft.
  /// - Throws: `.idExists` if the unit has a draft of a record with this id, `.idUnassigned` for an
  ///   id that the store cannot assign, `.readOnly`, `.unknownCollection`; where an id is assigned,
  ///   the errors of `Store.write`, `.nestedWrite` inside a write. A record that is stored under
  ///   the id is a conflict of the commit.
  /// - Complexity: O(1), and for an id to assign a write without a flush.
  @available(
    *, noasync,
    message:
      "it may wait for a writer on a thread that all tasks share: use `try await work.insert(…)`"
  )
  @discardableResult
  public func insert<R: Record>(_ record: R) throws -> Draft<R> {
    try add(record.id._isUnassigned ? store.identified(record) : record)
  }

  /// Adds a record that the next commit inserts, without blocking the task's thread.
  ///
  /// - Returns: its draft.
  /// - Throws: the errors of the synchronous form; `CancellationError` if the task was cancelled
  ///   before the id was assigned.
  /// - Complexity: that of the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func insert<R: Record>(_ record: R) async throws -> Draft<R> {
    try add(record.id._isUnassigned ? await store.identifiedSuspending(record) : record)
  }

  private func add<R: Record>(_ record: R) throws -> Draft<R> {
    let record = RecordComparer.snapshot(of: record)
    let key = try DraftKey(R.self, record.id)
    if let draft = known(key, as: R.self) {
      guard draft.state.isDeleted else {
        throw LarchError(
          .idExists, "The unit has a draft with this id already; edit that one instead."
        ) {
          $0.collection = R.collectionName
          $0.id = "\(record.id)"
        }
      }
      var next = draft.state
      if !next.isStored { next.origin = RecordComparer.snapshot(of: record) }
      next.record = record
      next.isDeleted = false
      draft.change(to: next)
      return draft
    }
    // Fails for a type that the store does not have, which the commit would tell too late.
    try store.read { tx in _ = try tx.context.collection(of: R.self) }
    let absent = DraftState(absent: record)
    let draft = Draft(absent, key, unit: self)
    keep(draft)
    var inserted = absent
    inserted.isDeleted = false
    draft.change(to: inserted)
    return draft
  }

  /// Lets the next commit delete the record, by the rules of its associations. A record that the
  /// unit inserted is taken back.
  ///
  /// What the rules delete or change is known only at the commit;
  /// ``RecordReading/deletionPlan(for:)-(R)`` shows it before. Drafts of such records follow then.
  ///
  /// - Throws: `.foreignDraft` for a draft of another unit.
  /// - Complexity: O(1).
  public func delete(_ draft: AnyDraft) throws {
    try checkIsOwn(draft)
    draft.markDeleted()
  }

  /// Takes back all edits that were not committed, insertions and deletions too, and forgets the
  /// history: a discard cannot be undone.
  ///
  /// While a commit is running, it takes back what was edited after that began.
  ///
  /// - Complexity: O(n) in the drafts that somebody keeps.
  public func discard() {
    let drafts = heldDrafts
    clearHistory()
    for draft in drafts { draft.discard() }
  }

  /// Brings the drafts without changes up to date, and returns the conflicts of the others. Drafts
  /// whose record was deleted are marked ``AnyDraft/isDeleted``.
  ///
  /// Call it when others may have written, for example for each value of an observed query. A
  /// commit does the same.
  ///
  /// - Throws: the errors of ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: one search for each draft that somebody keeps.
  @discardableResult
  public func refresh() throws -> [DraftConflict] {
    let drafts = heldDrafts
    // Readers of the drafts hear of it after the read.
    for take in try store.read({ tx in try drafts.map { try $0.refresh(in: tx) } }) { take() }
    return try conflicts()
  }

  func checkIsOwn(_ draft: AnyDraft) throws {
    if draft.unit === self { return }
    throw LarchError(
      .foreignDraft, "The draft belongs to another unit of work; load the record in this one."
    ) {
      $0.collection = draft.collection
      $0.id = draft.idText
    }
  }
}

// MARK: - Ids

/// Ends the write that assigned an id, which must leave nothing: an id whose write was undone is
/// used for no other record.
private struct AssignedID<R: Record>: Error {
  let record: R
}

extension Store {
  fileprivate func identified<R: Record>(_ record: R) throws -> R {
    do {
      return try writeBlocking { try $0.assignID(to: record) }
    } catch let assigned as AssignedID<R> {
      return assigned.record
    }
  }

  fileprivate nonisolated(nonsending) func identifiedSuspending<R: Record>(
    _ record: R
  ) async throws -> R {
    do {
      return try await writeSuspending { try $0.assignID(to: record) }
    } catch let assigned as AssignedID<R> {
      return assigned.record
    }
  }
}

extension WriteTransaction {
  /// Throws the record with an id, always.
  fileprivate func assignID<R: Record>(to record: R) throws -> R {
    var record = record
    try storage { _ in
      let collection = try context.collection(of: R.self)
      _ = try identify(&record, .insert, in: collection, collection.declarations(of: R.self))
    }
    throw AssignedID(record: record)
  }
}
