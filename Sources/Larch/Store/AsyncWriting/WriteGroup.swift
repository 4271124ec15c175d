/// The LMDB transaction that asynchronous writes share, and those who wait for its commit.
///
/// The first write of a transaction runs in it directly, so that a write alone costs no more than
/// a synchronous one; each further one runs in a child, which is undone alone when it throws.
///
/// Used by the thread that has the write lock, and by no other.
final class WriteGroup {
  /// What became of a write.
  enum Verdict {
    case kept
    /// It was undone, since the map was full and is larger now: it is to run again.
    case again
    case failed(any Error)

    var isKept: Bool { if case .kept = self { true } else { false } }
    var isAgain: Bool { if case .again = self { true } else { false } }
  }

  private struct Member {
    let continuation: UnsafeContinuation<Verdict, Never>
    let tell: (Verdict) -> Void

    func end(_ verdict: Verdict) {
      tell(verdict)
      continuation.resume(returning: verdict)
    }
  }

  /// Enough that the share of each in a flush is small, and few enough that the first does not wait
  /// long for the last.
  private static let maximumCount = 256
  /// In nanoseconds; tests that count commits have all the time.
  var maximumTime: Int64 = 10_000_000

  private let environment: LMDBEnvironment
  /// What the writes share; nil before the first one.
  private var attempt: WriteAttempt?
  /// The handles that the first write found to be those of the file.
  private var open: OpenCatalog?
  private var members: [Member] = []
  /// A write that the map had no room for; the others are committed first, so that it can grow.
  private var roomless: Member?
  /// Set when LMDB may have left the transaction half-done: all of it is undone and run again.
  private var isBroken = false
  private var durability = LMDBDurability.none
  private var beginning = MonotonicTime.now
  /// How long the last commit took, in nanoseconds.
  private(set) var lastCommitTime: Int64 = 0

  init(_ environment: LMDBEnvironment) { self.environment = environment }

  /// How many writes wait to be told.
  var count: Int { members.count + (roomless == nil ? 0 : 1) }

  /// Whether no other write may run before those that did are committed.
  var mustEnd: Bool { roomless != nil || isBroken }

  /// Whether those in it should not wait for more.
  var isFull: Bool {
    members.count >= Self.maximumCount
      || members.count > 1
        && MonotonicTime.now.nanoseconds &- beginning.nanoseconds > maximumTime
  }

  // MARK: Running a write

  /// Runs the closure of a write; when it throws, nothing that it did is left. Nil when the map
  /// has no room for it beside the others.
  func run<T>(
    _ write: AsyncWrite<T>, _ hasRun: inout Bool
  ) throws -> Store.Run<T>? {
    func run(_ transaction: LMDBTransaction, _ open: OpenCatalog) throws -> Store.Run<T> {
      try write.store.run(write.body, on: open.writer.context, transaction, &hasRun, write.timer)
    }
    guard let attempt, let open else {
      beginning = .now
      let (attempt, (done, open)) = try write.store.attempt { (try run($0, $1), $1) }
      self.attempt = attempt
      self.open = open
      durability = write.durability
      return done
    }
    do {
      let done = try attempt.runChild { try run($0, open) }
      if done != nil { durability = max(durability, write.durability) }
      return done
    } catch let error as WriteAttempt.HalfMerged {
      isBroken = true
      throw error.cause
    }
  }

  // MARK: The end

  /// Lets a write whose closure ran wait for the commit; `tell` is called before it goes on.
  func add(
    _ continuation: UnsafeContinuation<Verdict, Never>, _ tell: @escaping (Verdict) -> Void
  ) {
    members.append(Member(continuation: continuation, tell: tell))
  }

  /// Lets a write wait that there was no room for: it will run again, or fail.
  func addWithoutRoom(
    _ continuation: UnsafeContinuation<Verdict, Never>, _ tell: @escaping (Verdict) -> Void
  ) {
    roomless = Member(continuation: continuation, tell: tell)
  }

  /// Commits what the writes did and tells each how it ended; true when some must run again.
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
      do { try environment.grow() } catch { growth = .failed(error) }
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
