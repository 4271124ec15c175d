/// The one path of every deletion.
///
/// 1. *Identify*: one id, the ids that a query describes, or all of a type. What no hook and no
///    association concerns is removed at once.
/// 2. *Plan*: `DeletionPlanner` follows the rules of associations, and finds which other records go
///    and which lose a reference. Nothing is changed yet.
/// 3. *Apply*: records that stay are saved without their references, lists are cleared, records are
///    removed. All of it happens, or nothing.
///
/// Hooks before a deletion run between 2 and 3, the others after it: see `deleteHooked`.
extension WriteTransaction {
  // MARK: Identify

  /// See ``RecordWriting/delete(_:_:)``.
  @usableFromInline
  func deleteRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    try storage { transaction in
      let collection = try context.collection(of: type)
      let key = try context.key(of: id)
      if try !collection.schema.hasHooks && !isRelated(key, collection, transaction) {
        return try remove(key: key, in: collection, transaction)
      }
      // What hooks do works on other ids.
      return try delete(in: collection) { try $0.add(try context.key(of: id), in: collection) }
    }
  }

  /// Deletes what a query describes; called in a savepoint.
  func deleteAll<R: Record>(_ query: Query<R>) throws -> Int {
    var ids = try matchingIDs(query)
    try storage { transaction in
      let collection = try context.collection(of: R.self)
      if !collection.schema.hasHooks, context.catalog.deletionEnds(of: collection).isEmpty {
        while let id = ids.next() {
          _ = try id.withUnsafeBytes { try remove(key: $0, in: collection, transaction) }
        }
        return
      }
      _ = try delete(in: collection, isUndoable: true) { [ids] planner in
        var ids = ids
        while let id = ids.next() {
          try id.withUnsafeBytes { try planner.add($0, in: collection) }
        }
      }
    }
    return ids.count
  }

  /// See ``RecordWriting/erase(_:)``.
  func eraseRecords<R: Record>(_ type: R.Type) throws -> Int {
    try storage { transaction in
      if context.isTakingIn { throw TransactionContext.reentered }
      let collection = try context.collection(of: type)
      let count = try collection.records.statistics(in: transaction).entries
      let ends = context.catalog.deletionEnds(of: collection)
      if count > 0, ends.contains(where: { $0.actsOnOthers(than: collection) }) {
        _ = try delete(in: collection, erased: collection) { planner in
          var cursor = try LMDBCursor(collection.records, in: try self.live())
          while let entry = try cursor.next() { try planner.add(entry.key, in: collection) }
        }
      } else {
        try empty(collection, ends, transaction)
      }
      return count
    }
  }

  /// Deletes what `request` asks for, and does what the rules of associations ask for then.
  ///
  /// - Parameters:
  ///   - collection: what an error names.
  ///   - erased: a collection whose own hooks do not run.
  ///   - isUndoable: whether the caller has a savepoint.
  ///   - request: called again for each new plan.
  /// - Returns: whether there was anything.
  private func delete(
    in collection: CollectionHandle, erased: CollectionHandle? = nil, isUndoable: Bool = false,
    _ request: (DeletionPlanner) throws -> Void
  ) throws -> Bool {
    func makePlan() throws -> DeletionPlanner {
      let hooks = context.catalog.hasHooks ? DeletionHooks(erased: erased) : nil
      return try plan(hooks: hooks, request)
    }
    let planner = try makePlan()
    if planner.count == 0 { return false }
    if planner.hooks?.isNeeded == true {
      try deleteHooked(planner, in: collection, makePlan)
    } else {
      if let denial = planner.hooks?.denial { throw denial }
      try apply(planner, isUndoable: isUndoable)
    }
    return true
  }

  /// Whether any rule may have something to do: a search for each association, so that the many
  /// records that are associated with nothing need no plan.
  private func isRelated(
    _ key: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws -> Bool {
    for end in context.catalog.deletionEnds(of: collection) {
      let database: LMDBDatabase
      if let lists = end.association.lists {
        database = end.isFirst ? lists.forward : lists.inverse
        try writer.maintainer.flush(database, before: key)
        if try database.get(key, in: transaction) != nil { return true }
      } else if !end.isFirst, let index = end.association.index, index.isReady,
        let reference = end.association.reference
      {
        guard reference.form.writeKey(of: key, to: &writer.keys) else { continue }
        try writer.maintainer.flush(index.database, before: writer.keys.bytes)
        if try index.database.get(writer.keys.bytes, in: transaction) != nil { return true }
      } else {
        return true
      }
    }
    return false
  }
}

// MARK: - Plan

extension ReadTransaction {
  /// Plans to delete what `request` asks for.
  final func plan(
    recorder: DeletionRecorder? = nil, hooks: DeletionHooks? = nil,
    _ request: (DeletionPlanner) throws -> Void
  ) throws -> DeletionPlanner {
    let planner = DeletionPlanner(context, recorder: recorder, hooks: hooks) {
      try self.writeGathered(for: $0, before: $1)
    }
    try request(planner)
    // Records are decoded, and the code of their types must not use the transaction meanwhile.
    try guarded { try planner.plan() }
    return planner
  }
}

// MARK: - Apply

extension WriteTransaction {
  /// Plans with more records have a savepoint: among so many it is felt no more.
  private static var largePlan: Int { 10_000 }

  /// Does what was planned, or nothing: records that stay are changed first, while what they refer
  /// to is still there.
  func apply(_ planner: DeletionPlanner, isUndoable: Bool = false) throws {
    if isUndoable || planner.isAlone {
      try nullify(planner)
      try unlink(planner)
      return try forEachDeleted(planner) { key, collection, transaction in
        if try remove(key: key, in: collection, transaction) { return }
        throw RecordEnvelope.missing(key, collection.stored)
      }
    }
    if !planner.nullified.isEmpty || planner.count > WriteTransaction.largePlan {
      return try undoablePart { try apply(planner, isUndoable: true) }
    }
    // A savepoint writes pending entries, and copies each page that is changed again, which many
    // small plans would feel. Here only looking at the records can fail, and it comes first; what
    // fails after it is the storage, and the transaction with it.
    let mark = try writer.maintainer.mark()
    do {
      try forEachDeleted(planner) { try gatherRemoval(of: $0, $1, $2) }
    } catch {
      if writer.maintainer.rewind(to: mark) { throw error }
      throw context.fail(error)
    }
    do {
      try unlink(planner)
      try forEachDeleted(planner) { key, collection, transaction in
        try collection.records.delete(key, in: transaction)
        writer.noteDeleted(key, in: collection)
        changeCount &+= 1
      }
    } catch {
      throw context.fail(error)
    }
  }

  private func forEachDeleted(
    _ planner: DeletionPlanner,
    _ body: (UnsafeRawBufferPointer, CollectionHandle, LMDBTransaction) throws -> Void
  ) throws {
    let transaction = try live()
    for records in planner.deleted {
      records.sort()
      while let key = records.next() { try body(key, records.collection, transaction) }
    }
  }

  /// Deletes the record that is stored under a key, and nothing else; false when there is none.
  func remove(
    key: UnsafeRawBufferPointer, in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws -> Bool {
    guard let stored = try collection.records.get(key, in: transaction) else { return false }
    let before = try RecordEnvelope.open(stored, id: key, in: collection)
    try writer.maintainer.update(id: key, before: before, after: nil, in: collection) {
      _ = try collection.records.delete(key, in: transaction)
    }
    writer.noteDeleted(key, in: collection)
    changeCount &+= 1
    return true
  }

  /// Gathers the entries of a record for removal, and leaves the record.
  private func gatherRemoval(
    of key: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws {
    guard let stored = try collection.records.get(key, in: transaction) else {
      throw RecordEnvelope.missing(key, collection.stored)
    }
    let before = try RecordEnvelope.open(stored, id: key, in: collection)
    try writer.maintainer.update(id: key, before: before, after: nil, in: collection) {}
  }

  /// Takes the records that go off all lists, in both directions.
  private func unlink(_ planner: DeletionPlanner) throws {
    let transaction = try live()
    for records in planner.deleted {
      for end in records.rules.lists { try unlink(records, end, transaction) }
    }
  }

  private func unlink(
    _ records: DoomedRecords, _ end: AssociationEnd, _ transaction: LMDBTransaction
  ) throws {
    guard let lists = end.association.lists else { return }
    let (own, other) =
      end.isFirst ? (lists.forward, lists.inverse) : (lists.inverse, lists.forward)
    records.sort()
    while let key = records.next() {
      // The list of the record itself goes at once, so it must be whole in its tree.
      try writer.maintainer.flush(own, before: key)
      var isListed = false
      do {
        var cursor = try LMDBCursor(own, in: transaction)
        var entry = try cursor.seek(exactly: key)
        while let here = entry {
          isListed = true
          try writer.maintainer.remove(key, fromList: here.value, in: other)
          entry = try cursor.nextDuplicate()
        }
      }
      if isListed { try own.delete(key, in: transaction) }
    }
    changeCount &+= 1
  }

  /// Empties the trees of a collection, and the lists that name its records.
  private func empty(
    _ collection: CollectionHandle, _ ends: [AssociationEnd], _ transaction: LMDBTransaction
  ) throws {
    try writer.noteErased(collection)
    closeCursors()
    writer.maintainer.discard(collection)
    try collection.records.empty(in: transaction)
    for index in collection.indexes { try index.database.empty(in: transaction) }
    for end in ends {
      guard let lists = end.association.lists else { continue }
      for database in [lists.forward, lists.inverse] {
        writer.maintainer.discard(database)
        try database.empty(in: transaction)
      }
    }
    changeCount &+= 1
  }
}

extension AssociationEnd {
  /// Whether deleting all records of a collection has to look at others.
  fileprivate func actsOnOthers(than collection: CollectionHandle) -> Bool {
    if other === collection { return false }
    return association.lists == nil || (rule != .none && rule != .nullify)
  }
}
