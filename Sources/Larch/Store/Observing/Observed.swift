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

// An observed value of rows is itself a collection of them: `for person in people`, `people.count`.

extension Observed: Sequence where Value: RandomAccessCollection {
  /// A row.
  public typealias Element = Value.Element

  /// An iterator over the rows.
  public func makeIterator() -> Value.Iterator { value.makeIterator() }
}

extension Observed: Collection where Value: RandomAccessCollection {
  /// The place of a row.
  public typealias Index = Value.Index

  /// The place of the first row.
  public var startIndex: Value.Index { value.startIndex }
  /// The place after the last row.
  public var endIndex: Value.Index { value.endIndex }
  /// The row at a place.
  public subscript(place: Value.Index) -> Value.Element { value[place] }
  /// The place after another one.
  public func index(after place: Value.Index) -> Value.Index { value.index(after: place) }
}

extension Observed: BidirectionalCollection where Value: RandomAccessCollection {
  /// The place before another one.
  public func index(before place: Value.Index) -> Value.Index { value.index(before: place) }
}

extension Observed: RandomAccessCollection where Value: RandomAccessCollection {
  /// The place at a distance from another one.
  public func index(_ place: Value.Index, offsetBy distance: Int) -> Value.Index {
    value.index(place, offsetBy: distance)
  }

  /// The number of rows between two places.
  public func distance(from start: Value.Index, to end: Value.Index) -> Int {
    value.distance(from: start, to: end)
  }
}

extension Observed: Equatable where Value: Equatable {}
extension Observed: Hashable where Value: Hashable {}

/// A sequence of the newest values of a request or a read, which never ends by itself. See
/// ``Store/observe(_:every:)``.
///
/// Each iterator observes by itself. It keeps the store open until it ends.
public struct StoreObservation<Value: Sendable>: AsyncSequence, Sendable {
  /// A value with its version.
  public typealias Element = Observed<Value>

  /// The error of a request that names no store comes with its first value.
  let store: Result<Store, any Error>
  let read: ObservedRead<Value>
  let interval: Duration

  /// Waits for new values.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let observer: Result<Observer<Value>, any Error>

    /// The first value at once, and later a newer value as soon as there is one.
    ///
    /// Values that were outdated before this call are not returned.
    ///
    /// - Returns: nil after the store was closed, the task was cancelled, or an error was thrown.
    /// - Throws: the errors of the read; `.closed` if the store was closed before the first value.
    /// - Complexity: that of the read, for each new value; O(changed records) for changes that do not
    ///   concern the request.
    public func next() async throws -> Observed<Value>? { try await observer.get().next() }
  }

  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(observer: store.map { Observer($0, read, ObservationPace(interval)) })
  }
}
