/// Runs before a record is inserted or updated; it may change the record, except its id.
///
/// Hooks are lines of the schema:
///
/// ```swift
/// struct Person: Record {
///   var id = RecordID<Person>()
///   var name: String
///
///   static let schema = Schema<Person> {
///     WillSave { person, tx in
///       person.name = person.name.trimmingCharacters(in: .whitespaces)
///     }
///   }
/// }
/// ```
///
/// Several hooks of one kind run in the order of their lines.
///
/// **A save** runs ``WillSave``, ``WillInsert`` or ``WillUpdate``, the rules of the schema, the
/// write, ``DidInsert`` or ``DidUpdate``, and ``DidSave``. If the record equals the stored one
/// after `WillSave` or `WillUpdate`, nothing is written and no further hook runs. A hook before the
/// write may itself save or delete the stored record: whether the save inserts or updates is
/// decided after that.
///
/// **A deletion** first runs ``WillDelete`` of all records that will be deleted, while all of them
/// still exist: first the requested records, then those that delete rules add. Then it saves the
/// records that lose a reference, with their own hooks. Then it deletes all records at once, and
/// runs ``DidDelete`` of each in the same order. The first hooks may change what will be deleted.
/// If they change anything, the rules are applied again, and a ``DeleteRule/deny`` applies to the
/// state after them. So `WillDelete` may have run for a record that is not deleted in the end; it
/// never runs twice for one record.
///
/// **After the commit**, when the data is on disk, ``DidCommit`` runs once for each change that was
/// not undone, in order: twice for a record that was saved twice. The transaction has ended then;
/// calls without a store use the one that was written.
///
/// A hook may read and write in the transaction; hooks may be nested 64 deep. An error that it
/// throws undoes the save or the deletion with the changes of its hooks, and nothing else; the
/// record in memory is as it was before the call. A hook must not change the id. A write closure
/// may run more than once (see `Store.write(_:)`), and its hooks with it: effects that must happen
/// once belong into ``DidCommit``.
///
/// Hooks run wherever records are saved or deleted one by one or by a query, and for records that a
/// rule of an association changes or deletes. ``RecordWriting/erase(_:)`` runs no hooks for the
/// records of its type, but it runs those of other records that rules delete or change. Deleted
/// records with hooks are kept in memory until the end of the transaction. A stored record that its
/// type cannot decode any more has no value for a hook: it is deleted without ``WillDelete``,
/// ``DidDelete`` and ``DidCommit``, and replaced without ``WillUpdate`` and ``DidUpdate``. A type
/// without hooks costs nothing extra; a type with hooks costs a savepoint for each save.
public struct WillSave<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (inout R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.willSave, { record, _, tx in try body(&record, .of(tx)) }))
  }
}

/// Runs before a record is inserted; it may change the record, except its id. See ``WillSave``.
public struct WillInsert<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (inout R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.willInsert, { record, _, tx in try body(&record, .of(tx)) }))
  }
}

/// Runs before a record replaces the stored one; it may change the record, except its id. See
/// ``WillSave``.
///
/// ```swift
/// WillUpdate { order, stored, tx in
///   if stored.isPaid { throw OrderError.isPaid }
/// }
/// ```
public struct WillUpdate<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(
    _ body:
      @escaping @Sendable (
        _ record: inout R, _ stored: R, _ tx: WriteTransaction
      ) throws -> Void
  ) {
    element = SchemaElement(
      hook: .step(
        .willUpdate,
        { record, stored, tx in
          if let stored { try body(&record, stored, .of(tx)) }
        }))
  }
}

/// Runs after a record was inserted. See ``WillSave``.
public struct DidInsert<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.didInsert, { record, _, tx in try body(record, .of(tx)) }))
  }
}

/// Runs after a record replaced the previous one. See ``WillSave``.
///
/// ```swift
/// DidUpdate { order, previous, tx in … }
/// ```
public struct DidUpdate<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(
    _ body:
      @escaping @Sendable (
        _ record: R, _ previous: R, _ tx: WriteTransaction
      ) throws -> Void
  ) {
    element = SchemaElement(
      hook: .step(
        .didUpdate,
        { record, previous, tx in
          if let previous { try body(record, previous, .of(tx)) }
        }))
  }
}

/// Runs after a record was inserted or updated. See ``WillSave``.
public struct DidSave<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.didSave, { record, _, tx in try body(record, .of(tx)) }))
  }
}

/// Runs before a record is deleted, with the record as it is stored. See ``WillSave``.
public struct WillDelete<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.willDelete, { record, _, tx in try body(record, .of(tx)) }))
  }
}

/// Runs after a record was deleted. See ``WillSave``.
public struct DidDelete<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (R, WriteTransaction) throws -> Void) {
    element = SchemaElement(
      hook: .step(.didDelete, { record, _, tx in try body(record, .of(tx)) }))
  }
}

/// Runs after the transaction of a change was committed and its data is on disk; never if the
/// change was undone. See ``WillSave``.
///
/// ```swift
/// DidCommit { person, change in announce("\(person.name) was \(change)") }
/// ```
public struct DidCommit<R: Record>: SchemaEntry, SchemaLine {
  let element: SchemaElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (R, RecordChange) -> Void) {
    element = SchemaElement(hook: .commit(body))
  }
}

extension WriteTransaction {
  /// The transaction as the type that a hook gets.
  fileprivate static func of(_ tx: AnyObject) -> WriteTransaction {
    // Only a `WriteTransaction` runs hooks, and it passes itself.
    unsafeDowncast(tx, to: WriteTransaction.self)
  }
}
