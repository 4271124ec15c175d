internal import Foundation
internal import Synchronization

/// An open store: one file that keeps the records of the types it was opened for.
///
/// Open it once, keep it, and use it from any thread. Reading never waits for a writer; writes
/// take turns.
///
/// ```swift
/// let store = try Store(at: "people.larch", for: Person.self, Company.self)
/// var ada = Person(name: "Ada")
/// try store.write { tx in try tx.save(&ada) }
/// let found = try store.read { tx in try tx.find(Person.self, ada.id) }
/// ```
///
/// ## Topics
/// - ``Store/Options``
/// - ``ReadTransaction``
/// - ``WriteTransaction``
public final class Store: Sendable {
  /// The largest encoded record, in bytes.
  static let recordSizeLimit = 64 << 20

  /// The path of the file.
  public let path: String
  /// How the store was opened.
  public let options: Options

  let environment: LMDBEnvironment
  let schema: StoreSchema
  private let state: Locked<State>
  private let ids = GivenIDs()
  private let isTemporary: Bool

  private struct State {
    /// Replaced when the environment had to be opened anew.
    var catalog: OpenCatalog
    var isClosed = false
  }

  init(
    environment: LMDBEnvironment, catalog: OpenCatalog, schema: StoreSchema,
    options: Options, isTemporary: Bool
  ) {
    self.environment = environment
    self.schema = schema
    self.options = options
    self.isTemporary = isTemporary
    path = environment.path
    state = Locked(State(catalog: catalog))
  }

  deinit { close() }

  /// Closes the store: it cannot be used after this. Closing twice is no error.
  ///
  /// The file is closed when running transactions have ended. A store that is given up without
  /// `close()` closes itself.
  public func close() {
    let wasOpen = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    guard wasOpen else { return }
    environment.close()
    if isTemporary { ScratchFile.remove(path) }
  }
}

/// The catalog and the writer that belong to one opening of the LMDB environment.
final class OpenCatalog: Sendable {
  let catalog: Catalog
  /// The last snapshot that was found to have the schema of `catalog`.
  let provenSnapshot = Atomic<UInt64>(0)
  /// `LMDBEnvironment.generation` when its handles were opened.
  let environmentGeneration: Int
  /// Only used by the thread whose turn it is to write.
  let writer: UncheckedWriter

  init(
    _ catalog: Catalog, of environment: LMDBEnvironment, generation: Int, options: Store.Options
  ) throws {
    self.catalog = catalog
    environmentGeneration = generation
    writer = UncheckedWriter(
      WriteContext(
        try TransactionContext(
          catalog, of: environment, checksQueries: options.checksQueries)))
  }

  /// `Sendable` because the writer gate lets one thread at a time use it.
  struct UncheckedWriter: @unchecked Sendable {
    let context: WriteContext
    init(_ context: WriteContext) { self.context = context }
  }
}

// MARK: - Transactions

extension Store {
  /// Runs `body` on a snapshot: what it reads does not change while it runs.
  ///
  /// A long read keeps the space of everything that is deleted meanwhile; end it soon.
  ///
  /// - Throws: what `body` throws; `.closed`, `.schemaChanged`, `.readersFull`.
  /// - Complexity: O(1), about a tenth of a microsecond, beside what `body` does.
  public func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    let (reader, open) = try beginRead()
    defer { environment.endRead(reader) }
    let context: TransactionContext
    if let kept = reader.attachment as? TransactionContext, kept.catalog === open.catalog {
      context = kept
    } else {
      context = try TransactionContext(
        open.catalog, of: environment, checksQueries: options.checksQueries)
    }
    reader.attachment = context
    context.begin(reader.transaction)
    defer { context.end() }
    let transaction = ReadTransaction(context)
    defer { transaction.end() }
    let result = try body(transaction)
    if let error = transaction.sequenceError { throw error }
    return result
  }

  /// Runs `body` as one change of the store: all of it is kept, or none.
  ///
  /// Writes take turns; this waits for the ones before. When it returns, the data is on disk (as
  /// far as ``Options/durability`` asks). The closure **may run more than once**, when the map had
  /// to grow in the middle: do nothing in it that must happen once, or put it into
  /// ``WriteTransaction/afterCommit(_:)``.
  ///
  /// - Throws: what `body` throws, after everything is undone; `.nestedWrite` when called inside
  ///   a write of the same store; `.readOnly`, `.closed`, `.diskFull`, `.ioFailure`, `.mapFull`,
  ///   `.schemaChanged`.
  /// - Complexity: two flushes of the disk with `.durable`, beside what `body` does.
  @discardableResult
  public func write<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    if options.isReadOnly {
      throw LarchError(.readOnly, "The store was opened read-only; open it without `isReadOnly`.") {
        $0.path = path
      }
    }
    var isRepeated = false
    var work: [() -> Void] = []
    while true {
      let open = try currentCatalog()
      let result: T? = try environment.write { transaction in
        // The environment was opened anew in between, or the schema changed: other handles.
        guard environment.generation == open.environmentGeneration,
          // A write changes the snapshot before it.
          try isCurrent(open, transaction, snapshot: transaction.id &- 1)
        else { return nil }
        defer { isRepeated = true }
        let writer = open.writer.context
        if options.runsWritesTwice, !isRepeated {
          let child = try transaction.beginChild()
          defer { child.abort() }
          _ = try? run(body, on: writer, child, isRepeated: false)
          writer.rollBack()
          isRepeated = true
        }
        let (result, afterCommit) = try run(body, on: writer, transaction, isRepeated: isRepeated)
        work = afterCommit
        return result
      }
      guard let result else {
        try renewCatalog()
        continue
      }
      for item in work { item() }
      return result
    }
  }

  private func run<T>(
    _ body: (WriteTransaction) throws -> T, on writer: WriteContext,
    _ lmdb: LMDBTransaction, isRepeated: Bool
  ) throws -> (T, [() -> Void]) {
    let context = writer.context
    do {
      try writer.begin(lmdb, ids: ids, isRepeated: isRepeated)
      defer { writer.end() }
      let transaction = WriteTransaction(writer)
      defer { transaction.end() }
      let result = try body(transaction)
      if let error = context.failure ?? transaction.sequenceError { throw error }
      transaction.closeCursors()
      try writer.finish()
      return (result, transaction.takeAfterCommitWork())
    } catch {
      writer.rollBack()
      throw context.failure ?? error
    }
  }
}

// MARK: - The schema in the file

extension Store {
  private func beginRead() throws -> (LMDBReader, OpenCatalog) {
    while true {
      let open = try currentCatalog()
      let reader = try environment.beginRead()
      do {
        // The environment may have been opened anew between the two.
        if reader.generation == open.environmentGeneration,
          try isCurrent(open, reader.transaction, snapshot: reader.transaction.id)
        {
          return (reader, open)
        }
      } catch {
        environment.endRead(reader)
        throw error
      }
      environment.endRead(reader)
      try renewCatalog()
    }
  }

  private func currentCatalog() throws -> OpenCatalog {
    try state.withLock { state in
      if state.isClosed {
        throw LarchError(.closed, "The store was closed; open it again.") { $0.path = path }
      }
      return state.catalog
    }
  }

  func replaceCatalog(_ catalog: OpenCatalog) { state.withLock { $0.catalog = catalog } }

  /// Whether the snapshot has the schema that the handles belong to: a look at the catalog for
  /// each snapshot that was not looked at yet.
  @inline(__always)
  private func isCurrent(
    _ open: OpenCatalog, _ transaction: LMDBTransaction, snapshot: UInt64
  ) throws -> Bool {
    if snapshot == open.provenSnapshot.load(ordering: .acquiring) { return true }
    let generation = try open.catalog.storage.generation(in: transaction)
    guard generation == open.catalog.generation else { return false }
    open.provenSnapshot.store(snapshot, ordering: .releasing)
    return true
  }

  /// Opens the handles anew: the environment was opened again after an I/O error, or another
  /// program or store changed the schema of the file.
  private func renewCatalog() throws {
    let generation = environment.generation
    let loader = CatalogLoader(environment, schema)
    guard let catalog = try options.isReadOnly ? loader.loadReadOnly() : loader.load() else {
      throw LarchError(
        .schemaChanged,
        "Another program or store opened the file with other declarations; close this store and open it again."
      ) { $0.path = path }
    }
    replaceCatalog(
      try OpenCatalog(catalog, of: environment, generation: generation, options: options))
  }
}
