/// How the rows of a query are made of its records, one row of each.
protocol PatchedRows<R, Row>: Sendable {
  associatedtype R: Record
  associatedtype Row

  /// Which records are rows, and in which order.
  var details: QueryDescription { get }
  var rowComparison: ValueComparison<[Row]> { get }
  /// By which associations rows depend on other records; none if each depends on its own alone.
  var dependencies: [RelatedDependency] { get }

  /// Reads all rows of a query in place of `details`, and notes the place of each.
  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [Row]

  /// Returns what makes rows of changed records, whose bytes are not verified. Not called if there are
  /// dependencies.
  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Row
}

/// The rows of a query, in its order.
///
/// Each row has its place in the order as bytes, which end with the id, so that the row of a changed
/// record is found by a binary search. Filter and order are evaluated on the stored bytes before and
/// after the change; a row is made only of a record that comes in or has changed.
///
/// Rows with `dependencies` may change although their own records do not. `RelatedCandidates` finds
/// the records that related ones concern. Whether each was a row is known from its place, and what it
/// is now is read in the snapshot after the changes, together with those that have changed themselves.
///
/// A query with a limit keeps rows beyond it: those that others have pushed out, and a reserve that is
/// read when a row leaves for the first time. What is kept are always the first rows of the order. If
/// fewer than the limit are left, and there may be more behind them, they are read again.
final class RowPatcher<Rows: PatchedRows>: ValuePatcher<[Rows.Row]>, @unchecked Sendable {
  typealias Row = Rows.Row

  private let source: Rows
  private let comparison: ValueComparison<[Row]>
  /// Also those beyond the limit.
  private var kept: [Row] = []
  private var places: [RowPlace] = []
  /// Of the records, if rows are compared by them; else none.
  private var hashes: [Int] = []
  /// By id, if the bytes of a record do not tell its place.
  private var placesByID: [[UInt8]: RowPlace] = [:]
  /// Whether there may be records after the last row.
  private var hasMore = false
  /// Set by the first read.
  private var recordTree: UInt32?
  private var relatedTrees: RelatedTrees?
  /// Whether the places of all rows are known, so that changes can be applied.
  private var isPatchable = false
  /// The first and the last place that the last changes have touched.
  private var touched = (first: Int.max, last: 0)
  /// More changes are not applied.
  private let fewChanges: Int
  private let dependencies: [RelatedDependency]
  private let hasRelatedOrder: Bool
  /// How many rows beyond the limit the next read asks for.
  private var reserve = 0

  private var limit: Int? { source.details.limit }
  private var isHashed: Bool { if case .stored = comparison { true } else { false } }
  private var leastReserve: Int { max(PatchLimits.reserve, (limit ?? 0) / 4) }
  /// How many rows are changed, and how many records are looked at for them.
  private var mostSteps: Int { fewChanges + kept.count / 16 }

  /// Nil for a query whose rows cannot be brought up to date.
  init?(_ source: Rows, fewChanges: Int? = nil) {
    if source.details.reasonNotPatched != nil { return nil }
    self.source = source
    comparison = source.rowComparison
    dependencies = source.dependencies
    self.fewChanges =
      fewChanges ?? (dependencies.isEmpty ? PatchLimits.fewChanges : PatchLimits.fewRelated)
    hasRelatedOrder = source.details.hasRelatedOrder
  }

  var first: Row? { kept.first }

  override var tree: UInt32? { dependencies.isEmpty && isPatchable ? recordTree : nil }

  override var related: RelatedTrees? { relatedTrees }

  override var current: [Row]? { isPatchable ? shown(kept) : nil }

  private func shown(_ rows: [Row]) -> [Row] {
    guard let limit, rows.count > limit else { return rows }
    return Array(rows[..<limit])
  }

  private func shownCount(_ count: Int) -> Int { min(count, limit ?? .max) }

  override func read(_ tx: ReadTransaction) throws -> (value: [Row], isSame: Bool) {
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try notedPlaces(tx, collection, hasIDs: hasRelatedOrder)
    var query = source.details
    if let limit { query.limit = limit &+ reserve < limit ? .max : limit + reserve }
    let wasRead = recordTree != nil
    // Not kept beside the new ones, unless these are compared with them.
    if isHashed { kept = [] }
    let read = try source.rows(of: query, in: tx, noting: noted)
    // Without the place of each row, nothing can be patched.
    isPatchable = noted.places.count == read.count
    let value = shown(read)
    let isSame =
      wasRead
      && (isHashed
        ? isPatchable && hashes.prefix(limit ?? .max) == noted.hashes.prefix(limit ?? .max)
        : areSame(shown(kept), value))
    recordTree = collection.records.handle
    relatedTrees = try RelatedTrees(dependencies, of: collection, tx.context)
    (kept, places, hashes) = (isPatchable ? read : [], noted.places, noted.hashes)
    placesByID = Dictionary(zip(noted.ids, noted.places)) { first, _ in first }
    hasMore = query.limit.map { read.count >= $0 } ?? false
    return (value, isSame)
  }

  private func notedPlaces(
    _ tx: ReadTransaction, _ collection: CollectionHandle, hasIDs: Bool = false
  ) throws -> RowPlaces {
    RowPlaces(
      try order(tx, collection), needsRecord: isHashed || !source.details.order.isEmpty,
      isHashed: isHashed, hasIDs: hasIDs)
  }

  private func order(_ tx: ReadTransaction, _ collection: CollectionHandle) throws -> SortKey {
    SortKey(
      source.details.order, idsDescend: source.details.idsDescend,
      idKind: collection.stored.idKind, index: nil, context: tx.context,
      typed: RecordAccess<Rows.R>(tx.context, collection))
  }

  private func areSame(_ a: [Row], _ b: [Row]) -> Bool {
    comparison.isSame(.value(a), .value(b))
  }

  override func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome {
    // A read shows the errors of records and filters; a record that was no row may have one too.
    guard let steps = try? steps(changes, tx) else { return .unknown }
    return finish(steps)
  }

  override func patch(_ changes: ChangesByTree, at tx: ReadTransaction) -> Outcome {
    guard isPatchable, let steps = try? steps(changes, at: tx) else { return .unknown }
    return finish(steps)
  }

  private func finish(_ steps: [Step]) -> Outcome {
    if steps.isEmpty { return .same }
    // The next read is compared with what the observer has, not with what was begun here.
    let known = limit == nil ? nil : (isHashed ? [] : kept, hashes)
    let outcome = apply(steps)
    if outcome.isUnknown {
      isPatchable = false
      if let known { (kept, hashes) = known } else { recordTree = nil }
    }
    return outcome
  }

  override func check(_ tx: ReadTransaction) throws {
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try notedPlaces(tx, collection)
    var query = source.details
    // What is kept beyond the limit must be right too.
    if limit != nil { query.limit = hasMore ? kept.count : nil }
    let read = try source.rows(of: query, in: tx, noting: noted)
    // A row with a NaN is not even the same as itself.
    let isEqual = isHashed || !areSame(kept, kept) || areSame(kept, read)
    if noted.hashes == hashes, noted.places == places, isEqual { return }
    throw LarchError(
      .wrongAnswer,
      "The rows of an observer differ from a new read of its query; please report this bug in Larch."
    ) {
      $0.collection = collection.stored.name
      $0.detail = "\(kept.count) rows instead of \(read.count)"
    }
  }

  /// What a changed record does to the rows: where it was and where it is, if it passes the filter.
  private struct Step {
    var old: RowPlace?
    var new: RowPlace?
    var row: Row?
    var hash = 0
    /// Empty if places are not kept by id.
    var id: [UInt8] = []
  }

  private func apply(_ steps: [Step]) -> Outcome {
    // Rows that are compared by their values may look the same after some have changed places.
    // In a window, an equal value may be in it and another one behind it.
    let isMoving = !isHashed && (limit != nil || steps.contains { $0.old != $0.new })
    let before = isMoving ? kept : []
    // So may those whose places are of related records.
    let order = hasRelatedOrder && isHashed ? hashes : []
    touched = (.max, 0)
    var isChanged = false
    for step in steps {
      switch move(step) {
      case .unknown: return .unknown
      case .none: break
      case .moved: isChanged = true
      }
    }
    if let limit {
      if hasMore, kept.count < limit {
        // Each time that it runs out, twice as many are read.
        reserve = min(max(leastReserve, 2 * reserve), max(8 * PatchLimits.reserve, leastReserve))
        return .unknown
      }
      if touched.first >= limit { isChanged = false }
    }
    if isChanged, isMoving, shownCount(before.count) == shownCount(kept.count) {
      let last = min(shownCount(kept.count), touched.last + 1 + 3 * steps.count)
      let part = min(touched.first, last)..<last
      isChanged = !areSame(Array(before[part]), Array(kept[part]))
    }
    if isHashed, hasRelatedOrder { isChanged = order != hashes }
    return isChanged ? .changed(shown(kept)) : .same
  }

  /// Nil if the records are not those of the rows, or too many of them are rows.
  private func steps(_ changes: [StoredChange], _ tx: ReadTransaction) throws -> [Step]? {
    let collection = try tx.context.collection(of: Rows.R.self)
    guard collection.records.handle == recordTree else { return nil }
    let access = RecordAccess<Rows.R>(tx.context, collection)
    let filter = try FilterProgram.of(
      [source.details.filter], context: tx.context, typed: access)
    let order = try order(tx, collection)
    let make = source.maker(access)
    func place(_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> RowPlace {
      try order.write(record: record, id: id)
      return RowPlace(order.bytes)
    }
    var steps: [Step] = []
    for change in changes {
      let isRow = try change.passes(filter)
      guard isRow.before || isRow.after else { continue }
      if steps.count == mostSteps { return nil }
      var step = Step()
      try change.withRecords { old, new, id in
        if isRow.before, let old { step.old = try place(old, id) }
        guard isRow.after, let new else { return }
        step.new = try place(new, id)
        step.row = try make(new, id)
        if isHashed { step.hash = RowPlaces.hash(id, new) }
      }
      steps.append(step)
    }
    return steps
  }

  /// The steps for the changed records, and for those that changed related records concern. Nil if they
  /// are too many, or the records are not those of the rows.
  private func steps(
    _ changes: ChangesByTree, at tx: ReadTransaction
  ) throws -> [Step]? {
    let collection = try tx.context.collection(of: Rows.R.self)
    let tree = collection.records.handle
    let own = changes[tree] ?? []
    guard tree == recordTree else { return nil }
    let concerned = try RelatedCandidates(changes, room: 4 * mostSteps, tx.context)
      .ids(dependencies, beside: own, most: mostSteps)
    let order = try order(tx, collection)
    var steps: [Step] = []
    /// Adds what a record was, as a row.
    func add(_ id: [UInt8], _ record: UnsafeRawBufferPointer?) throws {
      var step = Step(id: id)
      if hasRelatedOrder {
        step.old = placesByID[id]
      } else if let record {
        try id.withUnsafeBytes { try order.write(record: record, id: $0) }
        let place = RowPlace(order.bytes)
        // The bytes do not tell whether it passed the filter.
        if let found = keptPlace(place) { step.old = places[found] }
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
      return !isHashed || keptPlace(place).map { hashes[$0] } != step.hash
    }
  }

  /// Reads what the records of steps are now, as rows.
  private func fill(
    _ steps: inout [Step], _ collection: CollectionHandle, _ tx: ReadTransaction
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
      if isHashed { steps[number].hash = noted.hashes[place] }
    }
  }

  /// Where a row with this place is kept; nil if there is none.
  private func keptPlace(_ place: RowPlace) -> Int? {
    let found = places.firstPlace(notBefore: place)
    return found < places.count && places[found] == place ? found : nil
  }

  private enum Move {
    case moved
    /// No row is another one.
    case none
    case unknown
  }

  private func move(_ step: Step) -> Move {
    var taken: Int?
    if let old = step.old {
      taken = keptPlace(old)
      // It may be one of those that are not kept.
      if taken == nil, !hasMore || places.firstPlace(notBefore: old) < places.count {
        return .unknown
      }
    }
    if hasRelatedOrder { placesByID[step.id] = step.new }
    guard let new = step.new, let row = step.row else {
      guard let taken else { return .none }
      remove(taken)
      return .moved
    }
    if let taken, step.old == new {
      let isSame = !isHashed && areSame([kept[taken]], [row])
      // Two values may be equal and still not the same, as 0.0 and -0.0.
      if !isSame || !hasBytes(of: row, at: taken) { kept[taken] = row }
      if isHashed { hashes[taken] = step.hash }
      touch(taken)
      return isSame ? .none : .moved
    }
    if let taken { remove(taken) }
    let target = places.firstPlace(notBefore: new)
    // Records that are not kept may come before it.
    if hasMore, target == places.count { return taken == nil ? .none : .moved }
    insert(row, new, step.hash, at: target)
    // The limit may be the greatest number.
    if let limit, kept.count - limit > max(reserve, leastReserve) {
      remove(kept.count - 1)
      hasMore = true
    }
    return .moved
  }

  private func hasBytes(of row: Row, at place: Int) -> Bool {
    kept.withUnsafeBufferPointer { kept in
      withUnsafePointer(to: row) { row in
        compareBytes(
          UnsafeRawBufferPointer(start: row, count: MemoryLayout<Row>.size),
          UnsafeRawBufferPointer(
            start: kept.baseAddress.map { $0 + place }, count: MemoryLayout<Row>.size)) == 0
      }
    }
  }

  private func insert(_ row: Row, _ place: RowPlace, _ hash: Int, at target: Int) {
    touch(target)
    kept.insert(row, at: target)
    places.insert(place, at: target)
    if isHashed { hashes.insert(hash, at: target) }
  }

  private func remove(_ place: Int) {
    touch(place)
    kept.remove(at: place)
    places.remove(at: place)
    if isHashed { hashes.remove(at: place) }
  }

  private func touch(_ place: Int) {
    touched = (min(touched.first, place), max(touched.last, place))
  }
}
