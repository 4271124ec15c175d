/// What all observers of equal requests share: how the rows are made, and the newest rows that one of
/// them has.
///
/// Each observer has a cursor (`RowPatcher`): the rows of the state that it has delivered last. They are
/// an immutable value if several observers are there, and changed in place if one is alone. An observer
/// with older rows takes the newest ones, or applies further changes to them. So a change is applied
/// once for all that keep up, and one that is slow keeps the rows of its own state.
///
/// Unchecked, since whatever may change is used with the mutex held, or by one observer alone.
final class RowCore<Rows: PatchedRows>: SharedObject, @unchecked Sendable {
  typealias Row = Rows.Row

  let source: Rows
  let form: RowForm<Row>
  let dependencies: [RelatedDependency]
  /// See `ObserverPrograms`.
  let number = ObserverPrograms.newNumber()
  /// More changes are not applied.
  let fewChanges: Int
  private let owner: SharedObjects?
  /// Of a value that nobody uses, but not of none: the thread sanitizer takes a use of nothing for one
  /// of the object.
  private let mutex: Locked<Bool>?

  /// The newest rows whose state is known; nil if no observer has them any more.
  @exclusivity(unchecked) private weak var newestState: KeptState<Row>?
  /// How many rows beyond the limit the next read asks for.
  @exclusivity(unchecked) private(set) var reserve = 0
  /// The last two values that were compared, or of which one was made of the other.
  @exclusivity(unchecked) private var compared = (old: 0, new: 0, areChanged: false)
  /// The number of values so far.
  @exclusivity(unchecked) private var numbers = 0
  /// How many times rows were read, and changes were applied to them.
  @exclusivity(unchecked) var reads = 0
  @exclusivity(unchecked) var patches = 0

  /// - Parameter owner: keeps the cores of a store; nil for rows that are not shared.
  private init(_ source: Rows, _ fewChanges: Int?, _ owner: SharedObjects?) {
    self.source = source
    self.owner = owner
    let details = source.details
    form = RowForm(
      limit: details.limit, comparison: source.rowComparison,
      hasRelatedOrder: details.hasRelatedOrder)
    dependencies = source.dependencies
    self.fewChanges =
      fewChanges ?? (dependencies.isEmpty ? PatchLimits.fewChanges : PatchLimits.fewRelated)
    mutex = owner == nil ? nil : Locked(false)
    super.init(hash: owner == nil ? 0 : Self.hash(of: source))
  }

  private static func hash(of source: Rows) -> Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(Rows.self))
    source.hashParts(into: &hasher)
    return hasher.finalize()
  }

  /// The core of a request; another one has it already if the requests are equal.
  ///
  /// - Parameter owner: nil if it is not shared.
  static func of(
    _ source: Rows, fewChanges: Int? = nil, in owner: SharedObjects? = nil
  ) -> RowCore {
    guard let owner, source.hasKnownParts else { return RowCore(source, fewChanges, nil) }
    return owner.use(RowCore(source, fewChanges, owner))
  }

  /// Ends the use that began with `of`.
  func endUse() { owner?.endUse(self) }

  override func isSame(as other: SharedObject) -> Bool {
    if self === other { return true }
    guard hash == other.hash, let other = other as? RowCore<Rows> else { return false }
    return source.hasSameParts(as: other.source)
  }

  func exclusively<T>(_ body: () throws -> T) rethrows -> T {
    guard let mutex else { return try body() }
    return try mutex.withLock { _ in try body() }
  }

  /// The same, but nil if another thread is about to use them.
  func exclusivelyIfAvailable<T>(_ body: () throws -> T) rethrows -> T? {
    guard let mutex else { return try body() }
    return try mutex.withLockIfAvailable { _ in try body() }
  }

  // MARK: The newest rows

  /// The newest rows that an observer may take: not those of a later state than it wants, nor of an
  /// earlier one than those that it has.
  func newest(from first: StoreState, to last: StoreState) -> KeptState<Row>? {
    guard let newest = newestState, let state = newest.state, state.generation == last.generation,
      first <= state, state <= last
    else { return nil }
    return newest
  }

  /// Rows of an earlier state that are equal to those that were just read.
  func equal(to new: KeptState<Row>) -> KeptState<Row>? {
    guard form.isHashed, new.isPatchable, let state = new.state, let newest = newestState,
      let known = newest.state, known.generation == state.generation, known <= state,
      newest.recordTree == new.recordTree, newest.kept.hasMore == new.kept.hasMore,
      newest.kept.hashes == new.kept.hashes, newest.kept.places == new.kept.places
    else { return nil }
    return newest
  }

  /// Tells of rows whose state is known.
  func note(_ kept: KeptState<Row>) {
    guard mutex != nil, kept.isPatchable, let state = kept.state else { return }
    if let newest = newestState?.state, newest > state { return }
    newestState = kept
  }

  /// Gives a new number to rows that were made, or have changed.
  func number(_ kept: KeptState<Row>) {
    numbers += 1
    kept.number = numbers
  }

  func note(_ old: Int, _ new: Int, areChanged: Bool) { compared = (old, new, areChanged) }

  /// Whether two states show other rows.
  func areChanged(_ old: KeptState<Row>, _ new: KeptState<Row>) -> Bool {
    if old.number == new.number { return false }
    if compared.old != old.number || compared.new != new.number {
      compared = (old.number, new.number, !form.areSame(old.kept, new.kept))
    }
    return compared.areChanged
  }

  /// The rows beyond the limit have run out. Each time, twice as many are read.
  func growReserve() {
    reserve = min(
      max(form.leastReserve, 2 * reserve), max(8 * PatchLimits.reserve, form.leastReserve))
  }
}

/// The rows of a state. Several observers may have the same ones; then they do not change any more.
///
/// Unchecked, since it is used as the core that it belongs to.
final class KeptState<Row>: @unchecked Sendable {
  var kept: KeptRows<Row>
  /// The newest state that is known to have these rows; nil if no other observer may take them.
  var state: StoreState?
  /// Of these rows, among those of the core.
  var number = 0
  /// The tree of the records; nil if the rows cannot be compared with those of the next read.
  var recordTree: UInt32?
  let relatedTrees: RelatedTrees?
  /// Whether the places of all rows are known, so that changes can be applied.
  let isPatchable: Bool
  /// What was read for them.
  var facts = ReadFacts.nothing

  init(
    _ kept: KeptRows<Row>, _ state: StoreState?, recordTree: UInt32?, _ relatedTrees: RelatedTrees?,
    isPatchable: Bool
  ) {
    self.kept = kept
    self.state = state
    self.recordTree = recordTree
    self.relatedTrees = relatedTrees
    self.isPatchable = isPatchable
  }

  /// A copy, which may become another state.
  init(copying other: KeptState) {
    kept = other.kept
    state = other.state
    recordTree = other.recordTree
    relatedTrees = other.relatedTrees
    isPatchable = other.isPatchable
    facts = other.facts
  }
}
