/// Finds out what deleting records does by the rules of their associations, before anything is
/// done: which others go, which lose a reference, and which stand in the way.
///
/// The records that go are the smallest set that the rules allow, so no order of looking at them
/// matters: those that are asked for, those that a `.destroy` leads to, and those that have no
/// association left by a `.destroyLast`. What stays is judged when all of them are known.
final class DeletionPlanner {
  private let context: TransactionContext
  private let prepare: EndReader.Preparation
  /// By the place of the collection.
  private var doomed: [DoomedRecords?]
  /// The records that lose a reference, in the order of their collections.
  private(set) var nullified: [NullifiedRecords] = []
  /// Told of each step, where somebody wants to read about it.
  private let recorder: DeletionRecorder?
  /// What hooks have to say in it; nil where nobody asks them.
  private let hooks: DeletionHooks?

  /// - Parameter prepare: writes what is gathered for a list that is about to be read.
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

  /// The records that go, by collection.
  var deleted: [DoomedRecords] { doomed.compactMap { $0.flatMap { $0.count > 0 ? $0 : nil } } }

  /// How many records go.
  var count: Int { doomed.reduce(0) { $0 + ($1?.count ?? 0) } }

  /// Whether one record goes and nothing else has to happen.
  var isAlone: Bool {
    count == 1 && nullified.isEmpty && deleted.allSatisfy { $0.rules.lists.isEmpty }
  }

  func contains(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) -> Bool {
    doomed[collection.place]?.contains(id) ?? false
  }

  /// Asks for a record to be deleted, which is nothing where there is none.
  func add(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) throws {
    guard try collection.records.get(id, in: try context.transaction()) != nil else { return }
    if try records(of: collection).insert(id) {
      hooks?.noteDeleted(id, collection)
      recorder?.noteDeleted(id, collection, cause: nil)
    }
  }

  /// Follows all rules.
  ///
  /// - Throws: `.deleteDenied` where one forbids it, unless somebody records that, or hooks may
  ///   change it;
  ///   `.unknownCollection` where one acts on a type that the store is not open for.
  func plan() throws {
    while try cascade() {}
    for records in deleted where !records.rules.survivors.isEmpty {
      records.sort()
      while let id = records.next() { try judge(id, records) }
    }
    for records in deleted { records.sort() }
    for records in nullified { records.sort() }
  }

  /// Closes all cursors: what was planned may be done after it.
  func endReading() {
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

  /// Looks at all records that were not looked at yet; false when there were none.
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
    // Not within the loop: it may write what is gathered for a database.
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

  /// Each once, in the order of ids.
  func sort() { list.finish() }
}
