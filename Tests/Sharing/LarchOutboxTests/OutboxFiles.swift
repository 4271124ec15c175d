import Foundation
import LarchCrashSupport
import LarchTestSupport

@testable import Larch

/// A directory that exists for one test.
final class OutboxDirectory: @unchecked Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-outbox-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var writer: String { path + "/writer.larch" }
  var follower: String { path + "/follower.larch" }

  /// Opens a file without a catalog.
  func open(
    _ path: String, mapSize: Int? = nil, logsCommits: Bool = false
  ) throws -> LMDBEnvironment {
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.reservedMapSize = mapSize
    options.logsCommits = logsCommits
    if logsCommits { options.durability = .durable }
    return try LMDBEnvironment.open(path: path, options: options)
  }

  /// Makes a follower of a store as it is now.
  func makeFollower(of environment: LMDBEnvironment, at path: String) throws {
    let file = try StateFile(at: path)
    try environment.withPairs { header, copy in
      guard let header else { throw Mismatch("no outbox") }
      try copy(file)
      var own = OutboxHeader(role: .follower, identity: header.identity, place: header.place)
      own.random = 1
      try file.finish(own)
    }
  }
}

/// A pair, in the order of a tree.
struct Pair: Hashable, CustomStringConvertible {
  let key: [UInt8]
  let value: [UInt8]
  var description: String { "\(String(decoding: key, as: UTF8.self)): \(value.count) bytes" }
}

/// Keeps what it is given: all pairs of a state.
final class PairList: LogStateWriter {
  private(set) var trees: [LogTree: [Pair]] = [:]
  private var tree: LogTree?

  func begin(_ tree: LogTree) throws {
    self.tree = tree
    trees[tree] = []
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    guard let tree else { throw Mismatch("no tree") }
    trees[tree, default: []].append(Pair(key: [UInt8](key), value: [UInt8](value)))
  }
}

extension LMDBEnvironment {
  /// All pairs of all trees that have any, but those of the outbox.
  func pairs() throws -> [LogTree: [Pair]] {
    let list = PairList()
    try withPairs { _, copy in try copy(list) }
    return list.trees.filter { !$0.value.isEmpty }
  }

  /// All entries that wait.
  func waiting(after position: UInt64? = nil) throws -> [LogEntry] {
    guard let header = try outboxHeader() else { throw Mismatch("no outbox") }
    guard
      case .entries(let entries) = try outboxEntries(
        after: position ?? header.shipped.position, limit: .max)
    else { throw Mismatch("entries are missing") }
    return entries
  }

  func read<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    let reader = try beginRead()
    defer { endRead(reader) }
    return try body(reader.transaction)
  }

  @discardableResult
  func put(_ key: String, _ value: String, into tree: String = "a") throws -> Bool {
    try write { transaction in
      guard let database = try openDatabase(tree, .create, in: transaction) else { return false }
      return try database.put(Array(key.utf8), Array(value.utf8), in: transaction)
    }
  }
}

extension LMDBDatabase {
  @discardableResult
  func put(
    _ key: [UInt8], _ value: [UInt8], in transaction: LMDBTransaction, mode: PutMode = .upsert
  ) throws -> Bool {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { try put(key, $0, in: transaction, mode: mode) }
    }
  }
}

/// Throws if two stores differ.
func expectEqual(
  _ left: LMDBEnvironment, _ right: LMDBEnvironment, _ text: @autoclosure () -> String = ""
) throws {
  let (mine, other) = (try left.pairs(), try right.pairs())
  if mine == other { return }
  let names = Set(mine.keys).union(other.keys).filter { mine[$0] != other[$0] }
  throw Mismatch("\(text()): the trees \(names.map(\.name).sorted()) differ")
}

/// The code of an error of Larch.
func code(_ body: () throws -> Void) -> LarchError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LarchError)?.code
  }
}
