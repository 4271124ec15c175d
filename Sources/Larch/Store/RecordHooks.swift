/// A record whose type takes part in its saves and deletions.
///
/// Conform the type and write the methods that you need; the others do nothing.
///
/// ```swift
/// struct Person: Record, RecordHooks {
///   var id = RecordID<Person>()
///   var name: String
///
///   mutating func willSave(in tx: WriteTransaction) throws {
///     name = name.trimmingCharacters(in: .whitespaces)
///   }
/// }
/// ```
///
/// **A save** runs `willSave`, `willInsert` or `willUpdate`, the rules of the schema, the write,
/// `didInsert` or `didUpdate`, and `didSave`. Where the record equals what is stored after
/// `willSave` or `willUpdate`, nothing is written and no further hook runs. A hook before the write
/// may itself save or delete the stored record: whether the save inserts or updates is decided by
/// what is there then.
///
/// **A deletion** runs `willDelete` of all records that go, those that were asked for before those
/// that rules of associations delete with them, while all of them are still there. Then it saves the
/// records that lose a reference, with their own hooks; then all go at once; then `didDelete` of
/// each runs, in the same order. The hooks before may change what goes, so the rules are asked anew
/// when they changed anything, and a ``DeleteRule/deny`` is obeyed as things are after them. A
/// record that a hook keeps from going may have had its `willDelete` by then; none has it twice.
///
/// **After the commit**, when the data is on disk, `didCommit` runs once for each change that was
/// not undone, in their order: twice for a record that was saved twice. The transaction is over
/// then; what a hook asks for without naming a store, it asks of the one that was written.
///
/// A hook may read and write in the transaction, through 64 hooks inside each other. What it throws
/// undoes the save or the deletion and whatever its hooks did, and nothing else; the record in
/// memory is as it was before the call. A hook must not change the id. A write closure may run more
/// than once (see `Store.write(_:)`), and its hooks with it: what must
/// happen once belongs into `didCommit`.
///
/// Hooks run wherever records are saved or deleted one by one or by a query, and for records that
/// a rule of an association changes or deletes. ``WriteTransaction/erase(_:)`` runs none for the
/// records of the type that it erases, but those of others that rules delete or change with them.
/// Records with hooks that are deleted are held in memory until the end of the transaction.
///
/// A stored record that its type cannot decode any more is no value to call a hook on: it is
/// deleted without `willDelete`, `didDelete` and `didCommit`, and replaced without `willUpdate` and
/// `didUpdate`.
public protocol RecordHooks: _HookedRecord {
  /// Before the record is inserted or updated; it may change itself, but for its id.
  mutating func willSave(in tx: WriteTransaction) throws
  /// Before the record is inserted; it may change itself, but for its id.
  mutating func willInsert(in tx: WriteTransaction) throws
  /// Before the record takes the place of `stored`; it may change itself, but for its id.
  mutating func willUpdate(from stored: Self, in tx: WriteTransaction) throws
  /// Before the record is deleted; it is the record as it is stored.
  func willDelete(in tx: WriteTransaction) throws
  /// After the record was inserted.
  func didInsert(in tx: WriteTransaction) throws
  /// After the record took the place of `previous`.
  func didUpdate(from previous: Self, in tx: WriteTransaction) throws
  /// After the record was inserted or updated.
  func didSave(in tx: WriteTransaction) throws
  /// After the record was deleted.
  func didDelete(in tx: WriteTransaction) throws
  /// After the transaction was committed and its data is on disk; never when it was undone.
  func didCommit(_ change: RecordChange)
}

/// What a transaction did with a record.
public enum RecordChange: Hashable, Sendable {
  /// The record is new.
  case inserted
  /// The record took the place of another with its id.
  case updated
  /// The record is gone.
  case deleted
}

extension RecordHooks {
  /// Does nothing.
  public mutating func willSave(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public mutating func willInsert(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public mutating func willUpdate(from stored: Self, in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func willDelete(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func didInsert(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func didUpdate(from previous: Self, in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func didSave(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func didDelete(in tx: WriteTransaction) throws {}
  /// Does nothing.
  public func didCommit(_ change: RecordChange) {}
}
