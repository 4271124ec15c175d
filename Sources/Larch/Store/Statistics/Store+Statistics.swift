extension Store {
  /// The size of the store, the use of its space, and its open reads.
  ///
  /// ```swift
  /// print(try store.statistics())
  /// ```
  ///
  /// The numbers come from one snapshot, while others read and write. They include all collections
  /// of the file, even those that the store was not opened for. Every page of the file is counted
  /// once, as a page of a tree, a free page, or one of the two header pages.
  ///
  /// - Parameter exact: whether to read the leaves of indexes and lists, which the number of keys
  ///   and the pages of keys with many ids require. Without it, the statistics cost almost nothing,
  ///   and ``StoreStatistics/otherPages`` has the pages that cannot be assigned.
  /// - Throws: `.closed`, `.schemaChanged`, `.readersFull`; `.corrupted` if pages of the file are
  ///   damaged; `.storage` if commits come so fast that no snapshot can be counted.
  /// - Complexity: O(trees + free list), and if exact, one read of each leaf of an index or of
  ///   lists, about 1 s for 2 GB of them.
  public func statistics(exact: Bool = true) throws -> StoreStatistics {
    for _ in 0..<1000 {
      let found = try readCommitted { transaction in
        try transaction.storage { lmdb in
          try StatisticsCounter(environment, transaction.context.catalog.storage, lmdb)
            .take(exact: exact)
        }
      }
      if let found { return found }
    }
    throw LarchError(
      .storage, "The store changes too fast for exact statistics; ask for them again."
    ) { $0.path = path }
  }
}

/// Counts the contents of one snapshot.
private struct StatisticsCounter {
  private let environment: LMDBEnvironment
  private let storage: CatalogStorage
  private let transaction: LMDBTransaction

  init(
    _ environment: LMDBEnvironment, _ storage: CatalogStorage, _ transaction: LMDBTransaction
  ) {
    self.environment = environment
    self.storage = storage
    self.transaction = transaction
  }

  /// The statistics; nil if the file changed meanwhile.
  func take(exact: Bool) throws -> StoreStatistics? {
    guard let space = try environment.space(in: transaction) else { return nil }
    var statistics = StoreStatistics()
    statistics.isExact = exact
    statistics.add(space, own: transaction.id)
    statistics.log = environment.commitLogInUse().map { log in
      let commits = max(transaction.id, log.checkpoint) - log.checkpoint
      return StoreStatistics.Log(
        bytes: log.bytes, checkpoint: log.checkpoint, commits: Int(clamping: commits))
    }
    var trees = try Trees(transaction, space.info)
    if exact, try !trees.walk(environment) { return nil }
    statistics.collections = try storage.collections(in: transaction).map { stored in
      let indexes = stored.indexes.compactMap { index -> StoreStatistics.Index? in
        guard let found = trees.take(CatalogStorage.indexName(index.id)) else { return nil }
        return StoreStatistics.Index(
          name: index.name, isUnique: index.isUnique, isReady: index.state == .ready,
          keys: found.keys, tree: found.tree)
      }
      return StoreStatistics.CollectionStatistics(
        name: stored.name,
        tree: trees.take(CatalogStorage.recordsName(stored.id))?.tree ?? .init(),
        indexes: indexes.sorted { $0.name < $1.name })
    }
    statistics.collections.sort { $0.name < $1.name }
    for stored in try storage.associations(in: transaction) where stored.kind == .links {
      guard let forward = trees.take(CatalogStorage.linksName(stored.number)),
        let inverse = trees.take(CatalogStorage.inverseLinksName(stored.number))
      else { continue }
      statistics.associations.append(
        .init(name: stored.key, forward: forward.tree, inverse: inverse.tree))
    }
    statistics.associations.sort { $0.name < $1.name }
    statistics.parts =
      trees.rest + [
        .init(name: "list of trees", tree: .init(space.main)),
        .init(name: "free list", tree: .init(space.freeList)),
      ]
    return statistics
  }

  /// The named trees of the snapshot that were not assigned yet.
  ///
  /// Their headers are read from the tree that lists them, so that no handles are needed: opening
  /// some would wait for the writer.
  private struct Trees {
    struct Found {
      var record: DatabaseRecord
      var tree: StoreStatistics.Tree
      var keys: Int?
    }

    private let file: LMDBEnvironmentInfo
    private var found: [String: Found] = [:]

    init(_ transaction: LMDBTransaction, _ file: LMDBEnvironmentInfo) throws {
      self.file = file
      var cursor = try LMDBCursor(.main, in: transaction)
      var entry = try cursor.first()
      while let here = entry {
        if here.value.count == PageLayout.databaseRecordSize, let bytes = here.value.baseAddress {
          let record = DatabaseRecord(bytes)
          found[String(decoding: here.key, as: UTF8.self)] = Found(
            record: record, tree: .init(record, in: file))
        }
        entry = try cursor.next()
      }
    }

    /// Counts what needs the leaves; false if the file at the path is not the open one any more.
    mutating func walk(_ environment: LMDBEnvironment) throws -> Bool {
      let pages = try PageTree(path: environment.path)
      guard try environment.isOpen(as: pages.file.descriptor) else { return false }
      for (name, tree) in found where tree.record.hasDuplicates {
        do {
          let counts = try pages.counts(of: tree.record)
          found[name]?.keys = Int(clamping: counts.keys)
          found[name]?.tree.listPages = file.clamped(counts.pages)
        } catch {
          throw LarchError(
            .corrupted, "The file is damaged; restore a backup, or salvage the readable records."
          ) {
            $0.path = environment.path
            $0.page = error.page
            $0.detail = error.reason.description
          }
        }
      }
      return true
    }

    mutating func take(_ name: String) -> Found? { found.removeValue(forKey: name) }

    var rest: [StoreStatistics.Part] {
      found.sorted { $0.key < $1.key }.map { name, found in
        let text =
          switch name {
          case CatalogStorage.databaseName: "catalog"
          case CatalogStorage.shapesName: "shapes"
          case OutboxTree.name: "outbox"
          default: name
          }
        return StoreStatistics.Part(name: text, tree: found.tree)
      }
    }
  }
}

extension StoreStatistics {
  fileprivate mutating func add(_ space: LMDBSpace, own: UInt64) {
    fileBytes = space.info.fileSize
    pageSize = space.info.pageSize
    pages = space.info.lastPage + 1
    freePages = space.freePages
    pinnedPages = space.pinnedPages
    mapBytes = space.info.mapSize
    lastTransaction = space.info.lastTransactionID
    readerSlots = space.slots.count
    maximumReaders = space.info.maxReaders
    var open = space.slots.compactMap(\.snapshot)
    // The read of this count itself is not included.
    if let mine = open.firstIndex(of: own) { open.remove(at: mine) }
    openReads = open.count
    oldestRead = open.min()
  }
}

extension StoreStatistics.Tree {
  /// A damaged header may have any number of pages. No tree has more than the file, and with this
  /// limit no sum overflows.
  fileprivate init(_ record: DatabaseRecord, in file: LMDBEnvironmentInfo) {
    entries = Int(clamping: record.entries)
    depth = record.depth
    branchPages = file.clamped(record.branchPages)
    leafPages = file.clamped(record.leafPages)
    overflowPages = file.clamped(record.overflowPages)
    pageSize = file.pageSize
  }

  fileprivate init(_ statistics: LMDBStatistics) {
    entries = statistics.entries
    depth = statistics.depth
    branchPages = statistics.branchPages
    leafPages = statistics.leafPages
    overflowPages = statistics.overflowPages
    pageSize = statistics.pageSize
  }
}

extension LMDBEnvironmentInfo {
  fileprivate func clamped(_ pages: UInt64) -> Int { min(Int(clamping: pages), lastPage + 1) }
}
