internal import Foundation
internal import Synchronization

/// An open store: one file with the records of the types that it was opened for.
///
/// Open it once, keep it, and use it from any thread. Reading never waits for a writer; writes take
/// turns.
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
  /// The path of the file.
  public let path: String
  /// The options with which the store was opened.
  public let options: Options
  /// The path at which the old file was kept, if this opening moved one aside
  /// (``Options/onMismatch``); otherwise nil.
  public let movedAside: String?
  /// Whether the file is kept like the log of another store, so that only that one is written.
  let isFollowing: Bool

  package let environment: LMDBEnvironment
  let schema: StoreSchema
  private let state: Locked<State>
  /// The versions that were assigned to records.
  let versions = AssignedVersions()
  private let isTemporary: Bool
  /// What observers of equal requests share.
  let shared = SharedObjects()
  /// The limits for log messages, and where messages wait until the store may be used.
  let slowLimits: SlowLimits
  let post: LogMailbox?
  /// The thread of asynchronous writes, which may block.
  let asyncWriter: AsyncWriter
  /// What ships or applies the commits of the store, on threads of its own.
  let companions = Locked(Companions())

  private struct State {
    /// Replaced when the environment is reopened.
    var catalog: OpenCatalog
    var isClosed = false
  }

  init(
    environment: LMDBEnvironment, catalog: OpenCatalog, schema: StoreSchema,
    options: Options, isTemporary: Bool, movedAside: String? = nil,
    follower: (any StoreCompanion)? = nil
  ) {
    self.movedAside = movedAside
    isFollowing = follower != nil
    companions.withLock { $0.follower = follower }
    self.environment = environment
    self.schema = schema
    self.options = options
    self.isTemporary = isTemporary
    path = environment.path
    slowLimits = SlowLimits(options)
    post = options.log.map { LogMailbox($0) }
    asyncWriter = AsyncWriter(environment, post)
    state = Locked(State(catalog: catalog))
  }

  deinit { close() }

  /// Closes the store: it cannot be used after this. Closing it twice is not an error.
  ///
  /// The file is closed after the running transactions, for which the call does not wait. A store that is
  /// deallocated without `close()` closes itself.
  public func close() {
    let wasOpen = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    guard wasOpen else { return }
    let companions = companions.withLock { $0 }
    environment.giveUpHeldReads(.closed, of: ObjectIdentifier(self))
    environment.changes.removeListeners(of: ObjectIdentifier(self))
    let close = { @Sendable [environment, post, path, isTemporary] in
      companions.end()
      environment.close()
      post?.add(LogMessage(.debug, .closed, "The store was closed.") { $0.path = path })
      if !environment.isWriting { post?.deliver() }
      if isTemporary {
        ScratchFile.remove(path)
        IDAllocator.forgetRemovedFiles()
      }
    }
    if companions.isEmpty { close() } else { environment.withoutWaitingForWrites(close) }
  }
}

/// What works beside a store as long as it is open.
protocol StoreCompanion: AnyObject, Sendable {
  /// Ends it, and waits for that, before the file is closed.
  func end()
}

/// The catalog and the writer that belong to one opening of the LMDB environment.
final class OpenCatalog: Sendable {
  let catalog: Catalog
  /// The last snapshot that was checked to have the schema of `catalog`.
  let provenSnapshot = Atomic<UInt64>(0)
  /// `LMDBEnvironment.generation` when its handles were opened.
  let environmentGeneration: Int
  /// Used only by the thread that has the write lock.
  let writer: UncheckedWriter

  init(
    _ catalog: Catalog, of environment: LMDBEnvironment, generation: Int, options: Store.Options
  ) throws {
    self.catalog = catalog
    environmentGeneration = generation
    // Versions are read from it. Damage in it is an error where it matters, at the next write.
    _ = try? environment.outboxHeader()
    writer = UncheckedWriter(
      WriteContext(
        try TransactionContext(
          catalog, of: environment, checksQueries: options.checksQueries,
          provesCoding: options.provesCoding, searchLimits: options.searchLimits),
        clock: options.clock))
  }

  /// `Sendable` because the write lock lets one thread at a time use it.
  struct UncheckedWriter: @unchecked Sendable {
    let context: WriteContext
    init(_ context: WriteContext) { self.context = context }
  }
}

// MARK: - The schema in the file

extension Store {
  /// Whether it was closed, so that nothing can be read any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  func currentCatalog() throws -> OpenCatalog {
    try state.withLock { state in
      if state.isClosed {
        throw LarchError(.closed, "The store was closed; open it again.") { $0.path = path }
      }
      return state.catalog
    }
  }

  func replaceCatalog(_ catalog: OpenCatalog) { state.withLock { $0.catalog = catalog } }

  /// Whether the snapshot has the schema of the handles: each new snapshot costs one read of the
  /// catalog.
  @inline(__always)
  func isCurrent(
    _ open: OpenCatalog, _ transaction: LMDBTransaction, snapshot: UInt64
  ) throws -> Bool {
    if snapshot == open.provenSnapshot.load(ordering: .acquiring) { return true }
    let generation = try open.catalog.storage.generation(in: transaction)
    guard generation == open.catalog.generation else { return false }
    open.provenSnapshot.store(snapshot, ordering: .releasing)
    return true
  }

  /// Opens the handles again: the environment was reopened after an I/O error, or another program
  /// or store changed the schema of the file.
  func renewCatalog() throws {
    let generation = environment.generation
    let loader = CatalogLoader(environment, schema, evolution: options.evolution)
    guard let catalog = try options.isReadOnly ? loader.loadReadOnly() : loader.load() else {
      throw LarchError(
        .schemaChanged,
        "Another program or store opened the file with other declarations; close this store, then open it again."
      ) { $0.path = path }
    }
    replaceCatalog(
      try OpenCatalog(catalog, of: environment, generation: generation, options: options))
  }
}
