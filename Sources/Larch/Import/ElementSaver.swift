/// What the import of an element did with its record.
enum ImportChange { case inserted, updated, unchanged }

/// Saves elements as records of one type.
struct ElementSaver<R: Record> {
  let decoder: ElementDecoder<R>
  /// How the stored record of an element is found; nil for its id.
  let matcher: RecordMatcher<R>?
  let existing: ImportExisting

  /// Saves the record of an element that needed nothing from the store.
  func save(_ record: R, in tx: WriteTransaction) throws -> ImportChange {
    var record = record
    if let matcher {
      let id = try matcher.find(record, tx)
      if let id { record.id = id }
      return try save(&record, isStored: id != nil, in: tx)
    }
    let isStored = try !record.id._isUnassigned && tx.exists(R.self, record.id)
    return try save(&record, isStored: isStored, in: tx)
  }

  /// Saves an element.
  ///
  /// - Parameter adjust: changes the record before it is saved; also gets the id of the stored
  ///   record, if there is one.
  func save(
    _ element: ElementInput, in tx: WriteTransaction,
    adjust: (inout R, R.ID?) throws -> Void = { _, _ in }
  ) throws -> (record: R, change: ImportChange) {
    let id = try (matcher ?? .byID).findElement(decoder, element, tx)
    var record: R
    if let id {
      // Only a merge needs the fields of the stored record.
      let stored = existing == .merge ? try tx.find(R.self, id) : nil
      record = try decoder.record(element, over: id, merging: stored)
      record.id = id
    } else {
      record = try decoder.record(element)
    }
    try adjust(&record, id)
    let change = try save(&record, isStored: id != nil, in: tx)
    return (record, change)
  }

  private func save(
    _ record: inout R, isStored: Bool, in tx: WriteTransaction
  ) throws -> ImportChange {
    let before = tx.changeCount
    guard isStored else {
      // Not `save`: a record with this id may exist that does not match.
      try tx.insert(&record)
      return .inserted
    }
    try tx.takeStoredVersion(into: &record)
    try tx.update(&record)
    return tx.changeCount == before ? .unchanged : .updated
  }
}
