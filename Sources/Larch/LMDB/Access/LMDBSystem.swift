internal import Foundation
internal import Synchronization

/// A mutex that conditions can wait on; the standard library's `Mutex` cannot do that.
struct SystemMutex: ~Copyable {
  fileprivate let storage: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    storage = .allocate(capacity: 1)
    storage.initialize(to: pthread_mutex_t())
    pthread_mutex_init(storage, nil)
  }

  deinit {
    pthread_mutex_destroy(storage)
    storage.deinitialize(count: 1)
    storage.deallocate()
  }

  func lock() { pthread_mutex_lock(storage) }

  func unlock() { pthread_mutex_unlock(storage) }
}

/// A condition that threads wait on with a `SystemMutex` held.
struct SystemCondition: ~Copyable {
  private let storage: UnsafeMutablePointer<pthread_cond_t>

  init() {
    storage = .allocate(capacity: 1)
    storage.initialize(to: pthread_cond_t())
    #if canImport(Darwin)
      pthread_cond_init(storage, nil)
    #else
      // Deadlines use the monotonic clock, so that a change of the wall clock does not move them.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(storage, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(storage)
    storage.deinitialize(count: 1)
    storage.deallocate()
  }

  func signal() { pthread_cond_signal(storage) }

  func broadcast() { pthread_cond_broadcast(storage) }

  func wait(_ mutex: borrowing SystemMutex) { pthread_cond_wait(storage, mutex.storage) }

  /// Waits until the deadline at most; false if the deadline has passed.
  func wait(_ mutex: borrowing SystemMutex, until deadline: MonotonicTime) -> Bool {
    #if canImport(Darwin)
      let now = MonotonicTime.now
      guard now.nanoseconds < deadline.nanoseconds else { return false }
      var left = MonotonicTime(nanoseconds: deadline.nanoseconds &- now.nanoseconds).specification
      return pthread_cond_timedwait_relative_np(storage, mutex.storage, &left) != ETIMEDOUT
    #else
      var limit = deadline.specification
      return pthread_cond_timedwait(storage, mutex.storage, &limit) != ETIMEDOUT
    #endif
  }
}

/// A point on the clock that only goes forward.
struct MonotonicTime: Sendable {
  let nanoseconds: Int64

  static var now: Self {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Self(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  static func after(seconds: Double) -> Self {
    let limit = seconds.isFinite ? min(max(seconds, 0), 1e9) : 1e9
    return Self(nanoseconds: now.nanoseconds &+ Int64(limit * 1e9))
  }

  /// A point in the future; one too far away to be represented is never reached.
  static func after(_ duration: Duration) -> Self { after(seconds: duration.inSeconds) }

  fileprivate var specification: timespec {
    var time = timespec()
    time.tv_sec = .init(nanoseconds / 1_000_000_000)
    time.tv_nsec = .init(nanoseconds % 1_000_000_000)
    return time
  }
}

/// How long the processor has worked for the current thread. Reading it is a system call.
enum ThreadTime {
  static var nanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// The number of the current thread; never zero, and unique among live threads.
enum ThreadIdentity {
  static var current: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}

/// Counts the forks that lead to this process, so that a child notices that it inherited a store.
///
/// LMDB does not notice: in a child every call returns success and destroys the lock table. Reading
/// the process id in each transaction would be a system call.
enum ForkWatch {
  private static let forks = Atomic<Int>(0)

  private static let isInstalled: Bool =
    pthread_atfork(nil, nil, { ForkWatch.forks.add(1, ordering: .relaxed) }) == 0

  static func install() { _ = isInstalled }

  static var count: Int { forks.load(ordering: .relaxed) }
}

extension Duration {
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
