internal import CLMDB

internal import Foundation

/// A lock by which a process shows that it has the file of a store open, and with which lock file.
///
/// LMDB finds its lock file by the name of the store. Two programs that use two names of the store,
/// or of which one started after the lock file had been removed, would write without knowing of
/// each other. So each holds a shared lock on one byte of the file itself, far above any page; the
/// position of the byte identifies the lock file and the process. A process first takes the lock, on
/// a descriptor of its own, and then looks for others, so that at least one of two sees the other.
/// Only then does LMDB open the file, and the lock is held on LMDB's own descriptor, with which it
/// ends.
///
/// See docs/decisions/0016-a-claim-on-the-file.md.
enum FileClaim {
  /// The bytes of claims: 39 bits for the lock file, 22 for the process. The byte at `end` is for all who
  /// may write.
  static let start: Int64 = 1 << 61
  static let end: Int64 = 1 << 62
  private static let processBits: Int64 = 22

  /// The lock file that a process uses, as a number; 0 stands for none, if a reader may not write
  /// it.
  struct LockFile: Equatable {
    let number: Int64

    static let none = Self(number: 0)

    private init(number: Int64) { self.number = number }

    init(_ file: FileIdentity) {
      // Mixed (splitmix64), since a file on another device may have the same number.
      var mixed = file.inode &+ file.device &* 0x9E37_79B9_7F4A_7C15
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      mixed ^= mixed >> 31
      number = Int64(mixed % (1 << 39 - 1)) + 1
    }

    /// The lock file and the process that a byte stands for.
    fileprivate static func holder(_ byte: Int64) -> Holder {
      let rest = byte - FileClaim.start
      return Holder(
        lockFile: Self(number: rest >> processBits),
        process: Int32(truncatingIfNeeded: rest & (1 << processBits - 1)))
    }

    fileprivate var firstByte: Int64 { FileClaim.start + number << processBits }
  }

  /// A process that has the file open.
  struct Holder {
    let lockFile: LockFile
    let process: Int32
  }

  /// Takes the claim; false if the file system has no such locks.
  static func take(_ descriptor: Int32, _ lockFile: LockFile) -> Bool {
    let process = Int64(getpid()) & (1 << processBits - 1)
    return larch_share_bytes(descriptor, lockFile.firstByte + process, 1) == 0
  }

  /// Shows also that the process may write. Nobody may log commits beside it.
  static func takeWriting(_ descriptor: Int32) {
    _ = larch_share_bytes(descriptor, end, 1)
  }

  /// Whether another process has the file open and may write it; nil if the file system has no such
  /// locks.
  static func isWritable(elsewhere descriptor: Int32) -> Bool? {
    var (first, last) = (Int64(-1), Int64(-1))
    let answer = larch_find_lock(descriptor, end, 1, &first, &last)
    return answer < 0 ? nil : answer > 0
  }

  static func drop(_ descriptor: Int32) {
    larch_unlock_bytes(descriptor, start, end - start + 1)
  }

  /// Another process that has the file open with another lock file; without `lockFile`, any other
  /// process that has it open. The descriptor's own claim does not count.
  static func other(than lockFile: LockFile?, _ descriptor: Int32) -> Holder? {
    var found = Int64(-1)
    if let lockFile {
      let (first, next) = (lockFile.firstByte, lockFile.firstByte + 1 << processBits)
      found = firstLocked(descriptor, start, first - start)
      if found < 0 { found = firstLocked(descriptor, next, end - next) }
    } else {
      found = firstLocked(descriptor, start, end - start)
    }
    return found < 0 ? nil : LockFile.holder(found)
  }

  /// The first byte that another process has locked, or -1.
  private static func firstLocked(_ descriptor: Int32, _ start: Int64, _ count: Int64) -> Int64 {
    var (first, last) = (Int64(-1), Int64(-1))
    return larch_find_lock(descriptor, start, count, &first, &last) > 0 ? first : -1
  }

  /// A process that has the file at a path open; nil if there is no file.
  static func holder(ofFileAt path: String) -> Holder? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return other(than: nil, descriptor)
  }
}

extension FileClaim.Holder {
  /// Which process has the file open, and by which names, as far as the system knows.
  func description(of file: FileIdentity) -> String {
    var text = "process \(process)"
    var names: (file: String?, lockFile: String?)
    #if os(Linux)
      let folder = "/proc/\(process)"
      if let name = try? String(contentsOfFile: folder + "/comm", encoding: .utf8) {
        text += " (\(name.split(separator: "\n").first ?? ""))"
      }
      for entry in (try? FileManager.default.contentsOfDirectory(atPath: folder + "/fd")) ?? [] {
        let link = folder + "/fd/" + entry
        var status = stat()
        guard stat(link, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
          let name = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
        else { continue }
        let found = FileIdentity(status)
        if found == file {
          names.file = names.file ?? name
        } else if lockFile == FileClaim.LockFile(found) {
          names.lockFile = names.lockFile ?? name
        }
      }
    #endif
    text += " has it open"
    if let name = names.file { text += " as \(name)" }
    if let name = names.lockFile { text += " with the lock file \(name)" }
    return text
  }
}

extension LMDBEnvironment {
  /// Closes an environment, and then drops its claim.
  ///
  /// The claim is dropped after LMDB has let go of the lock file, so that nobody can commit with
  /// another one before. It is dropped explicitly, since a program that is being started may have the
  /// descriptor for a moment.
  static func close(_ handle: OpaquePointer) {
    var descriptor: Int32 = -1
    mdb_env_get_fd(handle, &descriptor)
    let kept = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    // Without a free descriptor the claim must go first.
    if kept < 0, descriptor >= 0 { FileClaim.drop(descriptor) }
    mdb_env_close(handle)
    guard kept >= 0 else { return }
    FileClaim.drop(kept)
    Foundation.close(kept)
  }

  /// Claims the file, and finds a process that has it open with another lock file.
  func claim(_ descriptor: Int32, _ lock: LockFileFound) throws -> FileClaim.Holder? {
    // If several machines share the file system, `flock` may count as one of these locks.
    if options.allowsRemoteFileSystem, try StoreLocation(path).isRemote { return nil }
    guard FileClaim.take(descriptor, lock.file) else {
      // A process without a lock file cannot know whether another one writes.
      if let code = lock.failure, code != EROFS { throw LMDBError(code, "open") }
      return nil
    }
    return FileClaim.other(than: lock.file, descriptor)
  }

  /// The error for a file that another process has open with another lock file.
  func foreignError(_ holder: FileClaim.Holder, _ lockFile: FileClaim.LockFile) -> LarchError {
    let message: StaticString =
      if lockFile == .none {
        "Another process has the file open, and this one may not write the lock file, which lists the reads; close the file there first, or allow writing the lock file."
      } else if holder.lockFile == .none {
        "Another process reads the file without the lock file, which it may not write; close it there, then open the store again."
      } else {
        "Another process has the file open under another name, or with a lock file that was removed; close it there, then open the store again."
      }
    return LarchError(.busy, message) {
      $0.path = path
      $0.detail = holder.description(of: file)
    }
  }
}
