/// A value that was read from a store, with the version of the store that it belongs to.
public struct Observed<Value: Sendable>: Sendable {
  /// What was read, all of it from one snapshot.
  public let value: Value
  /// The version of the store that was read.
  public let version: StoreVersion
}

extension Observed where Value: RandomAccessCollection {
  /// The rows of a request, in its order. The same as `value`.
  public var rows: Value { value }
}

extension Observed: Equatable where Value: Equatable {}
extension Observed: Hashable where Value: Hashable {}

/// A sequence of the newest values of a request or a read, which never ends by itself. See
/// ``Store/observe(_:)-(Q)``.
///
/// Each iterator observes by itself. It keeps the store open until it ends.
public struct StoreObservation<Value: Sendable>: AsyncSequence, Sendable {
  /// A value with its version.
  public typealias Element = Observed<Value>

  let store: Store
  let read: ObservedRead<Value>

  /// Waits for new values.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let observer: Observer<Value>

    /// The first value at once, and later a newer value as soon as there is one.
    ///
    /// Values that were outdated before this call are not returned.
    ///
    /// - Returns: nil after the store was closed, the task was cancelled, or an error was thrown.
    /// - Throws: the errors of the read; `.closed` if the store was closed before the first value.
    /// - Complexity: that of the read, for each new value; O(changed records) for changes that do not
    ///   concern the request.
    public func next() async throws -> Observed<Value>? { try await observer.next() }
  }

  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(observer: Observer(store, read))
  }
}
