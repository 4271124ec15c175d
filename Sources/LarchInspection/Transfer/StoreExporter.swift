package import Foundation
package import Larch

/// The result of an export.
package struct StoreExportSummary: Sendable, Hashable {
  package var collectionCount = 0
  package var recordCount = 0
  package var linkCount = 0
  package var byteCount = 0
}

extension Store {
  /// Writes everything in the store, or some collections of it, as JSON lines: see
  /// `docs/export-format.md`. Its Swift types are not needed.
  ///
  /// - Parameters:
  ///   - names: the collections to export; all by default.
  ///   - progress: called from time to time with the number of records written and of all.
  ///   - write: receives the text in pieces.
  /// - Throws: `.unknownCollection`, `.checksumMismatch` or `.corrupted` for a damaged record, and
  ///   the errors of `write`.
  /// - Complexity: O(n) for the output; the memory of one record.
  @discardableResult
  package func export(
    _ names: [String]? = nil, progress: ((_ done: Int, _ total: Int) -> Void)? = nil,
    write: (Data) throws -> Void
  ) throws -> StoreExportSummary {
    try withoutActuallyEscaping(write) { write in
      try inspect { try StoreExporter($0, names, progress, write).run() }
    }
  }

  /// The same to a file, which is moved to its place when it is complete.
  ///
  /// - Throws: the same errors; `.fileExists` if there is a file and `replacing` is false,
  ///   `.unsuitableFile` if there is a store.
  @discardableResult
  package func export(
    _ names: [String]? = nil, toFile path: String, replacing: Bool = false,
    progress: ((_ done: Int, _ total: Int) -> Void)? = nil
  ) throws -> StoreExportSummary {
    let file = try ReplacementFile(path, replacing: replacing)
    let summary = try export(names, progress: progress) { try file.write($0) }
    try file.takePlace()
    return summary
  }
}

/// One run of an export.
private final class StoreExporter {
  private static let pieceSize = 256 << 10
  private static let progressInterval = 10_000
  /// The number of links on one line: a list may have any number.
  private static let linksPerLine = 1000

  private let inspector: StoreInspector
  private let collections: [StoreInspector.Collection]
  private let header: ExportHeader
  private let progress: ((Int, Int) -> Void)?
  private let write: (Data) throws -> Void
  private var piece: [UInt8] = []
  private var summary = StoreExportSummary()
  private var linkCounts: [(key: String, count: Int)] = []

  init(
    _ inspector: StoreInspector, _ names: [String]?, _ progress: ((Int, Int) -> Void)?,
    _ write: @escaping (Data) throws -> Void
  ) throws {
    self.inspector = inspector
    self.progress = progress
    self.write = write
    for name in names ?? [] where !inspector.collections.contains(where: { $0.name == name }) {
      throw LarchError(.unknownCollection, "The store has no collection of this name.") {
        $0.collection = name
      }
    }
    collections = inspector.collections.filter { names?.contains($0.name) ?? true }
    header = try ExportHeader(
      inspector.storage, of: Set(collections.map(\.name)),
      usedShapes: names == nil ? nil : try StoreExporter.shapes(of: collections, inspector),
      in: inspector.transaction)
  }

  /// The shapes of records in these collections. This reads each record once more, so that a
  /// partial export reveals nothing about the rest.
  private static func shapes(
    of collections: [StoreInspector.Collection], _ inspector: StoreInspector
  ) throws -> Set<UInt16> {
    var used: Set<UInt16> = []
    for collection in collections {
      try inspector.forEachStoredRecord(in: collection) { id, record in
        do {
          used.formUnion(try RecordTextWriter.shapes(of: record, shapes: inspector.shapes))
        } catch let error as LarchError {
          throw RecordEnvelope.naming(error, id, collection.stored)
        }
      }
    }
    return used
  }

  func run() throws -> StoreExportSummary {
    try line(header.text())
    let total = collections.reduce(0) { $0 + $1.recordCount }
    for collection in collections {
      var start = JSONTextWriter()
      start.raw("{\"collection\":")
      start.text(collection.name)
      start.raw(",\"id\":")
      try inspector.forEachStoredRecord(in: collection) { id, record in
        try export(record, id, of: collection, after: start.bytes)
        summary.recordCount += 1
        if summary.recordCount % Self.progressInterval == 0 {
          progress?(summary.recordCount, total)
        }
      }
      summary.collectionCount += 1
    }
    for association in header.associations where association.kind == .links {
      try exportLists(of: association)
    }
    try line(end())
    try flush()
    progress?(summary.recordCount, total)
    return summary
  }

  private func export(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    of collection: StoreInspector.Collection, after start: [UInt8]
  ) throws {
    guard let idText = ExportID.text(of: id, collection.stored.idKind) else {
      throw LarchError(.corrupted, "The id of a record is damaged; salvage the store.") {
        $0.collection = collection.name
        $0.id = collection.stored.idKind.text(of: id)
      }
    }
    let member: [UInt8]
    do {
      member = try RecordTextWriter.member(record, shapes: inspector.shapes)
    } catch let error as LarchError {
      throw RecordEnvelope.naming(error, id, collection.stored)
    }
    try line(start + idText + [UInt8(ascii: ",")] + member + [UInt8(ascii: "}")])
  }

  private func exportLists(of stored: StoredAssociation) throws {
    guard let association = inspector.associations.first(where: { $0.key == stored.key }),
      let lists = association.lists
    else { return linkCounts.append((stored.key, 0)) }
    var count = 0
    var first: [UInt8] = []
    var second: [[UInt8]] = []
    func flushList() throws {
      if second.isEmpty { return }
      var start = JSONTextWriter()
      start.raw("{\"association\":")
      start.text(stored.key)
      start.raw(",\"first\":")
      try line(
        start.bytes + first + Array(",\"second\":[".utf8)
          + second.joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8))
      count += second.count
      second.removeAll(keepingCapacity: true)
    }
    var cursor = try LMDBCursor(lists.databases.forward, in: inspector.transaction)
    var entry = try cursor.first()
    while let here = entry {
      guard let from = ExportID.text(of: here.key, lists.first.collection.idKind),
        let to = ExportID.text(of: here.value, lists.second.collection.idKind)
      else {
        throw LarchError(.corrupted, "An id in a list is damaged; salvage the store.") {
          $0.field = stored.key
        }
      }
      if from != first || second.count == Self.linksPerLine { try flushList() }
      first = from
      second.append(to)
      entry = try cursor.next()
    }
    try flushList()
    linkCounts.append((stored.key, count))
    summary.linkCount += count
  }

  /// The last line, which shows a reader that nothing is missing.
  private func end() -> [UInt8] {
    var writer = ExportTextWriter()
    writer.object {
      $0.member("end") {
        $0.object {
          $0.member("links") { writer in
            writer.object { object in
              for (key, count) in linkCounts { object.member(key) { $0.raw("\(count)") } }
            }
          }
          $0.member("records") { writer in
            writer.object { object in
              for collection in collections {
                object.member(collection.name) { $0.raw("\(collection.recordCount)") }
              }
            }
          }
        }
      }
    }
    return writer.bytes
  }

  // MARK: Text

  private func line(_ text: [UInt8]) throws {
    piece += text
    piece.append(0x0A)
    if piece.count >= Self.pieceSize { try flush() }
  }

  private func flush() throws {
    if piece.isEmpty { return }
    summary.byteCount += piece.count
    try write(Data(piece))
    piece.removeAll(keepingCapacity: true)
  }
}
