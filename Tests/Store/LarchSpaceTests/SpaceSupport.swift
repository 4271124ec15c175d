import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A store with indexes and lists, half of whose pages are free.
func makeHollowStore(
  at path: String, count: Int = 600, _ change: (inout Store.Options) -> Void = { _ in }
) throws -> Store {
  try Books.make(at: path, count: count, seed: runSeed)
  var options = Store.Options()
  change(&options)
  let store = try Store(at: path, for: IndexedBook.self, options: options)
  try store.write { tx throws in
    for number in 1...count where number % 3 != 0 {
      try tx.delete(IndexedBook.self, RecordID(Int64(number)))
    }
  }
  return store
}

func code(_ body: () throws -> Void) -> LarchError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LarchError)?.code ?? LarchError.Code(rawValue: "\(error)")
  }
}

/// The error of the library that ends `body`.
func libraryError(_ body: () throws -> Void) -> LarchError? {
  do {
    try body()
    return nil
  } catch {
    return error as? LarchError
  }
}

func fileSize(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : -1
}

/// Runs blocking work on a separate thread, and returns its result.
final class Work<T: Sendable>: @unchecked Sendable {
  // Written before the signal and read after it.
  private var result: Result<T, any Error>?
  private let hasEnded = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () throws -> T) {
    Thread.detachNewThread {
      self.result = Result { try body() }
      self.hasEnded.signal()
    }
  }

  func wait() throws -> T {
    guard hasEnded.wait(timeout: .now() + 600) == .success, let result else {
      throw Mismatch("hangs")
    }
    return try result.get()
  }
}

/// The reported progress of an operation.
final class Steps: @unchecked Sendable {
  private let lock = NSLock()
  private var taken: [Store.SpaceProgress] = []

  var all: [Store.SpaceProgress] { lock.withLock { taken } }

  func take(_ step: Store.SpaceProgress) { lock.withLock { taken.append(step) } }

  /// It rises to the expected total, which did not change.
  func expectWhole(_ bytes: Int, _ location: SourceLocation = #_sourceLocation) {
    let all = all
    #expect(!all.isEmpty, sourceLocation: location)
    for (one, next) in zip(all, all.dropFirst()) {
      #expect(one.bytesDone <= next.bytesDone, sourceLocation: location)
      #expect(one.bytesExpected == next.bytesExpected, sourceLocation: location)
    }
    #expect(all.last?.fraction == 1, sourceLocation: location)
    #expect(all.last?.bytesDone == bytes, sourceLocation: location)
  }
}

struct Stopped: Error {}
