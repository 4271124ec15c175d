internal import CLarch

/// A transaction, or a call of ``Store/with(_:_:)-(Store,()->T)``, that runs on the calling thread.
///
/// Closures of transactions are synchronous: they begin and end on one thread and never suspend. So
/// a linked list from a thread-local variable has all running scopes, without a lookup and without
/// an allocation. Each scope is on the stack of the call that opened it, which removes it from the
/// list before it returns or throws.
///
/// The references are unmanaged: the call that opened the scope holds the objects.
struct RunningScope {
  private let store: Unmanaged<Store>
  private let transaction: Unmanaged<ReadTransaction>?
  /// The task that opened the scope. Another task that is started inside the scope may begin at
  /// once on the same thread, but it is not in the scope, since it may outlive it. Tasks that exist
  /// at the same time have different addresses, and the task of the scope exists until the scope
  /// ends, since it cannot suspend in between.
  private let task: UnsafeRawPointer?
  private let outer: UnsafeMutablePointer<RunningScope>?
  /// Whether the calls in the scope are no part of what runs around it.
  private let isApart: Bool

  /// The target of calls on this thread that do not name a store.
  enum Target {
    case transaction(ReadTransaction)
    case store(Store)
  }

  /// Runs `body` in the scope of a transaction, or only of a store.
  @inline(__always)
  static func enter<T>(
    _ store: Store, _ transaction: ReadTransaction?, isApart: Bool = false,
    _ body: () throws -> T
  ) rethrows -> T {
    let slot = larch_scope()!  // Not nil: it is the address of a variable.
    let outer = slot.pointee
    var scope = RunningScope(
      store: .passUnretained(store),
      transaction: transaction.map { .passUnretained($0) }, task: CurrentTask.identity,
      outer: outer?.assumingMemoryBound(to: RunningScope.self), isApart: isApart)
    return try withUnsafeMutablePointer(to: &scope) { scope in
      slot.pointee = UnsafeMutableRawPointer(scope)
      defer { slot.pointee = outer }
      return try body()
    }
  }

  /// The target of the innermost scope of the calling thread and task, or nil.
  @inline(__always)
  static var current: Target? {
    guard let innermost = larch_scope()!.pointee else { return nil }  // As above.
    return target(innermost.assumingMemoryBound(to: RunningScope.self))
  }

  /// Whether the calling thread is in any scope. This only reads a variable.
  @inline(__always)
  static var isInside: Bool { larch_scope()!.pointee != nil }  // As above.

  /// Whether a transaction runs on the calling thread.
  static var hasTransaction: Bool {
    var scope = larch_scope()!.pointee?.assumingMemoryBound(to: RunningScope.self)  // As above.
    while let here = scope {
      if here.pointee.transaction != nil { return true }
      scope = here.pointee.outer
    }
    return false
  }

  /// The running transaction that reads of a store on the calling thread are part of, even if it is
  /// not the innermost scope: a write, or the read of an observer, which would not notice them else.
  @inline(never)
  static func joined(by store: Store) -> ReadTransaction? {
    let task = CurrentTask.identity
    var scope = larch_scope()!.pointee?.assumingMemoryBound(to: RunningScope.self)  // As above.
    while let here = scope, here.pointee.task == task {
      if here.pointee.store.toOpaque() == Unmanaged.passUnretained(store).toOpaque(),
        let transaction = here.pointee.transaction?.takeUnretainedValue(),
        transaction is WriteTransaction || transaction.isObserved
      {
        return transaction
      }
      scope = here.pointee.outer
    }
    return nil
  }

  /// Throws inside the read of an observer: if it changed what it reads, it would read without end.
  @inline(never)
  static func expectWritable(_ store: Store) throws {
    guard let transaction = joined(by: store), !(transaction is WriteTransaction) else { return }
    throw LarchError(
      .readOnly,
      "An observed closure cannot write to the store that it reads; write where its values are handled."
    )
  }

  private static func target(_ innermost: UnsafeMutablePointer<RunningScope>) -> Target? {
    let task = CurrentTask.identity
    guard innermost.pointee.task == task else { return nil }
    if let transaction = innermost.pointee.transaction {
      return .transaction(transaction.takeUnretainedValue())
    }
    // `Store.with`: if a transaction of the same store runs around it, that is the target.
    let store = innermost.pointee.store
    var inner = innermost
    while !inner.pointee.isApart, let here = inner.pointee.outer, here.pointee.task == task {
      if here.pointee.store.toOpaque() == store.toOpaque(),
        let transaction = here.pointee.transaction
      {
        return .transaction(transaction.takeUnretainedValue())
      }
      inner = here
    }
    return .store(store.takeUnretainedValue())
  }
}
