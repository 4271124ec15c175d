/// Saves elements as records of one type.
struct ElementSaver<R: Record> {
  let decoder: ElementDecoder<R>
  /// How the stored record of an element is found; nil for its id.
  let matcher: RecordMatcher<R>?
  let existing: ImportExisting

  /// Saves the record of an element that needed nothing from the store.
  func save(_ record: R, in tx: WriteTransaction) throws -> SavedChange {
    var record = record
    if let matcher {
      let id = try matcher.find(record, tx)
      if let id { record.id = id }
      return try tx.saveMatched(&record, isStored: id != nil)
    }
    let isStored = try !record.id._isUnassigned && tx.exists(R.self, record.id)
    return try tx.saveMatched(&record, isStored: isStored)
  }

  /// Saves an element.
  ///
  /// - Parameter adjust: changes the record before it is saved; also gets the id of the stored
  ///   record, if there is one.
  func save(
    _ element: ElementInput, in tx: WriteTransaction,
    adjust: (inout R, R.ID?) throws -> Void = { _, _ in }
  ) throws -> (record: R, change: SavedChange) {
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
    let change = try tx.saveMatched(&record, isStored: id != nil)
    return (record, change)
  }
}
