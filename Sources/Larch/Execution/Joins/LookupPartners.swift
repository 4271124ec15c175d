/// How the partners of a record are found.
enum JoinAccess: Sendable, Equatable {
  /// By their id: the inner field is the id.
  case id
  /// In the index at this place of the schema, whose first field is the inner one.
  case index(Int)
  /// In a table of the whole inner side.
  case table
}

/// The rules for partners that are looked up.
struct PartnerRules {
  /// Whether the partners of one record already come in the order of ids.
  var isOrderedByID = true
  /// Whether a record can be found several times; it is a partner once.
  var mayRepeat = false
  /// Whether partners keep the order in which they are found, unless the query has one.
  var keepsFoundOrder = false
  /// Whether records are found repeatedly, and are kept so that each is read once.
  var keepsFound = false
}

/// Partners that are looked up one record after the other.
class LookupPartners: JoinPartners {
  private struct Partner {
    var id: UnsafeRawBufferPointer
    var record: UnsafeRawBufferPointer
    var number = -1
    var keyStart = 0
    var keyCount = 0
  }

  final let reader: RowReader
  private let rules: PartnerRules
  private let sortKey: SortKey?
  private let idsDescend: Bool
  @exclusivity(unchecked) private var records: LMDBCursor?
  @exclusivity(unchecked) private var partners: [Partner] = []
  @exclusivity(unchecked) private var sortBytes = ByteBuffer()
  /// The kept records, by id; without a record if it does not exist, or the filter refuses it.
  @exclusivity(unchecked) private var numbers = ByteTable()
  @exclusivity(unchecked) private var known: [Partner?] = []
  @exclusivity(unchecked) final var entriesExamined = 0

  /// - Parameter query: the inner query; its limit and offset are ignored.
  init(
    _ query: QueryDescription, _ rules: PartnerRules, in collection: CollectionHandle,
    context: TransactionContext, typed: TypedAccess
  ) throws {
    self.rules = rules
    let filter = try query.filter.normalized()
    reader = try RowReader(
      collection, residue: filter.isAlways ? [] : [filter], context: context, typed: typed)
    records = try LMDBCursor(collection.records, in: try context.transaction())
    idsDescend = query.idsDescend
    sortKey =
      query.order.isEmpty
      ? nil
      : SortKey(
        query.order, idsDescend: query.idsDescend, idKind: collection.stored.idKind, index: nil,
        context: context, typed: typed)
  }

  override final func find(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    partners.removeAll(keepingCapacity: true)
    try collect(record, id: id)
    if partners.count > 1 { try order() }
    count = partners.count
  }

  /// Adds the partners of a record, with `addRecord`.
  func collect(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {}

  /// Adds the record with an id, if the filter is true for it.
  ///
  /// - Parameters:
  ///   - isListed: whether the id comes from an index or a list, so that the record must exist.
  ///   - isWanted: tests the record, if the index was not enough.
  @inline(__always)
  final func addRecord(
    _ id: UnsafeRawBufferPointer, isListed: Bool,
    isWanted: (UnsafeRawBufferPointer) throws -> Bool = { _ in true }
  ) throws {
    if rules.keepsFound { return try addKnown(id, isListed: isListed) }
    guard let partner = try look(id, isListed), try isWanted(partner.record) else { return }
    partners.append(partner)
  }

  private func addKnown(_ id: UnsafeRawBufferPointer, isListed: Bool) throws {
    let number = numbers.value(of: id, orSet: known.count)
    if number == known.count {
      var partner = try look(id, isListed)
      partner?.number = number
      known.append(partner)
    }
    if let partner = known[number] { partners.append(partner) }
  }

  @inline(__always)
  private func look(_ id: UnsafeRawBufferPointer, _ isListed: Bool) throws -> Partner? {
    guard let entry = try records?.seek(exactly: id) else {
      // This throws the error that names the record.
      if isListed { _ = try reader.read(id) }
      return nil
    }
    let id = entry.key
    let record = try reader.open(entry.value, id)
    if reader.isFiltering, try !reader.matches(record, id) { return nil }
    return Partner(id: id, record: record)
  }

  // MARK: Order

  private func order() throws {
    guard let sortKey else {
      if rules.keepsFoundOrder || (rules.isOrderedByID && !rules.mayRepeat) {
        if idsDescend { partners.reverse() }
        return
      }
      let descends = idsDescend
      partners.sort {
        let order = compareBytes($0.id, $1.id)
        return descends ? order > 0 : order < 0
      }
      return removeRepeated()
    }
    sortBytes.removeAll()
    for place in partners.indices {
      do {
        try sortKey.write(record: partners[place].record, id: partners[place].id)
      } catch {
        throw reader.naming(error, partners[place].id)
      }
      partners[place].keyStart = sortBytes.count
      partners[place].keyCount = sortKey.bytes.count
      sortBytes.append(sortKey.bytes)
    }
    let bytes = sortBytes.bytes
    partners.sort {
      compareBytes(
        UnsafeRawBufferPointer(rebasing: bytes[$0.keyStart..<$0.keyStart + $0.keyCount]),
        UnsafeRawBufferPointer(rebasing: bytes[$1.keyStart..<$1.keyStart + $1.keyCount])) < 0
    }
    removeRepeated()
  }

  private func removeRepeated() {
    guard rules.mayRepeat, partners.count > 1 else { return }
    var kept = 1
    for place in 1..<partners.count where !partners[place].id.equals(partners[kept - 1].id) {
      partners[kept] = partners[place]
      kept += 1
    }
    partners.removeLast(partners.count - kept)
  }

  override final func id(at place: Int) -> UnsafeRawBufferPointer { partners[place].id }
  override final func record(at place: Int) -> UnsafeRawBufferPointer { partners[place].record }
  override final func number(at place: Int) -> Int { partners[place].number }

  override func close() { records = nil }

  override var counters: ExecutionCounters {
    ExecutionCounters(
      entriesExamined: entriesExamined, recordsExamined: reader.recordsExamined)
  }
}
