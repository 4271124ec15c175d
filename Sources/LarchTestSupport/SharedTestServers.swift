#if LARCH_SHARE_EVERYTHING
  import Foundation
  package import Larch

  /// A server in memory for each store that a test opens, with a second copy that follows: see
  /// docs/testing.md.
  package final class SharedTestServers: SharedTestLogs {
    private struct Entry {
      let server: MemoryServer
      var second: Store?
    }

    private static let lock = NSLock()
    nonisolated(unsafe) private static var entries: [String: Entry] = [:]

    package static func log(for path: String) -> ServerLog? {
      let path = canonical(path)
      let isThere = FileManager.default.fileExists(atPath: path)
      let (log, old): (ServerLog?, Store?) = lock.withLock {
        if isThere, let known = entries[path] { return (known.server.serverLog, nil) }
        // A file of its own begins a log; a copy of another log is left alone.
        if isThere, isShared(path) { return (nil, nil) }
        let old = entries[path]?.second
        let made = MemoryServer()
        entries[path] = Entry(server: made)
        return (made.serverLog, old)
      }
      old?.close()
      return log
    }

    private static func isShared(_ path: String) -> Bool {
      guard
        let environment = try? Store(path: path, types: [], options: readOnly, isTemporary: false)
      else { return false }
      defer { environment.close() }
      return (try? environment.environment.outboxHeader()) != nil
    }

    private static var readOnly: Store.Options {
      var options = Store.Options()
      options.isReadOnly = true
      return options
    }

    package static func didOpen(_ path: String) throws {
      let path = canonical(path)
      guard let entry = lock.withLock({ entries[path] }), entry.second == nil else { return }
      let second = try Store(
        sharing: entry.server.serverLog, copy: ScratchFile.freshPath(), types: [],
        options: .quick, isTemporary: true)
      lock.withLock { entries[path]?.second = second }
    }

    package static func willClose(_ path: String, _ environment: LMDBEnvironment) {
      guard let entry = lock.withLock({ entries[path] }), let second = entry.second
      else { return }
      do {
        let first = try pairs(environment)
        let other = try pairs(second.environment)
        if first == other { return }
        for (tree, has) in first where other[tree] != has {
          fail(
            "tree \(tree) of \(path): \(has.count), \(other[tree]?.count ?? -1) pairs")
        }
        for tree in other.keys where first[tree] == nil { fail("tree \(tree) is missing") }
      } catch {
        fail("\(error)")
      }
    }

    private static func pairs(_ environment: LMDBEnvironment) throws -> [String: [[UInt8]]] {
      try environment.catchUpWithLog()
      let collector = Collector()
      try environment.withPairs { _, copy in try copy(collector) }
      return collector.pairs
    }

    private static func fail(_ text: String) {
      FileHandle.standardError.write(Data("larch: the copies differ: \(text)\n".utf8))
      if ProcessInfo.processInfo.environment["LARCH_SHARE_REPORTS"] == nil {
        // Only in the build for the suite of this package, which must end here.
        fatalError("the copies of a shared store differ")
      }
    }

    private static func canonical(_ path: String) -> String {
      let url = URL(fileURLWithPath: path)
      return url.deletingLastPathComponent().resolvingSymlinksInPath()
        .appendingPathComponent(url.lastPathComponent).path
    }

    private final class Collector: LogStateWriter {
      private(set) var pairs: [String: [[UInt8]]] = [:]
      private var current = ""

      func begin(_ tree: LogTree) {
        current = "\(tree.name) \(tree.flags)"
        pairs[current] = []
      }

      func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        pairs[current]?.append([UInt8](key) + [0xFF] + [UInt8](value))
      }
    }
  }
#endif
