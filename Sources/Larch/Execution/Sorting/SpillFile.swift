internal import Foundation

/// Sorted runs of rows in a file without a name, which disappears with its descriptor.
///
/// A run is a sequence of rows: the lengths of the key, of the key without the id and of the
/// payload as u32, then the bytes of both.
final class SpillFile {
  struct Run {
    var start: Int
    var end: Int
  }

  private let descriptor: Int32
  private(set) var runs: [Run] = []
  private(set) var byteCount = 0
  private var runStart = 0
  private var buffer = ByteBuffer()
  private static let bufferSize = 1 << 16
  static let headerSize = 12

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// A file in the temporary directory, unlinked at once.
  static func temporary() throws -> SpillFile {
    let directory = FileManager.default.temporaryDirectory.path
    // `mkstemp` requires six of these at the end, and replaces them.
    let place = String(repeating: "X", count: 6)
    var template = Array((directory + "/larch-sort-" + place).utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw error(errno, directory) }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return SpillFile(descriptor: descriptor)
  }

  static func error(_ code: Int32, _ directory: String? = nil) -> LarchError {
    func fill(_ context: inout LarchError.Context) {
      context.path = directory
      context.detail = String(cString: strerror(code))
    }
    if code == ENOSPC || code == EDQUOT || code == EFBIG {
      return LarchError(
        .diskFull,
        "The disk has no room for the temporary file of a sort; free some space, add a limit to the query, or declare an index for its order.",
        fill)
    }
    return LarchError(
      .ioFailure,
      "The temporary file of a sort could not be used; check the temporary directory.", fill)
  }

  func beginRun() throws { runStart = byteCount }

  func append(_ row: RowSorter.Row) throws {
    if buffer.count >= SpillFile.bufferSize { try flush() }
    for length in [row.key.count, row.idStart, row.payload.count] {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: length)) { buffer.append($0) }
    }
    buffer.append(row.key)
    buffer.append(row.payload)
    byteCount += SpillFile.headerSize + row.key.count + row.payload.count
  }

  func endRun() throws {
    try flush()
    runs.append(Run(start: runStart, end: byteCount))
  }

  private func flush() throws {
    var rest = buffer.bytes
    while !rest.isEmpty {
      let (written, code) = DiskRoom.reporting {
        (write(descriptor, rest.baseAddress, rest.count), errno)
      }
      if written < 0 {
        if code == EINTR { continue }
        throw SpillFile.error(code)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    buffer.removeAll()
  }

  /// Fills `target` from an offset; fewer bytes only at the end of the file.
  func read(_ offset: Int, into target: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    while count < target.count {
      let got = pread(
        descriptor, target.baseAddress.map { $0 + count }, target.count - count,
        off_t(offset + count))
      if got < 0 {
        if errno == EINTR { continue }
        throw SpillFile.error(errno)
      }
      if got == 0 { break }
      count += got
    }
    return count
  }
}

/// The rows of all runs of a file in order.
final class RunMerge {
  /// A heap of the readers that have a row, the least row at the top.
  private var heap: [RunReader] = []
  private var isAtTop = false

  init(_ file: SpillFile, budget: Int) throws {
    let size = min(1 << 18, max(4096, budget / max(1, file.runs.count)))
    for run in file.runs {
      let reader = RunReader(file, run, bufferSize: size)
      guard try reader.advance() else { continue }
      heap.append(reader)
      heap.siftUp { compareBytes($0.row.key, $1.row.key) < 0 }
    }
  }

  func next() throws -> RowSorter.Row? {
    if isAtTop {
      if try !heap[0].advance() {
        heap[0] = heap[heap.count - 1]
        heap.removeLast()
      }
      heap.siftDown { compareBytes($0.row.key, $1.row.key) < 0 }
    }
    isAtTop = !heap.isEmpty
    return heap.first?.row
  }
}

/// Reads one run from its beginning to its end.
private final class RunReader {
  private let file: SpillFile
  private var offset: Int
  private let end: Int
  private var memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var count = 0
  private(set) var row = RowSorter.Row(
    key: UnsafeRawBufferPointer(start: nil, count: 0), idStart: 0,
    payload: UnsafeRawBufferPointer(start: nil, count: 0))

  init(_ file: SpillFile, _ run: SpillFile.Run, bufferSize: Int) {
    self.file = file
    offset = run.start
    end = run.end
    memory = .allocate(byteCount: bufferSize, alignment: 16)
  }

  deinit { memory.deallocate() }

  func advance() throws -> Bool {
    if count == 0, offset == end { return false }
    try require(SpillFile.headerSize)
    func length(_ place: Int) -> Int {
      Int(memory.loadUnaligned(fromByteOffset: start + place * 4, as: UInt32.self))
    }
    let keyCount = length(0)
    let idStart = length(1)
    let payloadCount = length(2)
    let size = SpillFile.headerSize + keyCount + payloadCount
    try require(size)
    guard idStart <= keyCount else { throw RunReader.damaged }
    let body = start + SpillFile.headerSize
    row.key = UnsafeRawBufferPointer(rebasing: memory[body..<body + keyCount])
    row.idStart = idStart
    row.payload = UnsafeRawBufferPointer(
      rebasing: memory[body + keyCount..<body + keyCount + payloadCount])
    start += size
    count -= size
    return true
  }

  /// Makes sure that this number of bytes is in memory from `start` on.
  private func require(_ size: Int) throws {
    if count >= size { return }
    guard size <= count + end - offset else { throw RunReader.damaged }
    if size > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[start..<start + count]))
      memory.deallocate()
      memory = larger
    } else if let base = memory.baseAddress {
      memmove(base, base + start, count)
    }
    start = 0
    let wanted = min(memory.count - count, end - offset)
    let got = try file.read(
      offset, into: UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + wanted]))
    guard got == wanted else { throw RunReader.damaged }
    count += got
    offset += got
  }

  private static var damaged: LarchError {
    LarchError(
      .ioFailure, "Another program changed the temporary file of a sort; run the query again.")
  }
}
