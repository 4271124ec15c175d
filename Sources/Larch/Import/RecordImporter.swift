internal import Foundation

/// The parameters of an import, without the type and the source.
struct ImportRequest<R: Record> {
  var map: ImportMap<R>?
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
    case bytes(MappedElement)
    /// Its map needs the store.
    case source([UInt8])
    /// It must be read again.
    case unread
  }

  let place: ElementPlace
  let content: Content
  /// The unknown keys, if it is a record.
  var unknownKeys: [String] = []
  /// What a map noted.
  var tally: MapTally?

  init(place: ElementPlace, content: Content) {
    self.place = place
    self.content = content
  }
}

/// Imports the elements of one JSON text into one collection.
final class RecordImporter<R: Record> {
  /// The elements of a batch are held in memory, so a batch of large elements ends early.
  private static var batchBytes: Int { 16 << 20 }

  let request: ImportRequest<R>
  let source: any ByteSource
  private var decoder: ElementDecoder<R>
  private var plan: MapPlan<R>?
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
            report.count(try save(element, in: tx), element.place, request.options)
          }
        } catch {
          if report.omit(element.place, error, request.options) { continue }
          guard isOfElement(error, tx) else { throw KeyedError.plain(error) }
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
    let later = DeferredElements()
    var elements: [ReadElement<R>] = []
    func skip(_ failure: ImportFailure) -> Bool {
      report.add(failure, request.options)
      return true
    }
    while try read(into: &elements, skip) {
      if request.isCancelled() { throw CancellationError() }
      let batch = ImportBatch(self, elements, isWhole: isWhole, deferring: later)
      try batch.run(in: writer)
      report.add(batch.outcome, request.options)
      tellProgress()
    }
    if !later.places.isEmpty {
      if request.isCancelled() { throw CancellationError() }
      // They may wait for each other, so they are imported together.
      let rest = later.places.sorted { $0.offset < $1.offset }
        .map { ReadElement<R>(place: $0, content: .unread) }
      let batch = ImportBatch(self, rest, isWhole: isWhole, deferring: nil)
      try batch.run(in: writer)
      report.add(batch.outcome, request.options)
      tellProgress()
    }
    report.failures.sort { $0.index < $1.index }
    report.omissions.sort { $0.index < $1.index }
    return report
  }

  /// Reads what the store knows about the type, and checks the map.
  private func begin(_ tx: ReadTransaction) throws {
    try request.matcher?.check(tx)
    if let map = request.map, plan == nil {
      let session = MapSession(request.options, undoesElements: request.policy == .skip)
      let plan = try session.plan(map, tx)
      self.plan = plan
      decoder = plan.decoder
    }
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
        elements.append(try self.element(at: element.place, element.bytes))
      } catch {
        if report.omit(element.place, error, request.options) { continue }
        if !fail(ImportFailure(element.place, error)) { break }
      }
    }
    report.isComplete = scanner.isComplete
    return count > 0
  }

  private func element(
    at place: ElementPlace, _ bytes: UnsafeRawBufferPointer
  ) throws -> ReadElement<R> {
    guard let plan else { return try element(at: place, ElementInput(bytes)) }
    if plan.needsStore { return ReadElement(place: place, content: .source([UInt8](bytes))) }
    if let (own, _) = try plan.readByHooks(bytes) {
      return try own.withUnsafeBytes { try element(at: place, $0, plan) }
    }
    return try element(at: place, bytes, plan)
  }

  private func element(
    at place: ElementPlace, _ bytes: UnsafeRawBufferPointer, _ plan: MapPlan<R>
  ) throws -> ReadElement<R> {
    var tally = MapTally()
    let mapped = try plan.mapped(bytes, &tally)
    var read = try plan.keyed { try mapped.withInput { try element(at: place, $0) } }
    plan.note(read.unknownKeys, &tally)
    read.unknownKeys = []
    read.tally = tally
    return read
  }

  private func element(at place: ElementPlace, _ input: ElementInput) throws -> ReadElement<R> {
    func later() -> ReadElement<R> {
      let bytes = MappedElement(bytes: [UInt8](input.bytes), given: input.given)
      return ReadElement(place: place, content: .bytes(bytes))
    }
    if request.existing == .merge { return later() }
    do {
      var element = ReadElement(place: place, content: .record(try decoder.record(input)))
      element.unknownKeys = decoder.unknownKeys
      return element
    } catch let error as LarchError {
      // A matched record already has an id.
      guard request.matcher != nil, error.context.field == decoder.filling.idKey else {
        throw error
      }
      return later()
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
    guard let error = KeyedError.plain(error) as? LarchError else { return true }
    return LarchError.Code.ofElements.contains(error.code)
  }

  /// The result of an element.
  struct Saved {
    let change: SavedChange
    var unknownKeys: [String] = []
    var tally: MapTally?
  }

  private var saver: ElementSaver<R> {
    ElementSaver(decoder: decoder, matcher: request.matcher, existing: request.existing)
  }

  /// Saves one element; on an error nothing has changed, or the whole import stops.
  func save(_ element: ReadElement<R>, in tx: WriteTransaction) throws -> Saved {
    switch element.content {
    case .record(let record):
      return Saved(
        change: try keyed { try saver.save(record, in: tx) }, unknownKeys: element.unknownKeys,
        tally: element.tally)
    case .bytes(let mapped):
      let change: SavedChange = try keyed {
        try mapped.withInput { (input: ElementInput) in try saver.save(input, in: tx).change }
      }
      // Decoded only now, because the decoder learns the keys from it.
      guard let plan, var tally = element.tally else {
        return Saved(change: change, unknownKeys: decoder.unknownKeys)
      }
      plan.note(decoder.unknownKeys, &tally)
      return Saved(change: change, tally: tally)
    case .source(let bytes):
      // `element(at:_:)` makes these only with a plan, which stays until the end of the import.
      guard let plan else { preconditionFailure("Only a map makes such an element.") }
      var tally = MapTally()
      let saved = try bytes.withUnsafeBytes { try plan.save($0, saver, in: tx, &tally) }
      guard case .saved(_, let change) = saved else {
        // An element is open only for one inside it, and this one is inside none.
        preconditionFailure("No element is around this one.")
      }
      return Saved(change: change, tally: tally)
    case .unread: return try save(try read(again: element), in: tx)
    }
  }

  private func read(again element: ReadElement<R>) throws -> ReadElement<R> {
    let size = element.place.count
    let bytes = try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = try source.read(
        at: element.place.offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return try bytes.withUnsafeBytes { try self.element(at: element.place, $0) }
  }

  /// The bytes by which an element is matched; nil if it matches nothing, or cannot be read, which
  /// saving it tells.
  func key(of element: ReadElement<R>, _ tx: ReadTransaction) -> [UInt8]? {
    let matcher = request.matcher ?? .byID
    do {
      switch element.content {
      case .record(let record): return try matcher.recordKey(record, tx)
      case .bytes(let mapped):
        return try mapped.withInput { try matcher.key(decoder, $0, tx) }
      case .source(let bytes):
        guard let plan else { return nil }
        let read = try bytes.withUnsafeBytes { try plan.readByHooks($0)?.bytes } ?? bytes
        var tally = MapTally()
        return try read.withUnsafeBytes { try plan.mapped($0, &tally) }
          .withInput { try matcher.key(decoder, $0, tx) }
      case .unread: return key(of: try read(again: element), tx)
      }
    } catch { return nil }
  }

  private func keyed<T>(_ body: () throws -> T) throws -> T {
    guard let plan else { return try body() }
    return try plan.keyed(body)
  }
}

extension ImportReport {
  mutating func count<R>(
    _ saved: RecordImporter<R>.Saved, _ place: ElementPlace, _ options: ImportOptions
  ) {
    for key in saved.unknownKeys { count(unknown: key, 1, options) }
    if let tally = saved.tally, !tally.isEmpty { add(tally, place, options) }
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

  private mutating func add(
    _ tally: MapTally, _ place: ElementPlace, _ options: ImportOptions
  ) {
    for (key, times) in tally.unknown.sorted(by: { $0.key < $1.key }) {
      count(unknown: key, times, options)
    }
    unusedKeys.merge(tally.unused, uniquingKeysWith: +)
    coercedKeys.merge(tally.coerced, uniquingKeysWith: +)
    for (name, counts) in tally.related { related[name, default: ImportRelated()].add(counts) }
    for (key, reason) in tally.omissions where omissions.count < options.failureLimit {
      omissions.append(ImportOmission(place, key: key, reason))
    }
  }

  /// Notes an element that a hook left out; false for any other error.
  mutating func omit(
    _ place: ElementPlace, _ error: any Error, _ options: ImportOptions
  ) -> Bool {
    guard let skip = error as? ImportSkip else { return false }
    omitted += 1
    if omissions.count < options.failureLimit {
      omissions.append(ImportOmission(place, skip.reason))
    }
    return true
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
    omitted += other.omitted
    omissions += other.omissions.prefix(max(0, options.failureLimit - omissions.count))
    unusedKeys.merge(other.unusedKeys, uniquingKeysWith: +)
    coercedKeys.merge(other.coercedKeys, uniquingKeysWith: +)
    for (name, counts) in other.related { related[name, default: ImportRelated()].add(counts) }
    failures += other.failures.prefix(max(0, options.failureLimit - failures.count))
  }
}

extension LarchError.Code {
  /// Errors of a single record, while the store is fine.
  fileprivate static let ofElements: Set<Self> = [
    .invalidJSON, .elementMismatch, .elementTooLarge, .unknownKey, .uniqueConflict, .idExists,
    .recordNotFound, .idTooLong, .idUnassigned, .encodingFailed, .decodingFailed,
    .recordTooLarge, .invalid, .hooksTooDeep, .fieldMismatch, .unsavedReference,
    .danglingReference, .deleteDenied, .overflow, .idChanged, .conflict, .unsuitableAssociation,
  ]
}
