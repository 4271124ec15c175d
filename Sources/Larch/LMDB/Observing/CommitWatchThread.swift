internal import Foundation

internal import Synchronization

/// The thread of a `CommitWatch`: it waits for changes of the file, and looks for new commits.
///
/// LMDB writes the header of a commit first and then stores its number for readers. So a look may
/// come between the two, and find the old number; the next ones follow within milliseconds. And if
/// the system should ever fail to tell of a change, the look of each second finds it.
///
/// While this process commits all the time, the system does not tell: a commit writes 20 pages one by
/// one, and to tell of each takes a tenth of the time of a commit that is not flushed. The thread looks each
/// millisecond then.
final class CommitWatchThread: @unchecked Sendable {
  /// The pauses in microseconds after which it looks again if it was woken and found nothing.
  static let pauses = [50, 200, 1000, 4000]
  /// In microseconds: how often it looks without being woken, and if the system does not wake it.
  private static let (watched, polled) = (1_000_000, 100_000)
  /// In microseconds: how often it looks while this process commits all the time. After so many looks
  /// that have found none of its commits, it waits again until it is woken.
  private static let (busy, quietLooks) = (1_000, 8)
  /// In nanoseconds: how far apart changes wake it in the long run, and how much of that it may save
  /// for later. A commit causes several changes at once, and large ones cause thousands.
  private static let (distance, savings): (Int64, Int64) = (2_000_000, 32_000_000)

  /// In nanoseconds: how long it stays when nobody listens any more.
  private static let patience: Int64 = 1_000_000_000

  private let environment: LMDBEnvironment
  private let watch: CommitWatch
  private let signal: FileSignal
  private let mustWatchAgain = Atomic<Bool>(false)

  init(_ environment: LMDBEnvironment, _ watch: CommitWatch) {
    self.environment = environment
    self.watch = watch
    signal = FileSignal()
  }

  func start() {
    let thread = Thread { [self] in work() }
    thread.name = "larch.observing"
    thread.start()
  }

  /// Lets the thread look at once.
  func wake() { signal.wake() }

  /// The file may be another one.
  func watchAgain() {
    mustWatchAgain.store(true, ordering: .releasing)
    signal.wake()
  }

  private func work() {
    var isWatching = watchFile()
    watch.note(isTold: isWatching, by: self)
    var cause = FileSignal.Cause.change
    // Which pause comes next.
    var pause = 0
    var due = MonotonicTime.now.nanoseconds
    // How many looks are left before it is woken again; nil while it is.
    var quiet: Int?
    while true {
      // At the end of a silence, the file that is there then is watched.
      if mustWatchAgain.exchange(false, ordering: .acquiring), quiet == nil {
        isWatching = watchFile()
      }
      if cause == .change { pause = 0 }
      /// Since when nobody listens; nil if somebody does.
      var unheard: Int64?
      do {
        switch try watch.look(for: self, isBusy: quiet != nil) {
        case .ended: return
        case .unheard(let since): unheard = since
        case .nothing: break
        case .commit, .ownCommit: pause = Self.pauses.count
        case .ownCommits(let count):
          pause = Self.pauses.count
          if quiet != nil || count > 1 {
            if quiet == nil {
              signal.watchNothing()
              watch.note(isTold: false, by: self)
            }
            quiet = Self.quietLooks + 1
          }
        }
      } catch let error as LarchError where error.code == .closed {
        return
      } catch {
        // A later look may succeed: a slot may be free again, or the disk may work.
      }
      environment.deliverMessages()
      if let unheard {
        if quiet != nil {
          quiet = nil
          isWatching = watchFile()
          watch.note(isTold: isWatching, by: self)
        }
        let left = unheard &+ Self.patience &- MonotonicTime.now.nanoseconds
        if left <= 0 {
          if watch.release(self) { return }
        } else if signal.wait(microseconds: Int(left / 1000)) == .change {
          // As for any other change of the file.
          usleep(UInt32(Self.distance / 1000))
        }
        continue
      }
      if let left = quiet {
        quiet = left > 1 ? left - 1 : nil
        if quiet == nil {
          isWatching = watchFile()
          watch.note(isTold: isWatching, by: self)
          // Something may have come before that.
          cause = .change
        } else {
          cause = signal.wait(microseconds: Self.busy)
        }
        continue
      }
      if cause == .change {
        let now = MonotonicTime.now.nanoseconds
        due = max(due, now &- Self.savings) &+ Self.distance
        if due > now { usleep(UInt32((due &- now) / 1000)) }
      }
      if pause < Self.pauses.count {
        cause = signal.wait(microseconds: Self.pauses[pause])
        pause += 1
      } else {
        cause = signal.wait(microseconds: isWatching ? Self.watched : Self.polled)
        watch.noteWake()
        if cause == .timeout { watch.endOldPin(for: self) }
      }
    }
  }

  private func watchFile() -> Bool {
    switch environment.options.watchesFile ? signal.watch(environment.path) : .refused {
    case .file: return true
    // Whoever removed the file knows, and the system is not to blame.
    case .nothing: return false
    case .refused: break
    }
    environment.log(once: LogSubject(.observingPolls, environment.path)) {
      LogMessage(
        .notice, .observingPolls,
        "The system does not tell of changes of the file; observers look ten times a second."
      ) { $0.path = environment.path }
    }
    return false
  }
}
