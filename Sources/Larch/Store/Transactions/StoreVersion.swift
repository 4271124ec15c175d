/// Which state a store is in: another one after each commit, whoever made it.
///
/// Two versions of one store are equal exactly when nothing was committed between them, and the
/// later one is the greater one, also when the file was compacted meanwhile. A store that was
/// removed and created again, or restored from a backup, begins its count again.
public struct StoreVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number of the transaction that made the state.
  package let transaction: UInt64

  init(_ transaction: UInt64) { self.transaction = transaction }

  /// Which one is older.
  public static func < (a: StoreVersion, b: StoreVersion) -> Bool {
    a.transaction < b.transaction
  }

  /// The number of the last commit.
  public var description: String { "\(transaction)" }
}

extension Store {
  /// The state that the store is in now: tells at once whether anybody, in whatever process, has
  /// committed since a version that was kept.
  ///
  /// ```swift
  /// if try store.version != shown {
  ///   shown = try store.read { tx in
  ///     people = try tx.fetch(Person.all)
  ///     return try tx.version
  ///   }
  /// }
  /// ```
  ///
  /// Take the version to keep from the snapshot that was read, as here. No system call is made, and
  /// nothing is read but a number in memory that all processes share; when it has changed, one look
  /// at the catalog comes to it.
  ///
  /// - Throws: `.closed`; `.schemaChanged` when another program changed what is declared;
  ///   `.readersFull`, `.ioFailure` as each read.
  /// - Complexity: O(1), as an empty `read(_:)`.
  public var version: StoreVersion {
    get throws {
      // Not the number in the header of the file: there a commit shows up before it is on the disk
      // and can be read, and it may fail yet.
      let (reader, _) = try beginRead(at: CodePlace(file: #fileID, line: #line))
      defer { environment.endRead(reader) }
      return StoreVersion(reader.transaction.id)
    }
  }

  /// Tells of each new version of the store, whoever made it: as soon as somebody has committed since
  /// the last one that it gave, and no more often than asked for.
  ///
  /// ```swift
  /// for await _ in store.versions(every: .milliseconds(200)) {
  ///   try await show(store.fetch(Person.all))
  /// }
  /// ```
  ///
  /// The first one comes at once. It looks at ``version`` again and again, as often as `interval`
  /// says, and ends when the task is cancelled or the store is closed.
  ///
  /// - Complexity: that of ``version`` in each interval.
  public func versions(every interval: Duration = .milliseconds(100)) -> StoreVersions {
    StoreVersions(store: self, interval: interval)
  }
}

extension ReadTransaction {
  /// The version of the store that is read; in a write, the one that is being changed.
  ///
  /// What a write commits has a later version: it may share its commit with others, so that there is
  /// none of which it could say that it holds its own changes only.
  ///
  /// - Throws: `.transactionEnded`.
  /// - Complexity: O(1).
  public final var version: StoreVersion {
    get throws {
      let id = try live().id
      // LMDB counts a write by the number that it will have once it is committed.
      return StoreVersion(self is WriteTransaction ? id &- 1 : id)
    }
  }
}

/// The versions that a store comes to: see ``Store/versions(every:)``.
public struct StoreVersions: AsyncSequence, Sendable {
  let store: Store
  let interval: Duration

  /// Looks for versions, one after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let store: Store
    private let interval: Duration
    private var last: StoreVersion?
    private var hasLooked = false

    fileprivate init(_ sequence: StoreVersions) {
      store = sequence.store
      interval = sequence.interval
    }

    /// The next version; nil when the task was cancelled or the store was closed.
    ///
    /// - Complexity: as ``Store/version``, for each interval that passes.
    public mutating func next() async -> StoreVersion? {
      while !Task.isCancelled {
        // Before the look: what is told is the newest, and not told twice within an interval.
        if hasLooked { do { try await Task.sleep(for: interval) } catch { return nil } }
        hasLooked = true
        do {
          let version = try store.version
          if version == last { continue }
          last = version
          return version
        } catch let error as LarchError where error.code == .closed {
          return nil
        } catch {
          // The next look may succeed: a disk may work again, a read may end.
        }
      }
      return nil
    }
  }

  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
