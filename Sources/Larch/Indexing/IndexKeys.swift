/// Makes the index keys of a stored record from its bytes.
///
/// A stored field is read where it stands and never decoded. Only where the bytes cannot tell
/// (an index that needs the decoded record, a record of an older shape that lacks a field) is
/// the record decoded, once for all its indexes.
struct IndexKeys: ~Copyable {
  private var writer: KeyWriter
  private let isWhole: Bool
  /// Ways to the stored fields of the collection that was worked on last, by index and field. They
  /// remember where a field lies, so each context has its own.
  private var paths: [[FieldPath?]] = []
  private var pathOwner: ObjectIdentifier?
  private var pathsByCollection: [ObjectIdentifier: [[FieldPath?]]] = [:]

  /// With `whole`, not keys but everything that goes into them, of any length.
  init(whole: Bool = false) {
    writer = KeyWriter(keepsWhole: whole)
    isWhole = whole
  }

  private static func insert(
    _ writer: borrowing KeyWriter, index: Int, isWhole: Bool, into list: inout EntryList
  ) {
    if isWhole {
      writer.withWhole { list.insert(index: index, key: $0, isCut: false, hasNil: writer.hasNil) }
    } else {
      list.insert(index: index, key: writer.bytes, isCut: writer.isCut, hasNil: writer.hasNil)
    }
  }

  /// Adds the keys of every index, or of one alone, to `list`.
  mutating func collect(
    of record: UnsafeRawBufferPointer, in collection: CollectionHandle, with coder: RecordCoder,
    only: Int? = nil, into list: inout EntryList
  ) throws {
    if pathOwner != ObjectIdentifier(collection) { choosePaths(for: collection) }
    var undecided: UInt64 = 0
    for number in 0..<collection.indexes.count {
      if let only, only != number { continue }
      let schema = collection.indexes[number].schema
      if schema.isDecoded {
        undecided |= 1 << UInt64(number)
        continue
      }
      writer.clear()
      let isDecided = try collect(
        number, schema, from: 0, of: record, coder.shapes, into: &list)
      if !isDecided { undecided |= 1 << UInt64(number) }
    }
    if undecided != 0 {
      try collectDecoded(undecided, of: record, in: collection, with: coder, into: &list)
    }
  }

  private mutating func choosePaths(for collection: CollectionHandle) {
    let owner = ObjectIdentifier(collection)
    pathOwner = owner
    if let known = pathsByCollection[owner] {
      paths = known
      return
    }
    paths = collection.indexes.map { index in
      index.schema.fields.map { field in field.storedPath.map { FieldPath($0) } }
    }
    pathsByCollection[owner] = paths
  }

  /// Writes the fields from one on; false when the bytes cannot tell. Keys that were added before
  /// that are right: the decoded record gives them again, and a list holds each only once.
  private mutating func collect(
    _ number: Int, _ schema: IndexSchema, from first: Int, of record: UnsafeRawBufferPointer,
    _ shapes: ShapeTable, into list: inout EntryList
  ) throws -> Bool {
    let last = schema.fields.count - 1
    var place = first
    while place <= last {
      let field = schema.fields[place]
      guard let path = paths[number][place] else { return false }
      let value = try path.read(in: record, shapes: shapes)
      if field.isMultiple {
        return try collectElements(
          of: value, number, schema, at: place, of: record, shapes, into: &list)
      }
      writer.foldsCase = field.isFolded
      let isWritten = try writer.append(value, form: field.form, isLast: place == last)
      writer.foldsCase = false
      if !isWritten { return false }
      place += 1
    }
    IndexKeys.insert(writer, index: number, isWhole: isWhole, into: &list)
    return true
  }

  private mutating func collectElements(
    of value: RawField, _ number: Int, _ schema: IndexSchema, at place: Int,
    of record: UnsafeRawBufferPointer, _ shapes: ShapeTable, into list: inout EntryList
  ) throws -> Bool {
    switch value {
    case .missing: return false
    case .absent: return true
    case .value(let kind, let bytes):
      guard kind == .list else { return false }
      let field = schema.fields[place]
      let isLast = place == schema.fields.count - 1
      let mark = writer.mark
      var elements = try RawList(kind, bytes)
      while let element = try elements.next() {
        writer.rewind(to: mark)
        writer.foldsCase = field.isFolded
        let isWritten = try writer.append(element, form: field.form, isLast: isLast)
        writer.foldsCase = false
        guard isWritten,
          try collect(number, schema, from: place + 1, of: record, shapes, into: &list)
        else { return false }
      }
      return true
    }
  }

  private mutating func collectDecoded(
    _ wanted: UInt64, of record: UnsafeRawBufferPointer, in collection: CollectionHandle,
    with coder: RecordCoder, into list: inout EntryList
  ) throws {
    // Declarations are numbered by schema, entries by handle; they differ in a read-only file
    // that lacks an index.
    func number(_ position: Int) -> Int? {
      collection.indexes.firstIndex { $0.position == position }
    }
    let isWhole = isWhole
    try collection.schema.decodedKeys(
      record, coder, &writer,
      { position in number(position).map { wanted & (1 << UInt64($0)) != 0 } ?? false },
      { position, writer in
        guard let number = number(position) else { return }
        IndexKeys.insert(writer, index: number, isWhole: isWhole, into: &list)
      })
  }
}

/// The whole values behind the keys of records, to compare long values whose cut keys are equal.
struct WholeValues: ~Copyable {
  private let context: TransactionContext
  private var keys = IndexKeys(whole: true)
  private var list = EntryList()

  init(_ context: TransactionContext) { self.context = context }

  /// The whole values of a record in one index.
  mutating func keys(
    of record: UnsafeRawBufferPointer, in index: IndexHandle, _ collection: CollectionHandle
  ) throws -> [[UInt8]] {
    guard let number = collection.indexes.firstIndex(where: { $0.position == index.position })
    else { return [] }
    list.removeAll()
    try keys.collect(
      of: record, in: collection, with: context.coder, only: number, into: &list)
    return list.items.map { [UInt8](list.key($0)) }
  }

  /// The whole values of the stored record with this id.
  mutating func keys(
    ofID id: UnsafeRawBufferPointer, in index: IndexHandle, _ collection: CollectionHandle
  ) throws -> [[UInt8]] {
    guard let stored = try collection.records.get(id, in: try context.transaction()) else {
      return []
    }
    return try keys(
      of: try RecordEnvelope.open(stored, id: id, in: collection), in: index, collection)
  }
}
