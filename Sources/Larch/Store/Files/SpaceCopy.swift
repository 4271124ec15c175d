internal import Foundation

extension Store {
  /// The progress of a backup, a restoration or a compaction.
  public struct SpaceProgress: Sendable, Hashable {
    /// The number of bytes written.
    public let bytesDone: Int
    /// The final number of bytes, which is known from the start.
    public let bytesExpected: Int

    /// The fraction, from 0 to 1.
    public var fraction: Double {
      bytesExpected > 0 ? Swift.min(1, Double(bytesDone) / Double(bytesExpected)) : 0
    }
  }
}

/// A file into which a store is copied, and the facts about the copy.
struct SpaceCopy {
  /// Larger pieces do not make copying faster.
  private static let pieceSize = 256 << 10

  private let descriptor: Int32
  /// The path for errors, whatever the temporary name of the file is.
  private let path: String
  private let report: ((Store.SpaceProgress) throws -> Void)?
  private(set) var bytesDone = 0
  private(set) var bytesExpected = 0
  /// The bytes up to the end of the second meta page, as they arrive.
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

  /// Copies the last commit of a store that nobody writes meanwhile, with full pages if that makes it
  /// clearly smaller.
  ///
  /// - Parameter tick: called while pages are filled, when nothing is known of the progress yet; its error ends the copy.
  mutating func copyPacked(_ environment: LMDBEnvironment, tick: () throws -> Void) throws {
    let packed: PackedCopy?
    do {
      packed = try PackedCopy.make(of: environment.path, tick: tick)
    } catch is LarchError {
      // That needs room for one more copy. Without it LMDB copies the pages as they are.
      packed = nil
    }
    guard let packed else { return try copy(environment) }
    try environment.streamCopy(of: packed) { try add($0) }
    try checkLength()
  }

  /// Copies a file unchanged.
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
      // Some file systems return neither an error nor written bytes when they are full.
      guard count > 0 else {
        throw LMDBError(count < 0 ? errno : ENOSPC, "pwrite").larchError(path: path)
      }
      bytesDone += count
      left = UnsafeRawBufferPointer(rebasing: left.dropFirst(count))
    }
    try tell()
  }

  /// Reports the progress again, which lets the caller stop the copy.
  func tell() throws {
    // Before the meta pages, the size is unknown.
    guard bytesExpected > 0 else { return }
    try report?(Store.SpaceProgress(bytesDone: bytesDone, bytesExpected: bytesExpected))
  }

  /// Computes the length of the copy from its meta pages: LMDB counts the pages before it writes.
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

  /// Continues the transaction numbers above another number, in a file that will replace another
  /// one: a program that keeps a number to detect changes must never see it again.
  func renumber(_ file: PageFile, above number: UInt64) throws {
    guard let (first, second) = try MetaPage.readPair(file), let second else {
      throw file.ioError(EIO)
    }
    let newest = first.transaction < second.transaction ? second : first
    if newest.transaction > number { return }
    // LMDB finds the meta page of a transaction by its lowest bit.
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

  /// Flushes the copy to the disk.
  func flush() throws { try LMDBError.flush(descriptor, path: path) }
}

/// The executor of asynchronous work on whole files: a thread that may block.
///
/// The task itself moves there and back, so the work can check whether the task was cancelled.
actor SpaceWorker {
  private let executor = QueueExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Runs work that reports progress, and stops it there if its task was cancelled.
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

/// A separate queue: the threads that all tasks share must not wait for a disk.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "larch.space")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
