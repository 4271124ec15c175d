/// A sequence of rows: the result of a part of a plan.
class RowSource {
  /// The id of the row, valid until the next row.
  @exclusivity(unchecked) final var id = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The record of the row, verified, if it was read.
  @exclusivity(unchecked) final var record: UnsafeRawBufferPointer?
  /// The stored bytes of the record, if the scan read them.
  @exclusivity(unchecked) final var stored: UnsafeRawBufferPointer?
  /// The key of the index by which the row was found, if it is known.
  @exclusivity(unchecked) final var key: UnsafeRawBufferPointer?

  /// Moves to the next row; false after the last one.
  func next() throws -> Bool { false }

  /// Closes the cursors. There are no rows after that.
  func close() {}

  /// Whether rows may have the same values as rows before them. Not known before the first row.
  var mayRepeatValues: Bool { true }

  /// The number of entries that may be read before `CostLimitReached` is thrown. After that the rows
  /// can be continued.
  func allow(entries: Int) {}

  /// The number of index entries read so far.
  var entriesExamined: Int { 0 }
  var spilledBytes: Int { 0 }

  /// The record of the row; reads it if that has not happened.
  @inline(__always)
  final func record(_ reader: RowReader) throws -> UnsafeRawBufferPointer {
    if let record { return record }
    let found = try stored.map { try reader.open($0, id) } ?? reader.read(id)
    record = found
    return found
  }
}

extension RowSource {
  /// Whether the row with this id passes the residue. Its record is read only if the id does not tell.
  @inline(__always)  // For each row of ids.
  final func passesResidue(_ reader: RowReader) throws -> Bool {
    record = nil
    if !reader.isFiltering { return true }
    let outcome = try reader.test(id)
    if outcome != .unknown { return outcome == .yes }
    let found = try reader.read(id)
    guard try reader.matches(found, id) else { return false }
    record = found
    return true
  }
}

/// Thrown if a plan has an alternative: see `Plan.Otherwise`.
struct CostLimitReached: Error {}

/// Reads records by id and tests the residue of a plan.
final class RowReader {
  let collection: CollectionHandle
  let context: TransactionContext
  let typed: TypedAccess
  private let records: LMDBDatabase
  private let transaction: LMDBTransaction
  private let number: UInt32
  /// The residue; nil if there is none, or if `prefix` is all of it.
  let residue: FilterProgram?
  /// The part of the residue that ids decide; nil as above.
  private let idFilter: FilterProgram?
  /// Whether ids decide the whole residue, so that no record is read for it.
  private let isDecidedByIDs: Bool
  /// The whole residue, if it is the prefix of ids.
  let prefix: PrefixOfIDs?
  private let conditions: [FilterNode]
  /// The prefix as a program; nil while the bytes have decided each row.
  @exclusivity(unchecked) private var prefixFilter: FilterProgram?
  /// Whether each row must be tested.
  let isFiltering: Bool
  @exclusivity(unchecked) private(set) var recordsExamined = 0
  /// Searches for the end of a group.
  @exclusivity(unchecked) private(set) var groupsSkipped = 0
  /// The number of records, and of index entries, that may be read before `CostLimitReached` is thrown.
  @exclusivity(unchecked) var mostRecords = Int.max
  var mostEntries = Int.max

  init(
    _ collection: CollectionHandle, residue: [FilterNode], context: TransactionContext,
    typed: TypedAccess
  ) throws {
    self.collection = collection
    self.context = context
    self.typed = typed
    records = collection.records
    transaction = try context.transaction()
    number = collection.number
    conditions = residue
    isFiltering = !residue.isEmpty
    prefix = residue.isEmpty ? nil : PrefixOfIDs(residue, collection.stored.idKind)
    guard isFiltering, prefix == nil else {
      isDecidedByIDs = true
      (self.residue, idFilter) = (nil, nil)
      return
    }
    var ofID: [FilterNode] = []
    for node in residue where node.isDecided(byID: collection.stored.idKind) { ofID.append(node) }
    isDecidedByIDs = ofID.count == residue.count
    let program = try FilterProgram(residue, context: context, typed: typed)
    self.residue = program
    idFilter =
      isDecidedByIDs ? program : try FilterProgram.of(ofID, context: context, typed: typed)
  }

  /// What `test` says without an `idFilter`.
  private func testPrefix(_ id: UnsafeRawBufferPointer) throws -> ValueTest.Outcome {
    guard let prefix else { return .unknown }
    return prefix.isSurely(in: id) ? .yes : try programOfPrefix().test(id: id)
  }

  /// What `matches` says without a residue.
  @inline(never)
  private func matchesPrefix(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    guard let prefix else { return true }
    return try prefix.isSurely(in: id) || programOfPrefix().matches(record, id: id)
  }

  /// For an id whose bytes did not decide.
  @inline(never)
  private func programOfPrefix() throws -> FilterProgram {
    if let prefixFilter { return prefixFilter }
    let program = try FilterProgram(conditions, context: context, typed: typed)
    prefixFilter = program
    return program
  }

  /// Counts searches for the end of a group.
  func add(groupsSkipped count: Int) { groupsSkipped &+= count }

  /// Counts records that were read elsewhere.
  func add(recordsExamined count: Int) { recordsExamined &+= count }

  /// The verified record of an id from an index.
  func read(_ id: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
    guard let stored = try context.get(id, from: records, in: transaction) else {
      throw Self.missing(id, collection)
    }
    return try open(stored, id)
  }

  /// Whether the record of an id from a list exists.
  func isThere(_ id: UnsafeRawBufferPointer) throws -> Bool {
    try context.get(id, from: records, in: transaction) != nil
  }

  @inline(__always)
  func open(
    _ stored: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer {
    recordsExamined &+= 1
    guard let record = RecordEnvelope.open(stored, id: id, collection: number) else {
      throw RecordEnvelope.damaged(id, collection.stored)
    }
    return record
  }

  /// Whether some rows are refused by their ids, without their records.
  var hasIDFilter: Bool { idFilter != nil || prefix != nil }

  /// What the residue says of a row by its id alone. If it is `unknown`, the record decides.
  @inline(__always)
  func test(_ id: UnsafeRawBufferPointer) throws -> ValueTest.Outcome {
    guard let idFilter else { return try testPrefix(id) }
    let outcome = try idFilter.test(id: id)
    return outcome == .yes && !isDecidedByIDs ? .unknown : outcome
  }

  /// Whether the residue is true for the record.
  @inline(__always)
  func matches(_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Bool {
    // Not bound to a name: that would count references for every record.
    do {
      return try residue?.matches(record, id: id) ?? matchesPrefix(record, id)
    } catch {
      throw naming(error, id)
    }
  }

  @inline(__always)
  func matches(
    _ program: FilterProgram, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    do {
      return try program.matches(record, id: id)
    } catch {
      throw naming(error, id)
    }
  }

  /// An error that concerns a record, with its id.
  @inline(never)
  func naming(_ error: any Error, _ id: UnsafeRawBufferPointer) -> any Error {
    guard let error = error as? LarchError, error.code != .invalidQuery,
      // The error may concern a related record and already name it.
      error.context.id == nil
    else { return error }
    return RecordEnvelope.naming(error, id, collection.stored)
  }

  /// The error of an entry without its record.
  @inline(never)
  static func missing(_ id: UnsafeRawBufferPointer, _ collection: CollectionHandle) -> LarchError {
    LarchError(
      .corrupted, "An index entry refers to a record that does not exist; verify the store."
    ) {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
    }
  }
}
