// Related records as a request, with the methods that only they have.

extension Related: Request {
  /// A record.
  public typealias Row = Target

  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Related: RunnableRequest {
  /// The related records, in the order of their ids.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Target] {
    guard let list = try tx.list(of: self) else { return try query.allRows(in: tx) }
    let records = RecordBuffer<Target>()
    try tx.forEachListed(list, Target.self, as: "fetch") { bytes, collection in
      guard let stored = try tx.record(bytes, in: collection) else { return true }
      records.next().initialize(
        to: try tx.context.decode(Target.self, stored, id: bytes, in: collection))
      records.filled()
      return true
    }
    return records.takeArray()
  }

  /// The related records, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Target] {
    guard let list = try tx.list(of: self) else {
      return try query.observedRows(in: tx, noting: digest)
    }
    let records = RecordBuffer<Target>()
    try tx.forEachListed(list, Target.self, as: "fetch") { bytes, collection in
      guard let stored = try tx.record(bytes, in: collection) else { return true }
      digest.add(id: bytes, stored)
      records.next().initialize(
        to: try tx.context.decode(Target.self, stored, id: bytes, in: collection))
      records.filled()
      return true
    }
    return records.takeArray()
  }

  /// The related record with the lowest id.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Target? {
    guard let list = try tx.list(of: self) else { return try query.firstRow(in: tx) }
    var found: Target?
    try tx.forEachListed(list, Target.self, as: "fetch") { bytes, collection in
      found = try tx.record(bytes, in: collection).map {
        try tx.context.decode(Target.self, $0, id: bytes, in: collection)
      }
      return found == nil
    }
    return found
  }

  /// The number of related records: one search, however long the list is.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    guard let list = try tx.savedList(of: self) else { return try query.rowCount(in: tx) }
    return try tx.traced("count", Target.self, results: { $0 }) {
      try tx.storage { _ in
        try tx.writePending(for: list.database)
        return try list.count(tx.context)
      }
    }
  }

  /// Whether there is one.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    guard let list = try tx.savedList(of: self) else { return try query.hasRow(in: tx) }
    var isAny = false
    try tx.forEachListed(list, Target.self, as: "exists") { _, _ in
      isAny = true
      return false
    }
    return isAny
  }

  /// Calls with each record, in the order of their ids.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Target) throws -> Void) throws {
    guard try tx.list(of: self) != nil else { return try query.visitRows(in: tx, body) }
    try tx.forEachID(of: self) { id in
      if let record = try tx.find(Target.self, id) { try body(record) }
    }
  }

  /// The plan of the same records as a query.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try query.planText(in: tx, counting: counting, running: running)
  }
}

extension RecordReading {
  /// The ids of the related records, ascending.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search and the ids; no record is read, except join records.
  public func ids<Owner: Record, Target: Record>(
    _ related: Related<Owner, Target>
  ) throws -> [Target.ID] {
    try _reading { tx in
      guard let list = try tx.list(of: related) else { return try tx.ids(related.query) }
      var ids: [Target.ID] = []
      try tx.forEachListed(list, Target.self, as: "ids") { bytes, collection in
        ids.append(try tx.context.id(of: Target.self, bytes, in: collection))
        return true
      }
      return ids
    }
  }

  /// Whether the record with this id is one of the related ones.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search; through join records, those of the owner.
  public func contains<Owner: Record, Target: Record>(
    _ id: Target.ID, in related: Related<Owner, Target>
  ) throws -> Bool {
    try _reading { tx in
      guard let list = try tx.list(of: related) else {
        return try tx.exists(related.where { $0.id == id })
      }
      return try tx.traced("contains", Target.self, results: { $0 ? 1 : 0 }) {
        try tx.storage { _ in
          try tx.writePending(for: list.database)
          return try list.contains(try tx.context.key(of: id), tx.context)
        }
      }
    }
  }

  /// Whether a record is one of the related ones.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search; through join records, those of the owner.
  public func contains<Owner: Record, Target: Record>(
    _ record: Target, in related: Related<Owner, Target>
  ) throws -> Bool {
    try contains(record.id, in: related)
  }

  /// Calls the closure with each id of the related records, in order.
  ///
  /// A list of any length takes no memory. In a write the closure may change the list: the loop
  /// continues after the last id, up to the highest id at its beginning. Ids that the owner itself
  /// holds come in their own order, whether the records exist or not.
  ///
  /// - Throws: what `body` throws, and the errors of ``fetch(_:)``.
  /// - Complexity: one search and the ids, in constant memory; through join records, that of
  ///   ``ids(_:)->[Target.ID]``.
  public func forEachID<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>, _ body: (Target.ID) throws -> Void
  ) throws {
    try _reading { tx in
      guard let list = try tx.list(of: related) else {
        return try tx.ownIDs(of: related).forEach(body)
      }
      let collection = try tx.context.collection(of: Target.self)
      let cursor = ListCursor(list, tx)
      defer { cursor.end() }
      try tx.storage { _ in
        while let bytes = try cursor.next() {
          try body(try tx.context.id(of: Target.self, bytes, in: collection))
        }
      }
    }
  }

  /// The records with these ids, in the order of the ids; missing records are skipped. A record is
  /// returned once, at the first position of its id.
  ///
  /// ```swift
  /// let tags = try store.find(Tag.self, post.tagIDs)
  /// ```
  ///
  /// - Throws: `.checksumMismatch`, `.decodingFailed`, `.unknownCollection`.
  /// - Complexity: one search for each id.
  @_disfavoredOverload  // So that the error for an id of another type names the id.
  public func find<R: Record, IDs: Sequence>(
    _ type: R.Type = R.self, _ ids: IDs
  ) throws -> [R] where IDs.Element == R.ID {
    try _reading { tx in
      var records: [R] = []
      records.reserveCapacity(ids.underestimatedCount)
      var seen = Set<R.ID>(minimumCapacity: ids.underestimatedCount)
      for id in ids where seen.insert(id).inserted {
        if let record = try tx.find(type, id) { records.append(record) }
      }
      return records
    }
  }
}

extension ReadTransaction {
  /// Calls with each id of a list, until the closure returns false. It runs no code of the program
  /// except coding, which must not use the transaction.
  ///
  /// - Parameter verb: what the log calls it.
  fileprivate final func forEachListed<R: Record>(
    _ list: AssociationList, _ type: R.Type, as verb: StaticString,
    _ body: (UnsafeRawBufferPointer, CollectionHandle) throws -> Bool
  ) throws {
    try traced(verb, type) {
      try storage { _ in
        let collection = try context.collection(of: type)
        try writePending(for: list.database)
        try guarded { try list.forEach(context) { try body($0, collection) } }
      }
    }
  }

  /// The list of the owner, if each of its ids is that of a record: nil also in a write in which a
  /// list got a member that is not saved yet.
  fileprivate final func savedList<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>
  ) throws -> AssociationList? {
    let list = try list(of: related)
    return context.hasUnsavedMembers ? nil : list
  }

  /// The record of an id in a list; nil in a write if it does not exist yet.
  @inline(__always)
  fileprivate final func record(
    _ id: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> UnsafeRawBufferPointer? {
    let transaction = try context.transaction()
    if let stored = try context.get(id, from: collection.records, in: transaction) {
      return stored
    }
    guard mayHavePendingEntries else { throw context.missingRecord(id, in: collection) }
    return nil
  }

  /// The ids that the owner itself holds, in its order, or those of its join records.
  fileprivate final func ownIDs<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>
  ) throws -> [Target.ID] {
    switch related.route {
    case .parent(let reference), .listed(let reference):
      guard let reference = reference as? TypedReference<Owner> else {
        throw related.unknownAssociation
      }
      return reference.ids(of: related.owner, as: Target.ID.self)
    case .children, .links, .through: return try ids(related.query)
    }
  }
}
