/// The root pages of the trees in one snapshot.
///
/// LMDB never changes a page that a snapshot can read. So a change of a tree gives it another root
/// page, and if no page was reused meanwhile, two snapshots have the same root page exactly if nothing
/// in the tree has changed between them. Only empty trees all have the same: such a tree may have had
/// something in between.
struct TreeRoots {
  /// The last commit of the snapshot.
  let transaction: UInt64
  /// By handle; nil for a tree that is not there.
  private let roots: [UInt32: UInt?]
  /// The headers of these trees, by which their pages are found.
  private let records: [UInt32: DatabaseRecord]

  /// Reads the roots of the trees whose handles are open: a search for each of them.
  init(of names: [UInt32: String], in transaction: LMDBTransaction) throws(LMDBError) {
    var roots: [UInt32: UInt?] = [:]
    var records: [UInt32: DatabaseRecord] = [:]
    for (handle, name) in names {
      let found = try Self.header(of: name, in: transaction) { header in
        if header.count == PageLayout.databaseRecordSize {
          records[handle] = header.baseAddress.map { DatabaseRecord($0) }
        }
        return Self.root(header)
      }
      roots.updateValue(found, forKey: handle)
    }
    self.roots = roots
    self.records = records
    self.transaction = transaction.id
  }

  /// The root page of a tree; nil if it is not there. All empty trees have the same number.
  static func root(
    of name: String, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UInt? { try header(of: name, in: transaction, root) }

  /// What LMDB keeps under the name of a tree; nil if the tree is not there.
  private static func header<T>(
    of name: String, in transaction: LMDBTransaction, _ body: (UnsafeRawBufferPointer) -> T
  ) throws(LMDBError) -> T? {
    var result: Result<T?, LMDBError> = .success(nil)
    var name = name
    name.withUTF8 { name in
      result = Result { () throws(LMDBError) -> T? in
        guard
          let record = try LMDBDatabase.unnamed.get(UnsafeRawBufferPointer(name), in: transaction),
          record.count >= MemoryLayout<UInt>.size
        else { return nil }
        return body(record)
      }
    }
    return try result.get()
  }

  /// The last word of LMDB's record of a tree: see docs/file-format.md.
  private static func root(_ header: UnsafeRawBufferPointer) -> UInt {
    header.loadUnaligned(
      fromByteOffset: header.count - MemoryLayout<UInt>.size, as: UInt.self)
  }

  /// The trees that may have changed since an earlier snapshot, and those that it does not know.
  ///
  /// - Parameter mayHaveFilled: whether somebody may know a state in between in which a tree had
  ///   something that is empty in both.
  func changed(since old: TreeRoots, _ mayHaveFilled: (UInt32) -> Bool) -> TreeSet {
    TreeSet(
      roots.filter { tree, root in
        old.roots[tree] != .some(root) || (root == Self.empty && mayHaveFilled(tree))
      }.keys)
  }

  private static let empty = UInt(PageLayout.noPage)

  /// The header of a tree: nil if it is not known, and a nil in it if the tree was not there.
  func record(of tree: UInt32) -> DatabaseRecord?? {
    guard let root = roots[tree] else { return nil }
    if root == nil { return .some(nil) }
    return records[tree].map { .some($0) }
  }
}
