/// The version of a store's state, which changes with each commit of any program.
///
/// Two versions of one store are equal exactly if nothing was committed between them, and the later
/// one is greater, even after a compaction. A store that was removed and created again, or restored
/// from a backup, starts counting again.
public struct StoreVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number of the transaction that committed the state.
  package let transaction: UInt64

  init(_ transaction: UInt64) { self.transaction = transaction }

  /// Whether the first version is older.
  public static func < (a: StoreVersion, b: StoreVersion) -> Bool {
    a.transaction < b.transaction
  }

  /// The number of the last commit.
  public var description: String { "\(transaction)" }
}

extension Store {
  /// The current version of the store: it shows at once whether any process has committed since an
  /// earlier version.
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
  /// Take the version to compare with from the snapshot that you read, as here. It makes no system
  /// call and only reads a number in shared memory; if that has changed, it also reads the catalog.
  ///
  /// - Throws: `.closed`; `.schemaChanged` if another program changed the schema; `.readersFull`,
  ///   `.ioFailure` like each read.
  /// - Complexity: O(1), like an empty `read(_:)`.
  public var version: StoreVersion {
    get throws {
      // Not the number in the header of the file: there a commit shows up before it is on the disk
      // and can be read, and it may fail yet.
      let (reader, _) = try beginRead(at: CodePlace(file: #fileID, line: #line))
      defer { environment.endRead(reader) }
      return StoreVersion(reader.transaction.id)
    }
  }

  /// A sequence of the store's new versions after commits of any program, at most one per interval.
  ///
  /// ```swift
  /// for await _ in store.versions(every: .milliseconds(200)) {
  ///   try await show(store.fetch(Person.all))
  /// }
  /// ```
  ///
  /// The first version comes at once. The sequence reads ``version`` in each interval, and ends
  /// when the task is cancelled or the store is closed.
  ///
  /// - Complexity: that of ``version`` in each interval.
  public func versions(every interval: Duration = .milliseconds(100)) -> StoreVersions {
    StoreVersions(store: self, interval: interval)
  }
}

extension ReadTransaction {
  /// The version of the store that is read; in a write, the version before its changes.
  ///
  /// The changes of a write have a later version. The write may share its commit with others, so no
  /// version contains its changes alone.
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

/// A sequence of versions of a store: see ``Store/versions(every:)``.
public struct StoreVersions: AsyncSequence, Sendable {
  let store: Store
  let interval: Duration

  /// Iterates over the versions.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let store: Store
    private let interval: Duration
    private var last: StoreVersion?
    private var hasLooked = false

    fileprivate init(_ sequence: StoreVersions) {
      store = sequence.store
      interval = sequence.interval
    }

    /// The next version; nil if the task was cancelled or the store was closed.
    ///
    /// - Complexity: that of ``Store/version``, for each interval.
    public mutating func next() async -> StoreVersion? {
      while !Task.isCancelled {
        // Before reading: the version is then the newest one, and comes at most once per interval.
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
