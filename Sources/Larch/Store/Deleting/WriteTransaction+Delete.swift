extension WriteTransaction {
  /// See ``RecordWriting/delete(_:_:)``.
  @usableFromInline
  func deleteRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    try storage { transaction in
      let collection = try context.collection(of: type)
      let key = try context.key(of: id)
      if collection.schema.hasHooks { return try deleteHooked(key, in: collection, transaction) }
      let ends = context.catalog.deletionEnds(of: collection)
      if try ends.isEmpty || !isRelated(key, collection, ends, transaction) {
        return try remove(key: key, in: collection, transaction)
      }
      guard let planner = try planUnhooked({ try $0.add(key, in: collection) }) else {
        return try deleteHooked(key, in: collection, transaction)
      }
      if planner.count == 0 { return false }
      planner.endReading()
      if planner.isAlone { return try remove(key: key, in: collection, transaction) }
      try executeAsOne(planner)
      return true
    }
  }

  /// See ``RecordWriting/erase(_:)``.
  func eraseRecords<R: Record>(_ type: R.Type) throws -> Int {
    try storage { transaction in
      if context.isTakingIn { throw TransactionContext.reentered }
      let collection = try context.collection(of: type)
      let count = try collection.records.statistics(in: transaction).entries
      let ends = context.catalog.deletionEnds(of: collection)
      if count > 0, ends.contains(where: { $0.actsOnOthers(than: collection) }) {
        let request: (DeletionPlanner) throws -> Void = { planner in
          var cursor = try LMDBCursor(collection.records, in: try self.live())
          while let entry = try cursor.next() { try planner.add(entry.key, in: collection) }
        }
        if let planner = try planUnhooked(erased: collection, request) {
          try executeAsOne(planner)
        } else {
          try deleteHooked(in: collection, erased: collection, request)
        }
        return count
      }
      try empty(collection, ends, transaction)
      return count
    }
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

  /// Deletes the record that is stored under a key, and nothing else; false when there is none.
  @discardableResult
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
      let request: (DeletionPlanner) throws -> Void = { [ids] planner in
        var ids = ids
        while let id = ids.next() {
          try id.withUnsafeBytes { try planner.add($0, in: collection) }
        }
      }
      if let planner = try planUnhooked(request) {
        try execute(planner)
      } else {
        try deleteHooked(in: collection, request)
      }
    }
    return ids.count
  }

  private func deleteHooked(
    _ key: UnsafeRawBufferPointer, in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws -> Bool {
    guard try collection.records.get(key, in: transaction) != nil else { return false }
    // The buffer of the key is used again by what hooks do.
    let key = [UInt8](key)
    try deleteHooked(in: collection) { planner in
      try key.withUnsafeBytes { try planner.add($0, in: collection) }
    }
    return true
  }
}

// MARK: - Plans

extension ReadTransaction {
  /// Plans to delete what `request` asks for.
  func plan(
    _ recorder: DeletionRecorder?, hooks: DeletionHooks? = nil,
    _ request: (DeletionPlanner) throws -> Void
  ) throws -> DeletionPlanner {
    let planner = DeletionPlanner(context, recorder: recorder, hooks: hooks) {
      try self.writeGathered(for: $0, before: $1)
    }
    // Records are decoded, and the code of their types must not use the transaction meanwhile.
    try guarded {
      try request(planner)
      try planner.plan()
    }
    return planner
  }
}

extension WriteTransaction {
  /// Whether any rule may have something to do: a search for each association, so that the many
  /// records that are associated with nothing need no plan.
  private func isRelated(
    _ key: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ ends: [AssociationEnd],
    _ transaction: LMDBTransaction
  ) throws -> Bool {
    for end in ends {
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

  /// A plan in which no hook has a part; nil where hooks must run.
  private func planUnhooked(
    erased: CollectionHandle? = nil, _ request: (DeletionPlanner) throws -> Void
  ) throws -> DeletionPlanner? {
    guard context.catalog.hasHooks else { return try plan(nil, request) }
    let hooks = DeletionHooks(erased: erased)
    let planner = try plan(nil, hooks: hooks, request)
    if hooks.isNeeded {
      planner.endReading()
      return nil
    }
    if let denial = hooks.denial { throw denial }
    return planner
  }

  /// Does what was planned, or nothing.
  private func executeAsOne(_ planner: DeletionPlanner) throws {
    planner.endReading()
    if !planner.nullified.isEmpty || planner.count > WriteTransaction.largePlan {
      return try undoablePart { try execute(planner) }
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

  /// Plans with more records have a savepoint: among so many it is felt no more.
  private static var largePlan: Int { 10_000 }

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

  /// Gathers the entries of a record for removal, and leaves the record.
  private func gatherRemoval(
    of key: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws {
    guard let stored = try collection.records.get(key, in: transaction) else {
      throw missing(key, collection)
    }
    let before = try RecordEnvelope.open(stored, id: key, in: collection)
    try writer.maintainer.update(id: key, before: before, after: nil, in: collection) {}
  }

  /// Does what was planned: survivors are changed first, while what they refer to is still there.
  func execute(_ planner: DeletionPlanner) throws {
    planner.endReading()
    try nullify(planner)
    try unlink(planner)
    try forEachDeleted(planner) { key, collection, transaction in
      if try !remove(key: key, in: collection, transaction) { throw missing(key, collection) }
    }
  }

  /// Saves the records that stay without their references to those that go.
  func nullify(_ planner: DeletionPlanner) throws {
    for records in planner.nullified {
      try nullify(records, records.collection.schema.type, planner)
    }
  }

  private func nullify<R: Record>(
    _ records: NullifiedRecords, _ type: R.Type, _ planner: DeletionPlanner
  ) throws {
    let collection = records.collection
    var references: [(reference: TypedReference<R>, target: CollectionHandle)] = []
    for end in context.catalog.ends(of: collection) where end.isFirst {
      guard end.opposite.removesReferences, let target = end.other,
        let reference = end.association.reference?.declaration as? TypedReference<R>
      else { continue }
      references.append((reference, target))
    }
    var bytes = KeyWriter()
    for place in 0..<records.count {
      let key = records[place]
      let found: R?
      do {
        found = try storage { transaction in
          guard let stored = try collection.records.get(key, in: transaction) else { return nil }
          return try context.decode(type, stored, id: key, in: collection)
        }
      } catch let error as LarchError where error.code == .decodingFailed {
        try nullifyStored(key, references, in: collection, planner, because: error)
        continue
      }
      guard var record = found else {
        // The hook of another record may have deleted it.
        if context.catalog.hasHooks { continue }
        throw missing(key, collection)
      }
      if !heldChanges.isEmpty {
        heldChanges.forget(.init(place: collection.place, id: [UInt8](key)))
      }
      for (reference, target) in references {
        _ = try reference.removeAll(&record, &bytes) { planner.contains($0, in: target) }
      }
      try update(record)
    }
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
}

/// An index or a list led to a record that is not in its tree.
private func missing(
  _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle
) -> LarchError {
  LarchError(
    .corrupted,
    "An index entry refers to a record that does not exist; call `rebuild()` to build the indexes again."
  ) {
    $0.collection = collection.stored.name
    $0.id = collection.stored.idKind.text(of: id)
  }
}

extension AssociationEnd {
  /// Whether deleting all records of a collection has to look at others.
  fileprivate func actsOnOthers(than collection: CollectionHandle) -> Bool {
    if other === collection { return false }
    return association.lists == nil || (rule != .none && rule != .nullify)
  }
}
