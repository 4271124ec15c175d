/// Learns what a transaction reads and writes, tree by tree.
///
/// A transaction has a watcher only if somebody observes the store, or if its commit is recorded. All
/// reads and writes of LMDB are in a few functions of `LMDB/Access`, and each of them tests whether
/// there is one. That is the lowest place that everything passes: saves, deletions, cascades, imports,
/// migrations and repairs. So no path can forget to tell, and the test is all that other transactions
/// pay.
package class TransactionWatcher {
  /// Whether it serves those who observe the store.
  var isObserving: Bool { true }

  /// A tree is about to be read.
  func didRead(_ tree: UInt32) {}

  /// A key of a tree is about to be written or deleted. Returns whether `keep` must follow before that.
  func willWrite(_ tree: UInt32, _ key: UnsafeRawBufferPointer) -> Bool { false }

  /// Many keys of a tree are about to be put. Returns whether `willWrite` must follow for each.
  func willFill(_ tree: UInt32) -> Bool { true }

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

  // MARK: What is recorded

  // Each of these comes before the change, whose key may lie in a page that it moves.

  /// A pair is about to be put.
  func willPut(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {}

  /// Room is about to be made for a value of this size.
  func willReserve(_ tree: UInt32, _ key: UnsafeRawBufferPointer, _ size: Int) {}

  /// The room, which is filled before the next change.
  func didReserve(_ room: UnsafeMutableRawBufferPointer) {}

  /// A key, or one of its values, is about to be deleted.
  func willDelete(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?
  ) {}

  /// A tree is about to be emptied, or deleted.
  func willEmpty(_ tree: UInt32, drops: Bool) {}

  /// A tree was created.
  func didCreate(_ tree: UInt32) {}

  /// The change of the last call did not happen.
  func didNotChange() {}

  // MARK: Children

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
