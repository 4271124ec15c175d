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

    /// What a commit waits for; `.durable` unless set.
    public var durability = Durability.durable
    /// Opens without ever writing; the file must exist.
    public var isReadOnly = false
    /// Makes the file when it is not there; on unless set.
    public var createsFile = true
    /// Walks every page of the file before it is mapped, so that any bytes at all give an error
    /// or right data. For files from elsewhere. Costs one read of the whole file.
    public var isVerified = false
    /// How many reads may be open at once, over all processes. The process that makes the lock
    /// file decides.
    public var maximumReaders = 1024
    /// The map size to begin with, in bytes; nil lets Larch reserve what the system allows. The
    /// map grows by itself in any case.
    public var initialMapSize: Int?
    /// Whether a file on a network file system is opened. LMDB cannot keep such a file safe.
    public var allowsNetworkFileSystem = false
    /// Runs every write closure twice, undoing the first run: shows side effects of a closure
    /// that must not be there, since a write may have to run again when the map grows.
    public var runsWritesTwice = false
    /// Runs every query a second time as a look at every record, and throws `.wrongAnswer` with
    /// both plans where the answers differ: for tests. Each query then costs a scan.
    public var checksQueries = false
    /// Called while an index is built at opening, with the records done and the records in all.
    public var indexProgress: (@Sendable (IndexProgress) -> Void)?
    /// How many records one step of an index build covers.
    package var indexBatchSize = 20_000

    /// The defaults.
    public init() {}
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
}
