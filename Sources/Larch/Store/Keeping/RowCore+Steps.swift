// What changed records do to the rows of a state.

extension RowCore {
  /// How many rows are changed, and how many records are looked at for them.
  private func mostSteps(_ kept: KeptState<Row>) -> Int {
    fewChanges + kept.kept.rows.count / 16
  }

  func notedPlaces(
    _ tx: ReadTransaction, _ collection: CollectionHandle, hasIDs: Bool = false
  ) throws -> RowPlaces {
    RowPlaces(
      try order(tx, collection), needsRecord: form.isHashed || !source.details.order.isEmpty,
      isHashed: form.isHashed, hasIDs: hasIDs)
  }

  private func order(_ tx: ReadTransaction, _ collection: CollectionHandle) throws -> SortKey {
    SortKey(
      source.details.order, idsDescend: source.details.idsDescend,
      idKind: collection.stored.idKind, index: nil, context: tx.context,
      typed: RecordAccess<Rows.R>(tx.context, collection))
  }

  /// Nil if the records are not those of the rows, or too many of them are rows.
  ///
  /// - Parameter commits: the changes of several commits in a row.
  func steps(
    _ commits: [RecordChanges], _ tx: ReadTransaction, _ kept: KeptState<Row>?
  ) throws -> [RowStep<Row>]? {
    let collection = try tx.context.collection(of: Rows.R.self)
    guard let kept, collection.records.handle == kept.recordTree else { return nil }
    let access = RecordAccess<Rows.R>(tx.context, collection)
    let filter = try FilterProgram.of(
      [source.details.filter], context: tx.context, typed: access)
    let order = try order(tx, collection)
    let make = source.maker(access)
    func place(_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> RowPlace {
      try order.write(record: record, id: id)
      return RowPlace(order.bytes)
    }
    let most = mostSteps(kept)
    guard let passing = try commits.passing(filter, most: most), passing.count <= most else {
      return nil
    }
    var steps: [RowStep<Row>] = []
    for item in passing {
      let isRow = item.isRow
      var step = RowStep<Row>()
      try item.change.withRecords { old, new, id in
        if isRow.before, let old { step.old = try place(old, id) }
        guard isRow.after, let new else { return }
        step.new = try place(new, id)
        step.row = try make(new, id)
        if form.isHashed { step.hash = RowPlaces.hash(id, new) }
      }
      steps.append(step)
    }
    return steps
  }

  /// The steps for the changed records, and for those that changed related records concern. Nil if they
  /// are too many, or the records are not those of the rows.
  func steps(
    _ changes: ChangesByTree, at tx: ReadTransaction, _ kept: KeptState<Row>?
  ) throws -> [RowStep<Row>]? {
    let collection = try tx.context.collection(of: Rows.R.self)
    let tree = collection.records.handle
    let own = changes[tree] ?? []
    guard let kept, tree == kept.recordTree else { return nil }
    let concerned = try RelatedCandidates(changes, room: 4 * mostSteps(kept), tx.context)
      .ids(dependencies, beside: own, most: mostSteps(kept))
    let order = try order(tx, collection)
    var steps: [RowStep<Row>] = []
    /// Adds what a record was, as a row.
    func add(_ id: [UInt8], _ record: UnsafeRawBufferPointer?) throws {
      var step = RowStep<Row>(id: id)
      if form.hasRelatedOrder {
        step.old = kept.kept.placesByID[id]
      } else if let record {
        try id.withUnsafeBytes { try order.write(record: record, id: $0) }
        let place = RowPlace(order.bytes)
        // The bytes do not tell whether it passed the filter.
        if let found = kept.kept.keptPlace(place) { step.old = kept.kept.places[found] }
      }
      steps.append(step)
    }
    for change in own { try change.withRecords { old, _, _ in try add(change.id, old) } }
    let transaction = try tx.context.transaction()
    for id in concerned {
      let stored = try id.withUnsafeBytes { try collection.records.get($0, in: transaction) }
      if let stored { try add(id, RecordEnvelope.unverified(stored)) }
    }
    if steps.isEmpty { return [] }
    try fill(&steps, collection, tx)
    return steps.filter { step in
      guard step.old == step.new, let place = step.old else { return step.old != step.new }
      // Related records that the row does not have may have changed.
      return !form.isHashed || kept.kept.keptPlace(place).map { kept.kept.hashes[$0] } != step.hash
    }
  }

  /// Reads what the records of steps are now, as rows.
  private func fill(
    _ steps: inout [RowStep<Row>], _ collection: CollectionHandle, _ tx: ReadTransaction
  ) throws {
    var numbers: [[UInt8]: Int] = [:]
    for (number, step) in steps.enumerated() { numbers[step.id] = number }
    let query = try source.details.only(steps.map(\.id), in: collection)
    let noted = try notedPlaces(tx, collection, hasIDs: true)
    let read = try source.rows(of: query, in: tx, noting: noted)
    guard noted.ids.count == read.count else { throw RelatedCandidates.Unknown.otherRows }
    for (place, row) in read.enumerated() {
      guard let number = numbers[noted.ids[place]] else {
        throw RelatedCandidates.Unknown.otherRows
      }
      steps[number].new = noted.places[place]
      steps[number].row = row
      if form.isHashed { steps[number].hash = noted.hashes[place] }
    }
  }
}
