internal import CLMDB

internal import Foundation

/// Waits until a file is written to, or another thread calls.
///
/// LMDB writes the header of a commit with a system call, so each commit changes the file in a way
/// that the system notices.
final class FileSignal: Sendable {
  enum Cause {
    /// The file was changed, or a thread called.
    case change
    case timeout
  }

  /// The result of watching a path.
  enum Watching {
    case file
    /// There is no file, so nobody opens it any more. Those who have it open may still write.
    case nothing
    /// The system tells of no changes of this file.
    case refused

    /// After a call that failed.
    fileprivate init(code: Int32) { self = code == ENOENT ? .nothing : .refused }
  }

  #if canImport(Darwin)
    private let queue: Int32
    /// The file that is watched.
    private let file = Locked<Int32>(-1)

    init() {
      queue = kqueue()
      var event = kevent(
        ident: 0, filter: Int16(EVFILT_USER), flags: UInt16(EV_ADD | EV_CLEAR), fflags: 0, data: 0,
        udata: nil)
      _ = kevent(queue, &event, 1, nil, 0, nil)
    }

    deinit {
      Foundation.close(queue)
      file.withLock { if $0 >= 0 { Foundation.close($0) } }
    }

    /// Watches a file from now on, and no other one.
    func watch(_ path: String) -> Watching {
      let opened = open(path, O_EVTONLY | O_CLOEXEC)
      let code = errno
      let before = file.withLock { file in
        defer { file = opened }
        return file
      }
      // Closing a file also ends its events.
      if before >= 0 { Foundation.close(before) }
      if opened < 0 { return Watching(code: code) }
      var event = kevent(
        ident: UInt(opened), filter: Int16(EVFILT_VNODE), flags: UInt16(EV_ADD | EV_CLEAR),
        fflags: UInt32(NOTE_WRITE | NOTE_EXTEND), data: 0, udata: nil)
      return kevent(queue, &event, 1, nil, 0, nil) == 0 ? .file : .refused
    }

    /// Watches no file any more.
    func watchNothing() {
      let before = file.withLock { file in
        defer { file = -1 }
        return file
      }
      if before >= 0 { Foundation.close(before) }
    }

    func wake() {
      var event = kevent(
        ident: 0, filter: Int16(EVFILT_USER), flags: 0, fflags: UInt32(NOTE_TRIGGER), data: 0,
        udata: nil)
      _ = kevent(queue, &event, 1, nil, 0, nil)
    }

    func wait(microseconds: Int) -> Cause {
      var event = kevent()
      var limit = timespec(
        tv_sec: microseconds / 1_000_000, tv_nsec: microseconds % 1_000_000 * 1000)
      return kevent(queue, nil, 0, &event, 1, &limit) > 0 ? .change : .timeout
    }
  #else
    /// The system's queue of changes; negative if there is none.
    private let queue: Int32
    /// A pipe for calls of other threads.
    private let ends: (read: Int32, write: Int32)
    /// The watches that were begun.
    private let watches = Locked<Set<Int32>>([])

    init() {
      queue = inotify_init1(O_CLOEXEC | O_NONBLOCK)
      var ends: [Int32] = [-1, -1]
      self.ends = larch_pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
    }

    deinit {
      for descriptor in [queue, ends.read, ends.write] where descriptor >= 0 {
        Foundation.close(descriptor)
      }
    }

    /// Watches a file from now on, and perhaps the one before.
    ///
    /// The watch of a file that was removed ends with the file.
    func watch(_ path: String) -> Watching {
      if queue < 0 { return .refused }
      let watch = inotify_add_watch(queue, path, UInt32(IN_MODIFY))
      if watch < 0 { return Watching(code: errno) }
      watches.withLock { _ = $0.insert(watch) }
      return .file
    }

    /// Watches no file any more.
    func watchNothing() {
      let begun = watches.withLock { watches in
        defer { watches = [] }
        return watches
      }
      for watch in begun { inotify_rm_watch(queue, watch) }
    }

    func wake() {
      var byte: UInt8 = 0
      if ends.write >= 0 { _ = write(ends.write, &byte, 1) }
    }

    func wait(microseconds: Int) -> Cause {
      // A negative descriptor is left out.
      var polled = [
        pollfd(fd: queue, events: Int16(POLLIN), revents: 0),
        pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0),
      ]
      // The system waits for whole milliseconds.
      if microseconds < 1000 { usleep(UInt32(microseconds)) }
      guard poll(&polled, 2, Int32(microseconds / 1000)) > 0 else { return .timeout }
      // One change is as good as many.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        for event in polled where event.revents != 0 {
          _ = read(event.fd, buffer.baseAddress, buffer.count)
        }
      }
      return .change
    }
  #endif
}
