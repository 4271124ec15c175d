internal import Foundation

/// The parameters of an import, without the type and the source.
struct ImportRequest<R: Record> {
  var matcher: RecordMatcher<R>?
  var existing: ImportExisting
  var policy: ImportErrorPolicy
  var batchSize: Int
  var options: ImportOptions
  var isCancelled: () -> Bool = { false }
  var progress: ((ImportProgress) -> Void)?
}

/// An element that was read; also a record, if decoding it does not need the store.
struct ReadElement<R> {
  enum Content {
    case record(R)
    /// It becomes a record when its stored record is known.
    case bytes([UInt8])
    /// It must be read again.
    case unread
  }

  let place: ElementPlace
  let content: Content
  /// The unknown keys, if it is a record.
  var unknownKeys: [String] = []
}

/// Imports the elements of one JSON text into one collection.
final class RecordImporter<R: Record> {
  /// The elements of a batch are held in memory, so a batch of large elements ends early.
  private static var batchBytes: Int { 16 << 20 }

  let request: ImportRequest<R>
  let source: any ByteSource
  let decoder: ElementDecoder<R>
  private var scanner: JSONElementScanner
  private(set) var report = ImportReport()

  init(_ request: ImportRequest<R>, from source: JSONSource) throws {
    self.request = request
    self.source = try source.open()
    decoder = ElementDecoder(request.options)
    scanner = JSONElementScanner(self.source, request.options)
  }

  // MARK: All or nothing

  /// Imports everything as a part of a transaction.
  ///
  /// - Throws: `.importStopped` for the first element that cannot be imported.
  func importAll(in tx: WriteTransaction, isWhole: Bool) throws -> ImportReport {
    try begin(tx)
    // The closure of a transaction may run again.
    report = ImportReport()
    scanner = JSONElementScanner(source, request.options)
    var waiting = WaitingElements(tx)
    var elements: [ReadElement<R>] = []
    var failure: ImportFailure?
    func stop(_ first: ImportFailure) -> Bool {
      failure = first
      return false
    }
    while try read(into: &elements, stop) {
      for element in elements {
        do {
          try waiting.note(element.place) {
            report.count(try save(element, in: tx), request.options)
          }
        } catch {
          guard isOfElement(error, tx) else { throw error }
          throw stopped(ImportFailure(element.place, error))
        }
      }
      // After the elements before it, which may have failed first.
      if let failure { throw stopped(failure) }
      tellProgress()
      if request.isCancelled() { throw CancellationError() }
    }
    // In a longer transaction, missing records may still be saved.
    if isWhole, let first = try waiting.unresolved(R.self).first {
      throw stopped(ImportFailure(first.place, first.error))
    }
    return report
  }

  private func stopped(_ failure: ImportFailure) -> LarchError {
    LarchError(
      .importStopped,
      "An element cannot be imported, so nothing was; the cause says which element and why.",
      underlying: failure
    ) {
      $0.collection = R.collectionName
      $0.field = failure.field
    }
  }

  // MARK: One batch after the other

  /// Imports all valid elements, one batch at a time.
  func importBatches(in writer: some RecordWriting, isWhole: Bool) throws -> ImportReport {
    try writer._reading { tx in try begin(tx) }
    var later: [ElementPlace] = []
    var elements: [ReadElement<R>] = []
    func skip(_ failure: ImportFailure) -> Bool {
      report.add(failure, request.options)
      return true
    }
    while try read(into: &elements, skip) {
      if request.isCancelled() { throw CancellationError() }
      let batch = ImportBatch(self, elements, isWhole: isWhole, defers: true)
      try batch.run(in: writer)
      report.add(batch.outcome, request.options)
      later += batch.deferred
      tellProgress()
    }
    if !later.isEmpty {
      if request.isCancelled() { throw CancellationError() }
      // They may wait for each other, so they are imported together.
      let rest = later.map { ReadElement<R>(place: $0, content: .unread) }
      let batch = ImportBatch(self, rest, isWhole: isWhole, defers: false)
      try batch.run(in: writer)
      report.add(batch.outcome, request.options)
      tellProgress()
    }
    report.failures.sort { $0.index < $1.index }
    return report
  }

  /// Reads what the store knows about the type.
  private func begin(_ tx: ReadTransaction) throws {
    try request.matcher?.check(tx)
    decoder.take(listsOf: try tx.context.collection(of: R.self))
  }

  // MARK: Reading

  /// Reads the elements of the next batch; false at the end.
  ///
  /// - Parameter fail: is called for a text that is not an element; returns whether to continue.
  private func read(
    into elements: inout [ReadElement<R>], _ fail: (ImportFailure) -> Bool
  ) throws -> Bool {
    elements.removeAll(keepingCapacity: true)
    var bytes = 0
    var count = 0
    while count < max(1, request.batchSize), bytes < RecordImporter.batchBytes {
      guard let element = try scanner.next() else { break }
      count += 1
      bytes += element.place.count
      if let problem = element.problem {
        if fail(ImportFailure(element.place, problem)) { continue } else { break }
      }
      do {
        let content = try content(of: element.bytes)
        var read = ReadElement(place: element.place, content: content)
        if case .record = content { read.unknownKeys = decoder.unknownKeys }
        elements.append(read)
      } catch {
        if !fail(ImportFailure(element.place, error)) { break }
      }
    }
    report.isComplete = scanner.isComplete
    return count > 0
  }

  private func content(of bytes: UnsafeRawBufferPointer) throws -> ReadElement<R>.Content {
    if request.existing == .merge { return .bytes([UInt8](bytes)) }
    do {
      return .record(try decoder.record(bytes))
    } catch let error as LarchError {
      // A matched record already has an id.
      guard request.matcher != nil, error.context.field == decoder.filling.idKey else {
        throw error
      }
      return .bytes([UInt8](bytes))
    }
  }

  private func tellProgress() {
    guard let progress = request.progress else { return }
    progress(
      ImportProgress(
        elements: report.elements, bytes: min(scanner.offset, source.count),
        totalBytes: source.count))
  }

  // MARK: Saving

  /// Whether an error is the fault of an element, not of the storage or the program.
  func isOfElement(_ error: any Error, _ tx: WriteTransaction) -> Bool {
    if tx.context.failure != nil || error is CancellationError { return false }
    guard let error = error as? LarchError else { return true }
    return LarchError.Code.ofElements.contains(error.code)
  }

  /// The result of an element.
  struct Saved {
    let change: SavedChange
    let unknownKeys: [String]
  }

  /// Saves one element; on an error nothing has changed.
  func save(_ element: ReadElement<R>, in tx: WriteTransaction) throws -> Saved {
    if case .record(let record) = element.content {
      return Saved(change: try save(record, in: tx), unknownKeys: element.unknownKeys)
    }
    // Decoded only now, because the decoder learns the keys from it.
    let change = try saveBytes(of: element, in: tx)
    return Saved(change: change, unknownKeys: decoder.unknownKeys)
  }

  private func saveBytes(
    of element: ReadElement<R>, in tx: WriteTransaction
  ) throws -> SavedChange {
    switch element.content {
    case .record(let record): return try save(record, in: tx)
    case .bytes(let bytes): return try bytes.withUnsafeBytes { try save($0, in: tx) }
    case .unread:
      let size = element.place.count
      let bytes = try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = try source.read(
          at: element.place.offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
      return try bytes.withUnsafeBytes { bytes in
        switch try content(of: bytes) {
        case .record(let record): try save(record, in: tx)
        case .bytes, .unread: try save(bytes, in: tx)
        }
      }
    }
  }

  private func save(_ record: R, in tx: WriteTransaction) throws -> SavedChange {
    var record = record
    if let matcher = request.matcher {
      let id = try matcher.find(record, tx)
      if let id { record.id = id }
      return try tx.saveMatched(&record, isStored: id != nil)
    }
    let isStored = try !record.id._isUnassigned && tx.exists(R.self, record.id)
    return try tx.saveMatched(&record, isStored: isStored)
  }

  private func save(_ bytes: UnsafeRawBufferPointer, in tx: WriteTransaction) throws -> SavedChange
  {
    let id = try (request.matcher ?? .byID).findElement(decoder, bytes, tx)
    guard let id else {
      var record = try decoder.record(bytes)
      return try tx.saveMatched(&record, isStored: false)
    }
    // Only a merge needs the fields of the stored record.
    let stored = request.existing == .merge ? try tx.find(R.self, id) : nil
    var record = try decoder.record(bytes, over: id, merging: stored)
    record.id = id
    return try tx.saveMatched(&record, isStored: true)
  }
}

extension ImportReport {
  mutating func count<R>(_ saved: RecordImporter<R>.Saved, _ options: ImportOptions) {
    for key in saved.unknownKeys { count(unknown: key, 1, options) }
    switch saved.change {
    case .inserted: inserted += 1
    case .updated: updated += 1
    case .unchanged: unchanged += 1
    }
  }

  private mutating func count(unknown key: String, _ times: Int, _ options: ImportOptions) {
    unknownKeyCount += times
    guard unknownKeys.count < options.failureLimit || unknownKeys[key] != nil else { return }
    unknownKeys[key, default: 0] += times
  }

  mutating func add(_ failure: ImportFailure, _ options: ImportOptions) {
    skipped += 1
    if failures.count < options.failureLimit { failures.append(failure) }
  }

  mutating func add(_ other: ImportReport, _ options: ImportOptions) {
    inserted += other.inserted
    updated += other.updated
    unchanged += other.unchanged
    skipped += other.skipped
    let kept = other.unknownKeys.values.reduce(0, +)
    for (key, times) in other.unknownKeys.sorted(by: { $0.key < $1.key }) {
      count(unknown: key, times, options)
    }
    unknownKeyCount += other.unknownKeyCount - kept
    failures += other.failures.prefix(max(0, options.failureLimit - failures.count))
  }
}

extension LarchError.Code {
  /// Errors of a single record, while the store is fine.
  fileprivate static let ofElements: Set<Self> = [
    .invalidJSON, .elementMismatch, .elementTooLarge, .unknownKey, .uniqueConflict, .idExists,
    .recordNotFound, .idTooLong, .idUnassigned, .encodingFailed, .decodingFailed,
    .recordTooLarge, .invalid, .hooksTooDeep, .fieldMismatch, .unsavedReference,
    .danglingReference, .deleteDenied, .overflow, .idChanged, .conflict,
  ]
}
