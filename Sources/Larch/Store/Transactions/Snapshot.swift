/// The state of the store at one moment, for as long as you need it: it does not change, whatever
/// is written meanwhile.
///
/// ```swift
/// let snapshot = try store.snapshot()
/// defer { snapshot.end() }
/// let before = try snapshot.count(Person.all)
/// ```
///
/// Created by ``Store/snapshot(file:line:)``. Everything that reads from a store can read from a
/// snapshot. You can keep it and pass it between threads. One thread at a time uses it and others
/// wait, so threads that read much should each take a snapshot. Uses of a snapshot may be nested.
///
/// As long as it is open, the space of everything that is deleted and changed is kept. It ends with
/// ``end()``, when it is deallocated, when it is older than ``Store/Options/maximumSnapshotAge``,
/// and with its store. The store also ends it in order to enlarge the map, to replace the file, or
/// to recover from a disk failure. A running use then continues to its end; the next use throws
/// `.snapshotEnded` with the reason.
///
/// Unchecked, since the environment makes sure that one thread at a time uses the variables.
public final class Snapshot: @unchecked Sendable {
  /// The state of the store that it sees.
  public let version: StoreVersion

  let store: Store
  private let held: LMDBHeldRead
  private let context: TransactionContext
  /// The transaction of the current use.
  private var running: ReadTransaction?

  init(
    _ store: Store, _ held: LMDBHeldRead, _ context: TransactionContext, _ version: StoreVersion
  ) {
    self.store = store
    self.held = held
    self.context = context
    self.version = version
  }

  deinit { end() }

  /// How long it has been open.
  public var age: Duration { held.age }

  /// Whether it can still be used. The store may end it at any moment, even between this call and
  /// the next use.
  ///
  /// - Complexity: O(1).
  public var isOpen: Bool { store.environment.isOpen(held) }

  /// Runs `body` on the snapshot, like ``Store/read(file:line:_:)`` on the newest one.
  ///
  /// - Throws: the errors of `body`; `.snapshotEnded`, `.closed`; `.busy` inside another
  ///   transaction, if another thread does not end its use of the snapshot.
  /// - Complexity: O(1), without `body` and the wait for other threads.
  public func read<T>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    guard let timer = store.readTimer(file, line) else { return try use(nil, body) }
    timer.begin()
    defer { store.tell(read: timer) }
    return try use(timer, body)
  }

  private func use<T>(
    _ timer: OperationTimer?, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    let environment = store.environment
    let begun = try environment.beginUse(of: held, isBounded: RunningScope.current != nil)
    defer { environment.endUse(of: held) }
    guard let begun else {
      // This thread is already using the snapshot, so the transaction exists.
      guard let running else { throw TransactionContext.ended }
      return try run(body, in: running)
    }
    context.begin(begun, isReading: true)
    defer { context.end() }
    let transaction = ReadTransaction(context)
    running = transaction
    defer {
      transaction.end()
      running = nil
    }
    return try OperationTimer.run(timer, in: context) { try run(body, in: transaction) }
  }

  private func run<T>(
    _ body: (ReadTransaction) throws -> T, in transaction: ReadTransaction
  ) throws -> T {
    let result = try RunningScope.enter(store, transaction) { try body(transaction) }
    if let error = transaction.sequenceError { throw error }
    return result
  }

  /// Ends the snapshot and frees the space that it kept, at once or after the running use. Ending
  /// it twice is not an error.
  ///
  /// - Complexity: O(1).
  public func end() { store.environment.endHeldRead(held) }
}

extension Snapshot: RecordReading {
  /// In this snapshot.
  public func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T { try read(body) }
}

extension Store {
  /// Takes a snapshot that stays open until it is ended, for reads from any thread.
  ///
  /// Use it for many calls on the same data. For a single read, ``read(file:line:_:)`` is cheaper.
  ///
  /// - Parameters:
  ///   - file: the calling file, for messages; do not pass it.
  ///   - line: the calling line; do not pass it.
  /// - Throws: `.tooManySnapshots` if ``Options/maximumSnapshots`` are open; `.closed`,
  ///   `.schemaChanged`, `.readersFull`.
  /// - Complexity: O(1), without reading records.
  public func snapshot(file: StaticString = #fileID, line: UInt = #line) throws -> Snapshot {
    let owner = ObjectIdentifier(self)
    try environment.checkRoomForHeldRead(of: owner, limit: options.maximumSnapshots)
    let (reader, open) = try beginRead(at: CodePlace(file: file, line: line))
    let context: TransactionContext
    let version: StoreVersion
    do {
      context = try self.context(of: reader, open)
      version = try environment.version(in: reader.transaction)
    } catch {
      environment.endRead(reader)
      throw error
    }
    let held = try environment.hold(
      reader, owner: owner, deadline: options.maximumSnapshotAge.map { .after($0) },
      logPlace: version.place, limit: options.maximumSnapshots)
    let snapshot = Snapshot(self, held, context, version)
    do {
      // The store may have been closed after the read began, when it did not know of this snapshot.
      _ = try currentCatalog()
    } catch {
      snapshot.end()
      throw error
    }
    return snapshot
  }
}
