/// Learns what a transaction reads and writes, tree by tree.
///
/// A transaction has a watcher only if somebody observes the store. All reads and writes of LMDB are
/// in a few functions of `LMDB/Access`, and each of them tests whether there is one. That is the
/// lowest place that everything passes: saves, deletions, cascades, imports, migrations and repairs.
/// So no path can forget to tell, and the test is all that an unobserved transaction pays.
package class TransactionWatcher {
  /// A tree is about to be read.
  func didRead(_ tree: UInt32) {}

  /// A key of a tree is about to be written or deleted. Returns whether `keep` must follow before that.
  func willWrite(_ tree: UInt32, _ key: UnsafeRawBufferPointer) -> Bool { false }

  /// The key of such a write, with its value.
  ///
  /// - Parameter current: reads the value that the key has now.
  func keep<E: Error>(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer,
    current: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) {}

  /// A tree is about to be emptied.
  ///
  /// - Parameter forEach: calls with each key and value, until the closure returns false.
  func willEmpty<E: Error>(
    _ tree: UInt32,
    forEach: ((UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) throws(E) -> Void
  ) throws(E) {}

  /// A child transaction begins.
  func didBeginChild() {}

  /// The transaction, or its open child, becomes a part of its parent.
  func didCommit() {}

  /// The transaction, or its open child, is undone.
  func didAbort() {}
}

/// Notes the trees that a read transaction reads. What it computes depends on nothing else in the
/// file, so as long as none of them changes, its results stay the same.
package class ReadTracker: TransactionWatcher {
  package private(set) var trees = TreeSet()

  package override init() {}

  override func didRead(_ tree: UInt32) { trees.insert(tree) }
}
