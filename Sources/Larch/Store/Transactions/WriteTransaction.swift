internal import Foundation

/// A write of a store: all of its changes are committed, or none. Only one write runs at a time.
///
/// Created by `Store.write(_:)` and valid inside its closure, on its thread. Its reads see its own
/// changes.
public class WriteTransaction: ReadTransaction {
  final let writer: WriteContext
  private final var afterCommitWork: [() -> Void] = []
  /// The depth of nested saves and deletions with hooks.
  final var hookDepth = 0
  /// The records of running deletions whose ``WillDelete`` hooks have run, since they run only
  /// once.
  final var beingDeleted: Set<DeletionHooks.Target> = []
  /// The references that associations changed in stored records.
  final var referenceChanges = ReferenceChanges()
  /// The time of the transaction, once it was read.
  final var time: Date?
  /// The versions that were assigned to records.
  final let versions: AssignedVersions
  /// The outcome of the innermost savepoint or the transaction, if something depends on it.
  final var startedOutcome: TransactionOutcome?

  init(_ writer: WriteContext, _ versions: AssignedVersions) {
    self.writer = writer
    self.versions = versions
    super.init(writer.context)
  }

  final override func findWhileHolding<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool? {
    guard isLive, !context.isTakingIn, let transaction = context.held else { return nil }
    let collection = try context.collection(of: type)
    let key = try context.key(of: id)
    do {
      if try collection.records.get(key, in: transaction) != nil { return true }
    } catch {
      throw context.note(error)
    }
    return writer.records.mayHave(key, of: collection) ? nil : false
  }

  final override var mayHavePendingEntries: Bool { true }

  final override func writePending(for database: LMDBDatabase) throws {
    try writer.maintainer.flush(database)
  }

  final override func writePending(
    for database: LMDBDatabase, before key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(database, before: key)
  }

  final override func writePending(
    for index: IndexHandle, beforeAdding key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(index, beforeAdding: key)
  }

  final override func checkReferencesAreCurrent<R: Record>(_ record: R) throws {
    if referenceChanges.isEmpty { return }
    try checkReferencesAreCurrent(
      record, try context.key(of: record.id), in: try context.collection(of: R.self))
  }

  final func takeAfterCommitWork() -> [() -> Void] {
    defer { afterCommitWork = [] }
    return afterCommitWork
  }

  /// Runs `work` once, after the transaction is committed and its data is on disk.
  ///
  /// A write closure may run more than once, if the map has to grow; effects that must happen once
  /// (a message, a counter) belong here. If the transaction, or the savepoint around the call, is
  /// undone, the work does not run.
  public final func afterCommit(_ work: @escaping () -> Void) { afterCommitWork.append(work) }

  /// Runs `body`; an error that it throws undoes its changes, and nothing else.
  ///
  /// ```swift
  /// try tx.savepoint {
  ///   try tx.save(&order)
  ///   try tx.save(&invoice)
  /// }
  /// ```
  ///
  /// - Throws: the errors of `body`, after its changes are undone; not ``Rollback`` if `body`
  ///   returns nothing or an optional.
  /// - Complexity: pending index entries are written first; the savepoint itself costs about a
  ///   microsecond.
  public final func savepoint<T>(_ body: () throws -> T) throws -> T {
    do {
      return try undoablePart(body)
    } catch let error as Rollback {
      guard let result = Rollback.result(T.self) else { throw error }
      return result
    }
  }

  /// The same, except that it also passes on ``Rollback``. For calls of user code inside an
  /// operation.
  final func undoablePart<T>(_ body: () throws -> T) throws -> T {
    let savepoint = try storage { _ in
      if context.isTakingIn { throw TransactionContext.reentered }
      closeCursors()
      return try writer.beginSavepoint()
    }
    let workCount = afterCommitWork.count
    let outer = startedOutcome
    let referenceMark = referenceChanges.mark
    startedOutcome = nil
    do {
      let result = try body()
      if let failure = context.failure { throw failure }
      try storage { _ in
        closeCursors()
        try writer.commit(savepoint)
      }
      endOutcome(isKept: true, outer: outer)
      return result
    } catch {
      closeCursors()
      writer.rollBack(savepoint)
      changeCount &+= 1
      referenceChanges.rewind(to: referenceMark)
      afterCommitWork.removeSubrange(workCount...)
      endOutcome(isKept: false, outer: outer)
      throw error
    }
  }
}
