/// Partners that are looked up by a value, as their id or in an index.
final class KeyedPartners: LookupPartners {
  private let outerKeys: JoinKeyReader
  private let innerKeys: JoinKeyReader
  /// For ids.
  private let idForm: ReferenceForm?
  private let keyForm: JoinKeyForm
  /// The length of every id in the index; nil if it varies.
  private let width: Int?
  @exclusivity(unchecked) private var entries: LMDBCursor?
  @exclusivity(unchecked) private var writer = KeyWriter()
  @exclusivity(unchecked) private var checkWriter = KeyWriter()

  /// - Parameters:
  ///   - query: the inner query, without limit and offset.
  ///   - keepsFound: whether records found by id are kept for other rows.
  ///   - keepsIndexed: whether those found in an index are kept; only if none of its keys is cut.
  ///   - keepsFoundOrder: whether partners keep the order and the duplicates of a list in the outer
  ///     record.
  init(
    _ outer: JoinKeyReader, _ inner: JoinKeyReader, _ access: JoinAccess,
    _ query: QueryDescription, in collection: CollectionHandle, context: TransactionContext,
    typed: TypedAccess, keepsFound: Bool = false, keepsIndexed: Bool = false,
    keepsFoundOrder: Bool = false
  ) throws {
    outerKeys = outer
    innerKeys = inner
    width = collection.stored.idKind.width
    var rules = PartnerRules(keepsFoundOrder: keepsFoundOrder)
    rules.mayRepeat = outer.field.isMultiple && !keepsFoundOrder
    if case .index(let position) = access {
      idForm = nil
      let index = try collection.index(at: position)
      entries = try LMDBCursor(index.database, in: try context.transaction())
      let isLast = index.schema.fields.count == 1
      keyForm = JoinKeyForm(
        optionals: index.schema.fields[0].form.optionalCount, isLast: isLast)
      rules.isOrderedByID = isLast
      if !isLast, index.schema.hasMultiple { rules.mayRepeat = true }
      rules.keepsFound = keepsIndexed
    } else {
      idForm = try inner.idForm(in: collection)
      keyForm = JoinKeyForm()
      // Each id belongs to one record, so only other fields find a partner again.
      rules.keepsFound = keepsFound && outer.field.identity != .id
    }
    try super.init(query, rules, in: collection, context: context, typed: typed)
  }

  override func collect(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    try outerKeys.forEachKey(of: record, id: id, as: keyForm, in: &writer) { writer in
      if let idForm {
        try outerKeys.withID(idForm, &writer) { try addRecord($0, isListed: false) }
      } else if writer.isCut {
        try outerKeys.withWholeValue { try findEntries(writer.bytes, isExact: true, whole: $0) }
      } else {
        try findEntries(writer.bytes, isExact: keyForm.isLast, whole: nil)
      }
    }
  }

  /// - Parameter whole: the whole value of a cut key, which other values may share.
  private func findEntries(
    _ key: UnsafeRawBufferPointer, isExact: Bool, whole: UnsafeRawBufferPointer?
  ) throws {
    if isExact {
      if let width, whole == nil { return try findRuns(key, width) }
      var entry = try entries?.seek(exactly: key)
      while let here = entry {
        try add(here.value, whole)
        entry = try entries?.nextDuplicate()
      }
      return
    }
    var entry = try entries?.seek(atOrAfter: key)
    while let here = entry, here.key.count >= key.count,
      UnsafeRawBufferPointer(rebasing: here.key[0..<key.count]).equals(key)
    {
      try add(here.value, whole)
      entry = try entries?.next()
    }
  }

  /// Reads ids of one length a page at a time.
  private func findRuns(_ key: UnsafeRawBufferPointer, _ width: Int) throws {
    guard let entry = try entries?.seek(exactly: key) else { return }
    var run = try entries?.firstRun(at: entry).values
    while let bytes = run, let start = bytes.baseAddress {
      var offset = 0
      while offset &+ width <= bytes.count {
        entriesExamined &+= 1
        try addRecord(
          UnsafeRawBufferPointer(start: start + offset, count: width), isListed: true)
        offset &+= width
      }
      run = try entries?.nextRun()
    }
  }

  private func add(_ id: UnsafeRawBufferPointer, _ whole: UnsafeRawBufferPointer?) throws {
    entriesExamined &+= 1
    guard let whole else { return try addRecord(id, isListed: true) }
    try addRecord(id, isListed: true) {
      try innerKeys.hasValue(whole, in: $0, id: id, &checkWriter)
    }
  }

  override func close() {
    entries = nil
    super.close()
  }
}

extension JoinKeyReader {
  /// How values of the field represent ids. Schemas and joins are checked for it before.
  func idForm(in collection: CollectionHandle) throws -> ReferenceForm {
    guard let form = ReferenceForm(form, collection.stored.idKind) else {
      throw LarchError(
        .invalidSchema, "A property of this type cannot hold the ids of the other records."
      ) {
        $0.collection = collection.stored.name
        $0.field = field.name
      }
    }
    return form
  }

  /// Calls with the id of the value that was just emitted; not if no record can have that id.
  func withID(
    _ form: ReferenceForm, _ writer: inout KeyWriter,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard writer.isCut else {
      _ = try form.withID(inKey: writer.bytes, body)
      return
    }
    // Ids are texts of any length up to the limit of keys, after one byte.
    try withWholeValue { whole in
      let size = MemoryLayout<Int>.size
      guard whole.count >= size, whole.count - size <= KeyWriter.keyLimit else { return }
      let id = [1] + whole.dropFirst(size)
      try id.withUnsafeBytes { try body($0) }
    }
  }
}

extension KeyForm {
  /// The number of optionals around the value.
  var optionalCount: Int {
    if case .optional(let wrapped) = node { return wrapped.optionalCount + 1 }
    return 0
  }
}
