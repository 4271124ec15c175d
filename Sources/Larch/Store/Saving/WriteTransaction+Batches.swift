extension WriteTransaction {
  /// Saves the records of a batch one after the other; called in a savepoint.
  ///
  /// - Parameter match: finds the stored record that one of the batch stands for; nil to go by the
  ///   id.
  func saveAll<R: Record>(
    _ records: some Collection<R>, _ match: UniqueMatch<R>?, _ batch: Batch<R>
  ) throws -> SavedBatch<R> {
    try match?.check(self)
    var result = SavedBatch<R>(count: records.count)
    batch.begin()
    for record in records {
      var record = record
      let change = try batch.next(record.id) {
        let change = try saveTelling(&record, match)
        return (change, record.id)
      }
      result.records.append(record)
      result.changes.append(change)
    }
    try batch.finish()
    return result
  }

  private func saveTelling<R: Record>(
    _ record: inout R, _ match: UniqueMatch<R>?
  ) throws -> SavedChange {
    guard let match else {
      if try record.id._isUnassigned || !exists(R.self, record.id) {
        try save(&record)
        return .inserted
      }
      return try isWriting(record.id, of: R.self) { try save(&record) } ? .updated : .unchanged
    }
    let id = try match.find(record, self)
    if let id { record.id = id }
    return try saveMatched(&record, isStored: id != nil)
  }

  /// Saves a record for which it was decided whether it takes the place of a stored one.
  func saveMatched<R: Record>(_ record: inout R, isStored: Bool) throws -> SavedChange {
    guard isStored else {
      // Not `save`: a record with this id may exist that does not match.
      try insert(&record)
      return .inserted
    }
    try takeStoredVersion(into: &record)
    return try isWriting(record.id, of: R.self) { try update(&record) } ? .updated : .unchanged
  }

  /// Whether a save of a stored record writes anything.
  func isWriting<R: Record>(
    _ id: R.ID, of type: R.Type, _ save: () throws -> Void
  ) throws -> Bool {
    let collection = try context.collection(of: type)
    let declarations = collection.declarations(of: type)
    let before = changeCount
    guard declarations.hooks != nil || declarations.validations.runsCode else {
      try save()
      return changeCount != before
    }
    // The code that runs may change other records, which count too.
    func stored() throws -> [UInt8]? {
      try storage { transaction in
        try collection.records.get(try context.key(of: id), in: transaction).map { [UInt8]($0) }
      }
    }
    let old = try stored()
    try save()
    if changeCount == before { return false }
    return try stored() != old
  }
}
