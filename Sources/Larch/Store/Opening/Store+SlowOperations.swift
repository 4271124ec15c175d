/// From when on operations are slow, in nanoseconds; never where nobody wants to know.
struct SlowLimits: Sendable {
  static let never = Int64.max
  let write: Int64
  let read: Int64

  init(_ options: Store.Options) {
    let isWanted = options.log != nil
    write = SlowLimits.nanoseconds(isWanted ? options.slowWrite : nil)
    read = SlowLimits.nanoseconds(isWanted ? options.slowRead : nil)
  }

  private static func nanoseconds(_ limit: Duration?) -> Int64 {
    guard let limit else { return never }
    let (seconds, attoseconds) = limit.components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLong) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    if overflow || isTooLong { return seconds < 0 ? -1 : never }
    return sum
  }
}

// MARK: - Timed operations

extension Store {
  /// A timer for a write, where the log wants one.
  @inline(__always)
  func writeTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.write == SlowLimits.never { return nil }
    return OperationTimer(at: CodePlace(file: file, line: line), limit: slowLimits.write)
  }

  /// A timer for a read, where the log wants one.
  @inline(__always)
  func readTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.read == SlowLimits.never { return nil }
    return OperationTimer(at: CodePlace(file: file, line: line), limit: slowLimits.read)
  }

  /// Leaves what a write has to tell where its thread delivers it.
  func post(write timer: OperationTimer) {
    for message in timer.messagesOfWrite(path) { post?.add(message) }
  }

  /// Tells the log of a read that has ended.
  @inline(never)
  func tell(read timer: OperationTimer) {
    guard let message = timer.messageOfRead(path) else { return }
    tell(message)
  }

  /// Tells the log of something that happened to this store; inside of a write of the thread, when
  /// that has ended.
  func tell(_ message: @autoclosure () -> LogMessage) {
    guard let post else { return }
    post.add(message())
    if !environment.isWriting { post.deliver() }
  }
}

extension OperationTimer {
  /// Runs a body as the operation that a context is in.
  @inline(__always)
  static func run<T>(
    _ timer: OperationTimer?, in context: TransactionContext, _ body: () throws -> T
  ) rethrows -> T {
    guard let timer else { return try body() }
    context.timer = timer
    defer { context.timer = nil }
    return try body()
  }
}
