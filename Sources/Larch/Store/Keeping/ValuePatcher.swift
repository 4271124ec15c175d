/// Keeps the value of an observer, and brings it up to date from changed records.
///
/// Unchecked, since an observer uses it only while it holds the mutex of its state.
class ValuePatcher<Value>: @unchecked Sendable {
  enum Outcome {
    /// None of the records concerns the value.
    case same
    case changed(Value)
    /// The value must be read again.
    case unknown

    var isUnknown: Bool { if case .unknown = self { true } else { false } }
  }

  /// The tree whose records the value consists of; nil before the first read, and for a value that
  /// depends on more than these records.
  var tree: UInt32? { nil }

  /// What a value depends on beside its own records; nil before the first read, and for a value that
  /// depends on its own records alone.
  var related: RelatedTrees? { nil }

  /// The value that is kept; nil if it must be read to have it.
  var current: Value? { nil }

  /// Reads the value, and keeps it.
  ///
  /// - Returns: the value, and whether it differs from the one that was kept.
  func read(_ tx: ReadTransaction) throws -> (value: Value, isSame: Bool) {
    fatalError("each patcher has its own")
  }

  /// Applies changes to the value that is kept.
  ///
  /// - Parameter changes: those of the records of `tree` since then, each id once.
  func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome { .unknown }

  /// Applies changes to the value that is kept, if it depends on more than its own records.
  ///
  /// - Parameters:
  ///   - changes: those of the records of `related` since then, each id once.
  ///   - tx: has the state after the changes, and no later one.
  func patch(_ changes: ChangesByTree, at tx: ReadTransaction) -> Outcome { .unknown }

  /// Compares what is kept with a new read, which must be of the same state: for tests.
  func check(_ tx: ReadTransaction) throws {}
}
