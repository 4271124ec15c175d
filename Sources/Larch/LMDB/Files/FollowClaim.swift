internal import CLMDB

internal import Foundation

/// A lock by which one of the stores that share a copy applies the log to it; the others look on, and
/// take its place when it ends, even by a kill.
///
/// It saves the others the work, and keeps two from making the copy at the same time. That no entry
/// is applied twice does not depend on it: each write compares the place of the copy first. Where the
/// system has no such locks, everybody has the claim.
///
/// It is on one byte of the file, so a file that has replaced it must be claimed again.
final class FollowClaim: Sendable {
  /// Above the bytes of `FileClaim`.
  private static let byte = FileClaim.end + 1

  /// The file that is claimed.
  let file: FileIdentity
  private let descriptor: Int32

  /// Nil if another one has it.
  ///
  /// - Throws: the error of the system if the file cannot be opened for writing.
  init?(_ path: String) throws(LMDBError) {
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      Foundation.close(descriptor)
      throw LMDBError(code, "fstat")
    }
    let code = larch_lock_bytes(descriptor, Self.byte, 1)
    guard code != EAGAIN, code != EACCES else {
      Foundation.close(descriptor)
      return nil
    }
    file = FileIdentity(status)
    self.descriptor = descriptor
  }

  deinit { Foundation.close(descriptor) }
}

extension LMDBEnvironment {
  /// The claim on the file that the environment has open now: the one that is given if it is that, or a
  /// new one. Nil if another store has it.
  func followClaim(_ current: FollowClaim?) throws -> FollowClaim? {
    if let current, current.file == file { return current }
    do {
      guard let claim = try FollowClaim(path), claim.file == file else { return nil }
      return claim
    } catch {
      throw translated(error)
    }
  }
}
