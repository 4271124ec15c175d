internal import Foundation

/// The result of ``Store/salvage(_:to:progress:)``: what was copied, and what could not be.
public struct SalvageReport: Sendable {
  /// The result for one collection.
  public struct CollectionReport: Sendable {
    /// The name of the collection.
    public let name: String
    /// The number of copied records.
    public internal(set) var recordCount = 0
    /// The number of these on pages that no other page leads to: they may be older than the lost
    /// ones, or deleted.
    public internal(set) var strayCount = 0
    /// The number of damaged records.
    public internal(set) var damagedCount = 0
  }

  /// The result for the lists of ids of one association.
  public struct Lists: Sendable {
    /// The name of the association: both collections, and its own.
    public let name: String
    /// The number of copied links.
    public internal(set) var linkCount = 0
    /// The number of links that were skipped, because a record at one of their ends was not copied;
    /// further links may have been lost without notice.
    public internal(set) var droppedCount = 0
  }

  /// The collections, sorted by name.
  public internal(set) var collections: [CollectionReport] = []
  /// The lists of ids, sorted by name.
  public internal(set) var lists: [Lists] = []
  /// The places in the file that could not be read, page and reason; and whether a log of a killed program
  /// may have newer commits, which are not copied.
  public internal(set) var damage: [String] = []

  /// The number of copied records.
  public var recordCount: Int { collections.reduce(0) { $0 + $1.recordCount } }
}

extension Store {
  /// Copies every readable record of a damaged store to a new one.
  ///
  /// The damaged file is only read, never opened by LMDB, and its Swift types are not needed. Each
  /// record is checked by its checksum. Indexes are not copied: they are built when the new store
  /// is opened. A link of a list of ids is copied if either direction is readable and the records
  /// at both ends were copied. References in records are not changed, and `verify()` reports those
  /// that dangle. The new store appears when it is complete.
  ///
  /// - Parameters:
  ///   - path: the damaged file.
  ///   - target: the path of the new store; no file may exist there.
  ///   - progress: called from time to time with the number of records copied so far.
  /// - Returns: what was copied and what could not be.
  /// - Throws: `.notAStore` if nothing in the file is a store, `.fileExists` if there is a file at
  ///   `target`, `.fileNotFound`, `.accessDenied`, `.diskFull`.
  /// - Complexity: O(file); memory for the ids of a collection whose tree is damaged.
  @discardableResult
  public static func salvage(
    _ path: String, to target: String, progress: ((Int) -> Void)? = nil
  ) throws -> SalvageReport {
    try StoreSalvage(path, to: target, progress: progress).run()
  }
}

/// One run of a salvage.
private final class StoreSalvage {
  /// The number of records between two progress reports.
  private static let progressInterval = 10_000
  private static let damageLimit = 1000

  private let path: String
  private let source: PageTree
  private let target: String
  private let progress: ((Int) -> Void)?
  private var report = SalvageReport()
  private var copied = 0
  private let knownShapes = ShapeTable()
  private var highestDeletedIDs: [UInt32: Int64] = [:]
  private var associations: [StoredAssociation] = []
  private var histories: [UInt32: FieldHistory] = [:]
  /// The migrations that have run on the records: they must not run on them again.
  private var migrations: [AppliedMigration] = []
  private var databaseCount = 0

  init(_ path: String, to target: String, progress: ((Int) -> Void)?) throws {
    try FreshStore.checkPlace(target)
    self.path = path
    source = try PageTree(path: path)
    self.target = target
    self.progress = progress
  }

  private func note(_ page: UInt64, _ reason: StaticString) {
    if report.damage.count < StoreSalvage.damageLimit {
      report.damage.append("page \(page): \(reason)")
    }
  }

  func run() throws -> SalvageReport {
    let collections = try readCollections()
    let shapes = try readShapes()
    guard !collections.isEmpty else {
      throw LarchError(
        .notAStore,
        "The catalog of the store cannot be read, and without it no record can; restore a backup."
      ) { $0.path = path }
    }
    if source.states.contains(where: \.isMarked) {
      report.damage.append("the log: commits that only it has are not copied")
    }
    knownShapes.loader = { id in
      try shapes[id].map { try $0.withUnsafeBytes { try Shape(id: id, decoding: $0) } }
    }
    knownShapes.setCount(Int(shapes.keys.max() ?? 0))
    databaseCount = collections.count + 2 * associations.count
    try FreshStore.make(at: target, databaseCount: databaseCount) { environment in
      try environment.write { transaction in
        let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
        try storage.restore(
          collections, shapes, highestDeletedIDs: highestDeletedIDs, in: transaction)
        try storage.restore(associations, of: collections, in: transaction)
        for collection in collections {
          guard let history = histories[collection.id] else { continue }
          try storage.setFieldHistory(history, of: collection.id, in: transaction)
        }
        for migration in migrations { try storage.set(migration, in: transaction) }
      }
      for collection in collections.sorted(by: { $0.name < $1.name }) {
        try copyRecords(of: collection, into: environment)
      }
      for lists in try StoredLists.all(in: environment, onFault: { _, _ in }) {
        try copyLinks(of: lists, into: environment)
      }
    }
    return report
  }

  // MARK: The catalog

  /// Every catalog entry with a valid checksum, the newest state of the file first.
  private func entries(
    of name: String, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    for state in source.states {
      for database in source.databases(in: state, onDamage: note) where database.name == name {
        try source.forEachEntry(of: database, onDamage: note) { key, value in
          if let checked = try? CatalogStorage.checked(value, key: key) { try body(key, checked) }
        }
      }
    }
  }

  private func readCollections() throws -> [StoredCollection] {
    var found: [StoredCollection] = []
    let damageBefore = report.damage.count
    func takeAssociation(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      guard key.starts(with: CatalogStorage.Key.associationPrefix),
        let association = try? CatalogStorage.association(key, value),
        !associations.contains(where: { $0.key == association.key })
      else { return }
      associations.append(association)
    }
    func takeMigration(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      guard key.starts(with: CatalogStorage.Key.migrationPrefix),
        let migration = try? CatalogStorage.migration(key, value),
        !migrations.contains(where: { $0.name == migration.name })
      else { return }
      migrations.append(migration)
    }
    func take(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      takeAssociation(key, value)
      if let (collection, history) = CatalogStorage.fieldHistory(key, value) {
        if histories[collection] == nil { histories[collection] = history }
        return
      }
      takeMigration(key, value)
      if let (collection, id) = CatalogStorage.highestDeletedID(key, value) {
        highestDeletedIDs[collection] = max(highestDeletedIDs[collection] ?? 0, id)
        return
      }
      guard key.starts(with: CatalogStorage.Key.collectionPrefix),
        var collection = try? StoredCollection(decoding: value),
        !found.contains(where: { $0.name == collection.name })
      else { return }
      collection.indexes = []
      found.append(collection)
    }
    try entries(of: CatalogStorage.databaseName, take)
    if found.isEmpty {
      try forEachStrayCatalogEntry(take)
    } else if report.damage.count > damageBefore {
      try forEachStrayCatalogEntry {
        takeAssociation($0, $1)
        takeMigration($0, $1)
      }
    }
    return found
  }

  private func readShapes() throws -> [UInt16: [UInt8]] {
    var found: [UInt16: [UInt8]] = [:]
    func take(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      guard key.count == 2 else { return }
      let id = UInt16(bigEndian: key.loadUnaligned(as: UInt16.self))
      guard (1...RecordFormat.shapeMask).contains(id) else { return }
      if found[id] == nil, (try? Shape(id: id, decoding: value)) != nil { found[id] = Array(value) }
    }
    try entries(of: CatalogStorage.shapesName, take)
    // A missing number means a missing page, so search everywhere.
    if found.count != Int(found.keys.max() ?? 0) || found.isEmpty {
      try forEachStrayCatalogEntry(take)
    }
    return found
  }

  /// Catalog entries on any page of the file, checked by their checksum over key and value.
  private func forEachStrayCatalogEntry(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) throws {
    try source.forEachLeafEntry(onDamage: { _, _ in }) { key, value in
      if let checked = try? CatalogStorage.checked(value, key: key) { body(key, checked) }
    }
  }

  // MARK: Records

  /// Whether a stored value is a readable record that was written for this id. It also needs its
  /// shapes, and new shapes must never replace them.
  private func isWhole(
    _ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ collection: StoredCollection
  ) -> Bool {
    guard let record = RecordEnvelope.open(value, id: key, collection: collection.id) else {
      return false
    }
    return (try? RawRecord(record, shapes: knownShapes).json()) != nil
  }

  private func copyRecords(
    of collection: StoredCollection, into environment: LMDBEnvironment
  ) throws {
    var summary = SalvageReport.CollectionReport(name: collection.name)
    let name = CatalogStorage.recordsName(collection.id)
    let damageBefore = report.damage.count
    var writer = SalvagedRecords(environment, name)
    let database = source.database(named: name, onDamage: note)
    if let database {
      try source.forEachEntry(of: database, onDamage: note) { key, value in
        guard isWhole(value, key, collection) else {
          summary.damagedCount += 1
          return
        }
        try writer.add(key, value)
        summary.recordCount += 1
        tick()
      }
      try writer.flush()
    }
    if database == nil || report.damage.count > damageBefore || summary.damagedCount > 0 {
      try source.forEachLeafEntry(onDamage: { _, _ in }) { key, value in
        guard isWhole(value, key, collection) else { return }
        if try writer.addIfAbsent(key, value) {
          summary.recordCount += 1
          summary.strayCount += 1
          tick()
        }
      }
      try writer.flush()
    }
    report.collections.append(summary)
  }

  // MARK: Links

  /// Copies the links that either direction of lists still has. They have no checksums; the records
  /// at their ends must exist.
  private func copyLinks(of lists: StoredLists, into environment: LMDBEnvironment) throws {
    var summary = SalvageReport.Lists(name: lists.stored.key)
    guard let number = associations.first(where: { $0.key == lists.stored.key })?.number else {
      return
    }
    for isForward in [true, false] {
      let name =
        isForward ? CatalogStorage.linksName(number) : CatalogStorage.inverseLinksName(number)
      guard let database = source.database(named: name, onDamage: note) else { continue }
      var writer = SalvagedLinks(environment, lists)
      try source.forEachPair(of: database, onDamage: note) { key, value in
        try writer.add(first: isForward ? key : value, second: isForward ? value : key)
      }
      try writer.flush()
      summary.linkCount += writer.copied
      // Links in both directions count once.
      summary.droppedCount = max(summary.droppedCount, writer.dropped)
    }
    report.lists.append(summary)
  }

  private func tick() {
    copied += 1
    if copied % StoreSalvage.progressInterval == 0 { progress?(copied) }
  }
}
