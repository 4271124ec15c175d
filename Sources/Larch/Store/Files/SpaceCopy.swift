internal import Foundation

extension Store {
  /// How far a backup, a restoration or a compaction is.
  public struct SpaceProgress: Sendable, Hashable {
    /// Bytes that are written.
    public let bytesDone: Int
    /// Bytes that there will be, which is known from the start.
    public let bytesExpected: Int

    /// How far it is, from 0 to 1.
    public var fraction: Double {
      bytesExpected > 0 ? Swift.min(1, Double(bytesDone) / Double(bytesExpected)) : 0
    }
  }
}

/// A file that a store is copied into, and what is known of the copy.
struct SpaceCopy {
  /// Reading a piece larger than this does not make copying faster.
  private static let pieceSize = 256 << 10

  private let descriptor: Int32
  /// The path that errors name, whatever the file is called as long as it is made.
  private let path: String
  private let report: ((Store.SpaceProgress) throws -> Void)?
  private(set) var bytesDone = 0
  private(set) var bytesExpected = 0
  /// The bytes up to the end of the second meta page, while they come.
  private var head: [UInt8] = []

  init(
    into descriptor: Int32, path: String, _ report: ((Store.SpaceProgress) throws -> Void)?
  ) {
    self.descriptor = descriptor
    self.path = path
    self.report = report
  }

  /// Copies the newest snapshot of a store, without its free pages.
  mutating func copy(_ environment: LMDBEnvironment) throws {
    try environment.streamCopy { try add($0) }
    try checkLength()
  }

  /// Copies a file as it is.
  mutating func copy(_ source: PageFile) throws {
    bytesExpected = Int(clamping: source.length)
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      guard let count = source.read(at: UInt64(bytesDone), into: buffer) else {
        throw source.ioError(EIO)
      }
      if count == 0 { break }
      try add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    try checkLength()
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer) throws {
    if bytesExpected == 0 { expect(bytes) }
    var left = bytes
    while !left.isEmpty {
      let count = pwrite(descriptor, left.baseAddress, left.count, off_t(bytesDone))
      if count < 0, errno == EINTR { continue }
      // No error and nothing written is what some file systems answer when they are full.
      guard count > 0 else {
        throw LMDBError(count < 0 ? errno : ENOSPC, "pwrite").larchError(path: path)
      }
      bytesDone += count
      left = UnsafeRawBufferPointer(rebasing: left.dropFirst(count))
    }
    try tell()
  }

  /// Tells again how far it is, and so lets the caller stop it.
  func tell() throws {
    // Before the head was seen nobody knows how much it will be.
    guard bytesExpected > 0 else { return }
    try report?(Store.SpaceProgress(bytesDone: bytesDone, bytesExpected: bytesExpected))
  }

  /// Learns from the meta pages how long the copy will be: LMDB counts its pages before it writes.
  private mutating func expect(_ bytes: UnsafeRawBufferPointer) {
    head += bytes
    head.withUnsafeBytes { head in
      guard let base = head.baseAddress, head.count >= PageLayout.metaEnd else { return }
      let size = MetaPage(slot: 0, base).pageSize
      guard size >= PageLayout.metaEnd, head.count >= size + PageLayout.metaEnd else { return }
      let meta = MetaPage(slot: 1, base + size)
      bytesExpected = (Int(clamping: meta.lastPage) &+ 1) &* size
    }
  }

  private func checkLength() throws {
    guard bytesDone == bytesExpected else {
      throw LarchError(.ioFailure, "The copy has the wrong length; make it again.") {
        $0.path = path
        $0.detail = "\(bytesDone) of \(bytesExpected) bytes"
      }
    }
  }

  /// Lets the numbers of the transactions go on above another one, in a file that will take the
  /// place of another file: whoever keeps a number to see what changed must never meet it again.
  func renumber(_ file: PageFile, above number: UInt64) throws {
    guard let (first, second) = try MetaPage.readPair(file), let second else {
      throw file.ioError(EIO)
    }
    let newest = first.transaction < second.transaction ? second : first
    if newest.transaction > number { return }
    // LMDB finds the page of a transaction by its lowest bit.
    let next = number &+ 1
    let last = next & 1 == UInt64(newest.slot) ? next : next &+ 1
    for meta in [first, second] {
      var value = meta.slot == newest.slot ? last : last &- 1
      let offset = meta.slot &* newest.pageSize &+ PageLayout.transactionOffset
      guard pwrite(descriptor, &value, 8, off_t(offset)) == 8 else {
        throw LMDBError(errno, "pwrite").larchError(path: path)
      }
    }
  }

  /// Brings all of it to the disk.
  func flush() throws { try LMDBError.flush(descriptor, path: path) }
}

/// Where asynchronous work on whole files runs: a thread that may block.
///
/// It is the task itself that goes there and comes back, so the work can ask whether the task was
/// cancelled.
actor SpaceWorker {
  private let executor = QueueExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Runs work that tells how far it is, and is stopped there when its task was cancelled.
  func run<Step, T: Sendable>(
    _ progress: (@Sendable (Step) throws -> Void)?,
    _ work: @Sendable (@escaping (Step) throws -> Void) throws -> T
  ) throws -> T {
    try Task.checkCancellation()
    return try work { step in
      try Task.checkCancellation()
      try progress?(step)
    }
  }
}

/// A queue of its own: the threads that all tasks share must not wait for a disk.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "larch.space")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
