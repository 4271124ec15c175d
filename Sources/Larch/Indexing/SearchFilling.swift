/// Adds the words of records to a search that is being built.
final class SearchFilling {
  private let number: Int
  private let collection: CollectionHandle
  private let words: RecordWords
  private let pending: PendingWords
  private var list = WordList()

  /// - Parameter number: the place of the search among those of the collection.
  init(_ number: Int, in collection: CollectionHandle, _ coder: RecordCoder) {
    self.number = number
    self.collection = collection
    words = RecordWords(coder)
    pending = PendingWords(collection.searches[number], collection.stored.idKind)
  }

  var byteCount: Int { pending.byteCount }

  func add(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    guard collection.stored.idKind.width.map({ $0 == id.count }) ?? true else {
      throw RecordEnvelope.damaged(id, collection.stored)
    }
    try words.collect(of: record, number, in: collection, into: &list)
    for item in list.items {
      _ = pending.append(list.word(item), id: id, list.posting(item), isRemoval: false)
    }
  }

  func flush(in transaction: LMDBTransaction) throws { try pending.flush(in: transaction, nil) }
}
