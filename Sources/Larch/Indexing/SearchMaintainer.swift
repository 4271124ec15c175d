/// Maintains the searches in one write transaction: takes the words of a record before and after a change, and
/// collects the postings that differ. They are merged into the trees word by word, at the end of the write or before
/// a tree is read.
final class SearchMaintainer {
  /// The words of one record in one search.
  private final class Words {
    var old = WordList()
    var new = WordList()
    /// Whether there is something to add.
    var isChanged = false
  }

  private let context: TransactionContext
  let words: RecordWords
  private var changes: [Words] = []
  /// By the handle of the tree; created at the first change of a search and kept for later transactions.
  private var pending: [UInt32: PendingWords] = [:]
  /// The size of all collected changes.
  private(set) var size = 0

  init(_ context: TransactionContext) {
    self.context = context
    words = RecordWords(context.coder)
  }

  /// Takes the words of a record, which is about to change. Nothing is cut if the texts have the same bytes.
  func take(
    _ id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer?, after: UnsafeRawBufferPointer?,
    in collection: CollectionHandle
  ) throws {
    while changes.count < collection.searches.count { changes.append(Words()) }
    for number in collection.searches.indices {
      let change = changes[number]
      change.isChanged = false
      if let before, let after, try words.areEqual(before, after, number, in: collection) {
        continue
      }
      change.old.removeAll()
      change.new.removeAll()
      if let before {
        do {
          try words.collect(of: before, number, in: collection, into: &change.old)
        } catch let error as LarchError where error.code == .decodingFailed {
          // A record that its type cannot decode any more must still be replaceable and deletable.
          try find(id, number, in: collection, into: &change.old)
        } catch let error as LarchError {
          throw RecordEnvelope.naming(error, id, collection.stored)
        }
      }
      if let after { try words.collect(of: after, number, in: collection, into: &change.new) }
      change.isChanged = true
    }
  }

  /// The same for a change of some fields of a record that its type cannot decode. Searches that need the decoded
  /// record do not change.
  ///
  /// - Throws: `.decodingFailed` if such a search has a changed field.
  func takeUndecodable(
    _ id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer,
    changed: [FieldIdentity], in collection: CollectionHandle
  ) throws {
    while changes.count < collection.searches.count { changes.append(Words()) }
    for (number, index) in collection.searches.enumerated() {
      let change = changes[number]
      change.isChanged = false
      // Other fields are the same, and so are the words.
      let isConcerned = index.schema.search?.fields.contains { changed.contains($0.identity) }
      guard isConcerned == true else { continue }
      do {
        try words.collect(of: before, number, in: collection, into: &change.old)
        try words.collect(of: after, number, in: collection, into: &change.new)
      } catch let error as LarchError where error.code == .decodingFailed {
        throw LarchError(
          .decodingFailed,
          "The record cannot be decoded, so a text in it cannot be changed: a search needs the decoded record for its words. Delete the record by its id first, or save another one under its id."
        ) {
          $0.collection = collection.stored.name
          $0.index = index.stored.name
          $0.id = collection.stored.idKind.text(of: id)
        }
      }
      change.isChanged = true
    }
  }

  /// Adds what was taken; the record is written.
  func add(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    for (number, index) in collection.searches.enumerated() where changes[number].isChanged {
      let change = changes[number]
      let pending = pendingWords(index, collection.stored.idKind)
      var size = 0
      WordList.difference(
        old: change.old, new: change.new,
        removed: { size += pending.append($0, id: id, $1, isRemoval: true) },
        added: { size += pending.append($0, id: id, $1, isRemoval: false) })
      self.size += size
      change.isChanged = false
    }
  }

  /// The postings of a record as they are in the tree.
  @inline(never)
  private func find(
    _ id: UnsafeRawBufferPointer, _ number: Int, in collection: CollectionHandle,
    into list: inout WordList
  ) throws {
    let index = collection.searches[number]
    list.removeAll()
    try flush(index.database)
    let tree = try SearchTree(index, collection.stored.idKind, in: try context.transaction())
    guard let number = try tree.number(of: id) else { return }
    try tree.forEachPosting { word, other, posting in
      if other == number { list.add(found: word, posting) }
    }
  }

  // MARK: Pending changes

  private func pendingWords(_ index: IndexHandle, _ idKind: RecordIDKind) -> PendingWords {
    if let found = pending[index.database.handle], found.isOf(index) { return found }
    let made = PendingWords(index, idKind)
    pending[index.database.handle] = made
    return made
  }

  /// Merges all pending changes.
  func flush() throws {
    if size == 0 { return }
    let transaction = try context.transaction()
    for words in pending.values where !words.isEmpty { try flush(words, in: transaction) }
    size = 0
  }

  private func flush(_ words: PendingWords, in transaction: LMDBTransaction) throws {
    try context.catalog.requirePendingWords(in: transaction)
    try words.flush(in: transaction, context.searchLimits)
  }

  /// How often changes of one tree were merged, so that they cannot be undone.
  private(set) var merges = 0

  /// Merges those of one tree.
  func flush(_ database: LMDBDatabase) throws {
    guard size > 0, let words = pending[database.handle], !words.isEmpty else { return }
    merges += 1
    try flush(words, in: try context.transaction())
  }

  func mark() -> [UInt32: PendingEntries.Mark] { size == 0 ? [:] : pending.mapValues(\.mark) }

  func rewind(to marks: [UInt32: PendingEntries.Mark], size: Int) {
    for (handle, words) in pending { words.rewind(to: marks[handle]) }
    self.size = size
  }

  func discard() {
    if size == 0 { return }
    for words in pending.values { words.discard() }
    size = 0
  }

  func discard(_ database: LMDBDatabase) { pending[database.handle]?.discard() }
}
