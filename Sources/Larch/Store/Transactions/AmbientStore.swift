/// The store for calls that name none: the transaction that runs on this thread, or else the store
/// of the task (``Store/with(_:_:)-(Store,()->T)``), or else ``Store/default``.
///
/// It reads and writes like a ``Store`` or a transaction. Users never name it: it is the default
/// argument of their calls, as in `Person.where { … }.fetch()`.
///
/// - Inside a ``Store/read(file:line:_:)`` it reads that snapshot, and refuses to write. A read
///   inside a write of the same store is a part of that write.
/// - Inside ``Store/with(_:_:)-(Store,()->T)`` it is that store, or its running transaction if
///   there is one on this thread. A transaction of another store around it does not matter.
/// - A task that is started in a transaction does not belong to it, even if it begins at once,
///   since it may outlive the transaction. It has the store that ``Store/with(_:_:)-(Store,()->T)``
///   chose where it was started. A detached task, or another thread, has ``Store/default``.
///
/// Finding the store takes about 20 nanoseconds inside a transaction, and twice as long outside.
@usableFromInline  // Default arguments of public functions use it.
struct AmbientStore: RecordWriting, Sendable {
  /// All values are equal: the store is found at each call.
  @inlinable
  init() {}

  /// In the running transaction, or a snapshot of its own.
  @inlinable  // So that the closure, and with it the record, needs no second generic call.
  func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    switch try _target() {
    case .transaction(let transaction): try body(transaction)
    case .store(let store): try store.read(body)
    }
  }

  /// In the running transaction, or one of its own.
  @inlinable  // As above.
  func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    switch try _target() {
    case .transaction(let transaction):
      guard let writer = transaction as? WriteTransaction else { throw AmbientStore._cannotWrite() }
      return try body(writer)
    case .store(let store): return try store._writing(body)
    }
  }

  /// In the running transaction, which restores the record itself after an error, or one of its
  /// own.
  @inlinable  // As above.
  func _saving<R: Record>(
    _ record: inout R, _ body: (WriteTransaction, inout R) throws -> Void
  ) throws {
    switch try _target() {
    case .transaction(let transaction):
      guard let writer = transaction as? WriteTransaction else { throw AmbientStore._cannotWrite() }
      try body(writer, &record)
    case .store(let store): try store._saving(&record, body)
    }
  }

  /// The transaction or store of a call.
  @usableFromInline
  enum _Target {
    case transaction(ReadTransaction)
    case store(Store)
  }

  /// Finds the transaction or store of a call.
  @usableFromInline
  func _target() throws -> _Target {
    switch RunningScope.current {
    case .transaction(let transaction): return .transaction(transaction)
    case .store(let store): return .store(store)
    case nil: return .store(try AmbientStore.chosen())
    }
  }

  /// The named store, or else the one for a call outside a transaction.
  static func chosen(_ named: Store? = nil) throws -> Store {
    if let named { return named }
    if case .store(let store) = RunningScope.current { return store }
    if let store = Store.ofTask.get() ?? Store.default { return store }
    throw LarchError(
      .noDefaultStore,
      "No store is named and no default is set; set `Store.default` once, or use `Store.with(store) { … }`."
    )
  }

  /// The error of a write inside a read.
  @usableFromInline
  static func _cannotWrite() -> LarchError {
    LarchError(
      .readOnly,
      "A record cannot be written inside a read; use `Store.transaction`, or `write` instead of `read`."
    )
  }
}

extension Store {
  /// The store of the running task, if one was chosen for it.
  fileprivate static let ofTask = TaskLocal<Store?>(wrappedValue: nil)

  /// The same for what continues in another task.
  static var chosenForTask: Store? { ofTask.get() }

  private static let shared = Locked<Store?>(nil)

  /// The store for calls that name none, such as `try ada.save()`; nil until it is set.
  ///
  /// Set it once, when the program starts. For a part of the program use
  /// ``with(_:_:)-(Store,()->T)``; parallel tests do this.
  public static var `default`: Store? {
    get { shared.withLock { $0 } }
    set {
      // Releasing the old store may close it, which must not happen under the lock.
      let old = shared.withLock { store in
        defer { store = newValue }
        return store
      }
      withExtendedLifetime(old) {}
    }
  }

  /// Runs `body` with `store` as the store for calls that name none.
  ///
  /// It applies to the closure, to everything it calls, and to tasks that are started in it, except
  /// detached ones. It begins no transaction; a running transaction of `store` continues.
  ///
  /// - Throws: the errors of `body`.
  /// - Complexity: O(1).
  @discardableResult
  public static func with<T>(_ store: Store, _ body: () throws -> T) rethrows -> T {
    try ofTask.withValue(store) { try RunningScope.enter(store, nil, body) }
  }

  /// The same, without a running transaction: for work after a commit, which a read around the write
  /// does not see.
  static func withNewest(_ store: Store, _ body: () -> Void) {
    ofTask.withValue(store) { RunningScope.enter(store, nil, isApart: true, body) }
  }

  /// Runs an asynchronous `body` with `store` as the store for calls that name none.
  ///
  /// It applies to the closure, to everything it calls, and to tasks that are started in it, except
  /// detached ones.
  ///
  /// - Throws: the errors of `body`.
  /// - Complexity: O(1).
  @discardableResult
  public static func with<T>(
    _ store: Store, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
  ) async rethrows -> T {
    try await ofTask.withValue(store, operation: body, isolation: isolation)
  }
}
