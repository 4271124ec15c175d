import Foundation
import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch

struct Account: Record, Equatable {
  var id = RecordID<Account>()
  var owner: String
  var balance: Int
  var note: String?

  static let schema = Schema<Account> {
    Unique(\.owner)
    Index(\.balance)
  }
}

struct Team: Record, Equatable {
  var id = RecordID<Team>()
  var name: String

  static let players = HasMany<Team, Player>(\.teamID, onDelete: .deny)
  static let schema = Schema<Team> { players }
}

struct Player: Record, Equatable {
  var id = RecordID<Player>()
  var name: String
  var teamID: Team.ID

  static let team = BelongsTo<Player, Team>(\.teamID)
  static let schema = Schema<Player> {
    team
    Index(\.name)
  }
}

/// Copies of one shared store, each in a file of its own, during `body`.
func withCopies<T>(
  _ count: Int, of server: MemoryServer, _ types: any Record.Type...,
  options: Store.Options = .quick, _ body: ([Store]) throws -> T
) throws -> T {
  let paths = (0..<count).map { _ in ScratchFile.freshPath() }
  var stores: [Store] = []
  defer {
    stores.forEach { $0.close() }
    paths.forEach(ScratchFile.remove)
  }
  for path in paths {
    stores.append(
      try Store(
        sharing: server.serverLog, copy: path, types: types, options: options, isTemporary: false))
  }
  return try body(stores)
}

/// All pairs of a store, by tree.
typealias Pairs = [String: [[[UInt8]]]]

final class PairCollector: LogStateWriter {
  private(set) var pairs: Pairs = [:]
  private var current = ""

  func begin(_ tree: LogTree) {
    current = "\(tree.name) \(tree.flags)"
    pairs[current] = []
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    pairs[current]?.append([[UInt8](key), [UInt8](value)])
  }
}

extension Store {
  /// The pairs of the copy, once it has everything that the log has.
  func caughtUp() throws -> Pairs {
    try environment.catchUpWithLog()
    let collector = PairCollector()
    try environment.withPairs { _, copy in try copy(collector) }
    return collector.pairs
  }

  /// The position of the log that the copy has.
  var position: UInt64 {
    get throws { try environment.outboxHeader()?.place.position ?? 0 }
  }
}

extension MemoryServer {
  /// All pairs that the log has, with every entry folded into its state.
  func everything() throws -> Pairs {
    let log = MemoryLog(self)
    _ = try log.fold(through: .max, olderThan: 0)
    let collector = PairCollector()
    _ = try log.state(into: collector)
    return collector.pairs
  }
}

/// Requires that all copies and the log have the same pairs, and that indexes fit records.
func expectEqual(_ stores: [Store], _ server: MemoryServer, _ comment: Comment? = nil) throws {
  server.set(MemoryServer.Faults())
  let first = try stores[0].caughtUp()
  for (number, store) in stores.enumerated() {
    let pairs = try store.caughtUp()
    if pairs != first {
      for (tree, has) in pairs where has != first[tree] {
        Issue.record("copy \(number) differs in tree \(tree). \(comment?.rawValue ?? "")")
      }
      for tree in first.keys where pairs[tree] == nil {
        Issue.record("copy \(number) lacks tree \(tree). \(comment?.rawValue ?? "")")
      }
    }
    let report = try store.verify()
    #expect(report.faultCount == 0, "copy \(number): \(report)")
  }
  let log = try server.everything()
  #expect(log == first, comment)
}

/// Runs a body on threads of its own, one for each number, and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  let errors = Locked<[any Error]>([])
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    let thread = Thread {
      do { try body(number) } catch { errors.withLock { $0.append(error) } }
      group.leave()
    }
    thread.stackSize = 4 << 20
    thread.start()
  }
  group.wait()
  if let error = errors.withLock({ $0.first }) { throw error }
}
