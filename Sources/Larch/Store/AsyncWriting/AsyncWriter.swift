internal import Foundation

/// Runs the asynchronous writes of a store on a thread that may block. Waiting writes share one
/// LMDB transaction and one flush.
///
/// Each write is a task that prefers this executor, so `enqueue` receives its jobs. The first job
/// takes the write's place in the queue of writers, among the synchronous writes of other threads.
/// When a batch gets the write lock, the jobs of all its writes run one after the other
/// (`WriteGroup` keeps them apart). Then the transaction is committed, and only then do the callers
/// continue.
///
/// Unchecked: comments below, not types, say what `mutex` guards and what only the draining thread
/// uses.
final class AsyncWriter: TaskExecutor, @unchecked Sendable {
  /// Writes that were requested one after the other, without others in between: they share a
  /// ticket.
  private final class Batch {
    let ticket: WriteTicket
    var jobs: ArraySlice<UnownedJob> = []

    init(_ ticket: WriteTicket) { self.ticket = ticket }
  }

  private let environment: LMDBEnvironment
  private let post: LogMailbox?
  /// A separate queue: the threads that all tasks share must not wait for a disk.
  private let queue = DispatchQueue(label: "larch.write")
  /// The queue of work that was requested for after a commit. It may write, and wait for the write
  /// lock after writes that only the draining thread can run.
  private let workQueue = DispatchQueue(label: "larch.after-commit")

  private let runner = WriteRunner()
  private let mutex = SystemMutex()
  private let arrived = SystemCondition()
  // Guarded by `mutex`.
  private var batches: ArraySlice<Batch> = []
  private var isDraining = false
  /// The thread that resumes waiting writes after their group has ended, which creates their next
  /// jobs; or 0.
  private var tellingThread: UInt = 0

  // Used only by the draining thread.
  /// Jobs of writes whose group has ended, for this thread to run.
  private var told: ArraySlice<UnownedJob> = []
  /// Whether the write that is being resumed has work to do after the commit.
  private var isTellingWork = false
  /// Continues the callers of writes that have ended. Not with the write lock held: the executor of a
  /// caller may run it at once, and it may write.
  private var callers: [@Sendable () -> Void] = []
  let group: WriteGroup
  private var expectedWrites = 1

  init(_ environment: LMDBEnvironment, _ post: LogMailbox?) {
    self.environment = environment
    self.post = post
    group = WriteGroup(environment)
  }

  // MARK: Arriving

  /// Receives a job of a write: its first, which waits for the write lock, or the one after its
  /// group ended.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    mutex.lock()
    defer { mutex.unlock() }
    if tellingThread == ThreadIdentity.current {
      if isTellingWork {
        workQueue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
      } else {
        told.append(job)
      }
      return
    }
    // The place in the queue and the one in the batch are taken under the same mutex, so both have
    // one order.
    if let batch = batches.last, environment.writeQueue.isLast(batch.ticket) {
      batch.jobs.append(job)
      arrived.signal()
    } else {
      let batch = Batch(environment.writeQueue.takeTicket(for: runner))
      batch.jobs.append(job)
      batches.append(batch)
    }
    if !isDraining {
      isDraining = true
      queue.async { self.drain() }
    }
  }

  /// The number of writes that wait for the write lock.
  var waitingCount: Int {
    mutex.lock()
    defer { mutex.unlock() }
    return batches.reduce(0) { $0 + $1.jobs.count }
  }

  // MARK: Draining

  private func drain() {
    environment.writeQueue.note(runner, isRunning: true)
    defer { environment.writeQueue.note(runner, isRunning: false) }
    while let batch = nextBatch() {
      environment.writeQueue.wait(for: batch.ticket)
      environment.beginProgramWrite()
      DiskRoom.reporting { run(batch) }
      let changes = environment.changes
      let due = changes.takeDue()
      environment.releaseWriteLock()
      // A look takes less time than a caller that asks for an observer whose look has not come yet.
      let rest = changes.stillWaiting(due)
      changes.begin(rest) { takeCallers().forEach { $0() } }
      runTold()
      environment.post?.deliverElsewhere()
      post?.deliverElsewhere()
    }
  }

  private func nextBatch() -> Batch? {
    mutex.lock()
    defer { mutex.unlock() }
    if batches.isEmpty { isDraining = false }
    return batches.first
  }

  /// Runs the writes of a batch in as few transactions as possible, with the write lock held.
  private func run(_ batch: Batch) {
    var deadline: MonotonicTime?
    while true {
      if let job = takeJob(of: batch) {
        job.runSynchronously(on: asUnownedTaskExecutor())
        if group.mustEnd { commit() } else if group.isFull { split(batch) }
        continueOthers()
      } else if !waitForMore(batch, &deadline), close(batch) {
        break
      }
    }
    expectedWrites = group.count
    commit()
  }

  /// Commits, and repeats the writes for which the map had no room, until none is left.
  private func commit() {
    while group.count > 0 {
      // Those that have not run again yet come after those of this group.
      let rest = told
      told = []
      setTelling(true)
      let isAgain = group.end()
      setTelling(false)
      told += rest
      if isAgain || !rest.isEmpty {
        continueOthers()
        runTold()
      }
    }
  }

  /// Continues the callers of writes that have ended, and begins the observers of a commit, although the
  /// batch goes on with the write lock held. The next write may wait for one of them.
  private func continueOthers() {
    environment.changes.resumeElsewhere()
    let callers = takeCallers()
    if callers.isEmpty { return }
    DispatchQueue.global().async { [post] in
      callers.forEach { $0() }
      // What they tell of slow writes.
      post?.deliver()
    }
  }

  private func takeCallers() -> [@Sendable () -> Void] {
    defer { if !callers.isEmpty { callers = [] } }
    return callers
  }

  private func runTold() {
    while !group.mustEnd, let job = told.popFirst() {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  private func setTelling(_ isTelling: Bool) {
    mutex.lock()
    tellingThread = isTelling ? ThreadIdentity.current : 0
    mutex.unlock()
  }

  private func takeJob(of batch: Batch) -> UnownedJob? {
    mutex.lock()
    defer { mutex.unlock() }
    return batch.jobs.popFirst()
  }

  /// Closes the batch for further writes; false if one has come meanwhile.
  private func close(_ batch: Batch) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    guard batch.jobs.isEmpty else { return false }
    batches.removeFirst()
    return true
  }

  /// Makes the rest of a batch wait with another ticket, so that earlier writers can continue. If
  /// others wait after it, the batch continues instead, but does not grow any more.
  private func split(_ batch: Batch) {
    mutex.lock()
    if environment.writeQueue.isLast(batch.ticket), !batch.jobs.isEmpty {
      let rest = Batch(environment.writeQueue.takeTicket(for: runner))
      rest.jobs = batch.jobs
      batch.jobs = []
      batches.append(rest)
      mutex.unlock()
    } else {
      mutex.unlock()
      commit()
    }
  }

  /// Waits a moment for writes that are about to come, if as many came the last time: a flush takes
  /// far longer than the time between two writes.
  private func waitForMore(_ batch: Batch, _ deadline: inout MonotonicTime?) -> Bool {
    guard group.count > 0, group.count < expectedWrites else { return false }
    let limit =
      deadline
      ?? MonotonicTime(
        nanoseconds: MonotonicTime.now.nanoseconds &+ min(group.lastCommitTime / 4, 1_000_000))
    deadline = limit
    mutex.lock()
    defer { mutex.unlock() }
    while batch.jobs.isEmpty {
      guard environment.writeQueue.isLast(batch.ticket), arrived.wait(mutex, until: limit) else {
        break
      }
    }
    return !batch.jobs.isEmpty
  }

  // MARK: One write

  private func finish<T>(_ write: AsyncWrite<T>, _ result: Result<T, any Error>) {
    callers.append { write.finish(result) }
  }

  /// Runs a write in its task, on the draining thread; work for after the commit runs on another
  /// one.
  func perform<T>(_ write: AsyncWrite<T>) async {
    guard write.begin() else { return }
    var hasRun = false
    while true {
      let run: Store.Run<T>
      do {
        guard let done = try group.run(write, &hasRun) else {
          let verdict = await withUnsafeContinuation { continuation in
            group.addWithoutRoom(continuation) { verdict in
              self.isTellingWork = false
              if let error = verdict.error { self.finish(write, .failure(error)) }
            }
          }
          if verdict.isAgain { continue }
          return
        }
        run = done
      } catch {
        return finish(write, .failure(error))
      }
      let mustWork = !run.afterCommit.isEmpty
      let isFirst = group.count == 0
      let verdict = await withUnsafeContinuation { continuation in
        // Callers resume before their tasks end, so that the next write can come meanwhile.
        group.add(continuation) { verdict in
          write.timer?.commit(
            ofGroup: self.group.lastCommitTime, isFirst: isFirst, isKept: verdict.isKept)
          run.outcome?.resolve(verdict.isKept ? .kept : .undone)
          if let error = verdict.error { self.finish(write, .failure(error)) }
          if verdict.isKept, !mustWork { self.finish(write, .success(run.result)) }
          self.isTellingWork = verdict.isKept && mustWork
        }
      }
      if verdict.isAgain { continue }
      if verdict.isKept, mustWork {
        write.store.runAfterCommit(run)
        write.finish(.success(run.result))
        post?.deliver()
      }
      return
    }
  }
}
