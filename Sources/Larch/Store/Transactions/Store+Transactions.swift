/// Throw it inside a transaction to undo the transaction without an error.
///
/// It ends the innermost `Store.transaction(_:)`, `Store.write(_:)` or
/// ``WriteTransaction/savepoint(_:)`` around it. `Store.transaction(_:)` then returns nil. The
/// others return nil if their closure returns an optional, and nothing if it returns nothing. If
/// the closure returns another type, there is no value to return, so the error is passed on.
public struct Rollback: Error, Sendable {
  /// Undoes the innermost transaction.
  public init() {}

  /// The result of a closure that was undone: nil or `()`. It is nil itself if the type has no such
  /// value.
  static func result<T>(_ type: T.Type) -> T? {
    if let nothing = () as? T { return nothing }
    return (type as? any OptionalResult.Type)?.none as? T
  }
}

private protocol OptionalResult {
  static var none: Self { get }
}

extension Optional: OptionalResult {}

extension Store {
  /// Runs `body` as one change of the ambient store: its saves and deletions without a store are
  /// committed together, or not at all.
  ///
  /// ```swift
  /// try Store.transaction {
  ///   try ada.save()
  ///   try acme.delete()
  /// }
  /// ```
  ///
  /// Inside a running transaction it is a part of that one, which can be undone alone, and whose author
  /// and durability count. The closure may run more than once, like that of `write(_:)`.
  ///
  /// If everything is undone, saved records keep their assigned ids: these are not used for other
  /// records while the store is open, and saving such a record inserts it.
  ///
  /// - Returns: the result of `body`; nil if it threw ``Rollback``, which undoes everything and is
  ///   not passed on.
  /// - Throws: the errors of `body`, after everything is undone; `.noDefaultStore`, `.readOnly`
  ///   inside a read, and the errors of `write(_:)`.
  /// - Complexity: that of `write(_:)`; inside another one, as ``WriteTransaction/savepoint(_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func transaction<T>(
    author: String? = nil, durability: WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws -> T
  ) throws -> T? {
    do {
      switch try AmbientStore()._target() {
      case .transaction(let running):
        guard let running = running as? WriteTransaction else { throw AmbientStore._cannotWrite() }
        return try running.undoablePart(body)
      case .store(let store):
        return try store.writeBlocking(durability, author: author, file: file, line: line) { _ in
          try body()
        }
      }
    } catch is Rollback {
      return nil
    }
  }

  /// Runs `body` as one change of the ambient store, without blocking the task's thread.
  ///
  /// ```swift
  /// try await Store.transaction {
  ///   for var person in try Person.where({ $0.city == nil }).fetch() {
  ///     person.city = "London"
  ///     try person.save()
  ///   }
  /// }
  /// ```
  ///
  /// In an asynchronous function Swift chooses this form, and requires `await`. The closure runs on
  /// another thread and cannot change variables around it: create records in it, and return what
  /// you need outside. Inside it, use the synchronous forms, such as `try ada.save()`.
  ///
  /// - Returns: the same as the synchronous form.
  /// - Throws: the errors of the synchronous form, and `CancellationError` if the task was
  ///   cancelled before its turn.
  /// - Complexity: that of the synchronous form.
  @discardableResult
  public nonisolated(nonsending) static func transaction<T: Sendable>(
    author: String? = nil, durability: WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> T
  ) async throws -> T? {
    do {
      return try await AmbientStore.chosen().writeSuspending(
        author: author, durability: durability, file: file, line: line
      ) { _ in try body() }
    } catch is Rollback {
      return nil
    }
  }

  /// Runs `body` as one change of the store, without blocking the task's thread.
  ///
  /// It resumes when the data is on disk. Writes of one store run one after the other, in the order
  /// of their calls. Those that wait at the same time share one flush, but each is committed or
  /// undone alone. `body` runs on a thread of the store, with the values of the calling task.
  ///
  /// In an asynchronous function Swift chooses this form, and requires `await`; to block there
  /// anyway, call a synchronous function that writes.
  ///
  /// A task that is cancelled while it waits writes nothing, and continues at once. A running write
  /// finishes; its closure may check `Task.isCancelled` and throw.
  ///
  /// - Throws: the errors of the synchronous form, and `CancellationError` if the task was
  ///   cancelled before its turn.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) func write<T: Sendable>(
    author: String? = nil, durability: WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    do {
      return try await writeSuspending(
        author: author, durability: durability, file: file, line: line, body)
    } catch let error as Rollback {
      guard let result = Rollback.result(T.self) else { throw error }
      return result
    }
  }

  /// The same, except that it also passes on ``Rollback``.
  nonisolated(nonsending) func writeSuspending<T: Sendable>(
    author: String? = nil, durability: WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    try Task.checkCancellation()
    try environment.checkNotForked()
    let write = AsyncWrite(
      self, try lmdbDurability(durability), author, writeTimer(file, line), body)
    write.start()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { write.wait($0) }
    } onCancel: {
      write.cancel()
    }
  }
}
