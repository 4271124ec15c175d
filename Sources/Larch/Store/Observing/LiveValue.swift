/// What a closure reads, kept current on the main actor: a count, a sum, or several things of one
/// state. See ``LiveResults``, which has the same properties, and
/// ``Store/observe(every:ignoring:delivery:_:)``.
///
/// ```swift
/// @State private var open = LiveValue { try $0.count(Todo.where { !$0.isDone }) }
///
/// var body: some View { Text("\(open.value ?? 0) to do") }
/// ```
@MainActor
public final class LiveValue<Value: Sendable>: LiveObject<Value> {
  /// Begins to follow what a closure reads.
  ///
  /// - Parameters:
  ///   - store: the store; without one, that of the task, or else ``Store/default``. Without any,
  ///     `error` is `.noDefaultStore`.
  ///   - first: when the first value is read.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes change nothing here by themselves, as when the view has shown them.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  ///   - read: reads the value. Its errors end it.
  /// - Complexity: O(1). It begins when a property is first read.
  public init(
    in store: Store? = nil, first: FirstValue = .now,
    every interval: Duration = .zero, ignoring author: String? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ read: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    super.init(
      ObservedClosure(read), in: store, first: first, every: interval, ignoring: author,
      at: CodePlace(file: file, line: line))
  }

  /// The newest value; nil before the first one.
  public var value: Value? { newest }
}
