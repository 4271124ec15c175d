/// An aggregate with its type.
///
/// Which records it is of is known from their bytes before and after a change. With a filter across an
/// association it also depends on other records, so the ids of its records are kept. Those that changed
/// related records concern are found by `RelatedCandidates`, as for rows, and whether each passes the
/// filter now is read.
class Aggregate<R: Record, Value>: KeptAggregate {
  /// The ids of its records; nil if their bytes tell which they are.
  private var members: Set<StoredID>?

  /// The aggregate; after `read`.
  var value: Value {
    // Nobody makes one of this class itself, and each aggregate overrides this.
    preconditionFailure("each aggregate has its own")
  }

  /// Reads it, and keeps it.
  ///
  /// - Parameter plain: reads it without noting more.
  func read(_ tx: ReadTransaction, _ plain: () throws -> Value) throws -> Value {
    let value = try plain()
    keep(value)
    if query.filter.asksRelated, isKept {
      var all = query
      all.order = []
      all.limit = mostMembers
      members = try ids(of: all, tx)
    }
    return value
  }

  /// How many ids of records must be known at most; nil for all.
  var mostMembers: Int? { nil }

  /// Whether the id of a record is kept.
  final var hasMember: Bool { members?.isEmpty == false }

  private func ids(of query: QueryDescription, _ tx: ReadTransaction) throws -> Set<StoredID> {
    try tx.run(query, of: R.self, for: .ids) { run, _ in
      var ids = Set<StoredID>()
      while let row = try run.next() { ids.insert(StoredID(row.id)) }
      return ids
    }
  }

  /// Keeps a value that was read.
  func keep(_ value: Value) {}

  func areSame(_ a: Value, _ b: Value) -> Bool { false }

  /// Calls with each changed record, before and after, where it passes the filter of the query. With a
  /// filter across an association, also with records of which only related ones have changed.
  final func forEach(
    _ changes: ChangesByTree, _ tx: ReadTransaction,
    _ body: (
      _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?,
      _ id: UnsafeRawBufferPointer, _ access: RecordAccess<R>
    ) throws -> Void
  ) throws {
    let own = changes[tree] ?? []
    if members != nil { return try forEachMember(own, changes, tx, body) }
    if own.isEmpty { return }
    let access = RecordAccess<R>(tx.context, try tx.context.collection(of: R.self))
    let filter = try FilterProgram.of([query.filter], context: tx.context, typed: access)
    for change in own {
      try change.withRecords { old, new, id in
        let old = try old.flatMap { try filter?.matches($0, id: id) ?? true ? $0 : nil }
        let new = try new.flatMap { try filter?.matches($0, id: id) ?? true ? $0 : nil }
        if old != nil || new != nil { try body(old, new, id, access) }
      }
    }
  }

  private func forEachMember(
    _ own: [StoredChange], _ changes: ChangesByTree, _ tx: ReadTransaction,
    _ body: (
      UnsafeRawBufferPointer?, UnsafeRawBufferPointer?, UnsafeRawBufferPointer, RecordAccess<R>
    ) throws -> Void
  ) throws {
    let collection = try tx.context.collection(of: R.self)
    let most = PatchLimits.fewRelated + (members?.count ?? 0) / 16
    let concerned = try RelatedCandidates(changes, room: 4 * most, tx.context)
      .ids(query.dependencies, beside: own, most: most)
    if own.isEmpty, concerned.isEmpty { return }
    let access = RecordAccess<R>(tx.context, collection)
    let passing = try ids(
      of: query.only(own.map(\.id) + concerned, in: collection), tx)
    func move(
      _ id: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer?,
      to new: UnsafeRawBufferPointer?
    ) throws {
      let key = StoredID(id)
      let old = members?.contains(key) == true ? old : nil
      let new = passing.contains(key) ? new : nil
      if new != nil { members?.insert(key) } else { members?.remove(key) }
      if old != nil || new != nil { try body(old, new, id, access) }
    }
    for change in own { try change.withRecords { try move($2, from: $0, to: $1) } }
    let transaction = try tx.context.transaction()
    for id in concerned {
      try id.withUnsafeBytes { id in
        let stored = try collection.records.get(id, in: transaction)
        let record = stored.map { RecordEnvelope.unverified($0) }
        try move(id, from: record, to: record)
      }
    }
  }
}
