internal import Larch

/// Imports the records and lists of an export into an existing store.
struct RecordsImport {
  private static let progressInterval = 10_000

  private let store: Store
  private let source: JSONSource
  private let policy: StoredIDPolicy
  private let batchSize: Int?
  private let progress: ((StoreImportProgress) -> Void)?

  init(
    _ store: Store, _ source: JSONSource, _ policy: StoredIDPolicy, _ batchSize: Int?,
    _ progress: ((StoreImportProgress) -> Void)?
  ) {
    self.store = store
    self.source = source
    self.policy = policy
    self.batchSize = batchSize.map { max(1, $0) }
    self.progress = progress
  }

  func run() throws -> StoreImportSummary {
    guard let batchSize else {
      // The change may have to run again from the beginning, and so must reading the file.
      return try change { change throws in
        let lines = try ExportLines(source)
        while let line = try lines.next() { try take(line, lines, change) }
        return change.summary
      }
    }
    var summary = StoreImportSummary()
    let lines = try ExportLines(source)
    var isAtEnd = false
    while !isAtEnd {
      var batch: [(line: ExportLine, number: Int)] = []
      while batch.count < batchSize, let line = try lines.next() {
        batch.append((line, lines.line))
      }
      isAtEnd = batch.count < batchSize
      let before = summary
      summary = try change { change throws in
        change.summary = before
        for (line, number) in batch { try change.take(line, of: lines.header, number: number) }
        return change.summary
      }
      report(lines, summary)
    }
    return summary
  }

  private func take(_ line: ExportLine, _ lines: ExportLines, _ change: ImportChange) throws {
    try change.take(line, of: lines.header, number: lines.line)
    if change.summary.recordCount % Self.progressInterval == 0 { report(lines, change.summary) }
  }

  private func report(_ lines: ExportLines, _ summary: StoreImportSummary) {
    progress?(
      StoreImportProgress(
        done: lines.offset, total: lines.size, recordCount: summary.recordCount))
  }

  /// One change of the store, with the current handles of its schema.
  private func change(
    _ body: (ImportChange) throws -> StoreImportSummary
  ) throws -> StoreImportSummary {
    let environment = store.environment
    return try environment.withSteadyHandles { check in
      let catalog = try CatalogLoader.typelessCatalog(of: environment, isForBuilding: false)
      return try environment.write { transaction in
        try check()
        return try catalog.run(in: transaction, of: environment) { context in
          let change = try ImportChange(context, policy, transaction)
          let result = try body(change)
          try change.finish()
          return result
        }
      }
    }
  }
}

/// The part of an import in one transaction.
private final class ImportChange {
  var summary = StoreImportSummary()

  private let policy: StoredIDPolicy
  private let lists: [StoredLists]
  private let context: TransactionContext
  private let maintainer: IndexMaintainer
  private let transaction: LMDBTransaction
  private var storedShapeCount: Int
  /// By their numbers in the file.
  private var shapes: [Int: Shape] = [:]
  /// Collections of the store, by their places in the header of the file.
  private var collections: [Int: CollectionHandle] = [:]
  private var isSchemaChanged = false

  init(
    _ context: TransactionContext, _ policy: StoredIDPolicy, _ transaction: LMDBTransaction
  ) throws {
    self.context = context
    self.policy = policy
    self.transaction = transaction
    let catalog = context.catalog
    lists = try catalog.storage.associations(in: transaction).compactMap {
      try StoredLists($0, in: catalog, transaction)
    }
    maintainer = IndexMaintainer(context)
    storedShapeCount = try catalog.storage.shapeCount(in: transaction)
    context.shapes.setCount(storedShapeCount)
  }

  private var catalog: Catalog { context.catalog }

  /// Writes pending changes, and checks that references do not dangle.
  func finish() throws {
    try maintainer.references.finish { _, _, _ in false }
    try maintainer.flush()
    if isSchemaChanged {
      let storage = catalog.storage
      try storage.setGeneration(try storage.generation(in: transaction) + 1, in: transaction)
    }
  }

  func take(_ line: ExportLine, of header: ExportHeader, number: Int) throws {
    do {
      switch line {
      case .record(let place, let id, let record):
        try take(record, id, place, header)
      case .links(let place, let first, let second):
        try take(second, of: first, header.associations[place], header)
      }
    } catch let needed as KeysUnknownWithoutType {
      throw ExportLines.located(unkept(needed, line, header), line: number)
    } catch let error as LarchError where error.context.detail?.hasPrefix("line ") != true {
      throw ExportLines.located(error, line: number)
    } catch let problem as RecordTextReader.Problem {
      throw ExportLines.located(problem, line: number)
    }
  }

  private func unkept(
    _ needed: KeysUnknownWithoutType, _ line: ExportLine, _ header: ExportHeader
  ) -> LarchError {
    LarchError(
      .schemaMismatch,
      "An index needs the Swift type of the records for its keys; import the records with the program that declares the type."
    ) {
      guard case .record(let place, _, _) = line, let collection = collections[place] else {
        return
      }
      $0.collection = collection.stored.name
      $0.index = collection.schema.allIndexes[needed.positions.trailingZeroBitCount].name
    }
  }

  // MARK: Records

  private func take(
    _ record: ExportRecord, _ id: [UInt8], _ place: Int, _ header: ExportHeader
  ) throws {
    let collection = try collection(place, header)
    try id.withUnsafeBytes { id in
      let stored = try collection.records.get(id, in: transaction)
      if stored != nil, policy != .replace {
        guard policy == .skip else { throw exists(id, collection) }
        summary.skippedCount += 1
        return
      }
      var reader = RecordTextReader { [unowned self] number in try shape(number, header) }
      let bytes = try record.bytes(&reader)
      guard bytes.count <= RecordEnvelope.recordSizeLimit else {
        throw LarchError(.recordTooLarge, "The record is larger than 64 MiB.")
      }
      try storeShapes()
      let before = try stored.map { try RecordEnvelope.open($0, id: id, in: collection) }
      try bytes.withUnsafeBytes { bytes in
        if before?.equals(bytes) != true {
          try maintainer.update(id: id, before: before, after: bytes, in: collection) {
            try RecordEnvelope.put(
              bytes, id: id, collection: collection.number, into: collection.records,
              in: transaction)
          }
        }
      }
      if before == nil { summary.insertedCount += 1 } else { summary.replacedCount += 1 }
    }
  }

  private func exists(_ id: UnsafeRawBufferPointer, _ collection: CollectionHandle) -> LarchError {
    LarchError(
      .idExists,
      "A record with this id exists; choose to replace it, or to skip the line."
    ) {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
    }
  }

  /// The collection of the store, whose ids must have the same kind as in the file.
  private func collection(_ place: Int, _ header: ExportHeader) throws -> CollectionHandle {
    if let known = collections[place] { return known }
    let wanted = header.collections[place]
    guard let found = catalog.collections.first(where: { $0.stored.name == wanted.name }) else {
      throw LarchError(
        .unknownCollection,
        "The store has no collection of this name; open it with the type once, or import into a new store."
      ) { $0.collection = wanted.name }
    }
    guard found.stored.idKind == wanted.idKind else { throw otherIDs(wanted, found.stored) }
    try noteFields(of: found, wanted)
    collections[place] = found
    return found
  }

  /// Notes the declarations under which the imported records were written.
  private func noteFields(
    of collection: CollectionHandle, _ wanted: ExportHeader.Collection
  ) throws {
    let storage = catalog.storage
    let number = collection.number
    guard var history = try storage.fieldHistory(of: number, in: transaction) else { return }
    let before = history
    guard let fields = wanted.fields else {
      // If nothing is known about them, the records themselves are read from now on.
      try storage.removeFieldHistory(of: number, in: transaction)
      isSchemaChanged = true
      return
    }
    for version in fields.versions { history.add(version) }
    guard history != before else { return }
    try storage.setFieldHistory(history, of: number, in: transaction)
    isSchemaChanged = true
  }

  /// The shape in the store that equals one of the file; created if there is none.
  private func shape(_ number: Int, _ header: ExportHeader) throws -> Shape? {
    if let known = shapes[number] { return known }
    guard number > 0, number <= header.shapes.count, let wanted = header.shapes[number - 1] else {
      return nil
    }
    let shape = try context.shapes.intern(typeName: wanted.typeName, fields: wanted.fields)
    shapes[number] = shape
    return shape
  }

  private func storeShapes() throws {
    while storedShapeCount < context.shapes.count {
      storedShapeCount += 1
      try catalog.storage.add(
        try context.shapes.shape(UInt16(storedShapeCount)), in: transaction)
    }
  }

  // MARK: Lists

  private func take(
    _ second: [[UInt8]], of first: [UInt8], _ association: StoredAssociation,
    _ header: ExportHeader
  ) throws {
    guard let lists = lists.first(where: { $0.stored.key == association.key }) else {
      throw LarchError(
        .unknownAssociation,
        "The store does not have this many-to-many association; open it once with both types, or import into a new store."
      ) { $0.field = association.key }
    }
    for end in [lists.first.collection, lists.second.collection] {
      let wanted = header.collections.first { $0.name == end.name }
      if let wanted, wanted.idKind != end.idKind { throw otherIDs(wanted, end) }
    }
    for id in second where try lists.link(first, id, in: transaction) {
      summary.linkCount += 1
    }
  }

  private func otherIDs(
    _ wanted: ExportHeader.Collection, _ found: StoredCollection
  ) -> LarchError {
    LarchError(
      .schemaMismatch,
      "The ids of the collection have another kind in the store; import into a new store."
    ) {
      $0.collection = wanted.name
      $0.detail = "\(wanted.idKind) in the file, \(found.idKind) in the store"
    }
  }
}
