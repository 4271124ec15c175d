#if LARCH_MIRROR_EVERYTHING
  internal import CLMDB

  internal import Foundation

  /// Compares, when a store is closed, what its outbox makes of the state at its opening with the store
  /// itself.
  ///
  /// Only in a build in which every store has an outbox, in which the suite then runs: see
  /// docs/testing.md. A change that is not recorded stops the program.
  struct MirrorComparison {
    let path: String
    /// The copy of the store at its opening, a follower.
    let copy: String
    let folder: String
    let place: LogPlace

    /// Begins the outbox of a store, or begins it again, and copies the store.
    static func begin(_ environment: LMDBEnvironment) {
      if environment.options.isReadOnly || TemporaryFile.isTemporary(environment.path) { return }
      do {
        try environment.withWriteLock {
          guard environment.mirrorProof.withLock({ $0 == nil }) else { return }
          // The store of a test of the outbox, or of another process.
          if try environment.outboxHeader() != nil { return }
          try environment.makeOutbox(role: .writer, identity: nil, place: .start)
          let folder = FileManager.default.temporaryDirectory.appending(path: "mirror-\(UUID())")
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
          let copy = folder.appending(path: "copy.larch").path
          let file = try StateFile(at: copy)
          let place = try environment.writeQueue.lending {
            try environment.withPairs { header, pairs in
              guard let header else { throw LMDBError(EINVAL, "outbox") }
              try pairs(file)
              try file.finish(
                OutboxHeader(role: .follower, identity: header.identity, place: header.place))
              return header.place
            }
          }
          environment.mirrorProof.withLock {
            $0 = MirrorComparison(
              path: environment.path, copy: copy, folder: folder.path, place: place)
          }
        }
      } catch let error as LarchError where allowed.contains(error.code) {
        // A test makes it impossible to write, or uses the file itself.
      } catch {
        // This build is for the suite alone, which must end here.
        fatalError("\(environment.path): the store cannot be mirrored: \(error)")
      }
    }

    private static let allowed: Set<LarchError.Code> = [
      .nestedWrite, .diskFull, .ioFailure, .mapFull, .accessDenied, .readOnly, .storage, .busy,
      .closed, .corrupted,
    ]

    func run(_ live: OpaquePointer) {
      do {
        let (header, entries) = try waiting(live)
        // Another process, or a restoration, has begun it again.
        guard let header, header.shipped == place else { return try tell("skipped") }
        var options = LMDBEnvironment.Options()
        options.durability = .none
        options.maxDatabases = 16_384
        let follower = try LMDBEnvironment.open(path: copy, options: options)
        defer { follower.close() }
        // An earlier comparison has applied the first ones.
        guard let reached = try follower.outboxHeader()?.place else { return }
        try follower.apply(entries.filter { $0.place.position > reached.position })
        let (left, right) = try (
          Self.contents(live), follower.withHandle { try Self.contents($0) }
        )
        if left != right {
          let names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
          fatalError("\(path): the entries of the outbox differ in \(names.sorted())")
        }
        try tell("equal after \(entries.count) entries")
      } catch {
        fatalError("\(path): the outbox cannot be applied: \(error)")
      }
    }

    /// Adds a line to a file, so that it is seen that something was compared.
    private func tell(_ text: String) throws {
      guard let tally = ProcessInfo.processInfo.environment["LARCH_MIRROR_TALLY"] else { return }
      let descriptor = open(tally, O_WRONLY | O_APPEND | O_CREAT, 0o600)
      defer { close(descriptor) }
      let line = Array((text + "\n").utf8)
      _ = write(descriptor, line, line.count)
    }

    private func waiting(_ live: OpaquePointer) throws -> (OutboxHeader?, [LogEntry]) {
      let transaction = try LMDBTransaction.begin(live, MDB_RDONLY)
      defer { transaction.abort() }
      var entries: [LogEntry] = []
      guard let tree = try OutboxTree.open(in: transaction, path: path) else { return (nil, []) }
      try tree.forEach(after: 0, in: transaction) { entry in
        entries.append(entry)
        return true
      }
      return (try tree.header(in: transaction), entries)
    }

    /// The pairs of each tree that has any, as one checksum and a count.
    private static func contents(_ handle: OpaquePointer) throws -> [String: [UInt64]] {
      let transaction = try LMDBTransaction.begin(handle, MDB_RDONLY)
      defer { transaction.abort() }
      var found: [String: [UInt64]] = [:]
      for name in try LMDBEnvironment.treeNames(in: transaction)
      where !LMDBEnvironment.isOwn(name) {
        guard let database = try LMDBDatabase.open(name, in: transaction) else { continue }
        var sum = LogChecksum(seed: UInt64(try database.flags(in: transaction).rawValue))
        var count: UInt64 = 0
        var cursor = try LMDBCursor(database, in: transaction)
        var entry = try cursor.first()
        while let here = entry {
          sum.add(here.key)
          sum.add(here.value)
          count += 1
          entry = try cursor.next()
        }
        if count > 0 { found[name] = [count, sum.value] }
      }
      return found
    }
  }
#endif
