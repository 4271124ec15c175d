/// The store as it was at one moment, for as long as it is wanted: what it reads does not change,
/// whatever is written meanwhile.
///
/// ```swift
/// let snapshot = try store.snapshot()
/// defer { snapshot.end() }
/// let before = try snapshot.count(Person.all)
/// ```
///
/// Made by ``Store/snapshot(file:line:)``. Everything that reads from a store reads from a snapshot
/// too. It may be kept and handed from thread to thread; one thread at a time uses it, and others
/// wait for their turn, so threads that read much take a snapshot each. A use inside another one of
/// the same snapshot is a part of it.
///
/// As long as it is open, the space of everything that is deleted and changed is kept. It ends
/// with ``end()``, when it is given up, when it is older than ``Store/Options/maximumSnapshotAge``,
/// with its store, and when the store needs it gone: to make the map larger, to exchange the file,
/// or to go on after a failure of the disk. What is being read then goes on to its end; the next
/// use throws `.snapshotEnded` and says why.
///
/// Unchecked, since the environment lets one thread at a time use what is variable.
public final class Snapshot: @unchecked Sendable {
  /// The state of the store that it sees.
  public let version: StoreVersion

  private let store: Store
  private let held: LMDBHeldRead
  private let context: TransactionContext
  /// The transaction of the use that is running.
  private var running: ReadTransaction?

  init(_ store: Store, _ held: LMDBHeldRead, _ context: TransactionContext) {
    self.store = store
    self.held = held
    self.context = context
    version = StoreVersion(held.snapshot)
  }

  deinit { end() }

  /// How long it has been open.
  public var age: Duration { held.age }

  /// Whether it can still be used. The store may end it at any moment: one that is open now may
  /// not be when it is used.
  ///
  /// - Complexity: O(1).
  public var isOpen: Bool { store.environment.isOpen(held) }

  /// Runs `body` on the snapshot, as ``Store/read(file:line:_:)`` does on the newest one.
  ///
  /// - Throws: what `body` throws; `.snapshotEnded`, `.closed`; `.busy` inside of another
  ///   transaction, when another thread does not end its use of the snapshot.
  /// - Complexity: O(1), beside what `body` does and the uses of other threads that it waits for.
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
      // Inside a use of this thread, which has its transaction.
      guard let running else { throw TransactionContext.ended }
      return try run(body, in: running)
    }
    context.begin(begun)
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

  /// Ends the snapshot and gives back what it kept; at once, or when the use that is running ends.
  /// Ending twice is no error.
  ///
  /// - Complexity: O(1).
  public func end() { store.environment.endHeldRead(held) }
}

extension Snapshot: RecordReading {
  /// In this snapshot.
  public func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T { try read(body) }
}

extension Store {
  /// Takes a snapshot that lasts until it is ended, to be read from any thread.
  ///
  /// For what needs the same data over many calls. A single look is cheaper in ``read(file:line:_:)``.
  ///
  /// - Parameters:
  ///   - file: the file that takes it, for messages; leave it out.
  ///   - line: the line that takes it; leave it out.
  /// - Throws: `.tooManySnapshots` when ``Options/maximumSnapshots`` are open; `.closed`,
  ///   `.schemaChanged`, `.readersFull`.
  /// - Complexity: O(1), without reading records.
  public func snapshot(file: StaticString = #fileID, line: UInt = #line) throws -> Snapshot {
    let owner = ObjectIdentifier(self)
    try environment.checkRoomForHeldRead(of: owner, limit: options.maximumSnapshots)
    let (reader, open) = try beginRead(at: CodePlace(file: file, line: line))
    let context: TransactionContext
    do {
      context = try self.context(of: reader, open)
    } catch {
      environment.endRead(reader)
      throw error
    }
    let held = environment.hold(
      reader, owner: owner, deadline: options.maximumSnapshotAge.map { .after($0) })
    let snapshot = Snapshot(self, held, context)
    do {
      // The store may have been closed since the read began, and did not know of this one.
      _ = try currentCatalog()
    } catch {
      snapshot.end()
      throw error
    }
    return snapshot
  }
}
