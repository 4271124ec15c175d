internal import Foundation

/// What an import is asked to do, beside the type and the source.
struct ImportRequest<R: Record> {
  var matcher: RecordMatcher<R>?
  var existing: ImportExisting
  var policy: ImportErrorPolicy
  var batchSize: Int
  var options: ImportOptions
  var isCancelled: () -> Bool = { false }
  var progress: ((ImportProgress) -> Void)?
}

/// An element that was read, and made a record where that needs nothing of the store.
struct ReadElement<R> {
  enum Content {
    case record(R)
    /// Made a record when the stored one is known that it stands for.
    case bytes([UInt8])
    /// To be read again.
    case unread
  }

  let place: ElementPlace
  let content: Content
  /// The keys that the type did not ask for, of one that is a record.
  var unknownKeys: [String] = []
}

/// Takes the elements of one JSON text into one collection.
final class RecordImporter<R: Record> {
  /// Elements of a batch are held in memory, so a batch ends early when they are large.
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

  /// Imports everything, as a part of a transaction.
  ///
  /// - Throws: `.importStopped` for the first element that cannot go in.
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
      // After those before it, one of which may have been the first.
      if let failure { throw stopped(failure) }
      tellProgress()
      if request.isCancelled() { throw CancellationError() }
    }
    // In a longer transaction, what is missing may still come.
    if isWhole, let first = try waiting.unresolved(R.self).first {
      throw stopped(ImportFailure(first.place, first.error))
    }
    return report
  }

  private func stopped(_ failure: ImportFailure) -> LarchError {
    LarchError(
      .importStopped,
      "An element cannot go in, so nothing of the import did; the cause says which one and why.",
      underlying: failure
    ) {
      $0.collection = R.collectionName
      $0.field = failure.field
    }
  }

  // MARK: One batch after the other

  /// Imports all valid elements, each batch by itself.
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
      // They may wait for each other, so they go in together.
      let rest = later.map { ReadElement<R>(place: $0, content: .unread) }
      let batch = ImportBatch(self, rest, isWhole: isWhole, defers: false)
      try batch.run(in: writer)
      report.add(batch.outcome, request.options)
      tellProgress()
    }
    report.failures.sort { $0.index < $1.index }
    return report
  }

  /// Learns what the store knows of the type.
  private func begin(_ tx: ReadTransaction) throws {
    try request.matcher?.check(tx)
    decoder.take(listsOf: try tx.context.collection(of: R.self))
  }

  // MARK: Reading

  /// Reads the elements of the next batch; false at the end.
  ///
  /// - Parameter fail: is told what is no element; whether to read on.
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
      // A record that is matched has an id already.
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

  /// Whether an error is the fault of an element, and not of the storage or the program.
  func isOfElement(_ error: any Error, _ tx: WriteTransaction) -> Bool {
    if tx.context.failure != nil || error is CancellationError { return false }
    guard let error = error as? LarchError else { return true }
    return LarchError.Code.ofElements.contains(error.code)
  }

  enum Change { case inserted, updated, unchanged }

  /// What became of an element.
  struct Saved {
    let change: Change
    let unknownKeys: [String]
  }

  /// Saves one element; an error has changed nothing.
  func save(_ element: ReadElement<R>, in tx: WriteTransaction) throws -> Saved {
    if case .record(let record) = element.content {
      return Saved(change: try save(record, in: tx), unknownKeys: element.unknownKeys)
    }
    // Made a record now, from which the decoder has the keys.
    let change = try saveBytes(of: element, in: tx)
    return Saved(change: change, unknownKeys: decoder.unknownKeys)
  }

  private func saveBytes(
    of element: ReadElement<R>, in tx: WriteTransaction
  ) throws -> Change {
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

  private func save(_ record: R, in tx: WriteTransaction) throws -> Change {
    var record = record
    if let matcher = request.matcher {
      let stored = try matcher.find(record, tx)
      if let stored { record.id = stored.id }
      return try save(&record, isStored: stored != nil, in: tx)
    }
    let isStored = try !record.id.isUnassigned && tx.exists(R.self, record.id)
    return try save(&record, isStored: isStored, in: tx)
  }

  private func save(_ bytes: UnsafeRawBufferPointer, in tx: WriteTransaction) throws -> Change {
    let stored = try (request.matcher ?? .byID).findElement(decoder, bytes, tx)
    guard let stored else {
      var record = try decoder.record(bytes)
      return try save(&record, isStored: false, in: tx)
    }
    var record = try decoder.record(bytes, over: stored, merges: request.existing == .merge)
    record.id = stored.id
    return try save(&record, isStored: true, in: tx)
  }

  private func save(
    _ record: inout R, isStored: Bool, in tx: WriteTransaction
  ) throws -> Change {
    let before = tx.changeCount
    guard isStored else {
      // Not `save`: the id may be that of a record that does not match.
      try tx.insert(&record)
      return .inserted
    }
    try tx.takeStoredVersion(into: &record)
    try tx.update(&record)
    return tx.changeCount == before ? .unchanged : .updated
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
  /// What may be wrong with one record while the store is well.
  fileprivate static let ofElements: Set<Self> = [
    .invalidJSON, .elementMismatch, .elementTooLarge, .unknownKey, .uniqueConflict, .idExists,
    .recordNotFound, .idTooLong, .idUnassigned, .encodingFailed, .decodingFailed,
    .recordTooLarge, .invalid, .hooksTooDeep, .fieldMismatch, .unsavedReference,
    .danglingReference, .deleteDenied, .overflow, .idChanged, .conflict,
  ]
}
