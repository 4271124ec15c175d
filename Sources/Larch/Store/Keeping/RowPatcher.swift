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
///
/// Observers of equal requests share a core, and with it the rows of those states that several of them
/// have (`RowCore`).
final class RowPatcher<Rows: PatchedRows>: ValuePatcher<[Rows.Row]>, @unchecked Sendable {
  typealias Row = Rows.Row

  let core: RowCore<Rows>
  /// Nil before the first read.
  @exclusivity(unchecked) private var own: KeptState<Row>?
  /// The state of the value that the observer had last. All changes after it come to `patch`.
  @exclusivity(unchecked) private var cursor: StoreState?
  /// Whether a change could not be applied.
  @exclusivity(unchecked) private var mustRead = false

  var source: Rows { core.source }
  private var form: RowForm<Row> { core.form }
  private var isPatchable: Bool { own?.isPatchable == true && !mustRead }

  /// Nil for a query whose rows cannot be brought up to date.
  ///
  /// - Parameter shared: the cores of a store; nil if no other observer may have the same rows.
  init?(_ source: Rows, fewChanges: Int? = nil, in shared: SharedObjects? = nil) {
    if source.details.reasonNotPatched != nil { return nil }
    core = .of(source, fewChanges: fewChanges, in: shared)
  }

  deinit { core.endUse() }

  override func exclusively<T>(_ body: () throws -> T) rethrows -> T { try core.exclusively(body) }

  var first: Row? { own?.kept.rows.first }

  override var tree: UInt32? {
    core.dependencies.isEmpty && isPatchable ? own?.recordTree : nil
  }

  override var related: RelatedTrees? { own?.relatedTrees }

  override var current: [Row]? { isPatchable ? own.map { form.shown($0.kept.rows) } : nil }

  override var mark: Any? {
    // Rows are copied for it only if they must be compared themselves.
    own.map { KeptRows<Row>(rows: form.isHashed ? [] : $0.kept.rows, hashes: $0.kept.hashes) }
  }

  override func isSame(as mark: Any) -> Bool {
    guard let own, own.isPatchable, let before = mark as? KeptRows<Row> else { return false }
    return form.areSame(before, own.kept)
  }

  // MARK: Reading

  func read(_ tx: ReadTransaction) throws -> (value: [Row], isSame: Bool) {
    try read(tx, at: nil)
  }

  override func read(
    _ tx: ReadTransaction, at state: StoreState?
  ) throws -> (value: [Row], isSame: Bool) {
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try core.notedPlaces(tx, collection, hasIDs: form.hasRelatedOrder)
    var query = source.details
    if let limit = form.limit {
      let more = limit.addingReportingOverflow(core.reserve)
      query.limit = more.overflow ? .max : more.partialValue
    }
    // Not kept beside the new ones, unless these are compared with them, or others have them.
    if form.isHashed, isKnownUniquelyReferenced(&own) {
      own?.state = nil
      own?.kept.rows = []
    }
    core.reads += 1
    let read = try source.rows(of: query, in: tx, noting: noted)
    // Without the place of each row, nothing can be patched.
    let isPatchable = noted.places.count == read.count
    var kept = KeptRows(rows: read, places: noted.places, hashes: noted.hashes)
    kept.placesByID = Dictionary(zip(noted.ids, noted.places)) { first, _ in first }
    kept.hasMore = query.limit.map { read.count >= $0 } ?? false
    let isSame =
      own.map {
        $0.recordTree != nil && (isPatchable || !form.isHashed) && form.areSame($0.kept, kept)
      } ?? false
    if !isPatchable { kept.rows = [] }
    var new = KeptState(
      kept, state, recordTree: collection.records.handle,
      try RelatedTrees(core.dependencies, of: collection, tx.context),
      isPatchable: isPatchable)
    core.number(new)
    // Its state stays: in between, the rows may have been others.
    if let equal = core.equal(to: new) { new = equal }
    (own, cursor, mustRead) = (new, state, false)
    core.note(new)
    return (isPatchable ? form.shown(new.kept.rows) : form.shown(read), isSame)
  }

  override func note(_ facts: ReadFacts) { own?.facts = facts }

  override func adopt(
    at state: StoreState, _ catalog: Catalog
  ) -> (value: [Row], isSame: Bool, facts: ReadFacts)? {
    guard let newest = core.newest(from: state, to: state), newest.facts.catalog === catalog else {
      return nil
    }
    let isSame =
      own.map { $0.recordTree != nil && !core.areChanged($0, newest) } ?? false
    (own, cursor, mustRead) = (newest, state, false)
    return (form.shown(newest.kept.rows), isSame, newest.facts)
  }

  override func check(_ tx: ReadTransaction) throws {
    guard let kept = own?.kept else { return }
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try core.notedPlaces(tx, collection)
    var query = source.details
    // What is kept beyond the limit must be right too.
    if form.limit != nil { query.limit = kept.hasMore ? kept.rows.count : nil }
    let read = try source.rows(of: query, in: tx, noting: noted)
    // A row with a NaN is not even the same as itself.
    let isEqual =
      form.isHashed || !form.areSame(kept.rows, kept.rows) || form.areSame(kept.rows, read)
    if noted.hashes == kept.hashes, noted.places == kept.places, isEqual { return }
    throw LarchError(
      .wrongAnswer,
      "The rows of an observer differ from a new read of its query; please report this bug in Larch."
    ) {
      $0.collection = collection.stored.name
      $0.detail = "\(kept.rows.count) rows instead of \(read.count)"
    }
  }

  // MARK: Changes

  override func concern(of changes: RecordChanges, _ tx: ReadTransaction) throws -> RowConcern {
    guard core.dependencies.isEmpty, isPatchable, let own else { return .shown }
    return try core.exclusivelyIfAvailable { try core.concern(of: changes, tx, own) } ?? .shown
  }

  /// Applies changes to rows that no other observer has.
  func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome {
    guard isPatchable else { return .unknown }
    // A read shows the errors of records and filters; a record that was no row may have one too.
    guard let steps = try? core.steps([RecordChanges(changes)], tx, own) else { return .unknown }
    return apply(steps, to: nil)
  }

  /// The same for rows with dependencies.
  func patch(_ changes: ChangesByTree, at tx: ReadTransaction) -> Outcome {
    guard isPatchable, let steps = try? core.steps(changes, at: tx, own) else { return .unknown }
    return apply(steps, to: nil)
  }

  override func patch(
    to state: StoreState, _ tx: ReadTransaction, _ changes: (StoreState) -> [RecordChanges]?
  ) -> Outcome {
    advance(to: state) { kept, start in
      guard let changes = changes(start), let steps = try core.steps(changes, tx, kept) else {
        return nil
      }
      let isOne = changes.count <= 1 && changes.allSatisfy { !$0.isFolded }
      return (steps, isStill: steps.isEmpty && isOne)
    }
  }

  override func patch(
    to state: StoreState, at tx: ReadTransaction, _ changes: (StoreState) -> ChangesByTree?
  ) -> Outcome {
    advance(to: state) { kept, start in
      guard let changes = changes(start), let steps = try core.steps(changes, at: tx, kept) else {
        return nil
      }
      return (steps, isStill: changes.greatestCount == 0)
    }
  }

  /// What leads from one state to a later one, and whether the rows were the same all the time.
  private typealias Way = (steps: [RowStep<Row>], isStill: Bool)

  /// Goes to another state: from the newest rows that an observer has, or else from its own ones.
  private func advance(
    to state: StoreState, _ way: (_ kept: KeptState<Row>?, _ start: StoreState) throws -> Way?
  ) -> Outcome {
    guard isPatchable else { return .unknown }
    if let cursor, own?.state != nil, let newest = core.newest(from: cursor, to: state),
      newest !== own, let outcome = follow(newest, to: state, way)
    {
      return outcome
    }
    // Another observer may have found that the rows stay the same, perhaps until the middle of a
    // commit that is one change for this one.
    var start = cursor ?? StoreState(generation: .min, transaction: 0)
    if let known = own?.state, known.part == StoreState.whole { start = max(start, known) }
    guard let found = try? way(own, start) else { return .unknown }
    return apply(found.steps, to: state, isStill: found.isStill)
  }

  /// Takes the rows of another observer, and brings them up to date if it wants a later state. Nil if
  /// the changes since then are not known.
  private func follow(
    _ newest: KeptState<Row>, to state: StoreState,
    _ way: (_ kept: KeptState<Row>?, _ start: StoreState) throws -> Way?
  ) -> Outcome? {
    guard let old = own, let start = newest.state else { return nil }
    own = newest
    if start < state {
      guard let found = try? way(newest, start) else {
        own = old
        return nil
      }
      if apply(found.steps, to: state, isStill: found.isStill).isUnknown {
        (own, mustRead) = (old, true)
        return .unknown
      }
    }
    cursor = state
    guard let new = own, core.areChanged(old, new) else { return .same }
    return .changed(form.shown(new.kept.rows))
  }

  /// - Parameters:
  ///   - state: the state after the steps; nil if no other observer has the rows.
  ///   - isStill: whether the rows were no others until then.
  private func apply(
    _ steps: [RowStep<Row>], to state: StoreState?, isStill: Bool = false
  ) -> Outcome {
    if steps.isEmpty {
      // They are known to be the same since the cursor only.
      if let state, let cursor, let mine = own?.state, cursor <= mine, mine < state {
        // An observer of each write, or one that ignores some, has to see the others in between.
        if !isStill, !isKnownUniquelyReferenced(&own), let shared = own {
          own = KeptState(copying: shared)
          own?.number = shared.number
        }
        own?.state = state
        own.map { core.note($0) }
      }
      cursor = state.map { max(cursor ?? $0, $0) }
      return .same
    }
    let old = own?.number ?? 0
    guard
      case .rows(let areChanged) = isKnownUniquelyReferenced(&own)
        ? applyInPlace(steps) : applyToCopy(steps)
    else {
      mustRead = true
      return .unknown
    }
    guard let own else { return .unknown }
    if own.state != nil { own.state = state }
    cursor = state
    core.patches += 1
    core.number(own)
    core.note(old, own.number, areChanged: areChanged)
    core.note(own)
    return areChanged ? .changed(form.shown(own.kept.rows)) : .same
  }

  private func applyInPlace(_ steps: [RowStep<Row>]) -> KeptRows<Row>.Change? {
    // The next read is compared with what the observer has, not with what was begun here.
    let known =
      form.limit == nil ? nil : (form.isHashed ? [] : own?.kept.rows ?? [], own?.kept.hashes ?? [])
    let change = own?.kept.apply(steps, form, reserve: core.reserve)
    if case .unknown(let hasRunOut) = change {
      if hasRunOut { core.growReserve() }
      own?.state = nil
      if let known {
        own?.kept.rows = known.0
        own?.kept.hashes = known.1
      } else {
        own?.recordTree = nil
      }
    }
    return change
  }

  /// Others have the rows too.
  private func applyToCopy(_ steps: [RowStep<Row>]) -> KeptRows<Row>.Change? {
    guard let copy = own.map({ KeptState(copying: $0) }) else { return nil }
    let change = copy.kept.apply(steps, form, reserve: core.reserve)
    if case .unknown(let hasRunOut) = change {
      if hasRunOut { core.growReserve() }
    } else {
      own = copy
    }
    return change
  }
}
