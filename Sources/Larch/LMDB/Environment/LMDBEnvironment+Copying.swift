internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// Passes a compacting copy of the newest snapshot to `receive`, from the first byte to the last.
  ///
  /// LMDB writes a copy to a descriptor and reports no progress. Here the descriptor is a pipe, so
  /// that the caller sees the progress and can stop the copy by throwing, which ends it at its next
  /// write. The calling thread holds no lock. The copy itself is a read like any other.
  func streamCopy(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
    var isRecovered = false
    while true {
      let generation = self.generation
      let code = try withHandle { try streamCopy(of: $0, receive) }
      switch code {
      case MDB_SUCCESS: return
      // Both come at the beginning of the read, before a byte was written.
      case MDB_MAP_RESIZED: try adoptMapSize()
      case MDB_PANIC where !isRecovered:
        isRecovered = true
        try recover(poisoning: generation)
      default: throw translated(LMDBError(code, "mdb_env_copyfd2"))
      }
    }
  }

  /// The same with the pages of another copy, which nobody changes.
  func streamCopy(of copy: PackedCopy, _ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
    let code = try streamCopy(of: copy.handle, receive)
    guard code == MDB_SUCCESS else { throw translated(LMDBError(code, "mdb_env_copyfd2")) }
  }

  private func streamCopy(
    of handle: OpaquePointer, _ receive: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int32 {
    var ends: [Int32] = [-1, -1]
    let code = larch_pipe(&ends)
    guard code == 0 else { throw translated(LMDBError(code, "pipe")) }
    let job = CopyJob(handle, into: ends[1])
    job.start()
    var failure: (any Error)?
    do {
      try Self.drain(ends[0], path: path, receive)
    } catch {
      failure = error
    }
    // Without this end, a copy that still writes ends with EPIPE; its thread blocks the signal.
    Foundation.close(ends[0])
    let result = job.wait()
    if let failure {
      // A read error of LMDB is the cause of every later failure here.
      if result != MDB_SUCCESS, result != EPIPE {
        throw translated(LMDBError(result, "mdb_env_copyfd2"))
      }
      throw failure
    }
    return result
  }

  /// Reads a pipe to its end.
  private static func drain(
    _ descriptor: Int32, path: String, _ receive: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var isFirst = true
    while true {
      // A pipe returns little at a time; fewer and larger pieces cost less.
      var filled = 0
      while filled < buffer.count {
        let count = read(descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw LMDBError(errno, "read").larchError(path: path) }
        if count == 0 { break }
        filled += count
      }
      if filled == 0 { return }
      if isFirst { LogMark.remove(fromCopy: buffer) }
      isFirst = false
      try receive(UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    }
  }
}

/// A copy that LMDB writes to a pipe, on a thread of its own.
///
/// Unchecked: a semaphore hands the variables from the thread to the one that waits for it, and the
/// waiting thread keeps the handle open.
private final class CopyJob: @unchecked Sendable {
  private let handle: OpaquePointer
  private let descriptor: Int32
  private let hasEnded = DispatchSemaphore(value: 0)
  private var code: Int32 = 0

  init(_ handle: OpaquePointer, into descriptor: Int32) {
    self.handle = handle
    self.descriptor = descriptor
  }

  func start() {
    Thread.detachNewThread { [self] in
      // LMDB's own writing thread inherits the mask, and also blocks the signal itself.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      code = mdb_env_copyfd2(handle, descriptor, UInt32(MDB_CP_COMPACT))
      Foundation.close(descriptor)
      hasEnded.signal()
    }
  }

  func wait() -> Int32 {
    hasEnded.wait()
    return code
  }
}
