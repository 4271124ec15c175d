/// The last change of an object on the main actor: how its value differs from the one before.
///
/// Values are compared only for somebody who asks. Before that, the value before is kept while the
/// change is made, so that whoever asks in `apply` for the first time has an answer. From then on, all
/// values are compared on the thread that has read them.
struct LiveStep<Value: Sendable> {
  /// The value before the change, while it is made.
  private var before: Value??
  /// How they differ, if they were compared.
  private var made: (any Sendable)?
  /// Whether the last change was of other properties only.
  private var isOfOthers = false
  private var compare: LiveComparison<Value>.Compare?
  private var comparison: LiveComparison<Value>?

  /// Begins to compare the values of an observation, the first one with this one.
  mutating func comparison(from value: Value?) -> LiveComparison<Value> {
    let new = LiveComparison(value, compare)
    comparison = new
    return new
  }

  /// - Parameter changes: how the values differ, if they were compared where the new one was read.
  mutating func begin(from old: Value?, to new: Value?, _ changes: (any Sendable)?) {
    (before, made, isOfOthers) = (.some(old), changes ?? compare.map { $0(old, new) }, false)
  }

  mutating func beginWithoutChange() { (before, made, isOfOthers) = (nil, nil, true) }

  mutating func end() { before = nil }

  mutating func changes<Changes: Sendable>(
    to new: Value?, by compare: @escaping @Sendable (_ old: Value?, _ new: Value?) -> Changes
  ) -> Changes? {
    if self.compare == nil {
      self.compare = compare
      comparison?.begin(compare)
    }
    if isOfOthers { return compare(nil, nil) }
    if made == nil, let before { made = compare(before, new) }
    return made as? Changes
  }
}

/// Compares the values of an observation, each with the one before it, on the thread that has read
/// them.
final class LiveComparison<Value: Sendable>: Sendable {
  typealias Compare = @Sendable (_ old: Value?, _ new: Value?) -> any Sendable

  private struct State {
    /// The value that is shown, or is on its way there.
    var last: Value?
    /// Nil while nobody asks.
    var compare: Compare?
  }

  private let state: Locked<State>

  init(_ last: Value?, _ compare: Compare?) {
    state = Locked(State(last: last, compare: compare))
  }

  func begin(_ compare: @escaping Compare) { state.withLock { $0.compare = compare } }

  /// Nil while nobody asks.
  func changes(to value: Value) -> (any Sendable)? {
    let (old, compare) = state.withLock { state in
      defer { state.last = value }
      return (state.last, state.compare)
    }
    return compare?(old, value)
  }
}
