import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

@Suite("The number of a read")
struct ReadNumberTests {
  /// LMDB alone gives the state of a later commit about once in 100,000 reads, while another thread
  /// commits without a pause.
  @Test("A read has exactly the state of its version while others commit")
  func exactState() async throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<1)
    let id = try #require(try store.first(Note.all)).id
    let first = try store.read { tx in try tx.version.transaction }

    let reads = Reads()
    await withTaskGroup { group in
      group.addTask {
        await onThread {
          // Each commit counts one up.
          while reads.left.load(ordering: .relaxed) > 0 {
            _ = try? store.write { tx throws in try tx.update(Note.all) { $0.number += 1 } }
          }
        }
      }
      for _ in 0..<3 {
        group.addTask {
          await onThread {
            while reads.left.subtract(1, ordering: .relaxed).newValue > 0 {
              let isRight = try? store.read { tx in
                let number = try tx.find(Note.self, id)?.number
                return try tx.version.transaction == first + UInt64(number ?? -1)
              }
              if isRight != true { reads.foundWrong.store(true, ordering: .relaxed) }
            }
          }
        }
      }
    }
    let foundWrong = reads.foundWrong.load(ordering: .relaxed)
    #expect(!foundWrong)
    #expect(try store.read { tx in try tx.version.transaction } > first + 100)
  }

  @Test("A read that two commits have passed begins again")
  func renewal() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<1)
    let reader = try store.environment.beginRead()
    defer { store.environment.endRead(reader) }
    let first = reader.transaction.id
    #expect(reader.hasItsNumber)
    // The header of the first one is the other one.
    try store.add(1..<2)
    #expect(reader.hasItsNumber)
    try store.add(2..<3)
    #expect(!reader.hasItsNumber)
    #expect(reader.renewUntilItHasItsNumber() == 0)
    #expect(reader.hasItsNumber)
    #expect(reader.transaction.id == first + 2)
  }
}

/// What the threads share.
private final class Reads: Sendable {
  let left = Atomic(100_000)
  let foundWrong = Atomic(false)
}

/// Runs a body on a thread of its own, so that no thread of the pool waits.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread {
      body()
      continuation.resume()
    }.start()
  }
}
