/// The features that Larch uses beyond Swift's promises. All of them are in this folder.
///
/// Each has a self-test, which runs once per process before the first use, and a slower
/// replacement. `LarchRuntimeTests` checks a new toolchain: it runs the self-tests, and lets each
/// of them fail to check that the replacement is used.
enum RuntimeFeature: String, CaseIterable, Sendable {
  /// The functions behind `Mirror`, and the counts in the descriptor of an enum.
  case reflection
  /// The description of a key path.
  case keyPathDescription
  /// The two words of a short string.
  case smallString
  /// Immortal objects, and keyed containers that C returns.
  case returnedContainer
  /// The function that returns the task of a thread.
  case currentTask
  /// The memory of dates, UUIDs, and optionals of plain values.
  case plainMemory
  /// The offsets of the elements of a tuple.
  case tupleMemory

  /// The features whose self-tests must fail. Empty except in tests, which set it before anything
  /// else, in a process for each.
  static let refused = Locked<Set<RuntimeFeature>>([])

  /// The result of a self-test.
  func passes(_ test: () -> Bool) -> Bool {
    !RuntimeFeature.refused.withLock { $0.contains(self) } && test()
  }

  /// Whether it is used in this process.
  var isTrusted: Bool {
    switch self {
    case .reflection: Reflection.isTrusted
    case .keyPathDescription: KeyPathDescription.isTrusted
    case .smallString: SmallString.isTrusted
    case .returnedContainer: ReturnedContainer.isTrusted
    case .currentTask: CurrentTask.isTrusted
    case .plainMemory: PlainMemory.isTrusted
    case .tupleMemory: TupleLayout.isTrusted
    }
  }
}
