/// Queries for one value of a field, answered from the entries of an index. For such a query a plan and
/// its run cost several times as much as the look-up.
extension ReadTransaction {
  /// The records, in the order of their ids; nil if the query must be planned.
  func rowsOfKey<R: Record>(_ query: QueryDescription, of type: R.Type) throws -> [R]? {
    try withKey(query, of: type, for: .recordValues) { index, known, collection, transaction in
      guard let key = known.key, key.isWhole, !key.isCovering else { return nil }
      var ids = try IDsOfKey(
        index, context.planMemory.keyWriter.bytes, collection, context, in: transaction)
      let wanted = query.limit ?? .max
      // What `ScanOutline.isSmall` asks: to go through all records is faster for a frequent value.
      if !key.isUnique, wanted > ScanOutline.fewWantedRows, ids.count > 1 {
        let all = try collection.records.statistics(in: transaction).entries
        guard all < ScanOutline.fewRecords || ids.count <= all / 8 else { return nil }
      }
      let most = Swift.min(ids.count, wanted)
      if most == 0 { return [] }
      return try Array(unsafeUninitializedCapacity: most) { buffer, count in
        guard let start = buffer.baseAddress else { return }
        while count < most, let id = try ids.next() {
          guard let stored = try context.get(id, from: collection.records, in: transaction) else {
            throw RowReader.missing(id, collection)
          }
          try context.decode(stored, id: id, in: collection, into: start + count)
          count += 1
        }
      }
    }
  }

  /// The number of records; nil if the query must be planned.
  func countOfKey<R: Record>(
    _ query: QueryDescription, of type: R.Type, for need: QueryNeed = .count
  ) throws -> Int? {
    if query.limit != nil { return nil }
    return try withKey(query, of: type, for: need) { index, known, _, transaction -> Int? in
      guard known.key?.isWhole == true else { return nil }
      let bytes = context.planMemory.keyWriter.bytes
      let tree = context.trees.tree(of: index.database, in: transaction, isOften: false)
      if let count = tree?.count(of: bytes) { return count }
      var cursor = try LMDBCursor(index.database, in: transaction)
      guard try cursor.seek(exactly: bytes) != nil else { return 0 }
      return try cursor.duplicateCount()
    }
  }

  /// The sum of a field of whole numbers; nil if the query must be planned.
  func totalOfKey<R: Record>(
    _ field: FieldReference, _ query: QueryDescription, of type: R.Type
  ) throws -> KeyTotal? {
    if query.limit != nil { return nil }
    return try withKey(query, of: type, for: .values([field])) { index, known, _, _ in
      guard let key = known.key, key.isCovering, !key.isWhole else { return nil }
      let prefix = context.planMemory.keyWriter.bytes
      if known.summed == nil { known.summed = SummedNumber(field, in: index.schema) }
      // Mostly the number has its place in every key, so that nothing is made for the sum.
      if let number = known.summed, let place = number.place,
        let tree = try context.mappedTree(index.database)
      {
        var total = KeyTotal()
        let isWhole = tree.forEachKey(beginningWith: prefix, at: place) {
          total.add(number.primitive, key: $0, $1)
        }
        return isWhole ? total : nil
      }
      guard let keys = try WholeKeys(index, [], after: prefix.count, [field], context) else {
        return nil
      }
      var total = KeyTotal()
      let isWhole = try keys.forEach(beginningWith: prefix) { bytes, count in
        if let bytes { total.add(keys.primitives[0], key: bytes, count) }
      }
      return isWhole ? total : nil
    }
  }

  /// Calls with the index that answers a query for one value, while `keyWriter` has the value as a key.
  ///
  /// - Returns: nil if the query asks for more, or if its outline is not known yet: it must be planned.
  @inline(__always)
  private func withKey<R: Record, T>(
    _ query: QueryDescription, of type: R.Type, for need: @autoclosure () -> QueryNeed,
    _ body: (IndexHandle, PlanMemory.Known, CollectionHandle, LMDBTransaction) throws -> T?
  ) throws -> T? {
    guard case .field(let filter) = query.filter, filter.wantedValues.count == 1,
      filter.isPlainlyNormal, mayBeAnsweredDirectly(query)
    else { return nil }
    return try storage { transaction in
      let collection = try context.collection(of: type)
      let memory = context.planMemory
      let planner = Planner(schema: collection.schema, usable: collection.answering)
      guard let known = memory.known(query.filter, query, for: need(), planner), let key = known.key
      else { return nil }
      let index = try collection.index(at: key.index)
      let component = index.schema.fields[0]
      memory.keyWriter.clear()
      memory.keyWriter.textForm = component.textForm
      // A cut key, or one of another form, is planned.
      guard
        memory.keyWriter.append(
          filter.wantedValues, as: component.form, isLast: key.isWhole),
        !memory.keyWriter.isCut
      else { return nil }
      return try body(index, known, collection, transaction)
    }
  }
}

extension ReadTransaction {
  /// Whether there is nothing beside the filter that needs a plan. In a write, with a log and for
  /// observers, each query is planned: these check, keep or report it.
  @inline(__always)
  final func mayBeAnsweredDirectly(_ query: QueryDescription) -> Bool {
    query.order.isEmpty && !query.idsDescend && query.after == nil && query.offset == 0
      && query.limit.map({ $0 > 0 }) ?? true && context.isReading && !context.checksQueries
      && context.current?.isWatched == false
      && context.timer == nil && context.environment.post == nil && !mayKeepAggregates
  }
}

/// The ids of one key of an index, in their order.
private struct IDsOfKey: ~Copyable {
  /// The number of ids.
  let count: Int
  /// Nil if the ids were found without it.
  private var cursor: LMDBCursor?
  /// The length of ids of equal size, which LMDB returns a page at a time.
  private let width: Int?
  private enum State {
    case only(UnsafeRawBufferPointer), first(LMDBEntry), run, single, end
  }
  private var state = State.end
  private var run = UnsafeRawBufferPointer(start: nil, count: 0)
  private var place = 0

  init(
    _ index: IndexHandle, _ key: UnsafeRawBufferPointer, _ collection: CollectionHandle,
    _ context: TransactionContext, in transaction: LMDBTransaction
  ) throws {
    width = collection.stored.idKind.width
    if let tree = context.trees.tree(of: index.database, in: transaction, isOften: false) {
      // One by one: a cursor cannot be copied, so not into a tuple.
      switch tree.values(of: key) {
      case .absent:
        count = 0
        cursor = nil
        return
      case .found(.one(let id)):
        count = 1
        cursor = nil
        state = .only(id)
        return
      case .found(.run(let ids, let width)) where width == self.width:
        count = ids.count / width
        cursor = nil
        run = ids
        return
      case .found, .unclear: break
      }
    }
    var cursor = try LMDBCursor(index.database, in: transaction)
    let entry = try cursor.seek(exactly: key)
    count = entry == nil ? 0 : try cursor.duplicateCount()
    if let entry { state = .first(entry) }
    self.cursor = consume cursor
  }

  /// The next id, valid until the one after it; nil after the last one.
  mutating func next() throws -> UnsafeRawBufferPointer? {
    if place < run.count, let width { return take(width) }
    switch state {
    case .end: return nil
    case .only(let id):
      state = .end
      return id
    case .first(let entry):
      guard let width, count > 1 else {
        state = count > 1 ? .single : .end
        return entry.value
      }
      run = try cursor?.firstRun(at: entry).values ?? run
      state = .run
      return take(width)
    case .run:
      guard let width, let more = try cursor?.nextRun() else {
        state = .end
        return nil
      }
      run = more
      place = 0
      return take(width)
    case .single:
      guard let entry = try cursor?.nextDuplicate() else {
        state = .end
        return nil
      }
      return entry.value
    }
  }

  /// The next id of the run; nil if a damaged page has less than one.
  private mutating func take(_ width: Int) -> UnsafeRawBufferPointer? {
    guard place + width <= run.count else {
      (place, run) = (0, UnsafeRawBufferPointer(start: nil, count: 0))
      state = .end
      return nil
    }
    defer { place += width }
    return UnsafeRawBufferPointer(rebasing: run[place..<place + width])
  }
}
