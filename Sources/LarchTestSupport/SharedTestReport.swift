#if LARCH_SHARE_EVERYTHING
  import Foundation
  import Larch

  /// Compares the two copies of each shared store at its end, and tells at the end of the process how many were
  /// compared. If any two differ, the process fails.
  final class SharedTestReport: @unchecked Sendable {
    static let shared = SharedTestReport()

    private let lock = NSLock()
    private var stores = 0
    private var changed = 0
    private var pairs = 0
    private var differences = 0

    private init() {
      atexit { SharedTestReport.shared.end() }
    }

    private func end() {
      say(
        "\(stores) stores equal to their second copies, \(changed) of them with commits, \(pairs) pairs; \(differences) differ"
      )
      // Tests of a copy that differs may have passed.
      if differences > 0 { _exit(1) }
    }

    func compare(_ path: String, _ first: LMDBEnvironment, _ second: LMDBEnvironment) {
      do {
        let (one, other) = (try digest(first), try digest(second))
        let commits = try first.outboxHeader()?.place.position ?? 0
        guard one != other else {
          return lock.withLock {
            stores += 1
            changed += commits > 1 ? 1 : 0
            pairs += one.values.reduce(0) { $0 + $1.count }
          }
        }
        for name in Set(one.keys).union(other.keys).sorted() where one[name] != other[name] {
          differ("\(path), tree \(name): \(one[name].text) and \(other[name].text)")
        }
      } catch {
        differ("\(path): \(error)")
      }
    }

    private func differ(_ text: String) {
      lock.withLock { differences += 1 }
      say("the copies differ: \(text)")
    }

    private func say(_ text: String) {
      FileHandle.standardError.write(Data("larch: \(text)\n".utf8))
    }

    private func digest(_ environment: LMDBEnvironment) throws -> [String: TreeDigest] {
      try environment.catchUpWithLog()
      let writer = TreeDigests()
      try environment.withPairs { _, copy in try copy(writer) }
      return writer.trees
    }
  }

  /// The number of pairs of a tree, and their checksum in their order.
  private struct TreeDigest: Equatable {
    var flags: UInt32
    var count = 0
    var sum = LogChecksum(seed: 1)

    static func == (one: Self, other: Self) -> Bool {
      (one.flags, one.count, one.sum.value) == (other.flags, other.count, other.sum.value)
    }
  }

  extension TreeDigest? {
    fileprivate var text: String { map { "\($0.count) pairs" } ?? "no tree" }
  }

  private final class TreeDigests: LogStateWriter {
    private(set) var trees: [String: TreeDigest] = [:]
    private var name = ""

    func begin(_ tree: LogTree) {
      name = tree.name
      trees[name] = TreeDigest(flags: tree.flags)
    }

    func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      trees[name]?.count += 1
      trees[name]?.sum.add(UInt64(key.count))
      trees[name]?.sum.add(key)
      trees[name]?.sum.add(value)
    }
  }
#endif
