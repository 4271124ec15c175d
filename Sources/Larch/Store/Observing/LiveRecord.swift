/// One record by its id, kept current on the main actor. See ``LiveResults``, which has the same
/// properties, and ``Store/observe(_:_:every:ignoring:delivery:)``.
///
/// ```swift
/// @State private var ada = LiveRecord(Person.self, id)
///
/// var body: some View { Text(ada.record?.name ?? "deleted") }
/// ```
@MainActor
public final class LiveRecord<R: Record>: LiveObject<R?> {
  /// Begins to follow a record.
  ///
  /// - Parameters:
  ///   - type: the type of the record.
  ///   - id: its id.
  ///   - store: the store; without one, that of the task, or else ``Store/default``. Without any,
  ///     `error` is `.noDefaultStore`.
  ///   - first: when the first value is read.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes change nothing here by themselves, as when the view has shown them.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  /// - Complexity: O(1). It begins when a property is first read.
  public init(
    _ type: R.Type, _ id: R.ID, in store: Store? = nil, first: FirstValue = .now,
    every interval: Duration = .zero, ignoring author: String? = nil,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      ObservedRecord<R>(id), in: store, first: first, every: interval, ignoring: author,
      at: CodePlace(file: file, line: line))
  }

  /// The newest state of the record; nil while there is none, and before the first value.
  public var record: R? { newest ?? nil }
}
