internal import Foundation

/// Runs the asynchronous writes of a store on a thread that may block, and lets those that wait
/// share one LMDB transaction and one flush.
///
/// Each write is a task that prefers this executor, so its jobs come to `enqueue`: the first takes
/// the write's place in the queue of writers, beside the synchronous writes of other threads. When a
/// batch gets the write lock, the jobs of all its writes are run one after the other (`WriteGroup`
/// keeps them apart), the transaction is committed, and only then does any caller go on.
///
/// Unchecked, since what is guarded by `mutex` and what belongs to the draining thread is written
/// down below and not in the types.
final class AsyncWriter: TaskExecutor, @unchecked Sendable {
  /// Writes that asked one after the other, with nobody in between: they share a ticket.
  private final class Batch {
    let ticket: WriteTicket
    var jobs: ArraySlice<UnownedJob> = []

    init(_ ticket: WriteTicket) { self.ticket = ticket }
  }

  private let environment: LMDBEnvironment
  private let post: LogPost?
  /// A queue of its own: the threads that all tasks share must not wait for a disk.
  private let queue = DispatchQueue(label: "larch.write")
  /// Where what was put off until after a commit is done. It may write, and wait for the write lock
  /// after writes that only the draining thread can run.
  private let workQueue = DispatchQueue(label: "larch.after-commit")

  private let mutex = SystemMutex()
  private let arrived = SystemCondition()
  // Guarded by `mutex`.
  private var batches: ArraySlice<Batch> = []
  private var isDraining = false
  /// The thread that lets waiting writes know how their group ended, which makes jobs of them; or 0.
  private var tellingThread: UInt = 0

  // Only touched by the draining thread.
  /// Jobs of writes whose group has ended, to be run by this thread.
  private var told: ArraySlice<UnownedJob> = []
  /// Whether the write that is being told has work to do after the commit.
  private var isTellingWork = false
  let group: WriteGroup
  private var expectedWrites = 1

  init(_ environment: LMDBEnvironment, _ post: LogPost?) {
    self.environment = environment
    self.post = post
    group = WriteGroup(environment)
  }

  // MARK: Arriving

  /// Takes a job of a write: its first, which waits for the write lock, or the one after its group ended.
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
    // The place in the queue is taken under the same mutex as that in the batch: one order for both.
    if let batch = batches.last, environment.writeQueue.isLast(batch.ticket) {
      batch.jobs.append(job)
      arrived.signal()
    } else {
      let batch = Batch(environment.writeQueue.takeTicket())
      batch.jobs.append(job)
      batches.append(batch)
    }
    if !isDraining {
      isDraining = true
      queue.async { self.drain() }
    }
  }

  /// How many writes wait for the write lock.
  var waitingCount: Int {
    mutex.lock()
    defer { mutex.unlock() }
    return batches.reduce(0) { $0 + $1.jobs.count }
  }

  // MARK: Draining

  private func drain() {
    while let batch = nextBatch() {
      environment.writeQueue.wait(for: batch.ticket)
      run(batch)
      environment.releaseWriteLock()
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

  /// Runs the writes of a batch in as few transactions as they fit into, with the write lock held.
  private func run(_ batch: Batch) {
    var deadline: MonotonicTime?
    while true {
      if let job = takeJob(of: batch) {
        job.runSynchronously(on: asUnownedTaskExecutor())
        if group.mustEnd { commit() } else if group.isFull { split(batch) }
      } else if !waitForMore(batch, &deadline), close(batch) {
        break
      }
    }
    expectedWrites = group.count
    commit()
  }

  /// Commits, and runs again what the commit had no room for, until nothing is left.
  private func commit() {
    while group.count > 0 {
      setTelling(true)
      let isAgain = group.end()
      setTelling(false)
      if isAgain { runTold() }
    }
  }

  private func runTold() {
    while let job = told.popFirst() { job.runSynchronously(on: asUnownedTaskExecutor()) }
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

  /// Takes no more writes into the batch; false when one has come meanwhile.
  private func close(_ batch: Batch) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    guard batch.jobs.isEmpty else { return false }
    batches.removeFirst()
    return true
  }

  /// Lets what is left of a batch wait with another ticket, so that those before go on. With others
  /// waiting after it, the batch goes on instead: it grows no more then.
  private func split(_ batch: Batch) {
    mutex.lock()
    if environment.writeQueue.isLast(batch.ticket), !batch.jobs.isEmpty {
      let rest = Batch(environment.writeQueue.takeTicket())
      rest.jobs = batch.jobs
      batch.jobs = []
      batches.append(rest)
      mutex.unlock()
    } else {
      mutex.unlock()
      commit()
    }
  }

  /// Waits a moment for writes that are about to come, when as many came the last time: a flush
  /// takes far longer than the way from one write to the next.
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

  /// The life of a write, in its task, on the draining thread; what was put off until after the
  /// commit is done on another one.
  func perform<T>(_ write: AsyncWrite<T>) async {
    guard write.begin() else { return }
    var hasRun = false
    while true {
      let run: Store.Run<T>
      do {
        guard let done = try group.run(write, &hasRun) else {
          let verdict = await withUnsafeContinuation { continuation in
            group.addWithoutRoom(continuation) { _ in self.isTellingWork = false }
          }
          if case .failed(let error) = verdict { return write.finish(.failure(error)) }
          continue
        }
        run = done
      } catch {
        return write.finish(.failure(error))
      }
      let mustWork = !run.afterCommit.isEmpty
      let isFirst = group.count == 0
      let verdict = await withUnsafeContinuation { continuation in
        // Callers are told before their tasks end: the next write can come meanwhile.
        group.add(continuation) { verdict in
          write.timer?.commit(ofGroup: self.group.lastCommitTime, isFirst: isFirst)
          run.outcome?.resolve(verdict.isKept ? .kept : .undone)
          if verdict.isKept, !mustWork { write.finish(.success(run.result)) }
          self.isTellingWork = verdict.isKept && mustWork
        }
      }
      switch verdict {
      case .kept:
        if mustWork {
          write.store.runAfterCommit(run)
          write.finish(.success(run.result))
        }
        return
      case .failed(let error): return write.finish(.failure(error))
      case .again: continue
      }
    }
  }
}
