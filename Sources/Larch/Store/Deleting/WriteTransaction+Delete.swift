/// The path of every deletion.
///
/// 1. *Identify*: one id, the ids of a query, or all ids of a type. Records without hooks and
///    associations are deleted at once.
/// 2. *Plan*: `DeletionPlanner` follows the delete rules, and finds the other records to delete and
///    those that lose a reference. Nothing is changed yet.
/// 3. *Apply*: records that stay are saved without the references, links are removed, records are
///    deleted. All of it happens, or nothing.
///
/// ``WillDelete`` hooks run between steps 2 and 3, ``DidDelete`` hooks after step 3: see
/// `deleteHooked`.
extension WriteTransaction {
  // MARK: Identify

  /// See ``RecordWriting/delete(_:_:)``.
  @usableFromInline
  func deleteRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    if let timer = context.timer, timer.trace != nil {
      return try timer.tracing(
        "delete", R.collectionName, id: { timer.shown(id) }, changes: { changeCount },
        results: { $0 ? 1 : 0 }
      ) { try deleteNow(type, id) }
    }
    return try deleteNow(type, id)
  }

  private func deleteNow<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    try storage { transaction in
      let collection = try context.collection(of: type)
      let key = try context.key(of: id)
      if try !collection.schema.hasHooks && !isRelated(key, collection, transaction) {
        return try remove(key: key, in: collection, transaction)
      }
      // The buffer of `key` is used for other ids too, so each plan gets the key again.
      return try delete(in: collection) { try $0.add(try context.key(of: id), in: collection) }
    }
  }

  /// Deletes the records of a query; called in a savepoint.
  func deleteAll<R: Record>(_ query: Query<R>) throws -> Int {
    try traced("delete", R.self, results: { $0 }) { try deleteAllNow(query) }
  }

  private func deleteAllNow<R: Record>(_ query: Query<R>) throws -> Int {
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

  /// Deletes the records of a batch; called in a savepoint.
  func deleteAll<R: Record>(
    _ type: R.Type, _ ids: some Collection<R.ID>, _ batch: Batch<R>
  ) throws -> DeletedBatch<R> {
    try traced("delete", type, results: { $0.deleted }) { try deleteAllNow(type, ids, batch) }
  }

  private func deleteAllNow<R: Record>(
    _ type: R.Type, _ ids: some Collection<R.ID>, _ batch: Batch<R>
  ) throws -> DeletedBatch<R> {
    batch.begin()
    var result = DeletedBatch<R>()
    var seen: Set<R.ID> = []
    let collection = try context.collection(of: type)
    let isPlain =
      !collection.schema.hasHooks && context.catalog.deletionEnds(of: collection).isEmpty
    batch.isWrittenAtEnd = !isPlain
    for id in ids {
      try batch.next(id) {
        guard seen.insert(id).inserted else { return ((), id) }
        let isThere = try storage { transaction in
          let key = try context.key(of: id)
          if isPlain { return try remove(key: key, in: collection, transaction) }
          return try collection.records.get(key, in: transaction) != nil
        }
        if isThere { result.deleted += 1 } else { result.missing.append(id) }
        return ((), id)
      }
    }
    if !isPlain, result.deleted > 0 {
      try storage { _ in
        _ = try delete(in: collection, isUndoable: true) { planner in
          // The planner passes over ids without a record.
          for id in ids { try planner.add(try context.key(of: id), in: collection) }
        }
      }
    }
    try batch.finish()
    return result
  }

  /// See ``RecordWriting/erase(_:)``.
  func eraseRecords<R: Record>(_ type: R.Type) throws -> Int {
    try traced("erase", type, results: { $0 }) { try eraseNow(type) }
  }

  private func eraseNow<R: Record>(_ type: R.Type) throws -> Int {
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

  /// Deletes the records that `request` adds, and applies the delete rules.
  ///
  /// - Parameters:
  ///   - collection: the collection for error messages.
  ///   - erased: a collection whose own hooks do not run.
  ///   - isUndoable: whether the caller has a savepoint.
  ///   - request: adds the records to a plan; called again for each new plan.
  /// - Returns: whether there was such a record.
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

  /// Whether a rule may apply. This is one search for each association, so that records without
  /// associated records, which are common, need no plan.
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
  /// Plans the deletion of the records that `request` adds.
  final func plan(
    recorder: DeletionRecorder? = nil, hooks: DeletionHooks? = nil,
    _ request: (DeletionPlanner) throws -> Void
  ) throws -> DeletionPlanner {
    let planner = DeletionPlanner(context, recorder: recorder, hooks: hooks) {
      try self.writePending(for: $0, before: $1)
    }
    try request(planner)
    // Planning decodes records, and the code of their types must not use the transaction.
    try guarded { try planner.plan() }
    return planner
  }
}

// MARK: - Apply

extension WriteTransaction {
  /// Plans with more records use a savepoint; its cost does not matter with so many.
  private static var largePlan: Int { 10_000 }

  /// Executes the plan, or changes nothing. Records that stay are changed first, while the records
  /// that they refer to still exist.
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
    // A savepoint writes pending entries and copies each page that changes again, which would slow
    // down many small plans. It is not needed here: the records are read first, and only that can
    // fail harmlessly. If a later step fails, the storage has failed, and the transaction with it.
    let mark = try writer.maintainer.mark()
    do {
      try forEachDeleted(planner) { try removeEntries(of: $0, $1, $2) }
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

  /// Deletes one record and its index entries, without rules and hooks; false if there is none.
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

  /// Adds pending removals of the index entries of a record, but does not delete the record.
  private func removeEntries(
    of key: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws {
    guard let stored = try collection.records.get(key, in: transaction) else {
      throw RecordEnvelope.missing(key, collection.stored)
    }
    let before = try RecordEnvelope.open(stored, id: key, in: collection)
    try writer.maintainer.update(id: key, before: before, after: nil, in: collection) {}
  }

  /// Removes the links of the deleted records, in both directions.
  private func unlink(_ planner: DeletionPlanner) throws {
    let transaction = try live()
    for records in planner.deleted {
      for end in records.rules.lists { try unlink(records, end, transaction) }
    }
  }

  private func unlink(
    _ records: RecordsToDelete, _ end: AssociationEnd, _ transaction: LMDBTransaction
  ) throws {
    guard let lists = end.association.lists else { return }
    let (own, other) =
      end.isFirst ? (lists.forward, lists.inverse) : (lists.inverse, lists.forward)
    records.sort()
    while let key = records.next() {
      // The list of the record itself is deleted at once, so its pending entries must be in the
      // tree.
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

  /// Empties a collection, its indexes, and the lists with ids of its records.
  private func empty(
    _ collection: CollectionHandle, _ ends: [AssociationEnd], _ transaction: LMDBTransaction
  ) throws {
    try writer.noteErased(collection)
    closeCursors()
    writer.maintainer.discard(collection)
    try collection.records.empty(in: transaction)
    for index in collection.allIndexes { try index.database.empty(in: transaction) }
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
  /// Whether deleting all records of a collection affects other records.
  fileprivate func actsOnOthers(than collection: CollectionHandle) -> Bool {
    if other === collection { return false }
    return association.lists == nil || (rule != .none && rule != .nullify)
  }
}
