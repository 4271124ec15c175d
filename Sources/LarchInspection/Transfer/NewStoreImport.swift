internal import Larch

/// Makes a new store from an export.
struct NewStoreImport {
  private static let batchCount = 20_000
  private static let batchBytes = 16 << 20

  private let source: JSONSource
  private let path: String
  private let progress: ((StoreImportProgress) -> Void)?
  private var summary = StoreImportSummary()

  init(
    _ source: JSONSource, _ path: String, _ progress: ((StoreImportProgress) -> Void)?
  ) {
    self.source = source
    self.path = path
    self.progress = progress
  }

  mutating func run() throws -> StoreImportSummary {
    try FreshStore.checkPlace(path)
    let lines = try ExportLines(source)
    let header = lines.header
    let count = header.collections.reduce(0) { $0 + 1 + $1.indexes.count }
    try FreshStore.make(
      at: path, databaseCount: count + 2 * header.associations.count
    ) { environment in
      try environment.write { transaction in
        try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
          .restore(header, in: transaction)
      }
      let catalog = try CatalogLoader.typelessCatalog(of: environment)
      try fill(environment, catalog, lines)
      try buildIndexes(environment, catalog, header)
    }
    return summary
  }

  // MARK: Records and lists

  private enum Item {
    case record(CollectionHandle, id: [UInt8], record: [UInt8])
    case link(association: String, first: [UInt8], second: [UInt8], line: Int)
  }

  private mutating func fill(
    _ environment: LMDBEnvironment, _ catalog: Catalog, _ lines: ExportLines
  ) throws {
    let shapes = lines.header.numberedShapes()
    var reader = RecordTextReader { number in
      number > 0 && number <= shapes.count ? shapes[number - 1] : nil
    }
    // In the order of the file, which has each once.
    let collections = lines.header.collections.map { wanted in
      catalog.collections.first { $0.stored.name == wanted.name }
    }
    var batch: [Item] = []
    var size = 0
    while let line = try lines.next() {
      switch line {
      case .record(let place, let id, let record):
        guard let collection = collections[place] else { continue }
        let bytes: [UInt8]
        do {
          bytes = try record.bytes(&reader)
        } catch {
          throw ExportLines.located(error, line: lines.line)
        }
        guard bytes.count <= RecordEnvelope.recordSizeLimit else {
          throw ExportLines.located(
            LarchError(.recordTooLarge, "The record is larger than 64 MiB."), line: lines.line)
        }
        batch.append(.record(collection, id: id, record: bytes))
        size += bytes.count
        summary.insertedCount += 1
      case .links(let place, let first, let second):
        let key = lines.header.associations[place].key
        for second in second {
          batch.append(.link(association: key, first: first, second: second, line: lines.line))
        }
        summary.linkCount += second.count
      }
      if batch.count >= Self.batchCount || size >= Self.batchBytes {
        try write(batch, catalog, environment)
        batch.removeAll(keepingCapacity: true)
        size = 0
        progress?(
          StoreImportProgress(
            done: lines.offset, total: lines.size, recordCount: summary.insertedCount))
      }
    }
    try write(batch, catalog, environment)
    progress?(
      StoreImportProgress(done: lines.size, total: lines.size, recordCount: summary.insertedCount))
  }

  private func write(
    _ batch: [Item], _ catalog: Catalog, _ environment: LMDBEnvironment
  ) throws {
    if batch.isEmpty { return }
    try environment.write { transaction in
      let lists = try catalog.storage.associations(in: transaction).compactMap {
        try StoredLists($0, in: catalog, transaction)
      }
      for item in batch {
        switch item {
        case .record(let collection, let id, let record):
          try id.withUnsafeBytes { id in
            try record.withUnsafeBytes { record in
              try RecordEnvelope.put(
                record, id: id, collection: collection.number, into: collection.records,
                in: transaction)
            }
          }
        case .link(let key, let first, let second, let line):
          guard let lists = lists.first(where: { $0.stored.key == key }) else { continue }
          do {
            try lists.link(first, second, in: transaction)
          } catch {
            throw ExportLines.located(error, line: line)
          }
        }
      }
    }
  }

  // MARK: Indexes

  private mutating func buildIndexes(
    _ environment: LMDBEnvironment, _ catalog: Catalog, _ header: ExportHeader
  ) throws {
    // Indexes that were incomplete in the exported store are built when a program opens the new
    // store with its types.
    let builder = IndexBuilder(
      environment: environment, catalog: catalog, batchSize: nil
    ) { _, _, _, _ in }
    for collection in catalog.collections {
      let known = header.collections.first { $0.name == collection.stored.name }
      for (place, index) in collection.allIndexes.enumerated() {
        let wasReady = known?.indexes.first { $0.name == index.stored.name }?.isReady ?? false
        do {
          guard wasReady, !index.schema.isDecoded else {
            throw KeysUnknownWithoutType(positions: 1 << UInt64(index.position))
          }
          try builder.build(place, in: collection)
          summary.indexCount += 1
        } catch is KeysUnknownWithoutType {
          try forget(index, catalog.storage, environment)
          summary.waitingIndexes.append(
            StoreImportSummary.WaitingIndex(
              collection: collection.stored.name, index: index.stored.name))
        }
      }
    }
  }

  /// Undoes the build of an index, so that it starts again from the beginning.
  private func forget(
    _ index: IndexHandle, _ storage: CatalogStorage, _ environment: LMDBEnvironment
  ) throws {
    try environment.write { transaction in
      try index.database.empty(in: transaction)
      try storage.remove(.buildProgress(index.stored.id), in: transaction)
    }
  }
}

extension ExportHeader {
  /// The shapes with their numbers in the new store, without gaps.
  fileprivate func numberedShapes() -> [Shape?] {
    var number: UInt16 = 0
    return shapes.map { shape in
      guard let shape else { return nil }
      number += 1
      return Shape(id: number, typeName: shape.typeName, fields: shape.fields)
    }
  }
}

extension CatalogStorage {
  /// Writes the catalog of an export to a new store. Indexes are still to be built.
  fileprivate func restore(
    _ header: ExportHeader, in transaction: LMDBTransaction
  ) throws {
    for shape in header.numberedShapes() { if let shape { try add(shape, in: transaction) } }
    var collections: [StoredCollection] = []
    for collection in header.collections {
      let stored = try create(
        collection.name, typeName: collection.typeName, idKind: collection.idKind,
        indexes: collection.indexes.map { ($0.name, $0.isUnique, $0.definition) },
        in: transaction)
      if collection.highestDeletedID > 0 {
        try setHighestDeletedID(collection.highestDeletedID, of: stored.id, in: transaction)
      }
      if let fields = collection.fields {
        try setFieldHistory(fields, of: stored.id, in: transaction)
      }
      collections.append(stored)
    }
    try restore(header.associations, of: collections, in: transaction)
    for migration in header.migrations { try set(migration, in: transaction) }
  }
}
