/// Determines the effects of deleting records by the rules of their associations, before anything
/// is changed: which other records are deleted, which lose a reference, and which prevent the
/// deletion.
///
/// The deleted records are the smallest set that the rules allow, so the order of processing does
/// not matter: the requested records, those that a `.destroy` leads to, and those that a
/// `.destroyLast` leaves without an association. The records that stay are checked once that set is
/// complete.
final class DeletionPlanner {
  private let context: TransactionContext
  private let prepare: EndReader.Preparation
  /// By the place of the collection.
  private var doomed: [DoomedRecords?]
  /// The records that lose a reference, in the order of their collections.
  private(set) var nullified: [NullifiedRecords] = []
  /// Records each step, if someone wants to read the plan.
  private let recorder: DeletionRecorder?
  /// What hooks have to say in it; nil where nobody asks them.
  let hooks: DeletionHooks?

  /// - Parameter prepare: writes the pending changes of a list that is about to be read.
  init(
    _ context: TransactionContext, recorder: DeletionRecorder? = nil, hooks: DeletionHooks? = nil,
    prepare: @escaping EndReader.Preparation
  ) {
    self.context = context
    self.recorder = recorder
    self.hooks = hooks
    self.prepare = prepare
    doomed = Array(repeating: nil, count: context.catalog.collections.count)
  }

  /// The records to delete, by collection.
  var deleted: [DoomedRecords] { doomed.compactMap { $0.flatMap { $0.count > 0 ? $0 : nil } } }

  /// The number of records to delete.
  var count: Int { doomed.reduce(0) { $0 + ($1?.count ?? 0) } }

  /// Whether one record is deleted, without other effects.
  var isAlone: Bool {
    count == 1 && nullified.isEmpty && deleted.allSatisfy { $0.rules.lists.isEmpty }
  }

  func contains(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) -> Bool {
    doomed[collection.place]?.contains(id) ?? false
  }

  /// Requests the deletion of a record; does nothing if it does not exist.
  func add(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) throws {
    guard try collection.records.get(id, in: try context.transaction()) != nil else { return }
    if try records(of: collection).insert(id) {
      hooks?.noteDeleted(id, collection)
      recorder?.noteDeleted(id, collection, cause: nil)
    }
  }

  /// Follows all rules.
  ///
  /// - Throws: `.deleteDenied` if one forbids the deletion, unless a recorder notes that, or hooks
  ///   may change it; `.unknownCollection` if one concerns a type that the store was not opened
  ///   with.
  func plan() throws {
    while try cascade() {}
    for records in deleted where !records.rules.survivors.isEmpty {
      records.sort()
      while let id = records.next() { try judge(id, records) }
    }
    for records in deleted { records.sort() }
    for records in nullified { records.sort() }
    // What was planned may be done now, and no cursor may stay open over that.
    for records in doomed { records?.rules.endReading() }
  }

  private func records(of collection: CollectionHandle) throws -> DoomedRecords {
    if let known = doomed[collection.place] { return known }
    let rules = try CollectionRules(
      context.catalog.deletionEnds(of: collection), context, prepare: prepare)
    let made = DoomedRecords(collection, rules)
    doomed[collection.place] = made
    return made
  }

  // MARK: What goes

  /// Processes all new records; false if there were none.
  private func cascade() throws -> Bool {
    var isChanged = false
    for records in deleted {
      while let id = records.next() {
        isChanged = true
        for end in records.rules.unopened { try refuse(end, id, records.collection) }
        for cascade in records.rules.cascades { try follow(cascade, id, records.collection) }
      }
    }
    return isChanged
  }

  private func follow(
    _ cascade: Cascade, _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) throws {
    // Not inside the loop: it may write pending changes of a database.
    let others = try records(of: cascade.other)
    let mayDangle = cascade.reader.mayDangle
    try cascade.reader.forEach(id) { other in
      if others.contains(other) { return }
      if mayDangle,
        try cascade.other.records.get(other, in: try context.transaction()) == nil
      {
        return
      }
      guard try cascade.losesLast(other) else { return }
      if others.insert(other) {
        hooks?.noteDeleted(other, cascade.other)
        recorder?.noteDeleted(
          other, cascade.other, cause: .init(cascade.reader.end, collection, id))
      }
    }
  }

  private func refuse(
    _ end: AssociationEnd, _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) throws {
    if let lists = end.association.lists {
      let database = end.isFirst ? lists.forward : lists.inverse
      try prepare(database, id)
      if try database.get(id, in: try context.transaction()) == nil { return }
    }
    throw LarchError(
      .unknownCollection,
      "A record cannot be deleted, because a delete rule concerns a type that the store was not opened with; open the store with that type too."
    ) {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
      $0.field = end.association.stored.key
      $0.detail = end.otherName
    }
  }

  // MARK: What stays

  private func judge(_ id: UnsafeRawBufferPointer, _ records: DoomedRecords) throws {
    for reader in records.rules.survivors {
      guard let other = reader.end.other else { continue }
      let mayDangle = reader.mayDangle
      let isDenied = reader.end.rule == .deny
      try reader.forEach(id) { survivor in
        if contains(survivor, in: other) { return }
        if mayDangle, try other.records.get(survivor, in: try context.transaction()) == nil {
          return
        }
        if isDenied {
          try deny(id, records.collection, survivor, reader.end, other)
        } else {
          nullify(survivor, in: other)
          recorder?.noteNullified(
            survivor, other, cause: .init(reader.end, records.collection, id))
        }
      }
    }
  }

  private func deny(
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle,
    _ survivor: UnsafeRawBufferPointer, _ end: AssociationEnd, _ other: CollectionHandle
  ) throws {
    if let recorder {
      return recorder.noteRefused(id, collection, cause: .init(end, other, survivor))
    }
    if let hooks, hooks.denial != nil { return }
    let denial = LarchError(
      .deleteDenied,
      "A record cannot be deleted, because another record refers to it; delete or change that one first."
    ) {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
      $0.field = end.association.stored.key
      $0.otherID = other.stored.idKind.text(of: survivor)
    }
    guard let hooks else { throw denial }
    hooks.denial = denial
  }

  private func nullify(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    if let known = nullified.first(where: { $0.collection === collection }) {
      return known.add(id)
    }
    hooks?.noteNullified(in: collection)
    let made = NullifiedRecords(collection)
    made.add(id)
    nullified.append(made)
  }
}

/// The records of one collection that stay, but lose references.
final class NullifiedRecords {
  let collection: CollectionHandle
  @exclusivity(unchecked) private var list: IDList

  init(_ collection: CollectionHandle) {
    self.collection = collection
    list = IDList(width: collection.stored.idKind.width)
  }

  var count: Int { list.count }
  subscript(place: Int) -> UnsafeRawBufferPointer { list[place] }

  func add(_ id: UnsafeRawBufferPointer) { list.append(id) }

  /// Sorts them by id, without duplicates.
  func sort() { list.finish() }
}
