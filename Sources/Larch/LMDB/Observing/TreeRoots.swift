/// The root pages of the trees in one snapshot.
///
/// LMDB never changes a page that a snapshot can read. So a change of a tree gives it another root
/// page, and if no page was reused meanwhile, two snapshots have the same root page exactly if nothing
/// in the tree has changed between them.
struct TreeRoots {
  /// The last commit of the snapshot.
  let transaction: UInt64
  /// By handle; nil for a tree that is not there.
  private let roots: [UInt32: UInt?]

  /// Reads the roots of the trees whose handles are open: a search for each of them.
  init(of names: [UInt32: String], in transaction: LMDBTransaction) throws(LMDBError) {
    var roots: [UInt32: UInt?] = [:]
    for (handle, name) in names {
      roots.updateValue(try Self.root(of: name, in: transaction), forKey: handle)
    }
    self.roots = roots
    self.transaction = transaction.id
  }

  /// The root page of a tree; nil if it is not there. All empty trees have the same number.
  static func root(
    of name: String, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UInt? {
    var result: Result<UInt?, LMDBError> = .success(nil)
    var name = name
    name.withUTF8 { name in
      result = Result { () throws(LMDBError) -> UInt? in
        guard
          let record = try LMDBDatabase.unnamed.get(UnsafeRawBufferPointer(name), in: transaction),
          record.count >= MemoryLayout<UInt>.size
        else { return nil }
        // The last word of LMDB's record of a tree: see docs/file-format.md.
        return record.loadUnaligned(
          fromByteOffset: record.count - MemoryLayout<UInt>.size, as: UInt.self)
      }
    }
    return try result.get()
  }

  /// The trees that differ from an earlier snapshot, and those that it does not know.
  func changed(since old: TreeRoots) -> TreeSet {
    TreeSet(roots.filter { old.roots[$0.key] != .some($0.value) }.keys)
  }
}
