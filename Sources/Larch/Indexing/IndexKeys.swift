/// Makes the index keys of a stored record from its bytes.
///
/// A stored field is read in place and not decoded. Only if the bytes are not enough (an index that
/// needs the decoded record, a record of an older shape without a field), the record is decoded,
/// once for all its indexes.
struct IndexKeys: ~Copyable {
  private var writer: KeyWriter
  private let isWhole: Bool
  /// The plan of the last collection.
  private var plan: KeyPlan?
  private var planOwner: ObjectIdentifier?
  private var plans: [ObjectIdentifier: KeyPlan] = [:]
  /// Those of the plans, so that no later one has their address.
  private var collections: [CollectionHandle] = []
  /// The indexes, by number, for which the bytes of the last record were not enough; if decoding it
  /// failed, those without any keys.
  private(set) var undecided: UInt64 = 0
  /// Whether the type could not decode the last record, although that was needed.
  private(set) var isUndecodable = false

  /// With `whole`, it writes the whole values of the keys, of any length.
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
  ///
  /// - Parameter memory: the record in memory, or a later one in its place, if it has every bit of the decoded one.
  mutating func collect(
    of record: UnsafeRawBufferPointer, from memory: RecordInMemory? = nil,
    in collection: CollectionHandle, with coder: RecordCoder, only: Int? = nil,
    into list: inout EntryList
  ) throws {
    defer { list.sort() }
    let plan = self.plan(for: collection)
    let shapes = coder.shapes
    undecided = 0
    isUndecodable = false
    for number in 0..<plan.count {
      if let only, only != number { continue }
      let entry = plan.entries[number]
      writer.clear()
      let isDecided =
        try entry.count > 0
        && append(entry.steps, entry.count, of: record, shapes, number, into: &list)
      if !isDecided { undecided |= 1 << UInt64(number) }
    }
    if undecided == 0 { return }
    if let memory,
      try collectUndecided(of: record, from: memory, in: collection, with: coder, into: &list)
    {
      return
    }
    try collectUndecided(of: record, in: collection, with: coder, into: &list)
  }

  /// Adds the keys of the index with this number. False if the bytes are not enough; nothing is
  /// decoded then.
  mutating func collectStored(
    of record: UnsafeRawBufferPointer, in collection: CollectionHandle, _ shapes: ShapeTable,
    _ number: Int, into list: inout EntryList
  ) throws -> Bool {
    defer { list.sort() }
    let entry = plan(for: collection).entries[number]
    writer.clear()
    return try entry.count > 0
      && append(entry.steps, entry.count, of: record, shapes, number, into: &list)
  }

  @inline(__always)
  private mutating func plan(for collection: CollectionHandle) -> KeyPlan {
    if planOwner == ObjectIdentifier(collection), let plan { return plan }
    return choosePlan(for: collection)
  }

  @inline(never)
  private mutating func choosePlan(for collection: CollectionHandle) -> KeyPlan {
    let owner = ObjectIdentifier(collection)
    let chosen: KeyPlan
    if let known = plans[owner] {
      chosen = known
    } else {
      chosen = KeyPlan(collection)
      plans[owner] = chosen
      collections.append(collection)
    }
    planOwner = owner
    plan = chosen
    return chosen
  }

  /// Writes fields of an index; false if the bytes are not enough. Keys that were added before that
  /// are correct: the decoded record gives them again, and a list has no duplicates.
  private mutating func append(
    _ steps: UnsafeMutablePointer<KeyPlan.Step>, _ count: Int,
    of record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ number: Int,
    into list: inout EntryList
  ) throws -> Bool {
    var step = steps
    var left = count
    while left > 0 {
      let value = try step.pointee.read(in: record, shapes: shapes)
      if step.pointee.isMultiple {
        return try appendElements(of: value, step, left, of: record, shapes, number, into: &list)
      }
      guard writer.append(value, step, isLast: left == 1) else { return false }
      step += 1
      left -= 1
    }
    IndexKeys.insert(writer, index: number, isWhole: isWhole, into: &list)
    return true
  }

  private mutating func appendElements(
    of value: RawField, _ step: UnsafeMutablePointer<KeyPlan.Step>, _ left: Int,
    of record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ number: Int,
    into list: inout EntryList
  ) throws -> Bool {
    switch value {
    case .missing: return false
    case .absent: return true
    case .value(let kind, let bytes):
      guard kind == .list else { return false }
      let mark = writer.mark
      var elements = try RawList(kind, bytes)
      while let element = try elements.next() {
        writer.rewind(to: mark)
        guard writer.append(element, step, isLast: left == 1),
          try append(step + 1, left - 1, of: record, shapes, number, into: &list)
        else { return false }
      }
      return true
    }
  }

  /// Adds keys from memory; false if they need the bytes of the record.
  @inline(never)
  private mutating func collectUndecided(
    of record: UnsafeRawBufferPointer, from memory: RecordInMemory, in collection: CollectionHandle,
    with coder: RecordCoder, into list: inout EntryList
  ) throws -> Bool {
    if record.baseAddress == memory.bytes.baseAddress {
      try collectUndecided(at: memory.address, memory.keys, in: collection, into: &list)
      return true
    }
    return try coder.withValue(
      of: record, collection.schema.type, from: memory.address, writtenAs: memory.bytes
    ) { try collectUndecided(at: $0, memory.keys, in: collection, into: &list) }
  }

  private mutating func collectUndecided(
    at address: UnsafeRawPointer, _ keys: [RecordKeys], in collection: CollectionHandle,
    into list: inout EntryList
  ) throws {
    let isWhole = isWhole
    var left = undecided
    while left != 0 {
      let number = left.trailingZeroBitCount
      left &= left &- 1
      try keys[collection.indexes[number].position].forEachKey(at: address, in: &writer) {
        IndexKeys.insert($0, index: number, isWhole: isWhole, into: &list)
      }
    }
  }

  @inline(never)
  private mutating func collectUndecided(
    of record: UnsafeRawBufferPointer, in collection: CollectionHandle, with coder: RecordCoder,
    into list: inout EntryList
  ) throws {
    do {
      try collectDecoded(undecided, of: record, in: collection, with: coder, into: &list)
    } catch let error as LarchError where error.code == .decodingFailed {
      isUndecodable = true
      for reference in collection.references where undecided & reference.indexBit != 0 {
        try collectReference(reference, of: record, in: collection, coder.shapes, into: &list)
      }
      if undecided != 0 { throw error }
    }
  }

  /// The keys of a reference are ids, for which the bytes are enough if their type has a raw value.
  private mutating func collectReference(
    _ reference: SavedReference, of record: UnsafeRawBufferPointer,
    in collection: CollectionHandle, _ shapes: ShapeTable, into list: inout EntryList
  ) throws {
    guard let number = reference.number,
      let stored = reference.schema.declaration.stored(collection.reading)
    else { return }
    var ids: [[UInt8]] = []
    var id = KeyWriter()
    guard try stored.forEachID(in: record, shapes, &id, { ids.append([UInt8]($0)) }) else { return }
    let isWhole = isWhole
    for id in ids {
      guard id.withUnsafeBytes({ reference.schema.form.writeKey(of: $0, to: &writer) }) else {
        return
      }
      IndexKeys.insert(writer, index: number, isWhole: isWhole, into: &list)
    }
    if ids.isEmpty, !reference.schema.declaration.isList {
      writer.clear()
      writer.appendNil()
      IndexKeys.insert(writer, index: number, isWhole: isWhole, into: &list)
    }
    undecided &= ~reference.indexBit
  }

  private mutating func collectDecoded(
    _ wanted: UInt64, of record: UnsafeRawBufferPointer, in collection: CollectionHandle,
    with coder: RecordCoder, into list: inout EntryList
  ) throws {
    // Declarations are numbered by schema, entries by handle; they differ in a read-only file that
    // does not have an index.
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

/// The whole values of the keys of records, for comparing long values whose cut keys are equal.
struct WholeValues: ~Copyable {
  private let context: TransactionContext
  private var keys = IndexKeys(whole: true)
  private var list = EntryList()

  init(_ context: TransactionContext) { self.context = context }

  /// The whole values of a record in one index that can conflict with others.
  mutating func keys(
    of record: UnsafeRawBufferPointer, in index: IndexHandle, _ collection: CollectionHandle
  ) throws -> [[UInt8]] {
    guard let number = collection.indexes.firstIndex(where: { $0.position == index.position })
    else { return [] }
    list.removeAll()
    try keys.collect(
      of: record, in: collection, with: context.coder, only: number, into: &list)
    return list.items.filter { !$0.hasNil }.map { [UInt8](list.key($0)) }
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
