public import Foundation

extension Store {
  /// How a store is opened.
  ///
  /// The defaults are right for an application: durable, readable and writable, created if it does
  /// not exist.
  public struct Options: Sendable {
    /// What a commit waits for.
    public enum Durability: Sendable {
      /// A commit returns when its data is on disk. No acknowledged commit is lost, even in a power
      /// failure.
      case durable
      /// The same promise for a store that only one process writes: a small commit is one flush of a
      /// log beside the file, `…-log`, so it takes a third to a half of the time. The log is put into
      /// the file from time to time, and removed when the store is closed. Other processes may only
      /// read. See docs/concurrency.md for what it costs.
      case logged
      /// A power failure does not damage the file, but the newest commit may be lost. One flush per
      /// commit instead of two.
      case relaxed
      /// Nothing is flushed: for tests, and for stores that can be created again. A power failure
      /// may destroy the file; a killed process does not.
      case none
    }

    /// What a commit waits for; `.durable` by default. A write can use another durability,
    /// ``Store/WriteDurability``.
    public var durability = Durability.durable
    /// Opens the file for reading only; it must exist. A user without write permission can open
    /// it only while nobody has it open for writing; then nobody can open it for writing until it
    /// is closed. Where a process that logged its commits was killed, the opening first brings them
    /// into the file, which needs that permission.
    public var isReadOnly = false
    /// Creates the file if it does not exist; true by default.
    public var createsFile = true
    /// Checks every page of the file before it is mapped, so that arbitrary bytes give either an
    /// error or correct data. For files from elsewhere. It costs one read of the whole file.
    public var isVerified = false
    /// The maximum number of open reads in all processes. The process that creates the lock file
    /// decides.
    public var maximumReaders = 1024
    /// The maximum number of open snapshots of the store (``Store/snapshot(file:line:)``). Each
    /// uses one of the ``maximumReaders``, and all use at most half of them.
    public var maximumSnapshots = 64
    /// The maximum age of a snapshot; nil for any age. The next use or commit ends an older one, so
    /// that a forgotten snapshot does not keep the space of deleted records permanently.
    public var maximumSnapshotAge: Duration? = .seconds(600)
    /// Whether observers (``Store/observe(_:every:ignoring:delivery:)``) also see what other processes commit; true by
    /// default. It takes a thread and a watch of the file while somebody observes.
    ///
    /// Without it, rows and aggregates are read again after each change, and waiting writes come together with
    /// `.each` too: only a watched file tells that no commit of another process came in between.
    public var observesOtherProcesses = true
    /// How long a read or a snapshot may keep space before the ``log`` reports it
    /// (``LogMessage/Event/oldRead``). One that keeps more than 1 MiB and a tenth of the file is
    /// reported sooner.
    public var oldReadWarning: Duration = .seconds(10)
    /// The initial map size in bytes; nil reserves as much as the system allows. The map always
    /// grows by itself.
    public var initialMapSize: Int?
    /// Excludes the file and its companions from the backups of the system, where the system has such
    /// a mark for a file: on Apple platforms. The mark stays when the file is compacted, restored or
    /// replaced. False does not remove a mark.
    ///
    /// On Linux nothing marks one file for all programs, so nothing is done, and the ``log`` says so
    /// (``LogMessage/Event/notExcludedFromBackup``); exclude the file where you set up the backup.
    /// ``Store/isExcludedFromBackup`` says what is the case. A read-only store sets no mark.
    public var isExcludedFromBackup = false
    /// Whether to open a file on a network file system. LMDB cannot protect such a file.
    public var allowsNetworkFileSystem = false
    /// Runs every write closure twice and undoes the first run. This reveals side effects that a
    /// closure must not have, since a write may have to run again when the map grows.
    public var runsWritesTwice = false
    /// Also runs every query as a full scan, and throws `.wrongAnswer` with both plans if the
    /// answers differ: for tests. Each query then costs a full scan.
    public var checksQueries = false
    /// Also codes the records of a type memberwise that is not ``MemberwiseCoded``, if its `Codable`
    /// passes a proof: its `init(from:)` and `encode(to:)` run on about a hundred invented values,
    /// extremes included, and must do what the compiler's do. Each type is examined at its first use
    /// in the process; that costs less than a millisecond for most, and some milliseconds for one
    /// with lists or dictionaries. The first 64 records and a random one in 64 later
    /// are coded both ways; at the first difference the type is coded through its `Codable` from
    /// then on, and the ``log`` reports it (``LogMessage/Event/codingRefuted``).
    ///
    /// False by default, because no proof can be complete. A hand-written coding that acts on a
    /// single value (`if plan == "pro_v1"`) is bypassed until a sampled record has that value. So is
    /// one that acts only on more than 5,000 characters, bytes, or texts or numbers in a list, or on
    /// more than 100 elements of other lists and of dictionaries. One that only counts its calls is
    /// always bypassed; one that traps on an extreme value stops the program. Declare such types
    /// ``CustomCoded``, or leave this off.
    public var provesCoding = false
    /// Returns the time for ``WriteTransaction/now`` and ``Timestamped`` records; the system clock
    /// by default. Tests can set it.
    public var clock: @Sendable () -> Date = { Date() }
    /// What to do if the declarations differ from the file; `.automatic` by default.
    public var evolution = SchemaEvolution.automatic
    /// What to do with a file whose stored schema contradicts the declarations, so that the opening
    /// would throw `.schemaMismatch`, or `.uniqueConflict` for a new `Unique` that stored records
    /// break; `.refuse` by default.
    ///
    /// ``MismatchPolicy/moveAside`` gives the file another name beside its own, which has the time in
    /// it, and opens a new store. ``Store/movedAside`` and the ``log`` say where it is. Nothing else
    /// is ever moved: not a damaged file, not one of a newer Larch, not one that a process has open
    /// (`.busy`), not one whose migration failed. With ``isReadOnly``, without ``createsFile``, and
    /// with the ``evolution`` `.check`, every mismatch is refused.
    public var onMismatch = MismatchPolicy.refuse
    /// Receives events that an operator may want to know, on the thread where they happen. If it is
    /// nil, no message is created and no clock is read. ``logLevel`` says which messages it gets;
    /// ``LogMessage/standardError(_:)`` is one that writes lines. Messages of
    /// asynchronous writes come on a thread of the log. The function may use the store, which holds
    /// no locks at that time; messages that it causes itself are dropped.
    public var log: (@Sendable (LogMessage) -> Void)?
    /// The least important messages that the ``log`` gets; `.debug` by default. With `.trace` it also
    /// gets one for each verb, such as `fetch` or `save`, when its read or write has ended. A write or
    /// a read names its first 1,000 verbs one by one, and the sums of those after them. That costs
    /// some microseconds for each verb: it is for finding a problem.
    public var logLevel = LogMessage.Level.debug
    /// Whether plans in messages have the values of their queries, and messages about verbs the ids of
    /// records that the program chose; false by default. Values may be personal data.
    public var logsValues = false
    /// How long a write may wait, or run and commit, before the ``log`` reports it; nil for never.
    public var slowWrite: Duration? = .milliseconds(500)
    /// How long a read or a query may run before the ``log`` reports it; nil for never.
    public var slowRead: Duration? = .milliseconds(100)
    /// How long a write of a shared store waits for the server, if it cannot be reached or does not
    /// answer; 30 seconds by default. After that it throws `.unavailable` or `.commitUnknown`.
    public var commitTimeout: Duration = .seconds(30)
    /// Called while an index is built at opening, with the number of finished records and of all.
    public var indexProgress: (@Sendable (IndexProgress) -> Void)?
    /// Called while a migration rewrites records at opening, with the number of finished records
    /// and of all.
    public var migrationProgress: (@Sendable (MigrationProgress) -> Void)?
    /// Called while the copy of another store is made (`Store(following:copy:for:options:)`), on the
    /// thread that makes it.
    public var copyProgress: (@Sendable (CopyProgress) -> Void)?
    /// Throws `.accessDenied` if the store could be read only by preventing others from writing.
    package var needsLockFile = false
    /// The migrations to run at opening, in order.
    package var migrations: [Migration] = []
    /// Called at each step of a replacement of the file, so that tests can end the process there.
    package var replacing: (@Sendable (ReplacementStep) -> Void)?
    /// Called at each step of moving a file aside, so that tests can stop it there.
    package var aside: (@Sendable (AsideStep) throws -> Void)?
    /// Whether the system is asked to tell of changes of the file, so that tests can refuse it.
    package var watchesFile = true
    /// The number of records in one step of an index build; nil for a good one.
    package var indexBatchSize: Int?
    /// How many changes wait in an index of words before they are merged into its blocks.
    package var searchLimits = SearchLimits()
    /// The sizes of the commit log.
    package var logLimits = CommitLogLimits()

    /// The default options.
    public init() {}
  }

  /// What the commit of one write waits for. A write cannot omit all flushes: its unflushed pages
  /// would mix with those of others and could destroy the file.
  public enum WriteDurability: Sendable {
    /// The option of the store, ``Options/durability-swift.property``.
    case storeDefault
    /// The same as ``Options/Durability-swift.enum/durable``.
    case durable
    /// The same as ``Options/Durability-swift.enum/relaxed``: a power failure may lose the newest
    /// commit, until the next durable one or `Store.sync()`.
    case relaxed
  }

  /// The progress of an index build.
  public struct IndexProgress: Sendable {
    /// The collection whose records are read.
    public let collection: String
    /// The index that is being built.
    public let index: String
    /// The number of records with entries in the index.
    public let done: Int
    /// The number of records in the collection.
    public let total: Int
  }

  /// The progress of a copy that is made from a server.
  public struct CopyProgress: Sendable, Hashable {
    /// The keys that were copied: records, index entries, links and the catalog.
    public internal(set) var keys = 0
    /// Their bytes, with those of their values.
    public internal(set) var bytes = 0
  }

  /// The progress of a migration that rewrites the records of a collection.
  public struct MigrationProgress: Sendable {
    /// The name of the migration.
    public let migration: String
    /// The collection whose records are rewritten.
    public let collection: String
    /// The number of rewritten records.
    public let done: Int
    /// The number of records at the beginning.
    public let total: Int
  }
}
