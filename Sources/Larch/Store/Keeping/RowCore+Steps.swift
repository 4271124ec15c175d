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
      order(RecordAccess(tx.context, collection)),
      needsRecord: form.isHashed || !source.details.order.isEmpty,
      isHashed: form.isHashed, hasIDs: hasIDs)
  }

  private func order(_ access: RecordAccess<Rows.R>) -> SortKey {
    SortKey(
      source.details.order, idsDescend: source.details.idsDescend,
      idKind: access.collection.stored.idKind, index: nil, context: access.context, typed: access)
  }

  /// Nil if the records are not those of the rows, or too many of them are rows.
  ///
  /// - Parameter commits: the changes of several commits in a row.
  func steps(
    _ commits: [RecordChanges], _ tx: ReadTransaction, _ kept: KeptState<Row>?
  ) throws -> [RowStep<Row>]? {
    guard let kept, let program = try program(tx, kept) else { return nil }
    let most = mostSteps(kept)
    guard let passing = try commits.passing(program.filter, most: most), passing.count <= most
    else {
      return nil
    }
    var steps: [RowStep<Row>] = []
    for item in passing {
      let isRow = item.isRow
      var step = RowStep<Row>()
      try item.change.withRecords { old, new, id in
        if isRow.before, let old { step.old = try program.place(old, id) }
        guard isRow.after, let new else { return }
        step.new = try program.place(new, id)
        step.row = try program.make(new, id)
        if form.isHashed { step.hash = RecordHash.of(id, new) }
      }
      steps.append(step)
    }
    return steps
  }

  /// What tests changed records, and makes rows of them; nil if the records are not those of the rows.
  private func program(_ tx: ReadTransaction, _ kept: KeptState<Row>) throws -> RowProgram<Rows>? {
    let collection = try tx.context.collection(of: Rows.R.self)
    guard collection.records.handle == kept.recordTree else { return nil }
    let program = try ObserverPrograms.of(number, source.details.filter, in: tx.context) {
      let access = RecordAccess<Rows.R>(tx.context, collection)
      return RowProgram<Rows>(
        access,
        try FilterProgram.of([source.details.filter], context: tx.context, typed: access),
        order(access), source.maker(access))
    }
    program.access.dropKept()
    return program
  }

  /// What the changes of a commit do to the rows that are shown. Throws if the bytes do not tell.
  func concern(
    of changes: RecordChanges, _ tx: ReadTransaction, _ kept: KeptState<Row>
  ) throws -> RowConcern {
    guard let program = try program(tx, kept) else { return .shown }
    program.access.isOnBytes = true
    defer { program.access.isOnBytes = false }
    // What comes before it, or takes its place, is shown.
    let last = form.limit.flatMap { $0 <= kept.kept.places.count ? kept.kept.places[$0 - 1] : nil }
    var concern = RowConcern.nothing
    try changes.forEach { id, before, after in
      for stored in [before, after] {
        guard concern != .shown, let stored else { continue }
        let record = RecordEnvelope.unverified(stored)
        if try program.filter?.matches(record, id: id) == false { continue }
        guard let last else {
          concern = .shown
          return
        }
        concern = try program.place(record, id) <= last ? .shown : .hidden
      }
    }
    return concern
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
    let order = order(RecordAccess(tx.context, collection))
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

/// What changed records do to rows.
enum RowConcern {
  case nothing
  /// Only rows beyond the limit are others.
  case hidden
  /// Rows that are shown may be others.
  case shown
}

/// Tests changed records in a context, and makes rows of them.
private final class RowProgram<Rows: PatchedRows> {
  let access: RecordAccess<Rows.R>
  let filter: FilterProgram?
  private let order: SortKey
  let make: (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Rows.Row

  init(
    _ access: RecordAccess<Rows.R>, _ filter: FilterProgram?, _ order: SortKey,
    _ make: @escaping (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Rows.Row
  ) {
    self.access = access
    self.filter = filter
    self.order = order
    self.make = make
  }

  func place(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> RowPlace {
    try order.write(record: record, id: id)
    return RowPlace(order.bytes)
  }
}
