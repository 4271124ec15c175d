/// A value that was read from a store, with the version of the store that it belongs to.
public struct Observed<Value: Sendable>: Sendable {
  /// What was read, all of it from one snapshot.
  public let value: Value
  /// The version of the store that was read. Several values of one commit have the same
  /// (``ObservationDelivery/each``).
  public let version: StoreVersion
  /// The writes that it has beyond the value before it.
  var authorship = Authorship()
}

extension Observed {
  /// The authors of the writes that the value has beyond the one before it
  /// (`store.write(author:)`). It has nil if one of the writes has no
  /// author, or nobody can tell, as of other processes. So `authors == ["ui"]` is true only if nobody
  /// else wrote. Empty for the first value.
  ///
  /// For writes that share a commit, it has the authors of the whole commit, but for observers that
  /// ignore an author or want each write.
  public var authors: Set<String?> {
    var authors = Set<String?>(authorship.names)
    if authorship.hasOthers { authors.insert(nil) }
    return authors
  }

  /// The number of writes that the value has beyond the one before it: 1 unless writes were merged, and
  /// 0 for the first value. What several commits of other processes have changed, or nobody can tell,
  /// counts as one.
  public var writeCount: Int { authorship.count }
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

// Who wrote, and in how many writes, depends on the observer and not on the state.

extension Observed: Equatable where Value: Equatable {
  /// Whether both have the same value and version.
  public static func == (a: Self, b: Self) -> Bool { a.version == b.version && a.value == b.value }
}

extension Observed: Hashable where Value: Hashable {
  /// Hashes the value and the version.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(version)
    hasher.combine(value)
  }
}

/// A sequence of the newest values of a request or a read, which never ends by itself. See
/// ``Store/observe(_:every:ignoring:delivery:)``.
///
/// Each iterator observes by itself. It keeps the store open until it ends.
public struct StoreObservation<Value: Sendable>: AsyncSequence, Sendable {
  /// A value with its version.
  public typealias Element = Observed<Value>

  /// The error of a request that names no store comes with its first value.
  let store: Result<Store, any Error>
  let read: ObservedRead<Value>
  let interval: Duration
  let rules: ObservationRules

  /// Waits for new values.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let observer: Result<Observer<Value>, any Error>

    /// The first value at once, and later a newer value as soon as there is one.
    ///
    /// Values that were outdated before this call are not returned.
    ///
    /// - Returns: nil after the store was closed, the task was cancelled, or an error was thrown.
    /// - Throws: the errors of the read; `.closed` if the store was closed before the iteration began.
    /// - Complexity: that of the read, for each new value; O(changed records) for changes that do not
    ///   concern the request.
    public func next() async throws -> Observed<Value>? { try await observer.get().next() }
  }

  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(observer: store.map { Observer($0, read, ObservationPace(interval), rules) })
  }
}
