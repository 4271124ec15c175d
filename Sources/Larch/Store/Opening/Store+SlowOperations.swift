/// The limits for slow operations in nanoseconds; unlimited without a log.
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
  /// A timer for a write, if the log needs one.
  @inline(__always)
  func writeTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.write == SlowLimits.never { return nil }
    return OperationTimer(at: CodePlace(file: file, line: line), limit: slowLimits.write)
  }

  /// A timer for a read, if the log needs one.
  @inline(__always)
  func readTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.read == SlowLimits.never { return nil }
    return OperationTimer(at: CodePlace(file: file, line: line), limit: slowLimits.read)
  }

  /// Posts the messages of a write for delivery on its thread.
  func post(write timer: OperationTimer) {
    for message in timer.messagesOfWrite(path) { post?.add(message) }
  }

  /// Logs a read that has ended, if it was slow.
  @inline(never)
  func tell(read timer: OperationTimer) {
    guard let message = timer.messageOfRead(path) else { return }
    tell(message)
  }

  /// Logs an event of this store; inside a write of the thread, after its end.
  func tell(_ message: @autoclosure () -> LogMessage) {
    guard let post else { return }
    post.add(message())
    if !environment.isWriting { post.deliver() }
  }
}

extension OperationTimer {
  /// Runs a body as the operation of a context.
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
