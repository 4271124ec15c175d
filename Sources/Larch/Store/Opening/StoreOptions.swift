public import Foundation

extension Store {
  /// How a store is opened.
  ///
  /// The defaults are right for an application: durable, readable and writable, made when it is
  /// not there.
  public struct Options: Sendable {
    /// What a commit waits for.
    public enum Durability: Sendable {
      /// A commit returns when its data is on disk. Nothing that was acknowledged is lost, also
      /// when the power fails.
      case durable
      /// The file stays whole when the power fails, but the newest commit may be missing then.
      /// One flush a commit instead of two.
      case relaxed
      /// Nothing is flushed: for tests and stores that can be made again. A power failure may
      /// destroy the file; a killed process does not.
      case none
    }

    /// What a commit waits for; `.durable` unless set. A write can ask for another,
    /// ``Store/WriteDurability``.
    public var durability = Durability.durable
    /// Opens without ever writing; the file must exist. A user who may only read can do so while
    /// nobody has the file open for writing; nobody can then, until it is closed.
    public var isReadOnly = false
    /// Makes the file when it is not there; on unless set.
    public var createsFile = true
    /// Walks every page of the file before it is mapped, so that any bytes at all give an error
    /// or right data. For files from elsewhere. Costs one read of the whole file.
    public var isVerified = false
    /// How many reads may be open at once, over all processes. The process that makes the lock
    /// file decides.
    public var maximumReaders = 1024
    /// How many snapshots (``Store/snapshot(file:line:)``) the store may have open at once. Each
    /// takes one of the ``maximumReaders``, of which they get one half at most.
    public var maximumSnapshots = 64
    /// How old a snapshot may grow; nil for any age. An older one is ended by the next use or commit,
    /// so that a forgotten one does not keep the space of deleted records permanently.
    public var maximumSnapshotAge: Duration? = .seconds(600)
    /// How long a read or a snapshot may keep space before the ``log`` is told
    /// (``LogMessage/Event/oldRead``). One that keeps much is told sooner: more than 1 MiB and
    /// a tenth of the file.
    public var oldReadWarning: Duration = .seconds(10)
    /// The map size to begin with, in bytes; nil lets Larch reserve what the system allows. The
    /// map grows by itself in any case.
    public var initialMapSize: Int?
    /// Whether a file on a network file system is opened. LMDB cannot keep such a file safe.
    public var allowsNetworkFileSystem = false
    /// Runs every write closure twice, undoing the first run: shows side effects of a closure
    /// that must not be there, since a write may have to run again when the map grows.
    public var runsWritesTwice = false
    /// Runs every query a second time as a full scan, and throws `.wrongAnswer` with
    /// both plans where the answers differ: for tests. Each query then costs a scan.
    public var checksQueries = false
    /// Tells the time that ``WriteTransaction/now`` and ``Timestamped`` records get; the system's
    /// clock unless set. Tests set it.
    public var clock: @Sendable () -> Date = { Date() }
    /// What happens when the declarations differ from what is in the file; `.automatic` unless set.
    public var evolution = SchemaEvolution.automatic
    /// Called with what an operator may want to know, on the thread where it happens. Where it is
    /// nil nothing is made of a message, and no clock is read. Compare ``LogMessage/level`` to be
    /// told less; ``LogMessage/standardError(_:)`` is one that writes lines. What an asynchronous
    /// write has to tell comes on a thread of the log. It may use the store, which is in the middle
    /// of nothing then; messages that it gives rise to itself are left out.
    public var log: (@Sendable (LogMessage) -> Void)?
    /// How long a write may wait, or run and commit, before the ``log`` is told; nil tells of none.
    public var slowWrite: Duration? = .milliseconds(500)
    /// How long a read or a query may run before the ``log`` is told; nil tells of none.
    public var slowRead: Duration? = .milliseconds(100)
    /// Called while an index is built at opening, with the records done and the records in all.
    public var indexProgress: (@Sendable (IndexProgress) -> Void)?
    /// Called while a migration rewrites records at opening, with the records done and in all.
    public var migrationProgress: (@Sendable (MigrationProgress) -> Void)?
    /// Throws `.accessDenied` where the store could only be read by keeping others from writing.
    package var needsLockFile = false
    /// What is run once when a store is opened, in its order.
    package var migrations: [Migration] = []
    /// Called at each step of an exchange of files, so that tests can end the process there.
    package var replacing: (@Sendable (ReplacementStep) -> Void)?
    /// How many records one step of an index build covers.
    package var indexBatchSize = 20_000

    /// The defaults.
    public init() {}
  }

  /// What the commit of one write waits for. A write cannot leave out all flushes: the pages of one
  /// that was never flushed would be mixed with those of others, and with them the file be lost.
  public enum WriteDurability: Sendable {
    /// What the store was opened with, ``Options/durability-swift.property``.
    case storeDefault
    /// As ``Options/Durability-swift.enum/durable``.
    case durable
    /// As ``Options/Durability-swift.enum/relaxed``: the newest commit may be missing when the power
    /// fails, until the next durable one or `Store.sync()`.
    case relaxed
  }

  /// How far the building of an index came.
  public struct IndexProgress: Sendable {
    /// The collection whose records are read.
    public let collection: String
    /// The index that is built.
    public let index: String
    /// Records whose entries are in the index.
    public let done: Int
    /// Records in the collection.
    public let total: Int
  }
  /// How far a migration came in rewriting the records of a collection.
  public struct MigrationProgress: Sendable {
    /// The name of the migration.
    public let migration: String
    /// The collection whose records are rewritten.
    public let collection: String
    /// Records that are rewritten.
    public let done: Int
    /// Records that there were when it began.
    public let total: Int
  }
}
