import Foundation
import LarchTestSupport

@testable import Larch

struct Entry: Record, Equatable {
  var id = RecordID<Entry>()
  var number: Int
  var text = ""

  static let schema = Schema<Entry> { Unique(\.number) }
}

struct Stop: Error, Equatable { var number = 0 }

/// A write on a separate thread that keeps the write lock until it is released.
final class HeldWriter: Sendable {
  private let began = DispatchSemaphore(value: 0)
  private let letGo = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  init(_ store: Store, _ body: @escaping @Sendable (WriteTransaction) throws -> Void = { _ in }) {
    Thread.detachNewThread { [self] in
      try? store.write { tx throws in
        began.signal()
        letGo.wait()
        letGo.signal()  // Stays open: the closure may run again.
        try body(tx)
      }
      ended.signal()
    }
    began.wait()
  }

  func end() {
    letGo.signal()
    ended.wait()
  }
}

extension Store {
  /// The number of the last commit.
  func lastCommit() throws -> UInt64 { try environment.info().lastTransactionID }

  /// The number of requests for the write lock.
  func turnsAsked() -> UInt64 { environment.writeQueue.askedCount }

  /// Waits until this number of asynchronous writes wait in the queue, without blocking a thread of
  /// tasks.
  func untilWaiting(_ count: Int) async throws {
    while asyncWriter.waitingCount < count { try await Task.sleep(for: .milliseconds(1)) }
  }

  func insert(_ number: Int, text: String = "") async throws {
    try await write { tx in
      var entry = Entry(number: number, text: text)
      try tx.insert(&entry)
    }
  }

  func numbers() throws -> [Int] {
    try read { tx throws in try tx.all(Entry.self).map(\.number) }
  }
}
