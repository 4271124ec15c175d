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
public final class LiveResults<Row: Sendable>: LiveObject<[Row]> {
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
    super.init(
      request.observedRead(), in: store, first: first, every: interval, ignoring: author,
      at: CodePlace(file: file, line: line))
  }

  /// The newest rows; empty before the first ones.
  public var rows: [Row] { newest ?? [] }

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
    follow(request.observedRead(), first: first, at: CodePlace(file: file, line: line))
  }
}

extension LiveResults {
  /// How the rows differ from those before the last change, by their ids: for a table view. Ask in
  /// ``LiveObject/apply``, after the change, and each change of the rows comes there once:
  ///
  /// ```swift
  /// people.apply = { change in
  ///   change()
  ///   for step in people.changes()?.steps ?? [] { table.show(step, of: people.rows) }
  /// }
  /// ```
  ///
  /// It is empty if the last change was only of another property, such as `error`. If another request
  /// is followed, its first rows are compared with the last ones of the one before.
  ///
  /// - Returns: nil if the rows have not changed since they were first read. Also nil if nobody has
  ///   asked while the last change was made, nor before: then show all rows.
  /// - Complexity: O(1), since rows are compared on the thread that has read them. The first call in
  ///   `apply`, and the one after another request is followed, compares them itself: O(n log n) for n
  ///   rows.
  public func changes() -> RowChanges? where Row: Record & Equatable {
    changes { RowChanges(from: $0 ?? [], to: $1 ?? []) }
  }

  /// How the sections differ from those before the last change. See the other `changes()`.
  ///
  /// - Returns: nil if the sections have not changed since they were first read. Also nil if nobody
  ///   has asked while the last change was made, nor before: then show all sections.
  /// - Complexity: that of the other `changes()`.
  public func changes<R: Record & Equatable, Section>() -> SectionChanges?
  where Row == RecordSection<R, Section> {
    changes { SectionChanges(from: $0 ?? [], to: $1 ?? []) }
  }
}
