internal import Foundation

/// The working state of a transaction: the LMDB transaction, the catalog, the coder and its shapes.
///
/// A context is kept and reused by later transactions, with its decode plans and buffers. It
/// belongs to one transaction at a time.
package final class TransactionContext: ReaderAttachment {
  let environment: LMDBEnvironment
  @exclusivity(unchecked) package private(set) var catalog: Catalog
  package let shapes: ShapeTable
  let coder: RecordCoder
  /// The LMDB transaction that is running; nil between transactions, and while records are held
  /// back.
  @exclusivity(unchecked) var current: LMDBTransaction?
  /// The running transaction while records are held back.
  @exclusivity(unchecked) private(set) var held: LMDBTransaction?
  /// Writes the records that are held back.
  @exclusivity(unchecked) var writeHeld: ((LMDBTransaction) throws -> Void)?
  /// Whether the transaction changes nothing.
  @exclusivity(unchecked) private(set) var isReading = false
  /// The bytes of the current id.
  @exclusivity(unchecked) var idWriter = KeyWriter()
  /// The key of a list, which may be made from the bytes of `idWriter`.
  @exclusivity(unchecked) var listWriter = KeyWriter()

  /// The keys of uniqueness rules.
  @exclusivity(unchecked) var ruleWriter = KeyWriter()

  /// The trees of the state that is read.
  let trees: MappedTrees

  /// The indexes for look-ups by a field.
  let points = PointIndexes()

  /// Set while a record is being indexed: code of the record type may run then, and must not use
  /// the transaction.
  @exclusivity(unchecked) var isTakingIn = false

  /// Set in a write in which a list got a member that is not saved yet: queries skip it.
  @exclusivity(unchecked) var hasUnsavedMembers = false

  /// The cached paths of fields in queries; a path belongs to one thread, like the context.
  @exclusivity(unchecked) private var fieldPaths: [[String]: FieldPath] = [:]
  /// The same for fields whose stored form differs.
  @exclusivity(unchecked) private var readPaths: [ObjectIdentifier: [[String]: FieldPath]] = [:]
  let idPath = FieldPath(["id"])

  @exclusivity(unchecked) private var lastType: ObjectIdentifier?
  @exclusivity(unchecked) private var lastCollection: CollectionHandle?

  /// The last association, by the declaration that named it: most calls use the same one again. The
  /// declaration is retained, so that its address is not reused.
  @exclusivity(unchecked) var lastAssociation: (declaration: AnyObject, end: AssociationEnd)?

  /// What a layer above remembers of the queries that it planned with this context.
  @exclusivity(unchecked) var plans: AnyObject?
  /// What a layer above makes records of keys with, while no run uses it.
  @exclusivity(unchecked) var spareRecords: AnyObject?
  /// What a layer above has compiled for observers, which has references to this context.
  @exclusivity(unchecked) var observers: AnyObject?

  /// The timer of the running operation, if the log reports slow operations.
  @exclusivity(unchecked) var timer: OperationTimer?

  /// Whether each query is compared with a full scan.
  let checksQueries: Bool

  /// How many changes wait in an index of words.
  let searchLimits: SearchLimits

  /// The first storage error of the transaction, after which LMDB may have left it half-done.
  private(set) var failure: (any Error)?

  init(
    _ catalog: Catalog, of environment: LMDBEnvironment, checksQueries: Bool = false,
    provesCoding: Bool = false, searchLimits: SearchLimits = SearchLimits()
  ) throws {
    self.environment = environment
    trees = MappedTrees(environment)
    self.checksQueries = checksQueries
    self.searchLimits = searchLimits
    self.catalog = catalog
    shapes = ShapeTable()
    coder = RecordCoder(shapes: shapes)
    let storage = catalog.storage
    shapes.loader = { [unowned self] id in try storage.shape(id, in: try transaction()) }
    for collection in catalog.collections { try collection.schema.declareDefaults?(coder) }
    coder.setAliases(catalog.aliases)
    if provesCoding {
      coder.memberwise.provesTypes { environment.logRefutedCoding(of: $0) }
    }
  }

  /// - Parameter isReading: whether it changes nothing, so that every page is in the map.
  func begin(_ transaction: LMDBTransaction, isReading: Bool = false) {
    current = transaction
    held = nil
    self.isReading = isReading
    failure = nil
    hasUnsavedMembers = false
    trees.begin()
  }

  func end() {
    current = nil
    held = nil
  }

  package func detach() { observers = nil }

  /// Switches to other handles of the same types during the transaction.
  func adopt(_ catalog: Catalog) {
    self.catalog = catalog
    plans = nil
    readPaths = [:]
    spareRecords = nil
    observers = nil
    lastType = nil
    lastCollection = nil
    lastAssociation = nil
  }

  /// What a tree has under a key, as `LMDBDatabase.get`. In a read, it is searched on the mapped pages.
  @inline(__always)
  func get(
    _ key: UnsafeRawBufferPointer, from database: LMDBDatabase, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    guard isReading else { return try database.get(key, in: transaction) }
    if transaction.isWatched { database.tellRead(in: transaction) }
    return try trees.get(key, from: database, in: transaction)
  }

  /// The path of a stored field, which is kept for later queries.
  package func path(_ names: [String], _ reading: FieldReading?) -> FieldPath {
    if let reading {
      let id = ObjectIdentifier(reading)
      if let known = readPaths[id]?[names] { return known }
      if let path = reading.path(names) {
        readPaths[id, default: [:]][names] = path
        return path
      }
    }
    if let known = fieldPaths[names] { return known }
    let path = FieldPath(names)
    fieldPaths[names] = path
    return path
  }

  /// Keeps an error of LMDB, and returns its public form.
  @inline(never)
  func note(_ error: LMDBError) -> any Error {
    let error = environment.translated(error)
    if failure == nil { failure = error }
    return error
  }

  /// Keeps an error that prevents the commit of the transaction.
  func fail(_ error: any Error) -> any Error {
    if failure == nil { failure = error }
    return error
  }

  /// The running transaction; after its end, an error. Records that are held back are written first.
  @inline(__always)
  package func transaction() throws -> LMDBTransaction {
    guard let current else { return try transactionAfterWriting() }
    return current
  }

  /// The same for trees other than those of records: what is held back stays so.
  func transactionBesidesRecords() throws -> LMDBTransaction {
    guard let transaction = current ?? held else { throw TransactionContext.ended }
    return transaction
  }

  @inline(never)
  private func transactionAfterWriting() throws -> LMDBTransaction {
    guard let held else { throw TransactionContext.ended }
    stopHolding()
    do {
      try writeHeld?(held)
    } catch let error as LMDBError {
      throw note(error)
    } catch {
      throw fail(error)
    }
    return held
  }

  /// From now on new records may be held back. There is no current transaction until `transaction`
  /// is called, so that nothing can read or write without them.
  func hold() {
    held = current
    current = nil
  }

  /// Ends that; what is held back is not written.
  func stopHolding() {
    guard let held else { return }
    current = held
    self.held = nil
  }

  static var reentered: LarchError {
    LarchError(
      .nestedWrite,
      "A filter closure, a computed property or the Codable code of a record used the transaction that called it; use only the record there."
    )
  }

  static var ended: LarchError {
    LarchError(
      .transactionEnded,
      "A transaction is valid only inside its closure and on its thread; do the work inside the closure."
    )
  }

  /// The handles of a record type. Most calls use the same type as the last one.
  @inline(__always)
  func collection(_ type: ObjectIdentifier, name: @autoclosure () -> String) throws
    -> CollectionHandle
  {
    if type == lastType, let lastCollection { return lastCollection }
    guard let found = catalog.collection(type) else {
      if catalog.isMissing(type) {
        throw LarchError(
          .unknownCollection,
          "The file holds no records of this type yet and was opened read-only; open it once for writing with the type."
        ) {
          $0.collection = name()
          $0.path = environment.path
        }
      }
      throw LarchError(
        .unknownCollection,
        "The store was not opened for this record type; name it in `Store(at:for:)`."
      ) { $0.collection = name() }
    }
    lastType = type
    lastCollection = found
    return found
  }
}

extension LMDBEnvironment {
  /// Tells the log that the `Codable` of a type does more than its proof has shown, once for each
  /// type.
  fileprivate func logRefutedCoding(of typeName: String) {
    log(once: LogSubject(.codingRefuted, typeName)) {
      LogMessage(
        .warning, .codingRefuted,
        "A record shows that the Codable of its type does more than the compiler's; the type is now coded through it. Make it CustomCoded."
      ) {
        $0.path = path
        $0.detail = typeName
      }
    }
  }
}
