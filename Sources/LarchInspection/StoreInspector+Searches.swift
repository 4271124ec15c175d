package import Larch

extension StoreInspector.Index {
  /// The rules, the fields and the like of an index of words; nil for an index of keys.
  package var searchDefinition: SearchDefinition? { SearchDefinition(definition) }
}

extension StoreInspector {
  /// Visits the postings of an index of words in the order of words and ids: the word in quotes, and the id of a
  /// record that has it.
  func forEachWord(
    of index: Index, in collection: Collection,
    _ body: (_ word: String, _ id: String) throws -> Void
  ) throws {
    try index.handle.forEachWord(of: collection.stored.idKind, in: transaction) { word, id in
      try body("\"\(word)\"", collection.stored.idKind.text(of: id))
    }
  }
}
