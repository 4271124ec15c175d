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
      _ id: UnsafeRawBufferPointer, _ program: AggregateProgram<R>
    ) throws -> Void
  ) throws {
    let own = changes[tree] ?? []
    if members != nil { return try forEachMember(own, changes, tx, body) }
    if own.isEmpty { return }
    let program = try program(tx)
    for change in own {
      try change.withRecords { old, new, id in
        let (old, new) = (try program.passing(old, id), try program.passing(new, id))
        if old != nil || new != nil { try body(old, new, id, program) }
      }
    }
  }

  private func program(_ tx: ReadTransaction) throws -> AggregateProgram<R> {
    let program = try ObserverPrograms.of(number, query.filter, in: tx.context) {
      try AggregateProgram<R>(query.filter, field, tx.context)
    }
    program.access.dropKept()
    return program
  }

  /// Whether each change of a commit leaves the value as it is, as far as the bytes of records tell.
  final override func isStill(_ changes: RecordChanges, _ tx: ReadTransaction) throws -> Bool {
    if members != nil { return false }
    let program = try program(tx)
    program.access.isOnBytes = true
    defer { program.access.isOnBytes = false }
    var isStill = true
    try changes.forEach { id, before, after in
      if !isStill { return }
      let old = try program.passing(before.map { RecordEnvelope.unverified($0) }, id)
      let new = try program.passing(after.map { RecordEnvelope.unverified($0) }, id)
      if old != nil || new != nil { isStill = try self.isStill(from: old, to: new, id, program) }
    }
    return isStill
  }

  /// The same for a record, before and after, where it passes the filter.
  func isStill(
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?,
    _ id: UnsafeRawBufferPointer,
    _ program: AggregateProgram<R>
  ) throws -> Bool { false }

  private func forEachMember(
    _ own: [StoredChange], _ changes: ChangesByTree, _ tx: ReadTransaction,
    _ body: (
      UnsafeRawBufferPointer?, UnsafeRawBufferPointer?, UnsafeRawBufferPointer, AggregateProgram<R>
    ) throws -> Void
  ) throws {
    let collection = try tx.context.collection(of: R.self)
    let most = PatchLimits.fewRelated + (members?.count ?? 0) / 16
    let concerned = try RelatedCandidates(changes, room: 4 * most, tx.context)
      .ids(query.dependencies, beside: own, most: most)
    if own.isEmpty, concerned.isEmpty { return }
    let program = try program(tx)
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
      if old != nil || new != nil { try body(old, new, id, program) }
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

/// Tests changed records in a context, and reads the field of an aggregate.
final class AggregateProgram<R: Record> {
  let access: RecordAccess<R>
  private let filter: FilterProgram?
  private let field: FieldReference?
  private let bytes: SelectedBytes?

  fileprivate init(
    _ filter: FilterNode, _ field: FieldReference?, _ context: TransactionContext
  ) throws {
    access = RecordAccess<R>(context, try context.collection(of: R.self))
    // The ids of its records are known where others decide which they are.
    self.filter =
      filter.asksRelated ? nil : try FilterProgram.of([filter], context: context, typed: access)
    self.field = field
    let reading = access.reading
    bytes = field.map { SelectedBytes($0, context, reading) }
  }

  /// A record, if it passes the filter.
  fileprivate func passing(
    _ record: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    guard let record, let filter else { return record }
    return try filter.matches(record, id: id) ? record : nil
  }

  /// The values of the field, which has one, from the bytes of a record, or else from the decoded record.
  func values(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> [KeyValue] {
    guard let field else { return [] }
    if let value = try bytes?.value(in: record, id: id, access.context.shapes) { return [value] }
    return try access.values(of: field, in: record).first ?? []
  }

  /// Whether the field is the same in two records.
  func isSame(
    _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    guard let old, let new else { return false }
    let (before, after) = (try values(old, id), try values(new, id))
    return before.count == after.count && zip(before, after).allSatisfy { $0.isIdentical(to: $1) }
  }
}
