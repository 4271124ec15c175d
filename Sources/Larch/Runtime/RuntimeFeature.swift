/// What Larch leans on beyond what Swift promises: all of it lies in this folder.
///
/// Each has a self-test, which runs once in a process before the first use, and a way without it that
/// is right and slower. A new toolchain is looked at by `LarchRuntimeTests`, which runs the self-tests,
/// and lets each of them fail to see that the slower way is taken.
enum RuntimeFeature: String, CaseIterable, Sendable {
  /// The functions behind `Mirror`, and the counts in the descriptor of an enum.
  case reflection
  /// How a key path describes itself.
  case keyPathDescription
  /// The two words of a short string.
  case smallString
  /// Immortal objects, and keyed containers that C returns.
  case returnedContainer
  /// The function that tells a thread's task.
  case currentTask
  /// The memory of dates, UUIDs, and optionals of plain values.
  case plainMemory

  /// Those whose self-tests are to fail. Empty but in tests, where it is set before anything else, in
  /// a process for each.
  static let refused = Locked<Set<RuntimeFeature>>([])

  /// What a self-test says.
  func passes(_ test: () -> Bool) -> Bool {
    !RuntimeFeature.refused.withLock { $0.contains(self) } && test()
  }

  /// Whether it is leant on in this process.
  var isTrusted: Bool {
    switch self {
    case .reflection: Reflection.isTrusted
    case .keyPathDescription: KeyPathDescription.isTrusted
    case .smallString: SmallString.isTrusted
    case .returnedContainer: ReturnedContainer.isTrusted
    case .currentTask: CurrentTask.isTrusted
    case .plainMemory: PlainMemory.isTrusted
    }
  }
}
