/// The writes that an observer has heard of and has not applied, in order.
///
/// They wait in steps, each of which gives one value at most. An observer of the newest state has one
/// step with all of them. One that wants each write has a step for each, until there are too many.
struct WaitingWrites: Sendable {
  /// A write. It may stand for several of which no more is known, as of another process.
  struct Write: Sendable {
    let event: ChangeEvent
    /// Whether it gives no value by itself.
    let isIgnored: Bool
    /// Which write of its commit it is (`StoreState.part`).
    var part = StoreState.whole

    /// The state after it.
    func state(_ generation: Int) -> StoreState {
      StoreState(generation: generation, transaction: event.transaction, part: part)
    }
  }

  struct Step: Sendable {
    var writes: ArraySlice<Write> = []
    /// Whether the value must come, even if it equals the one before.
    var isDue = false

    func events(ignored: Bool) -> [ChangeEvent] {
      writes.filter { $0.isIgnored == ignored }.map(\.event)
    }

    /// The first writes that can be applied together: one by one, or some that are all ignored, or all
    /// not, and have changed no more records of a tree than are applied at once.
    func run(oneByOne: Bool, of tree: UInt32) -> ArraySlice<Write> {
      guard let first = writes.first, !oneByOne else { return writes.prefix(1) }
      var count = first.event.count(of: tree)
      let rest = writes.dropFirst().prefix { write in
        count += write.event.count(of: tree)
        return write.isIgnored == first.isIgnored && count <= PatchLimits.fewChanges
      }
      return writes.prefix(1 + rest.count)
    }
  }

  /// How many writes wait before neighbours are merged.
  static let limit = 64
  /// How much memory they may take before no more are asked for.
  private static let sizeLimit = 8 << 20
  /// How many writes, and how much memory, may wait for an observer that rests.
  private static let (restingLimit, restingSize) = (16, 1 << 16)

  /// Few; none takes no memory.
  private var steps: [Step] = []
  private var size = 0

  var isEmpty: Bool { steps.isEmpty }
  var count: Int { steps.reduce(0) { $0 + $1.writes.count } }

  /// Whether more must wait with the listener, which knows what to do without memory.
  var isFull: Bool { size > Self.sizeLimit }

  /// Whether they must not wait while the observer rests.
  var areMany: Bool { size > Self.restingSize || count > Self.restingLimit }

  /// Whether everything may have changed.
  var hasReset: Bool { steps.contains { $0.writes.contains { $0.event.isReset } } }

  /// - Parameters:
  ///   - trees: those that count for the observer.
  ///   - isByStep: whether each write is a step.
  mutating func add(
    _ events: [ChangeEvent], _ rules: ObservationRules, _ trees: TreeSet, isByStep: Bool
  ) {
    let writes = Self.writes(in: events, rules, trees)
    if writes.isEmpty { return }
    for write in writes { size += write.event.size }
    if isByStep {
      steps += writes.map { Step(writes: [$0]) }
      if steps.count > Self.limit { merge() }
    } else if steps.isEmpty {
      steps.append(Step(writes: writes[...]))
    } else {
      steps[steps.count - 1].writes += writes
    }
  }

  /// The writes of events that count for an observer.
  static func writes(
    in events: [ChangeEvent], _ rules: ObservationRules, _ trees: TreeSet
  ) -> [Write] {
    guard rules.needsParts else { return events.map { Write(event: $0, isIgnored: false) } }
    return events.flatMap { event in
      let parts = event.parts(in: trees)
      return parts.enumerated().map { place, part in
        Write(
          event: part.event, isIgnored: rules.isIgnored(part.event),
          part: place + 1 == parts.count ? StoreState.whole : part.number)
      }
    }
  }

  /// Merges neighbours, as few as possible in each step.
  private mutating func merge() {
    let size = (steps.count + Self.limit - 1) / Self.limit
    steps = stride(from: 0, to: steps.count, by: size).map { start in
      let part = steps[start..<min(start + size, steps.count)]
      return Step(writes: ArraySlice(part.flatMap(\.writes)))
    }
  }

  /// Removes the first step. It is empty if nothing waits.
  mutating func next() -> Step {
    guard let step = steps.first else { return Step() }
    if steps.count == 1 { steps = [] } else { steps.removeFirst() }
    for write in step.writes { size -= write.event.size }
    return step
  }

  /// Removes all that waits.
  mutating func takeAll() -> [Write] {
    defer { (steps, size) = ([], 0) }
    return steps.flatMap(\.writes)
  }
}

extension ArraySlice<WaitingWrites.Write> {
  /// The events after a state; nil if it lies inside of a commit that is one event here. An observer
  /// that wants each write may share rows of such a state.
  func events(
    after start: StoreState, _ generation: Int, _ rules: ObservationRules
  ) -> [ChangeEvent]? {
    let later = filter { $0.state(generation) > start }
    if !rules.needsParts, start.part != StoreState.whole,
      later.contains(where: { $0.event.transaction == start.transaction })
    {
      return nil
    }
    return later.map(\.event)
  }
}

extension ChangeEvent {
  var isReset: Bool { if case .reset = self { true } else { false } }

  var transaction: UInt64 {
    switch self {
    case .commit(let number, _), .anything(let number): number
    case .reset: 0
    }
  }

  /// The number of changed records of a tree.
  fileprivate func count(of tree: UInt32) -> Int {
    guard case .commit(_, let changes) = self else { return 0 }
    return changes.records.changes(of: tree)?.count ?? 0
  }

  fileprivate var size: Int { if case .commit(_, let changes) = self { changes.size } else { 0 } }

  /// The writes of a commit that change one of the trees, with their numbers, if they are known one by
  /// one.
  fileprivate func parts(in trees: TreeSet) -> [(number: Int, event: ChangeEvent)] {
    guard case .commit(let number, let changes) = self else { return [(0, self)] }
    let parts = changes.parts.isEmpty ? [changes] : changes.parts
    return parts.enumerated().filter { trees.intersects($0.element.trees) }
      .map { ($0.offset, .commit(number, $0.element)) }
  }
}
