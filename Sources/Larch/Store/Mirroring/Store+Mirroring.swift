extension Store {
  /// Opens the store at `path`, or creates it, and ships its commits to a log on a server from then on.
  ///
  /// ```swift
  /// import LarchPostgres
  ///
  /// let store = try Store(at: "shop.larch", mirror: .postgres("postgres://db.local/larch"), for: Order.self)
  /// ```
  ///
  /// Writes do not wait for the server, and the store also opens while the server cannot be reached. See
  /// ``StoreMirror`` for what is promised. The first time, the whole store is sent, in the background.
  ///
  /// The file remembers that it has a mirror: whoever writes to it, also another program or an opening
  /// without `mirror`, adds to what waits to be shipped. ``endMirror()`` ends that.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - mirror: the log; the product `LarchPostgres` makes one.
  ///   - types: the record types of the store.
  ///   - migrations: the migrations to run once on each file, in this order.
  ///   - options: the options of the store.
  /// - Throws: the errors of ``init(at:for:migrations:options:)-(String,_,_,_)``; `.readOnly` for options
  ///   that are read-only, and for a copy that follows a log or is one of a shared store. No error of the server: see
  ///   ``StoreMirror/status`` and ``Options/log``.
  /// - Complexity: that of an opening without a mirror.
  public convenience init(
    at path: String, mirror: ServerLog, for types: any Record.Type..., migrations: [Migration] = [],
    options: Options = Options()
  ) throws {
    var options = options
    options.migrations += migrations
    try self.init(path: path, types: types, options: options, isTemporary: false)
    do { try startMirror(mirror) } catch {
      close()
      throw error
    }
  }

  /// The mirror of the store; nil if it was opened without one.
  ///
  /// - Complexity: O(1).
  public var mirror: StoreMirror? { companions.withLock { $0.mirror } }

  /// Ends the mirror: commits are not recorded any more, and what waits to be shipped is deleted. The log
  /// on the server stays as it is. It is also the cure for a file that is damaged in what it keeps for its mirror.
  ///
  /// - Throws: `.readOnly` for a copy that follows a log or is one of a shared store, `.unsuitableFile` for a store
  ///   without a mirror; `.closed`; the errors of a write.
  /// - Complexity: O(what waits).
  public func endMirror() throws {
    let mirror = companions.withLock { companions in
      defer { companions.mirror = nil }
      return companions.mirror
    }
    mirror?.end()
    do {
      guard let role = try environment.outboxHeader()?.role else {
        throw LarchError(.unsuitableFile, "The store has no mirror.") { $0.path = path }
      }
      try expectNoCopy(role)
    } catch let error as LarchError where error.code == .corrupted {
      // This is the cure for that.
    }
    try environment.endOutbox()
  }

  package func startMirror(_ log: ServerLog) throws {
    if let role = try environment.outboxHeader()?.role {
      try expectNoCopy(role)
    } else {
      try beginOutbox()
    }
    let shipper = MirrorShipper(environment, log) { [post] message in
      post?.add(message)
      post?.deliver()
    }
    companions.withLock { $0.mirror = StoreMirror(shipper) }
    shipper.start()
  }

  private func expectNoCopy(_ role: OutboxRole) throws {
    switch role {
    case .writer, .superseded: return
    case .follower:
      throw LarchError(
        .readOnly,
        "The file is a copy that follows a log; open it with `Store(following:copy:for:)`, or promote it there."
      ) { $0.path = path }
    case .shared:
      throw LarchError(
        .readOnly,
        "The file is a copy of a shared store; open it with `Store(sharing:copy:for:)`, or call `endSharing()` there first."
      ) { $0.path = path }
    }
  }

  private func beginOutbox() throws {
    // A place that no other store begins at.
    let first = LogEntry(after: .start, random: .random(in: 1 ... .max), changes: []).place
    try environment.beginOutbox(role: .writer, place: first, isOwnPlace: true)
  }
}

/// What works beside a store as long as it is open.
struct Companions: Sendable {
  var mirror: StoreMirror?
  /// What applies the log of another store.
  var follower: (any StoreCompanion)?
  /// The copy of a shared store.
  var sharedCopy: SharedCopy?

  var isEmpty: Bool { mirror == nil && follower == nil && sharedCopy == nil }

  /// Ends everything, before the file is closed. It waits for threads that take the write lock.
  func end() {
    mirror?.end()
    follower?.end()
    sharedCopy?.leave()
  }
}
