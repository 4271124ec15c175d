/// What a write transaction changes: the trees, and the records before and after.
///
/// For each record, the log keeps the value at the first write of its id. The value after the
/// transaction is read at its end. So writes of one id are folded into one change, and everything
/// that was undone in between has no effect, without a word of savepoints: if the two values are
/// equal, nothing has changed.
///
/// Used only by the thread that has the write lock.
package final class ChangeLog: TransactionWatcher {
  /// How much is kept of one tree. A transaction that changes more is known only to have changed
  /// the tree, so that a bulk load does not fill the memory.
  struct Limits: Sendable {
    var records = 10_000
    var bytes = 4 << 20
  }

  /// Also those of what others change. Tests make them smaller, while nobody else writes.
  @exclusivity(unchecked) var limits = Limits()
  // Asked for each key that is written.
  /// The trees whose changes are kept one by one.
  @exclusivity(unchecked) private var recordTrees = TreeSet()
  @exclusivity(unchecked) private var touched = TreeSet()
  /// The indexes whose written keys are kept.
  @exclusivity(unchecked) private var keyTrees = TreeSet()
  @exclusivity(unchecked) private var keys = WrittenKeys()
  /// There are few trees.
  @exclusivity(unchecked) private var records: [(tree: UInt32, kept: TouchedRecords)] = []
  /// The record trees with more changes than the limit.
  @exclusivity(unchecked) private var flooded = TreeSet()
  /// What was touched at the beginning of each open child transaction.
  private var marks: [TreeSet] = []
  /// The writes that share the transaction, as far as they have ended.
  @exclusivity(unchecked) private var parts = CommitParts()
  /// Leaves out the records that concern nobody.
  @exclusivity(unchecked) private var sieve = RecordSieve()

  /// Begins with a transaction, and forgets the one before.
  ///
  /// - Parameters:
  ///   - keyTrees: the indexes whose written keys are kept.
  ///   - isDivided: whether the changes of each write are kept apart.
  ///   - sieve: which records are left out. The indexes of their collections are not among `keyTrees`.
  func begin(
    recordTrees: TreeSet, keyTrees: TreeSet = TreeSet(), isDivided: Bool = false,
    sieve: RecordSieve = RecordSieve()
  ) {
    self.recordTrees = recordTrees
    self.keyTrees = keyTrees
    self.sieve = sieve
    var kept = keyTrees
    kept.formUnion(sieve.keyTrees)
    keys.begin(kept)
    touched = TreeSet()
    records = []
    flooded = TreeSet()
    marks = []
    parts = CommitParts(isDivided: isDivided)
  }

  // MARK: Writes that share the transaction

  /// One of the writes has ended, and will be committed. What follows belongs to the next one.
  ///
  /// - Parameter value: reads the value that a key of a tree has now.
  func endWrite(
    of author: String?, value: (UInt32, UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer?
  ) {
    parts.authorship.add(author)
    guard parts.isDivided, !touched.isEmpty else { return }
    parts.add(takeChanges(of: Authorship(author), WrittenKeys(), value))
  }

  // MARK: Gathering

  override func willWrite(_ tree: UInt32, _ key: UnsafeRawBufferPointer) -> Bool {
    touched.insert(tree)
    if keyTrees.contains(tree) { noteKey(key, in: tree) }
    guard isKeeping(tree) else { return false }
    return !sieve.trees.contains(tree) || sieve.keeps(key, in: tree)
  }

  override func willFill(_ tree: UInt32) -> Bool {
    touched.insert(tree)
    return keyTrees.contains(tree) || recordTrees.contains(tree)
  }

  override func keep<E: Error>(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer,
    current: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) { try note(key, in: tree, current) }

  private func noteKey(_ key: UnsafeRawBufferPointer, in tree: UInt32) {
    keys.add(key, of: tree)
    if keys.size > limits.bytes { forgetKeys(of: tree) }
  }

  private func forgetKeys(of tree: UInt32) {
    keys.forget(tree)
    keyTrees = keyTrees.subtracting(TreeSet([tree]))
  }

  // MARK: Records that concern nobody

  /// What the listeners of a collection are found by; nil if all its changed records are kept.
  func routes(of tree: UInt32) -> RouteIndex? { sieve.routes(of: tree) }

  /// A record is about to be written, and it is known whether the change may concern a listener.
  func announce(_ id: UnsafeRawBufferPointer, in tree: UInt32, isConcerned: Bool) {
    sieve.announce(id, in: tree, isConcerned: isConcerned)
  }

  /// A key that the announced record has, or had.
  func announce(key: UnsafeRawBufferPointer, of index: UInt32) {
    keys.add(key, of: index)
    if keys.size > limits.bytes { keys.forget(index) }
  }

  func endAnnouncement() { sieve.endAnnouncement() }

  override func willEmpty<E: Error>(
    _ tree: UInt32,
    forEach: ((UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) throws(E) -> Void
  ) throws(E) {
    touched.insert(tree)
    if keyTrees.contains(tree) { forgetKeys(of: tree) }
    guard isKeeping(tree) else { return }
    if sieve.trees.contains(tree) { sieve.noteUnannounced(in: tree) }
    try forEach { key, value in
      note(key, in: tree) { value }
      return isKeeping(tree)
    }
  }

  private func isKeeping(_ tree: UInt32) -> Bool {
    recordTrees.contains(tree) && !flooded.contains(tree)
  }

  private func note<E: Error>(
    _ id: UnsafeRawBufferPointer, in tree: UInt32,
    _ before: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) {
    let place = records.firstIndex { $0.tree == tree } ?? records.count
    if place == records.count { records.append((tree, TouchedRecords())) }
    try records[place].kept.add(id, value: before)
    let (count, bytes) = (records[place].kept.count, records[place].kept.bytes)
    if count > limits.records || bytes > limits.bytes
      || !parts.isEmpty && parts.isFull(tree, with: count, limits)
    {
      flood(tree)
    }
  }

  private func flood(_ tree: UInt32) {
    records.removeAll { $0.tree == tree }
    flooded.insert(tree)
  }

  // MARK: Child transactions

  override func didBeginChild() { marks.append(touched) }

  override func didCommit() { _ = marks.popLast() }

  override func didAbort() {
    guard let mark = marks.popLast() else {
      sieve = RecordSieve()
      return
    }
    touched = mark
    // Of a tree that was touched before, the values at that time are lost.
    flooded = flooded.intersection(mark)
  }

  // MARK: The end

  /// Ends just before the commit of the transaction. Returns its changes; nil if there are none.
  ///
  /// - Parameter value: reads the value that a key of a tree has now.
  func finish(
    value: (UInt32, UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer?
  ) -> CommittedChanges? {
    defer { (keys, sieve) = (WrittenKeys(), RecordSieve()) }
    for index in sieve.incompleteKeys { keys.forget(index) }
    if parts.authorship.count == 0 { parts.authorship.add(nil) }
    guard !parts.isEmpty else {
      return touched.isEmpty ? nil : takeChanges(of: parts.authorship, keys, value)
    }
    if !touched.isEmpty { parts.add(takeChanges(of: .unknown, WrittenKeys(), value)) }
    return parts.whole(keys)
  }

  /// What has changed since the beginning, or since the last write that shares the transaction.
  private func takeChanges(
    of authorship: Authorship, _ keys: WrittenKeys,
    _ value: (UInt32, UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer?
  ) -> CommittedChanges {
    defer { (touched, records, flooded) = (TreeSet(), [], TreeSet()) }
    var itemized: [UInt32: RecordChanges] = [:]
    // Whatever was written to a tree without an entry was undone.
    for tree in recordTrees where isKeeping(tree) && touched.contains(tree) {
      itemized[tree] = .nothing
    }
    for (tree, kept) in records where touched.contains(tree) {
      do {
        let changes = try kept.changes { try value(tree, $0) }
        let bytes = changes.size + (parts.isEmpty ? 0 : parts.size(of: tree).bytes)
        itemized[tree] = bytes > 2 * limits.bytes ? nil : changes
      } catch {
        // The commit itself reports a file that cannot be read.
        itemized[tree] = nil
      }
    }
    return CommittedChanges(
      trees: touched, records: ChangedRecords(itemized), authorship: authorship, keys: keys,
      sifting: sieve.result(touched))
  }
}

/// One record that a transaction has changed.
package struct StoredChange: Sendable, Hashable {
  /// The bytes of its id.
  package let id: [UInt8]
  /// The stored values, with their checksums: of the state before the transaction, and of the state
  /// after it. One of them is nil for a record that was inserted or deleted.
  package let before: [UInt8]?
  package let after: [UInt8]?

  package init(id: [UInt8], before: [UInt8]?, after: [UInt8]?) {
    self.id = id
    self.before = before
    self.after = after
  }
}

/// What a commit has changed.
package final class CommittedChanges: Sendable {
  /// The trees that were written to.
  package let trees: TreeSet
  /// The changed records by tree, each id once, in the order of ids. A tree that was written to and
  /// is not here has more changes than the limit, or nobody asked for its records.
  package let records: ChangedRecords
  /// The last commit before them, if they are those of several; nil for those of one. The records
  /// show nothing of a state in between.
  package let since: UInt64?
  /// The writes that made the changes.
  package let authorship: Authorship
  /// The changes of each of several writes that share the commit, in order. Empty if nobody asked for
  /// them one by one, and for a commit of one write.
  package let parts: [CommittedChanges]
  /// The keys of the records in indexes, as far as they are known.
  let keys: WrittenKeys
  /// Which of the records are left out.
  let sifting: Sifting
  /// About how much memory the records take.
  let size: Int

  package convenience init(
    trees: TreeSet, records: [UInt32: [StoredChange]], since: UInt64? = nil,
    authorship: Authorship = .unknown
  ) {
    self.init(
      trees: trees, records: ChangedRecords(records), since: since, authorship: authorship)
  }

  init(
    trees: TreeSet, records: ChangedRecords, since: UInt64? = nil,
    authorship: Authorship = .unknown, parts: [CommittedChanges] = [],
    keys: WrittenKeys = WrittenKeys(), sifting: Sifting = Sifting()
  ) {
    self.trees = trees
    self.records = records
    self.since = since
    self.authorship = authorship
    self.parts = parts
    self.keys = keys
    self.sifting = sifting
    size = parts.reduce(records.size + keys.size) { $0 + $1.size }
  }
}
