import BenchmarkFigures
import Foundation
import Larch
import Workload

/// What a program that was killed leaves after single durable commits with a log, and how long the next
/// opening takes: it brings the end of the log into the file.
enum RecoveryBenchmark {
  private static let counts = [1_000, 10_000, 100_000]

  static func run(_ arguments: Arguments) throws {
    print(
      "commits      opening, after a kill   at once again   MB: file   log   compacted")
    for count in counts {
      let directory = URL(fileURLWithPath: arguments.directory)
        .appending(path: "recovery-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let path = directory.appending(path: "store.larch").path
      try commitInChild(count, path)
      let sizes = (megabytes(path), megabytes(path + "-log"))
      let first = try open(path, expecting: count)
      let second = try open(path, expecting: count)
      let compacted = try compactedSize(path)
      print(
        "\(count)".padded(to: 12), String(format: "%17.1f ms %12.1f ms", first, second),
        String(format: "%14.1f %5.1f %10.1f", sizes.0, sizes.1, compacted))
    }
  }

  /// Opens a store and reads how many records it has, and closes it; milliseconds of the first two.
  private static func open(_ path: String, expecting count: Int) throws -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    let store = try Store(at: path, for: Person.self, options: options)
    let found = try store.count(Person.all)
    let end = DispatchTime.now().uptimeNanoseconds
    store.close()
    guard found == count else { throw BenchmarkError("\(found) of \(count) commits are there") }
    return Double(end - start) / 1e6
  }

  private static func compactedSize(_ path: String) throws -> Double {
    let store = try Store(at: path, for: Person.self, options: options)
    defer { store.close() }
    return Double(try store.compact().bytesAfter) / 1e6
  }

  private static func commitInChild(_ count: Int, _ path: String) throws {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    child.arguments = ["--killed-after", "\(count)", "--dir", path]
    try child.run()
    child.waitUntilExit()
    guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
      throw BenchmarkError("the program that commits was not killed")
    }
  }

  /// What the child does: one record a commit, and no end.
  static func commitAndDie(_ count: Int, at path: String) throws {
    let store = try Store(at: path, for: Person.self, options: options)
    for record in WorkloadPerson.records(1...count, size: count) {
      var person = Person(record)
      try store.write { tx in try tx.insert(&person) }
    }
    kill(getpid(), SIGKILL)
  }

  private static var options: Store.Options {
    var options = Store.Options()
    options.durability = .logged
    return options
  }

  /// The disk space of a file.
  private static func megabytes(_ path: String) -> Double {
    var info = stat()
    return stat(path, &info) == 0 ? Double(info.st_blocks) * 512 / 1e6 : 0
  }
}
