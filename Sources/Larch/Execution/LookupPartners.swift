/// Where the partners of a record are looked up.
enum JoinAccess: Sendable {
  /// By their id: the inner field is the id.
  case id
  /// In the index that was declared at this place, whose first field is the inner one.
  case index(Int)
  /// In a table that the inner side is read into.
  case table
}

/// Partners that are looked up one record after the other, by their id or in an index.
final class LookupPartners: JoinPartners {
  private struct Partner {
    var id: UnsafeRawBufferPointer
    var record: UnsafeRawBufferPointer
    var keyStart = 0
    var keyCount = 0
  }

  private let outerKeys: JoinKeyReader
  private let innerKeys: JoinKeyReader
  private let reader: RowReader
  /// Of ids.
  private let idForm: ReferenceForm?
  private let keyForm: JoinKeyForm
  /// What is found by one key comes in the order of ids.
  private let isOrderedByID: Bool
  /// A record can be found several times.
  private let mayRepeat: Bool
  private let sortKey: SortKey?
  private let idsDescend: Bool
  @exclusivity(unchecked) private var records: LMDBCursor?
  @exclusivity(unchecked) private var entries: LMDBCursor?
  @exclusivity(unchecked) private var writer = KeyWriter()
  @exclusivity(unchecked) private var checkWriter = KeyWriter()
  @exclusivity(unchecked) private var partners: [Partner] = []
  @exclusivity(unchecked) private var sortBytes = ByteBuffer()
  @exclusivity(unchecked) private var entriesExamined = 0

  /// - Parameter query: the inner one, with neither limit nor offset.
  init(
    _ outer: JoinKeyReader, _ inner: JoinKeyReader, _ access: JoinAccess,
    _ query: QueryDescription, in collection: CollectionHandle, context: TransactionContext,
    typed: TypedAccess
  ) throws {
    outerKeys = outer
    innerKeys = inner
    let filter = try query.filter.normalized()
    reader = try RowReader(
      collection, residue: filter.isAlways ? [] : [filter], context: context, typed: typed)
    let transaction = try context.transaction()
    records = try LMDBCursor(collection.records, in: transaction)
    idsDescend = query.idsDescend
    sortKey =
      query.order.isEmpty
      ? nil
      : SortKey(
        query.order, idsDescend: query.idsDescend, idKind: collection.stored.idKind, index: nil,
        context: context, typed: typed)
    guard case .index(let position) = access else {
      idForm = ReferenceForm(inner.form, collection.stored.idKind)
      keyForm = JoinKeyForm()
      isOrderedByID = true
      mayRepeat = outer.field.isMultiple
      return
    }
    idForm = nil
    let index = try collection.index(at: position)
    entries = try LMDBCursor(index.database, in: transaction)
    let isLast = index.schema.fields.count == 1
    keyForm = JoinKeyForm(
      optionals: index.schema.fields[0].form.optionalCount, isLast: isLast)
    isOrderedByID = isLast
    mayRepeat = outer.field.isMultiple || (!isLast && index.schema.hasMultiple)
  }

  override func find(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    partners.removeAll(keepingCapacity: true)
    try outerKeys.forEachKey(of: record, id: id, as: keyForm, in: &writer) { writer in
      if let idForm {
        try findByID(idForm, &writer)
      } else {
        try findInIndex(&writer)
      }
    }
    if partners.count > 1 { try order() }
    count = partners.count
  }

  // MARK: By id

  private func findByID(_ form: ReferenceForm, _ writer: inout KeyWriter) throws {
    if writer.isCut {
      // Ids are texts of any length up to the limit of keys, behind a byte.
      try outerKeys.withWholeValue { whole in
        let size = MemoryLayout<Int>.size
        guard whole.count >= size, whole.count - size <= KeyWriter.keyLimit else { return }
        try findByID([1] + whole.dropFirst(size))
      }
    } else {
      _ = try form.withID(inKey: writer.bytes) { try findRecord($0) }
    }
  }

  private func findByID(_ id: [UInt8]) throws {
    try id.withUnsafeBytes { try findRecord($0) }
  }

  /// A reference to what is not there has no partner.
  private func findRecord(_ id: UnsafeRawBufferPointer) throws {
    guard let entry = try records?.seek(exactly: id) else { return }
    try add(entry, isChecked: nil)
  }

  // MARK: By index

  private func findInIndex(_ writer: inout KeyWriter) throws {
    if writer.isCut {
      try outerKeys.withWholeValue { try findEntries(writer.bytes, isExact: true, whole: $0) }
    } else {
      try findEntries(writer.bytes, isExact: keyForm.isLast, whole: nil)
    }
  }

  /// - Parameter whole: the value behind a cut key, which others may have too.
  private func findEntries(
    _ key: UnsafeRawBufferPointer, isExact: Bool, whole: UnsafeRawBufferPointer?
  ) throws {
    if isExact {
      var entry = try entries?.seek(exactly: key)
      while let here = entry {
        try addRecord(of: here.value, whole)
        entry = try entries?.nextDuplicate()
      }
      return
    }
    var entry = try entries?.seek(atOrAfter: key)
    while let here = entry, here.key.count >= key.count,
      UnsafeRawBufferPointer(rebasing: here.key[0..<key.count]).equals(key)
    {
      try addRecord(of: here.value, whole)
      entry = try entries?.next()
    }
  }

  private func addRecord(
    of id: UnsafeRawBufferPointer, _ whole: UnsafeRawBufferPointer?
  ) throws {
    entriesExamined &+= 1
    guard let entry = try records?.seek(exactly: id) else {
      // With its words, which name the record.
      _ = try reader.read(id)
      return
    }
    try add(entry, isChecked: whole)
  }

  private func add(_ entry: LMDBEntry, isChecked whole: UnsafeRawBufferPointer?) throws {
    let id = entry.key
    let record = try reader.open(entry.value, id)
    if reader.isFiltering, try !reader.matches(record, id) { return }
    if let whole, try !innerKeys.hasValue(whole, in: record, id: id, &checkWriter) { return }
    partners.append(Partner(id: id, record: record))
  }

  // MARK: Order

  private func order() throws {
    if isOrderedByID, !mayRepeat, sortKey == nil {
      if idsDescend { partners.reverse() }
      return
    }
    guard let sortKey else {
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

  /// A pair with several elements in common is one.
  private func removeRepeated() {
    guard mayRepeat else { return }
    var kept = 1
    for place in 1..<partners.count where !partners[place].id.equals(partners[kept - 1].id) {
      partners[kept] = partners[place]
      kept += 1
    }
    partners.removeLast(partners.count - kept)
  }

  override func id(at place: Int) -> UnsafeRawBufferPointer { partners[place].id }
  override func record(at place: Int) -> UnsafeRawBufferPointer { partners[place].record }

  override func close() {
    records = nil
    entries = nil
  }

  override var counters: ExecutionCounters {
    ExecutionCounters(
      entriesExamined: entriesExamined, recordsExamined: reader.recordsExamined)
  }
}

extension KeyForm {
  /// How many optionals are around the value.
  var optionalCount: Int {
    if case .optional(let wrapped) = node { return wrapped.optionalCount + 1 }
    return 0
  }
}
