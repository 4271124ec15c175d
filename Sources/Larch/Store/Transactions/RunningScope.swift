internal import CLarch

/// A transaction, or a ``Store/with(_:_:)-(Store,()->T)``, that the calling thread is inside of.
///
/// Closures of transactions are synchronous: they begin and end on one thread and never suspend.
/// So a list that begins in a variable of the thread tells what is running, without a look-up and
/// without an allocation: each scope lies on the stack of the call that opened it, and is gone from
/// the list before that call returns or throws.
///
/// The objects are not counted by it: the call that opened the scope holds them.
struct RunningScope {
  private let store: Unmanaged<Store>
  private let transaction: Unmanaged<ReadTransaction>?
  /// A task that is started inside a scope may begin at once, on the thread of the scope; it is not
  /// in the scope, since it goes on when the scope has ended. Two tasks never have one address while
  /// both are there, and that of the scope stays until the scope ends, since it cannot suspend.
  private let task: UnsafeRawPointer?
  private let outer: UnsafeMutablePointer<RunningScope>?

  /// What ambient calls on this thread mean.
  enum Target {
    case transaction(ReadTransaction)
    case store(Store)
  }

  /// Runs `body` inside of a transaction, or of nothing but the choice of a store.
  @inline(__always)
  static func enter<T>(
    _ store: Store, _ transaction: ReadTransaction?, _ body: () throws -> T
  ) rethrows -> T {
    let slot = larch_scope()!  // The address of a variable: there is always one.
    let outer = slot.pointee
    var scope = RunningScope(
      store: .passUnretained(store),
      transaction: transaction.map { .passUnretained($0) }, task: CurrentTask.identity,
      outer: outer?.assumingMemoryBound(to: RunningScope.self))
    return try withUnsafeMutablePointer(to: &scope) { scope in
      slot.pointee = UnsafeMutableRawPointer(scope)
      defer { slot.pointee = outer }
      return try body()
    }
  }

  /// What the calling thread is inside of, or nil.
  @inline(__always)
  static var current: Target? {
    guard let innermost = larch_scope()!.pointee else { return nil }  // As above.
    return target(innermost.assumingMemoryBound(to: RunningScope.self))
  }

  /// Whether the calling thread is inside of anything: one look at a variable.
  @inline(__always)
  static var isInside: Bool { larch_scope()!.pointee != nil }  // As above.

  /// The write of a store that the calling thread is inside of, also with something else in between.
  @inline(never)
  static func write(of store: Store) -> WriteTransaction? {
    let task = CurrentTask.identity
    var scope = larch_scope()!.pointee?.assumingMemoryBound(to: RunningScope.self)  // As above.
    while let here = scope, here.pointee.task == task {
      if here.pointee.store.toOpaque() == Unmanaged.passUnretained(store).toOpaque(),
        let transaction = here.pointee.transaction?.takeUnretainedValue() as? WriteTransaction
      {
        return transaction
      }
      scope = here.pointee.outer
    }
    return nil
  }

  private static func target(_ innermost: UnsafeMutablePointer<RunningScope>) -> Target? {
    let task = CurrentTask.identity
    guard innermost.pointee.task == task else { return nil }
    if let transaction = innermost.pointee.transaction {
      return .transaction(transaction.takeUnretainedValue())
    }
    // `Store.with`, inside a transaction of the same store or not.
    let store = innermost.pointee.store
    var scope = innermost.pointee.outer
    while let here = scope, here.pointee.task == task {
      if here.pointee.store.toOpaque() == store.toOpaque(),
        let transaction = here.pointee.transaction
      {
        return .transaction(transaction.takeUnretainedValue())
      }
      scope = here.pointee.outer
    }
    return .store(store.takeUnretainedValue())
  }
}
