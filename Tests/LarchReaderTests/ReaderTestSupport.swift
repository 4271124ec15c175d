import Foundation
import Larch
import LarchTestSupport

struct Note: Record, Equatable {
  static let collectionName = "Note"
  var id = RecordID<Note>()
  var number: Int
  var text: String

  static let schema = Schema<Note> { Index(\.number) }
}

/// The same collection as another version of the program declares it.
struct OtherNote: Record {
  static let collectionName = "Note"
  var id = RecordID<OtherNote>()
  var number: Int
  var text: String

  static let schema = Schema<OtherNote> { Index(\.text) }
}

extension Note {
  init(_ number: Int, size: Int = 10) {
    self.init(number: number, text: String(repeating: "x", count: size))
  }
}

extension Store {
  /// Saves notes with these numbers, in one transaction.
  func add(_ numbers: some Sequence<Int>, size: Int = 10) throws {
    try write { tx throws in
      for number in numbers {
        var note = Note(number, size: size)
        try tx.save(&note)
      }
    }
  }

  var fileSize: Int {
    ((try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int) ?? -1
  }
}

/// A directory that is there for one test.
final class ReaderDirectory: @unchecked Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-readers-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var store: String { path + "/store.larch" }
}

/// Messages of the log from any thread.
final class Messages: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [LogMessage] = []

  func add(_ message: LogMessage) { lock.withLock { list.append(message) } }
  var all: [LogMessage] { lock.withLock { list } }

  func of(_ event: LogMessage.Event) -> [LogMessage] { all.filter { $0.event == event } }

  /// Nothing is flushed, and everything is logged.
  var options: Store.Options {
    var options = Store.Options.quick
    options.log = { [self] in add($0) }
    return options
  }
}

/// The error that a body throws, or nil.
func larchError<T>(of body: () throws -> T) -> LarchError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? LarchError ?? LarchError(.storage, "Another error.", underlying: error)
  }
}

/// Work on a thread of its own, which may block; the test waits for it on its own thread, never in
/// a task.
final class Worker: @unchecked Sendable {
  private let finished = DispatchSemaphore(value: 0)
  private var failure: (any Error)?

  init(_ body: @escaping @Sendable () throws -> Void) {
    Thread { [self] in
      do { try body() } catch { failure = error }
      finished.signal()
    }.start()
  }

  /// Waits for its end, and throws what it threw.
  func join() throws {
    finished.wait()
    if let failure { throw failure }
  }
}

extension SeededGenerator {
  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
