#if LARCH_SHARE_EVERYTHING
  import Foundation
  package import Larch

  /// A server in memory for each store that a test opens, with a second copy that follows: see
  /// docs/testing.md.
  package final class SharedTestServers: SharedTestLogs {
    private struct Entry {
      let server: MemoryServer
      var second: Store?
      /// Before that, there may be no file yet.
      var wasOpened = false
    }

    private static let lock = NSLock()
    nonisolated(unsafe) private static var entries: [String: Entry] = [:]

    package static func log(for path: String, file isCopy: Bool?) -> ServerLog? {
      let path = canonical(path)
      let (log, old): (ServerLog?, [Store]) = lock.withLock {
        let known = entries[path]
        if isCopy == true { return (known?.server.serverLog, []) }
        // A new file, or one of its own, begins a log. Logs of removed files are not needed any more.
        var old = [known?.second].compactMap { $0 }
        for (other, entry) in entries
        where entries.count > 64 && entry.wasOpened && !isThere(other) {
          old += [entry.second].compactMap { $0 }
          entries[other] = nil
        }
        let made = MemoryServer(name: MemoryServer.oneWriter)
        entries[path] = Entry(server: made)
        return (made.serverLog, old)
      }
      old.forEach { $0.close() }
      return log
    }

    package static func didOpen(_ path: String) throws {
      let path = canonical(path)
      guard let entry = lock.withLock({ entries[path] }), entry.second == nil else { return }
      let second = try Store(
        sharing: entry.server.serverLog, copy: ScratchFile.freshPath(), types: [],
        options: .quick, isTemporary: true)
      // Two threads may open the store at once, and the end of a second copy takes the lock.
      let spare: Store? = lock.withLock {
        guard entries[path] != nil, entries[path]?.second == nil else { return second }
        entries[path]?.second = second
        entries[path]?.wasOpened = true
        return nil
      }
      spare?.close()
    }

    package static func willClose(_ path: String, _ environment: LMDBEnvironment) {
      let path = canonical(path)
      let found = lock.withLock {
        let found = entries[path]?.second
        // The next opening makes a new one, from the log.
        entries[path]?.second = nil
        return found
      }
      guard let second = found else { return }
      SharedTestReport.shared.compare(path, environment, second.environment)
      second.close()
    }

    private static func isThere(_ path: String) -> Bool {
      FileManager.default.fileExists(atPath: path)
    }

    private static func canonical(_ path: String) -> String {
      let url = URL(fileURLWithPath: path)
      return url.deletingLastPathComponent().resolvingSymlinksInPath()
        .appendingPathComponent(url.lastPathComponent).path
    }
  }
#endif
