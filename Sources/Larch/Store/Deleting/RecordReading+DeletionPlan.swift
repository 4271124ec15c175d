extension RecordReading {
  /// The effects of deleting the record: see ``deletionPlan(for:_:)``.
  ///
  /// - Throws: the errors of ``deletionPlan(for:_:)``.
  /// - Complexity: that of ``deletionPlan(for:_:)``.
  public func deletionPlan<R: Record>(for record: R) throws -> DeletionPlan {
    try deletionPlan(for: R.self, record.id)
  }

  /// The effects of deleting the record with this id, by the delete rules of all associations: the
  /// records that would be deleted, those that would lose a reference, and the rules that refuse.
  /// Nothing is changed.
  ///
  /// - Returns: the plan; an empty one if there is no such record.
  /// - Throws: `.unknownCollection` if the store was not opened for the type, or for one that a
  ///   rule concerns; `.checksumMismatch` or `.decodingFailed` for a damaged record.
  /// - Complexity: O(log n) for each record that a rule leads to, and the memory of an entry.
  public func deletionPlan<R: Record>(for type: R.Type, _ id: R.ID) throws -> DeletionPlan {
    try _reading { tx in
      try tx.storage { _ in
        let collection = try tx.context.collection(of: type)
        let key = try tx.context.key(of: id)
        return try tx.deletionPlan { try $0.add(key, in: collection) }
      }
    }
  }

  /// The effects of deleting the records of the query, all together, like
  /// `RecordWriting.delete(_:)`.
  ///
  /// - Throws: the errors of ``deletionPlan(for:_:)``, and the errors of
  ///   ``RecordReading/fetch(_:)``.
  /// - Complexity: that of the query and of ``deletionPlan(for:_:)``.
  public func deletionPlan<R: Record>(for query: Query<R>) throws -> DeletionPlan {
    try _reading { tx in
      var ids = try tx.matchingIDs(query)
      return try tx.storage { _ in
        let collection = try tx.context.collection(of: R.self)
        return try tx.deletionPlan { planner in
          while let id = ids.next() {
            try id.withUnsafeBytes { try planner.add($0, in: collection) }
          }
        }
      }
    }
  }
}

extension ReadTransaction {
  fileprivate func deletionPlan(
    _ request: (DeletionPlanner) throws -> Void
  ) throws -> DeletionPlan {
    let recorder = DeletionRecorder()
    let planner = try plan(recorder: recorder, request)
    var typed: [ObjectIdentifier: any Sendable] = [:]
    for records in planner.deleted {
      typed[records.collection.schema.typeID] =
        try ids(of: records, records.collection.schema.type)
    }
    return DeletionPlan(recorder, typed: typed)
  }

  private func ids<R: Record>(of records: RecordsToDelete, _ type: R.Type) throws -> any Sendable {
    var ids: [R.ID] = []
    ids.reserveCapacity(records.count)
    let transaction = try live()
    let declarations = records.collection.declarations(of: R.self)
    records.sort()
    while let key = records.next() {
      if let id = declarations.id(storedAs: key) {
        ids.append(id)
        continue
      }
      // The key does not show the original form of the id.
      guard let stored = try records.collection.records.get(key, in: transaction) else {
        continue
      }
      ids.append(
        try guarded {
          try context.decode(type, stored, id: key, in: records.collection).id
        })
    }
    return ids
  }
}
