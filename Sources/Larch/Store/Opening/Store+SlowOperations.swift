/// The limits for slow operations in nanoseconds; unlimited without a log.
struct SlowLimits: Sendable {
  static let never = Int64.max
  let write: Int64
  let read: Int64
  /// Whether the log names each verb.
  let traces: Bool
  let showsValues: Bool

  init(_ options: Store.Options) {
    let isWanted = options.log != nil
    traces = isWanted && options.logLevel == .trace
    showsValues = options.logsValues
    let write = SlowLimits.nanoseconds(isWanted ? options.slowWrite : nil)
    let read = SlowLimits.nanoseconds(isWanted ? options.slowRead : nil)
    // A trace needs a timer for each operation, also if none is slow.
    let highest = traces ? SlowLimits.never - 1 : SlowLimits.never
    self.write = min(write, highest)
    self.read = min(read, highest)
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

extension Store.Options {
  /// The same with a log that gets only the messages that matter enough.
  var withChosenMessages: Self {
    // Traces are made only where they are asked for, and nothing is below a debug message else.
    guard let log, logLevel > .debug else { return self }
    var options = self
    options.log = { [logLevel] message in if message.level >= logLevel { log(message) } }
    return options
  }
}

// MARK: - Timed operations

extension Store {
  /// A timer for a write, if the log needs one.
  @inline(__always)
  func writeTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.write == SlowLimits.never { return nil }
    return timer(file, line, limit: slowLimits.write)
  }

  /// A timer for a read, if the log needs one.
  @inline(__always)
  func readTimer(_ file: StaticString, _ line: UInt) -> OperationTimer? {
    if slowLimits.read == SlowLimits.never { return nil }
    return timer(file, line, limit: slowLimits.read)
  }

  @inline(never)
  private func timer(_ file: StaticString, _ line: UInt, limit: Int64) -> OperationTimer {
    OperationTimer(
      at: CodePlace(file: file, line: line), limit: limit, traces: slowLimits.traces,
      showsValues: slowLimits.showsValues)
  }

  /// Posts the messages of a write for delivery on its thread.
  func post(write timer: OperationTimer) {
    for message in timer.messagesOfWrite(path) { post?.add(message) }
  }

  /// Logs a read that has ended, if it was slow or the log names each verb.
  @inline(never)
  func tell(read timer: OperationTimer) {
    for message in timer.messagesOfRead(path) { post?.add(message) }
    if !environment.isWriting { post?.deliver() }
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
