#if LARCH_LOG_EVERYTHING
  internal import CLMDB

  internal import Foundation

  /// Compares, when a store is closed, what its log makes of the last checkpoint with the store itself.
  ///
  /// Only in a build in which every store logs its commits, in which the suite then runs: see
  /// docs/testing.md. A change that bypassed the log stops the program.
  struct ReplayComparison {
    let path: String
    let options: LMDBEnvironment.Options

    func run(_ live: OpaquePointer) {
      let folder = FileManager.default.temporaryDirectory.appending(path: "replay-\(UUID())").path
      defer { try? FileManager.default.removeItem(atPath: folder) }
      do {
        // Some tests remove the file while it is open.
        guard FileManager.default.fileExists(atPath: path),
          let log = try CommitLogFile.open(for: path), try log.header()?.state == .inUse
        else { return }
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true)
        let copy = folder + "/copy.larch"
        for suffix in ["", CommitLogFile.suffix] {
          try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        guard let place = try PlaceLock(copy, isExclusive: true) else { return }
        var quiet = options
        quiet.log = nil
        quiet.maxDatabases = 16_384
        let settling = LogSettling(path: copy, options: quiet, file: place.file)
        _ = try settling.run(place)
        let replayed = try LMDBEnvironment.map(
          path: copy, options: quiet, sizes: MapSize.toReserve(options.reservedMapSize))
        defer { mdb_env_close(replayed.handle) }
        let (left, right) = (try contents(live), try contents(replayed.handle))
        if left != right {
          let names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
          // This build is for the suite alone, which must end here.
          fatalError("\(path): the replay of the log differs in \(names.sorted())")
        }
      } catch {
        // As above.
        fatalError("\(path): the log cannot be replayed: \(error)")
      }
    }

    /// The pairs of each database, as one checksum and a count.
    private func contents(_ handle: OpaquePointer) throws -> [String: [UInt64]] {
      let transaction = try LMDBTransaction.begin(handle, MDB_RDONLY)
      defer { transaction.abort() }
      var found: [String: [UInt64]] = [:]
      var names: [String] = []
      var main = try LMDBCursor(LMDBDatabase(handle: 1), in: transaction)
      var entry = try main.first()
      while let here = entry {
        names.append(String(decoding: here.key, as: UTF8.self))
        entry = try main.next()
      }
      for name in names {
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
        found[name] = [count, sum.value]
      }
      return found
    }
  }
#endif
