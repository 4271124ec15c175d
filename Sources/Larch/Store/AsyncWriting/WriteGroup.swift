/// The LMDB transaction that asynchronous writes share, and the writes that wait for its commit.
///
/// The first write of a transaction runs in it directly, so that a single write costs no more than
/// a synchronous one. Each further write runs in a child transaction, which can be undone alone if
/// it throws.
///
/// Used only by the thread that has the write lock.
final class WriteGroup {
  /// The result of a write.
  enum Verdict {
    case kept
    /// It was undone, because the map was full; the map is larger now, so it must run again.
    case again
    case failed(any Error)

    var isKept: Bool { if case .kept = self { true } else { false } }
    var isAgain: Bool { if case .again = self { true } else { false } }
    var error: (any Error)? { if case .failed(let error) = self { error } else { nil } }
  }

  private struct Member {
    let continuation: UnsafeContinuation<Verdict, Never>
    let tell: (Verdict) -> Void

    func end(_ verdict: Verdict) {
      tell(verdict)
      continuation.resume(returning: verdict)
    }
  }

  /// Large enough that the share of each write in a flush is small, and small enough that the first
  /// does not wait long for the last.
  private static let maximumCount = 256
  /// In nanoseconds; tests that count commits set it higher.
  var maximumTime: Int64 = 10_000_000

  private let environment: LMDBEnvironment
  /// The shared transaction; nil before the first write.
  private var attempt: WriteAttempt?
  /// The handles of the file, checked by the first write.
  private var open: OpenCatalog?
  private var members: [Member] = []
  /// A write for which the map had no room; the others are committed first, so that it can grow.
  private var roomless: Member?
  /// Set if LMDB may have left the transaction half-done: all of it is undone and runs again.
  private var isBroken = false
  private var durability = LMDBDurability.none
  private var beginning = MonotonicTime.now
  /// The duration of the last commit in nanoseconds.
  private(set) var lastCommitTime: Int64 = 0

  init(_ environment: LMDBEnvironment) { self.environment = environment }

  /// The number of writes that wait for their result.
  var count: Int { members.count + (roomless == nil ? 0 : 1) }

  /// Whether the finished writes must be committed before any other runs.
  var mustEnd: Bool { roomless != nil || isBroken }

  /// Whether its writes should not wait for more.
  var isFull: Bool {
    members.count >= Self.maximumCount
      || members.count > 1
        && MonotonicTime.now.nanoseconds &- beginning.nanoseconds > maximumTime
  }

  // MARK: Running a write

  /// Runs the closure of a write; if it throws, its changes are undone. Nil if the map has no room
  /// for it in addition to the others.
  func run<T>(
    _ write: AsyncWrite<T>, _ hasRun: inout Bool
  ) throws -> Store.Run<T>? {
    func run(_ transaction: LMDBTransaction, _ open: OpenCatalog) throws -> Store.Run<T> {
      try write.store.run(write.body, on: open.writer.context, transaction, &hasRun, write.timer)
    }
    guard let attempt, let open else {
      let (attempt, (done, open)) = try write.store.attempt { transaction, open in
        // Not before: the beginning may wait for the turn of a shared store, while more writes come that can
        // be committed together.
        beginning = .now
        return (try run(transaction, open), open)
      }
      self.attempt = attempt
      self.open = open
      durability = write.durability
      environment.endWrite(of: write.author, in: attempt.transaction)
      return done
    }
    do {
      let done = try attempt.runChild { try run($0, open) }
      guard let done else { return nil }
      durability = max(durability, write.durability)
      environment.endWrite(of: write.author, in: attempt.transaction)
      return done
    } catch let error as WriteAttempt.HalfMerged {
      isBroken = true
      throw error.cause
    }
  }

  // MARK: The end

  /// Lets a finished write wait for the commit; `tell` is called before it continues.
  func add(
    _ continuation: UnsafeContinuation<Verdict, Never>, _ tell: @escaping (Verdict) -> Void
  ) {
    members.append(Member(continuation: continuation, tell: tell))
  }

  /// Lets a write wait for which there was no room: it will run again, or fail.
  func addWithoutRoom(
    _ continuation: UnsafeContinuation<Verdict, Never>, _ tell: @escaping (Verdict) -> Void
  ) {
    roomless = Member(continuation: continuation, tell: tell)
  }

  /// Commits the writes and reports the result to each; true if some must run again.
  func end() -> Bool {
    let (members, roomless) = (self.members, self.roomless)
    var (verdict, isFull) = commit()
    self.members = []
    self.roomless = nil
    attempt = nil
    open = nil
    isBroken = false
    var growth = Verdict.again
    if isFull || roomless != nil {
      // That may take long, or wait for the server of a shared store.
      environment.changes.resumeElsewhere()
      do { try environment.makeWay() } catch { growth = .failed(error) }
      if isFull { verdict = growth }
    }
    for member in members { member.end(verdict) }
    roomless?.end(growth)
    return verdict.isAgain && !members.isEmpty || roomless != nil && growth.isAgain
  }

  private func commit() -> (Verdict, isFull: Bool) {
    guard let attempt else { return (.kept, false) }
    if isBroken {
      attempt.abort()
      return (.again, false)
    }
    let start = MonotonicTime.now.nanoseconds
    defer { lastCommitTime = MonotonicTime.now.nanoseconds &- start }
    do {
      let isDone = try attempt.commit(durability)
      return (isDone ? .kept : .again, !isDone)
    } catch {
      return (.failed(error), false)
    }
  }
}
