import Foundation
import Workload

/// One figure of one peer in one round.
struct Measurement {
  var operation: String
  var nanoseconds = 0.0
  var operations = 1
  var rows: UInt64 = 0
  var checksum: UInt64 = 0
  /// A size instead of a time.
  var bytes: Int?

  /// What ratios are taken of: nanoseconds an operation, or bytes.
  var figure: Double {
    bytes.map(Double.init) ?? nanoseconds / Double(operations)
  }
}

/// One peer on one fresh directory: what a round runs operations on.
final class Session {
  let size: Int
  let peer: String
  private(set) var engine: any StoreEngine
  private let type: any StoreEngine.Type
  private let directory: URL
  /// The records that the write operations have appended so far follow the loaded ones.
  private(set) var nextIndex: Int
  var stopwatch = Stopwatch()

  init(_ type: any StoreEngine.Type, size: Int, parent: URL) throws {
    self.type = type
    self.size = size
    peer = type.peer
    nextIndex = 1
    directory = parent.appending(path: "\(type.peer)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    engine = try type.init(path: directory.appending(path: "store.larch").path)
  }

  /// The store as one of people, which the operations of that workload need.
  var people: any Engine {
    get throws {
      guard let people = engine as? any Engine else {
        throw BenchmarkError("\(peer) holds no people")
      }
      return people
    }
  }

  /// Takes the next `count` records of the workload.
  func take(_ count: Int) -> [WorkloadPerson] {
    let first = takeIndexes(count)
    return WorkloadPerson.records(first...(first + count - 1), size: size)
  }

  /// The first of `count` indexes that nothing has taken yet.
  func takeIndexes(_ count: Int) -> Int {
    defer { nextIndex += count }
    return nextIndex
  }

  func reopen() throws {
    engine.close()
    engine = try type.init(path: directory.appending(path: "store.larch").path)
  }

  /// Time to open and to find one record, in this process; closing is not part of it.
  func timeOpen(find id: Int64) throws -> (nanoseconds: Double, result: QueryResult) {
    engine.close()
    var result = QueryResult(rows: 0, checksum: 0)
    let nanoseconds = try stopwatch.time {
      engine = try type.init(path: directory.appending(path: "store.larch").path)
      result = try people.find([id])
    }
    return (nanoseconds, result)
  }

  /// Bytes of the data files; lock files hold none.
  func sizeOnDisk() throws -> Int {
    try engine.settle()
    // Some peers keep a folder of files.
    let keys: Set<URLResourceKey> = [.fileSizeKey, .isRegularFileKey]
    guard
      let files = FileManager.default.enumerator(
        at: directory, includingPropertiesForKeys: Array(keys))
    else { throw BenchmarkError("cannot list \(directory.path)") }
    var sum = 0
    for case let file as URL in files {
      guard !file.path.hasSuffix("-lock"), !file.path.hasSuffix("-shm") else { continue }
      let values = try file.resourceValues(forKeys: keys)
      if values.isRegularFile == true { sum += values.fileSize ?? 0 }
    }
    return sum
  }

  /// A fresh store with associations, gone afterwards; nothing where the peer has none.
  func withAssociations<T>(_ body: (any AssociationEngine) throws -> T) throws -> T? {
    guard let type = (type as? any Engine.Type)?.associations else { return nil }
    let folder = directory.appending(path: "associations-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let engine = try type.init(path: folder.appending(path: "links.larch").path)
    defer { engine.close() }
    return try body(engine)
  }

  func finish() throws {
    engine.close()
    try FileManager.default.removeItem(at: directory)
  }
}
