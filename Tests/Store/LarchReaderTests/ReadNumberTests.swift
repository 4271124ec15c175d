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

  /// Each new read asked LMDB again, without an end.
  @Test(
    "A read of a file that another program wrote over is an error", .timeLimit(.minutes(1)))
  func foreignHeaders() throws {
    try withScratchPath { path throws in
      let store = try Store(at: path, for: Note.self)
      defer { store.close() }
      for number in 0..<4 { try store.add(number..<number + 1) }
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      defer { try? file.close() }
      let pageSize = try #require(try LogMark.pageSize(file.fileDescriptor))
      let places = [0, 1].map { UInt64($0 * pageSize + PageLayout.transactionOffset) }
      func numbers() throws -> [Data] {
        try places.map { place in
          try file.seek(toOffset: place)
          return try #require(try file.read(upToCount: 8))
        }
      }
      func write(_ numbers: [Data]) throws {
        for (place, number) in zip(places, numbers) {
          try file.seek(toOffset: place)
          try file.write(contentsOf: number)
        }
      }
      let right = try numbers()
      for wrong: UInt64 in [1, 1_000_000] {
        // The headers of an older file, or of one with more commits.
        try write([0, 1].map { slot in withUnsafeBytes(of: wrong + slot) { Data($0) } })
        #expect(caught { _ = try store.count(Note.all) }?.code == .corrupted)
        #expect(caught { _ = try store.fetch(Note.all) }?.code == .corrupted)
        try write(right)
        #expect(try store.count(Note.all) == 4)
      }
    }
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
