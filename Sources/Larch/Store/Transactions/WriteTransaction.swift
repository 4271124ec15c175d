internal import Foundation

/// A write of a store, of which only one runs at a time: all of its changes are committed, or none.
///
/// Created by `Store.write(_:)` and valid inside its closure, on its thread. Its reads see its own
/// changes.
public class WriteTransaction: ReadTransaction {
  final let writer: WriteContext
  private final var afterCommitWork: [() -> Void] = []
  /// How many saves and deletions with hooks are running inside each other.
  final var hookDepth = 0
  /// The records of the running deletions whose hooks before it ran: each runs once.
  final var beingDeleted: Set<DeletionHooks.Doomed> = []
  /// What associations changed in stored records.
  final var heldChanges = HeldChanges()
  /// The time of the transaction, once it was asked for.
  final var time: Date?
  /// The versions that were given to records.
  final let versions: GivenVersions
  /// What comes of the innermost savepoint or the transaction, where somebody asked.
  final var startedOutcome: TransactionOutcome?

  init(_ writer: WriteContext, _ versions: GivenVersions) {
    self.writer = writer
    self.versions = versions
    super.init(writer.context)
  }

  final override var gathersEntries: Bool { true }

  final override func writeGathered(for database: LMDBDatabase) throws {
    try writer.maintainer.flush(database)
  }

  final override func writeGathered(
    for database: LMDBDatabase, before key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(database, before: key)
  }

  final override func writeGathered(
    for index: IndexHandle, beforeAdding key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(index, beforeAdding: key)
  }

  final override func proveCurrent<R: Record>(_ record: R) throws {
    if heldChanges.isEmpty { return }
    try checkHeld(
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

  /// The same, which passes on all that `body` throws: for code of others in the middle of work.
  final func undoablePart<T>(_ body: () throws -> T) throws -> T {
    let savepoint = try storage { _ in
      if context.isTakingIn { throw TransactionContext.reentered }
      closeCursors()
      return try writer.beginSavepoint()
    }
    let workCount = afterCommitWork.count
    let outer = startedOutcome
    let held = heldChanges
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
      heldChanges = held
      afterCommitWork.removeSubrange(workCount...)
      endOutcome(isKept: false, outer: outer)
      throw error
    }
  }
}
