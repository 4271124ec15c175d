/// The rows of a run as records of their type.
final class RecordAccess<R: Record>: TypedAccess {
  let context: TransactionContext
  private let coder: RecordCoder
  let collection: CollectionHandle
  /// The record that was decoded last for a condition, so that a matching row is not decoded twice.
  /// It is in the map, which does not change during a query.
  @exclusivity(unchecked) private var decodedStart: UnsafeRawPointer?
  /// Where that record is, decoded. Not an optional, whose type would be looked up for each row.
  @exclusivity(unchecked) private var decoded: UnsafeMutablePointer<R>?

  /// Whether an operation that needs the decoded record is refused: its type may run code of the program.
  @exclusivity(unchecked) var isOnBytes = false

  /// What is refused then.
  struct NeedsRecord: Error {}

  /// The answers about related records; nil without such filters.
  private var answers: RelatedAnswers?
  /// Set for an access that is a part of those answers: they own it.
  private unowned let outerAnswers: RelatedAnswers?

  /// - Parameters:
  ///   - outer: the answers of the surrounding run.
  ///   - answers: the answers for which the run was planned.
  init(
    _ context: TransactionContext, _ collection: CollectionHandle,
    partOf outer: RelatedAnswers? = nil, with answers: RelatedAnswers? = nil
  ) {
    self.context = context
    coder = context.coder
    self.collection = collection
    outerAnswers = outer
    self.answers = answers
  }

  deinit {
    dropKept()
    decoded?.deallocate()
  }

  /// The answers of the run about related records.
  var related: RelatedAnswers {
    if let answers = outerAnswers ?? answers { return answers }
    let made = RelatedAnswers(context)
    answers = made
    return made
  }

  override var reading: FieldReading? { collection.reading }

  override func test(_ filter: RelatedFilter) throws -> RelatedTest { try related.test(filter) }

  override func order(_ value: RelatedValue, textForm: TextForm) throws -> RelatedOrder {
    try related.order(value, textForm: textForm)
  }

  override func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    dropKept()
    if isOnBytes { throw NeedsRecord() }
    let value: R
    do { value = try coder.decode(R.self, from: record) } catch { throw named(error, id) }
    var isMatch = true
    for filter in filters where isMatch {
      do {
        isMatch = try filter.matches(value) { try related.test($0).hasRelated(record, id: id) }
      } catch {
        throw filter.mayFail ? named(error, id) : error
      }
    }
    guard isMatch else { return false }
    let kept = decoded ?? .allocate(capacity: 1)
    kept.initialize(to: value)
    decoded = kept
    decodedStart = record.baseAddress
    return true
  }

  override func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    if let error = field.error { throw error }
    if isOnBytes { throw NeedsRecord() }
    let value = try decode(record)
    var list: [[KeyValue]] = []
    // Plans come from queries of this type, so the field belongs to it.
    unsafeDowncast(field, to: TypedField<R>.self).forEachValue(value) {
      list.append($0.list)
      return true
    }
    return list
  }

  @inline(__always)
  private func decode(_ record: UnsafeRawBufferPointer) throws -> R {
    if decodedStart != nil { return try takeKept(record) }
    return try coder.decode(R.self, from: record)
  }

  @inline(never)
  private func takeKept(_ record: UnsafeRawBufferPointer) throws -> R {
    guard record.baseAddress == decodedStart, let decoded else {
      dropKept()
      return try coder.decode(R.self, from: record)
    }
    decodedStart = nil
    return decoded.move()
  }

  /// Forgets the record that was decoded last. Before another run: its bytes may be those of another one now.
  func dropKept() {
    guard decodedStart != nil else { return }
    decoded?.deinitialize(count: 1)
    decodedStart = nil
  }

  /// The record of a row, decoded.
  @inline(__always)
  func decode(_ row: QueryRow, of run: PlanRun) throws -> R {
    do {
      return try decode(row.record ?? run.record())
    } catch {
      throw named(error, row.id)
    }
  }

  /// The same, into the memory at `target`.
  @inline(__always)
  func decode(
    _ row: QueryRow, of run: PlanRun, into target: UnsafeMutablePointer<R>
  ) throws {
    do {
      let record = try row.record ?? run.record()
      if decodedStart != nil {
        target.initialize(to: try takeKept(record))
      } else {
        try coder.decode(record, into: target)
      }
    } catch {
      throw named(error, row.id)
    }
  }

  /// The verified bytes of the record of a row.
  func bytes(of row: QueryRow, _ run: PlanRun) throws -> UnsafeRawBufferPointer {
    try row.record ?? run.record()
  }

  /// The id of a row; the record is read only if the key does not determine how it was written.
  func id(of row: QueryRow, _ run: PlanRun) throws -> R.ID {
    if let id = collection.declarations(of: R.self).id(storedAs: row.id) { return id }
    return try decode(row, of: run).id
  }

  /// The ids of the rows that are left.
  func ids(of run: PlanRun, limit: Int?) throws -> [R.ID] {
    let key = collection.declarations(of: R.self).idKey
    let ids = RecordBuffer<R.ID>(limit: limit)
    while let row = try run.next() {
      let target = ids.next()
      if !key.makeID(row.id, at: target) { target.initialize(to: try id(of: row, run)) }
      ids.filled()
    }
    return ids.takeArray()
  }

  @inline(never)
  func named(_ error: any Error, _ id: UnsafeRawBufferPointer) -> any Error {
    (error as? LarchError).map { RecordEnvelope.naming($0, id, collection.stored) } ?? error
  }
}

extension TypedDeclarations {
  /// The id of the record with these bytes as its key; nil if they do not determine how it was
  /// written.
  func id(storedAs key: UnsafeRawBufferPointer) -> R.ID? {
    guard case .primitive(let primitive) = idKey.form.node else { return nil }
    return RowSelector.values(ofID: key, primitive).flatMap { idKey.read($0) }
  }
}
