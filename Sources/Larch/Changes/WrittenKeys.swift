/// The keys that a transaction has written in the indexes by which listeners are found.
///
/// A new record has all its keys written, a deleted one too, and a changed one those that differ. So
/// for a bulk write they need not be made from the records a second time. There are more of them than the
/// commit changes if a record is written twice, or a savepoint is undone: these wake listeners in vain.
///
/// Where records are left out that concern nobody, these are the keys of the others, before and after
/// each change (`RecordSieve`).
struct WrittenKeys: Sendable {
  private var batches: [(tree: UInt32, batch: KeyBatch)] = []
  private(set) var size = 0

  var isEmpty: Bool { batches.isEmpty }

  /// Those of an index; nil if they are not known.
  subscript(tree: UInt32) -> KeyBatch? { batches.first { $0.tree == tree }?.batch }

  /// Begins to keep the keys of these indexes.
  mutating func begin(_ trees: TreeSet) {
    size = 0
    batches.removeAll(keepingCapacity: true)
    for tree in trees { batches.append((tree, KeyBatch())) }
  }

  mutating func add(_ key: UnsafeRawBufferPointer, of tree: UInt32) {
    // There are few.
    for place in batches.indices where batches[place].tree == tree {
      batches[place].batch.append(key)
      size += key.count
    }
  }

  /// Those of an index are not known.
  mutating func forget(_ tree: UInt32) {
    batches.removeAll { $0.tree == tree }
  }
}
