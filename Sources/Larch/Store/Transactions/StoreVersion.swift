/// The version of a store's state, which changes with each commit of any program.
///
/// Two versions of one store are equal exactly if nothing was committed between them, and the later
/// one is greater, even after a compaction. A store that was removed and created again, or restored
/// from a backup, starts counting again.
///
/// **With a log on a server** (a mirrored store, or one that follows such a log) a version is a place in
/// that log, and so it means the same in the store and in all its copies on other machines. A program
/// that has written can hand its version along, also as text, and whoever reads a copy asks for a state
/// that has the write: `Store.read(_:within:_:)`. Do not
/// compare versions of stores that have no log in common.
public struct StoreVersion: Sendable, Hashable, Comparable, LosslessStringConvertible {
  /// The number of the transaction that committed the state; 0 if the version was made from a text.
  package let transaction: UInt64
  /// The newest entry of the log that the state has; nil without a log.
  package let place: LogPlace?

  init(_ transaction: UInt64, place: LogPlace? = nil) {
    self.transaction = transaction
    self.place = place
  }

  /// The version of a place in the log.
  package init(_ place: LogPlace) { self.init(0, place: place) }

  /// The number of commits in the log that the state has; nil for a store without a log.
  public var position: UInt64? { place?.position }

  /// Whether both are the same state: by their places in the log, or else by the numbers of commits.
  public static func == (a: StoreVersion, b: StoreVersion) -> Bool {
    switch (a.place, b.place) {
    case (nil, nil): a.transaction == b.transaction
    // A change of the outbox also counts as a transaction, and changes nothing in the log.
    case (let a?, let b?): a == b
    default: false
    }
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    if let place { hasher.combine(place) } else { hasher.combine(transaction) }
  }

  /// Whether the first version is older.
  public static func < (a: StoreVersion, b: StoreVersion) -> Bool {
    if let a = a.place, let b = b.place {
      // Of two entries at one position, one was lost with its server: any order will do.
      return (a.position, a.token.random, a.token.checksum)
        < (b.position, b.token.random, b.token.checksum)
    }
    // One of them was read before the store had a log, or after.
    if a.transaction != b.transaction { return a.transaction < b.transaction }
    return a.place == nil && b.place != nil
  }

  /// The number of the last commit; with a log, its position and its token: `17.` and 32 digits.
  ///
  /// The text has nothing of the data, and fits into a cookie, a header and a URL.
  public var description: String {
    guard let place else { return "\(transaction)" }
    return "\(place.position).\(place.token)"
  }

  /// The version with this ``description``; nil if the text is none.
  ///
  /// - Complexity: O(1).
  public init?(_ description: String) {
    let parts = description.split(separator: ".", omittingEmptySubsequences: false)
    guard let first = parts.first, let number = Self.number(first, radix: 10) else { return nil }
    switch parts.count {
    case 1: self.init(number)
    case 2:
      guard parts[1].utf8.count == 32,
        let random = Self.number(parts[1].prefix(16), radix: 16),
        let checksum = Self.number(parts[1].suffix(16), radix: 16)
      else { return nil }
      self.init(
        0,
        place: LogPlace(position: number, token: LogToken(random: random, checksum: checksum)))
    default: return nil
    }
  }

  /// A number without a sign, which Swift accepts.
  private static func number(_ text: Substring, radix: Int) -> UInt64? {
    guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else {
      return nil
    }
    return UInt64(text, radix: radix)
  }
}

extension StoreVersion: Codable {
  /// Reads a ``description``.
  ///
  /// - Throws: `DecodingError` if the value is not the text of a version.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let version = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The text is not the version of a store.")
    }
    self = version
  }

  /// Writes the ``description``.
  ///
  /// - Throws: the errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
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
      // Not the number in the header of the file: a commit appears there before it is on the disk
      // and can be read, and it may still fail.
      let (reader, _) = try beginRead(at: CodePlace(file: #fileID, line: #line))
      defer { environment.endRead(reader) }
      return try environment.version(in: reader.transaction)
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
      let transaction = try live()
      let version = try context.environment.version(in: transaction)
      // LMDB counts a write by the number that it will have once it is committed.
      guard self is WriteTransaction else { return version }
      return StoreVersion(version.transaction &- 1, place: version.place)
    }
  }
}

extension LMDBEnvironment {
  /// The version of the state of a transaction.
  func version(in transaction: LMDBTransaction) throws -> StoreVersion {
    StoreVersion(transaction.id, place: try logPlace(in: transaction))
  }
}

extension Store {
  /// The place of the newest commit that a state has in its log; nil if the store has none.
  package func logPlace(in transaction: LMDBTransaction) throws -> LogPlace? {
    try environment.logPlace(in: transaction)
  }
}

extension ReadTransaction {
  /// The version of the state after a commit that this state has.
  func version(ofCommit commit: UInt64) throws -> StoreVersion {
    let here = try version
    return here.transaction == commit
      ? here : StoreVersion(commit, place: context.environment.recentPlaces.place(after: commit))
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
        // The wait comes before the read, so that the version is the newest one.
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
          // The next attempt may succeed: the disk may work again, or a read may end.
        }
      }
      return nil
    }
  }

  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
