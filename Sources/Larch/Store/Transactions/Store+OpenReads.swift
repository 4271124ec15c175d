extension Store {
  /// A read or snapshot that is open, and what it costs.
  public struct OpenRead: Sendable {
    /// What it is.
    public enum Kind: Sendable, Hashable {
      /// A ``Store/read(file:line:_:)``, or a call that reads by itself.
      case read
      /// A ``Snapshot``.
      case snapshot
      /// A read or snapshot of another process; which of them is not known.
      case otherProcess
    }

    /// What it is.
    public let kind: Kind
    /// Where the program began it; nil for another process.
    public let place: CodePlace?
    /// The process that reads.
    public let process: Int32
    /// The thread that reads, as the system numbers it; 0 for a snapshot that is not being used.
    public let thread: UInt64
    /// How long a snapshot has been open. A read, or another process, is as old as the first look
    /// at it, which commits take every now and then while it keeps space.
    public let age: Duration
    /// The last commit that it sees.
    public let version: StoreVersion
    /// The bytes of the file that cannot be used again as long as it is open; nil when no slot was
    /// free to find out. Reads that are open together keep most bytes together.
    public let pinnedBytes: Int?

    init(_ info: OpenReadInfo) {
      kind = info.place == nil ? .otherProcess : info.isHeld ? .snapshot : .read
      place = info.place
      process = info.process
      thread = info.thread
      age = info.age
      version = StoreVersion(info.snapshot)
      pinnedBytes = info.pinnedBytes
    }
  }

  /// The reads and snapshots of the file that are open, in this process and others, those that see
  /// the oldest state first.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(readers), and for each the commits since it began.
  public func openReads() throws -> [OpenRead] {
    _ = try currentCatalog()
    return try environment.openReads().map(OpenRead.init)
  }
}

extension Store.OpenRead: CustomStringConvertible {
  /// All that is known, on one line.
  public var description: String {
    let name =
      switch kind {
      case .read: "read"
      case .snapshot: "snapshot"
      case .otherProcess: "read of process \(process)"
      }
    let kept = pinnedBytes.map { ", keeps \($0) bytes" } ?? ""
    let at = place.map { " at \($0)" } ?? ""
    return "\(name)\(at), version \(version), open for \(age.logText)\(kept)"
  }
}
