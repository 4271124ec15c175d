extension Store {
  /// An open read or snapshot, and its cost.
  public struct OpenRead: Sendable {
    /// The kind of an open read.
    public enum Kind: Sendable, Hashable {
      /// A ``Store/read(file:line:_:)``, or a call that makes its own read.
      case read
      /// A ``Snapshot``.
      case snapshot
      /// The state with which observers compare the commits of other processes
      /// (``Store/observe(_:every:ignoring:delivery:)``). It follows the newest state, and is ended where it would
      /// disturb.
      case observation
      /// A read or snapshot of another process; which of them is not known.
      case otherProcess
    }

    /// The kind of the read.
    public let kind: Kind
    /// Where the program began it; nil for an observation and for another process.
    public let place: CodePlace?
    /// The process that reads.
    public let process: Int32
    /// The thread that reads, as the system numbers it; 0 for an unused snapshot.
    public let thread: UInt64
    /// How long a snapshot has been open. The age of a read, or of another process, counts from its
    /// first check; commits check from time to time while it keeps space.
    public let age: Duration
    /// The last commit that it sees. With a log on a server, a read of another process, and a read that is no
    /// snapshot and some hundred commits old, may have only the number of a commit in this file, which
    /// equals no ``Store/version``.
    public let version: StoreVersion
    /// The bytes of the file that cannot be reused while it is open; nil if there was no free slot
    /// to find out. Reads that are open at the same time share most of these bytes.
    public let pinnedBytes: Int?

    init(_ info: OpenReadInfo) {
      kind =
        if info.place == nil {
          .otherProcess
        } else if info.isObserving {
          .observation
        } else {
          info.isHeld ? .snapshot : .read
        }
      place = info.isObserving ? nil : info.place
      process = info.process
      thread = info.thread
      age = info.age
      version = StoreVersion(info.snapshot, place: info.logPlace)
      pinnedBytes = info.pinnedBytes
    }
  }

  /// The open reads and snapshots of the file, in this process and others, the oldest state first.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(readers), and for each the commits since it began.
  public func openReads() throws -> [OpenRead] {
    _ = try currentCatalog()
    return try environment.openReads().map(OpenRead.init)
  }
}

extension Store.OpenRead: CustomStringConvertible {
  /// All details on one line.
  public var description: String {
    let name =
      switch kind {
      case .read: "read"
      case .snapshot: "snapshot"
      case .observation: "observation"
      case .otherProcess: "read of process \(process)"
      }
    let kept = pinnedBytes.map { ", keeps \($0) bytes" } ?? ""
    let at = place.map { " at \($0)" } ?? ""
    return "\(name)\(at), version \(version), open for \(age.logText)\(kept)"
  }
}
