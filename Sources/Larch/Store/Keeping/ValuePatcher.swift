/// Keeps the value of an observer, and brings it up to date from changed records.
///
/// Unchecked, since an observer uses it only while it holds the mutex of its state, and in
/// `exclusively`.
class ValuePatcher<Value>: @unchecked Sendable {
  enum Outcome {
    /// None of the records concerns the value.
    case same
    case changed(Value)
    /// The value must be read again.
    case unknown

    var isUnknown: Bool { if case .unknown = self { true } else { false } }
  }

  /// Runs `body` while nobody else uses what is shared with other observers.
  func exclusively<T>(_ body: () throws -> T) rethrows -> T { try body() }

  /// The tree whose records the value consists of; nil before the first read, and for a value that
  /// depends on more than these records.
  var tree: UInt32? { nil }

  /// What a value depends on beside its own records; nil before the first read, and for a value that
  /// depends on its own records alone.
  var related: RelatedTrees? { nil }

  /// The value that is kept; nil if it must be read to have it.
  var current: Value? { nil }

  /// What is kept now, to compare it with what is kept later; nil if nothing is.
  var mark: Any? { nil }

  /// Whether what is kept shows the same as at a mark.
  func isSame(as mark: Any) -> Bool { false }

  /// Reads the value, and keeps it.
  ///
  /// - Parameter state: the state that the transaction reads; nil if it is not certain.
  /// - Returns: the value, and whether it differs from the one that was kept.
  func read(
    _ tx: ReadTransaction, at state: StoreState?
  ) throws -> (value: Value, isSame: Bool) {
    // Nobody makes one of this class itself, and each patcher overrides this.
    fatalError("each patcher has its own")
  }

  /// Notes what the last read has read, for other observers of the same value.
  func note(_ facts: ReadFacts) {}

  /// Takes the value of another observer, if that has it in this state; nil if nobody has.
  func adopt(
    at state: StoreState, _ catalog: Catalog
  ) -> (value: Value, isSame: Bool, facts: ReadFacts)? { nil }

  /// Applies changes to the value that is kept.
  ///
  /// - Parameters:
  ///   - state: the state after the changes.
  ///   - changes: the changes of the records of `tree` between a state and this one, commit by
  ///     commit; nil if they are not known.
  func patch(
    to state: StoreState, _ tx: ReadTransaction, _ changes: (StoreState) -> [RecordChanges]?
  ) -> Outcome { .unknown }

  /// Applies changes to the value that is kept, if it depends on more than its own records.
  ///
  /// - Parameters:
  ///   - state: the state after the changes.
  ///   - tx: has this state, and no later one.
  ///   - changes: the changes of the records of `related` between a state and this one, each id
  ///     once; nil if they are not known.
  func patch(
    to state: StoreState, at tx: ReadTransaction, _ changes: (StoreState) -> ChangesByTree?
  ) -> Outcome { .unknown }

  /// What the changes of a commit do to the value, as far as the bytes of the records tell, without a wait
  /// and without code of the program.
  ///
  /// - Parameter changes: those of the records of `tree`.
  func concern(of changes: RecordChanges, _ tx: ReadTransaction) throws -> RowConcern { .shown }

  /// Compares what is kept with a new read, which must be of the same state: for tests.
  func check(_ tx: ReadTransaction) throws {}
}
