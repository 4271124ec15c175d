public import Observation

/// The rows of a request, kept current: an object for SwiftUI, and for everything else that runs on the
/// main actor.
///
/// ```swift
/// @State private var people = LiveResults(Person.all.sorted(by: \.name))
///
/// var body: some View { List(people.rows) { Text($0.name) } }
/// ```
///
/// A view that reads a property is drawn again when that property changes. Rows are read and compared
/// on other threads. The main actor gets them finished, by one hop, and only if they differ.
///
/// It begins when a property is first read, so an object that no view uses costs nothing. It follows
/// changes as ``Store/observe(_:every:ignoring:delivery:)`` does, and makes the same promises. When
/// the store is closed, it keeps its last rows.
@MainActor
public final class LiveResults<Row: Sendable>: Observable {
  private let state: LiveState<[Row]>

  /// Begins to follow a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - store: the store; without one, that of the task, or else ``Store/default``. Without any,
  ///     `error` is `.noDefaultStore`.
  ///   - first: when the first value is read.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes change nothing here by themselves, as when the view has shown them.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  /// - Complexity: O(1). It begins when a property is first read.
  public init<Q: Request>(
    _ request: Q, in store: Store? = nil, first: FirstValue = .now,
    every interval: Duration = .zero, ignoring author: String? = nil,
    file: StaticString = #fileID, line: UInt = #line
  ) where Q.Row == Row {
    state = LiveState(
      request.observedRead(), in: store, first: first, every: interval, ignoring: author,
      at: CodePlace(file: file, line: line))
  }

  /// The newest rows; empty before the first ones.
  public var rows: [Row] { state.value ?? [] }

  /// The version of the store that it belongs to; nil before the first value.
  public var version: StoreVersion? { state.version }

  /// Whether the first value is still being read.
  public var isLoading: Bool { state.isLoading }

  /// The error that ended it. It is logged too, as ``LogMessage/Event/observationFailed``.
  public var error: (any Error)? { state.error }

  /// Makes each change, so that a view can animate it:
  /// `live.apply = { change in withAnimation { change() } }`. It must call its argument once, before
  /// it returns.
  public var apply: @MainActor (_ change: () -> Void) -> Void {
    get { state.apply }
    set { state.apply = newValue }
  }

  /// Waits until it has all that this process committed before this call, or until it has ended.
  ///
  /// - Complexity: that of the values that are due.
  public func settled() async { await state.settled() }

  /// Ends it: it keeps its last value. It also ends when nobody keeps it.
  ///
  /// - Complexity: O(1).
  public func cancel() { state.cancel() }

  /// Follows another request from now on, for example after a change of a search text. The rows of the
  /// old one stay until the first ones of the new one are there. The store, `every:` and `ignoring:`
  /// stay as they are.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - first: when the first value is read.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  /// - Complexity: that of ``Request/fetch(in:)`` with `first: .now`, otherwise O(1).
  public func follow<Q: Request>(
    _ request: Q, first: FirstValue = .now, file: StaticString = #fileID, line: UInt = #line
  ) where Q.Row == Row {
    state.follow(request.observedRead(), first: first, at: CodePlace(file: file, line: line))
  }
}
