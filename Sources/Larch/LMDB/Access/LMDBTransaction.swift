internal import CLMDB

/// A handle of an LMDB transaction. Only the function that began it owns it.
///
/// It is two bare pointers, so that passing it costs nothing. The environment's `write` and its
/// readers begin and end transactions; only children are begun and ended by hand. No handle may be
/// used after its end, and no parent while its child is open.
package struct LMDBTransaction {
  let pointer: OpaquePointer
  /// See `watcher`. Not counted, since transactions are passed with each call: whoever begins the
  /// transaction keeps the watcher until the end.
  private let watching: Unmanaged<TransactionWatcher>?

  @inline(__always)
  init(pointer: OpaquePointer, watcher: TransactionWatcher? = nil) {
    self.pointer = pointer
    watching = watcher.map { Unmanaged.passUnretained($0) }
  }

  /// Whether there is a watcher: all that a transaction without one asks.
  @inline(__always)
  var isWatched: Bool { watching != nil }

  /// Learns what the transaction reads and writes; nil if nobody wants to know.
  var watcher: TransactionWatcher? { watching?.takeUnretainedValue() }

  /// Calls the watcher, if there is one, without counting a reference for each key.
  @inline(__always) @discardableResult
  func tell<T>(_ body: (TransactionWatcher) -> T) -> T? {
    watching?._withUnsafeGuaranteedRef(body)
  }

  /// Whether the watcher serves those who observe the store.
  var isObserved: Bool { isWatched && watcher?.isObserving == true }

  /// The same transaction, whose reads are noted. The tracker must outlive it.
  func tracked(by tracker: ReadTracker) -> LMDBTransaction {
    LMDBTransaction(pointer: pointer, watcher: tracker)
  }

  /// The same transaction for many puts into one tree, without a watcher that need not hear of each.
  func filling(_ tree: UInt32) -> LMDBTransaction {
    guard let watcher, !watcher.willFill(tree) else { return self }
    return LMDBTransaction(pointer: pointer)
  }

  /// The number of the snapshot. A write has a number one higher than the snapshot it changes.
  package var id: UInt64 { UInt64(mdb_txn_id(pointer)) }

  /// Notes that the write has changed something, so that its commit gets a number.
  @inline(__always)
  func noteChange() {
    guard let context = mdb_env_get_userctx(mdb_txn_env(pointer)) else { return }
    Unmanaged<LMDBEnvironment>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.hasChanged.store(true, ordering: .relaxed)
    }
  }

  /// The number of the last page that the file had at its last commit, or more.
  var lastPage: Int {
    var info = MDB_envinfo()
    mdb_env_info(mdb_txn_env(pointer), &info)
    return Int(clamping: info.me_last_pgno)
  }

  /// Begins a transaction of an environment that nobody else uses yet.
  static func begin(
    _ handle: OpaquePointer, _ flags: Int32 = 0
  ) throws(LMDBError) -> LMDBTransaction {
    var started: OpaquePointer?
    try LMDBError.check(mdb_txn_begin(handle, nil, UInt32(flags), &started), "mdb_txn_begin")
    guard let started else { throw LMDBError(ENOMEM, "mdb_txn_begin") }
    return LMDBTransaction(pointer: started)
  }

  /// Begins a child transaction, which can be undone alone. Read transactions have no children. It ends
  /// with `commitChild` or `abortChild`.
  func beginChild() throws(LMDBError) -> LMDBTransaction {
    var child: OpaquePointer?
    let code = mdb_txn_begin(mdb_txn_env(pointer), pointer, 0, &child)
    guard code == MDB_SUCCESS, let child else {
      throw LMDBError.failure(code, "mdb_txn_begin", in: pointer)
    }
    if isWatched { watcher?.didBeginChild() }
    LMDBEnvironment.of(self)?.didBeginChild()
    return LMDBTransaction(pointer: child, watcher: watcher)
  }

  /// Makes a child a part of its parent. It ends even if that fails.
  func commitChild() throws(LMDBError) {
    LMDBEnvironment.of(self)?.didEndChild(isKept: true)
    try commit()
  }

  /// Undoes a child, and ends it.
  func abortChild() {
    LMDBEnvironment.of(self)?.didEndChild(isKept: false)
    abort()
  }

  /// Commits. The transaction ends even if that fails.
  func commit() throws(LMDBError) {
    // Read before the commit, because LMDB frees the transaction in it.
    let parent = mdb_txn_env(pointer)
    let code = mdb_txn_commit(pointer)
    if isWatched { watcher?.didCommit() }
    guard code == MDB_SUCCESS else {
      throw LMDBError.commitFailure(code, environment: parent)
    }
  }

  /// Undoes everything and ends the transaction.
  func abort() {
    mdb_txn_abort(pointer)
    if isWatched { watcher?.didAbort() }
  }
}

extension LMDBError {
  fileprivate static func commitFailure(_ code: Int32, environment: OpaquePointer?) -> LMDBError {
    if code == MDB_MAP_FULL, let environment, let context = mdb_env_get_userctx(environment) {
      Unmanaged<LMDBEnvironment>.fromOpaque(context).takeUnretainedValue().noteMapFull()
    }
    return LMDBError(code, "mdb_txn_commit")
  }
}
