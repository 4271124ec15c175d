extension LogMessage.Event {
  // The life of a store
  /// A store was opened.
  public static let opened = Self(rawValue: "opened")
  /// A store was closed.
  public static let closed = Self(rawValue: "closed")
  /// A collection was added to the file, or its stored schema was changed.
  public static let schemaChanged = Self(rawValue: "schema_changed")
  /// An index was built.
  public static let indexBuilt = Self(rawValue: "index_built")
  /// An index is incomplete, because records cannot be decoded.
  public static let indexUnfinished = Self(rawValue: "index_unfinished")
  /// A file that did not fit the declared types was moved aside (``Store/Options/onMismatch``), or a commit log of
  /// another store that lay beside a store.
  public static let movedAside = Self(rawValue: "moved_aside")
  /// A migration has run.
  public static let migrated = Self(rawValue: "migrated")

  // Verbs
  /// A verb of the program has ended (``LogMessage/Level/trace``).
  public static let verb = Self(rawValue: "verb")
  /// A write has ended: it was committed or undone (``LogMessage/Level/trace``).
  public static let write = Self(rawValue: "write")

  // Writers
  /// A write took longer than ``Store/Options/slowWrite``, from its turn to the end of its commit.
  public static let slowWrite = Self(rawValue: "slow_write")
  /// A write waited longer than ``Store/Options/slowWrite`` for its turn.
  public static let writerWait = Self(rawValue: "writer_wait")
  /// A commit failed: nothing of it is in the file, unless the error says so.
  public static let commitFailed = Self(rawValue: "commit_failed")
  /// The commit log of an open store was removed, or replaced by another file: the store goes on without it.
  public static let logRemoved = Self(rawValue: "log_removed")
  /// The file was reopened after a disk failure.
  public static let recovered = Self(rawValue: "recovered")

  // Readers
  /// A read or a query took longer than ``Store/Options/slowRead``.
  public static let slowRead = Self(rawValue: "slow_read")
  /// A query uses a field whose stored name is not known, so an index that may have been intended
  /// is not used. Reported once for each field of a type.
  public static let fieldUnnamed = Self(rawValue: "field_unnamed")
  /// A snapshot is old, and keeps the space of data that was deleted since.
  public static let oldRead = Self(rawValue: "old_read")
  /// A read waited for a free slot.
  public static let readerWait = Self(rawValue: "reader_wait")
  /// A snapshot was ended, because it was too old or there were too many.
  public static let snapshotEnded = Self(rawValue: "snapshot_ended")
  /// Reader slots of processes that died were cleared.
  public static let staleReaders = Self(rawValue: "stale_readers")

  // Observers
  /// An observation ended with an error that it had no `onError` for.
  public static let observationFailed = Self(rawValue: "observation_failed")

  // Servers
  /// The mirror of a store cannot reach its server, or has stopped.
  public static let mirrorFailed = Self(rawValue: "mirror_failed")
  /// A shared store was begun: the server had no log under its name.
  public static let logBegun = Self(rawValue: "log_begun")
  /// The server does not have commits any more that it had confirmed, or none of a store at all.
  public static let serverLostCommits = Self(rawValue: "server_lost_commits")
  /// The whole store is sent to its log.
  public static let mirrorCopying = Self(rawValue: "mirror_copying")

  // Coding
  /// A record was coded differently by the `Codable` of its type, although the type had passed the
  /// proof of ``Store/Options/provesCoding``. From then on the program codes the type through its
  /// `Codable`. Reported once for each type.
  public static let codingRefuted = Self(rawValue: "coding_refuted")

  // Space
  /// The map has grown, so that the file can grow.
  public static let mapGrown = Self(rawValue: "map_grown")
  /// The file was rewritten without its free pages.
  public static let compacted = Self(rawValue: "compacted")
  /// The store should be excluded from backups (``Store/Options/isExcludedFromBackup``), but has no
  /// mark: the platform has none, or refused it.
  public static let notExcludedFromBackup = Self(rawValue: "not_excluded_from_backup")
  /// What waited to be shipped to a mirror was dropped; a copy of the whole store follows.
  public static let outboxDropped = Self(rawValue: "outbox_dropped")
  /// A backup of the store was made.
  public static let backedUp = Self(rawValue: "backed_up")

  // Logs on servers
  /// A copy of the store that a log is of was made.
  public static let copied = Self(rawValue: "copied")
  /// A copy could not go on from its place in the log, and is made again; the message says why, and where
  /// one that had another past is kept.
  public static let copiedAnew = Self(rawValue: "copied_anew")
  /// A copy cannot follow its log now; the next attempt comes by itself. Told once for each kind of error.
  public static let followingInterrupted = Self(rawValue: "following_interrupted")
  /// A copy follows its log again.
  public static let followingResumed = Self(rawValue: "following_resumed")
  /// The server of a shared store acknowledges commits that no other machine has, so they may be lost when
  /// another server takes its place. Told once by each program that opens the store.
  public static let failoverMayLose = Self(rawValue: "failover_may_lose")
  /// A copy was promoted: it writes the log from now on.
  public static let promoted = Self(rawValue: "promoted")

  // Other processes
  /// Another process made the file larger or replaced it, and this one follows.
  public static let followed = Self(rawValue: "followed")
  /// The system does not tell of changes of the file, so observers look for commits of other
  /// processes ten times a second.
  public static let observingPolls = Self(rawValue: "observing_polls")
}
