internal import Foundation

/// The owner and the permissions of a store, which the files that are made beside it get too: whoever may use the store
/// needs them all.
enum FileRights {
  /// Gives a new file those of the store, as far as this process may.
  ///
  /// - Parameter least: the permissions that the file keeps in any case.
  static func pass(from store: String, to descriptor: Int32, keeping least: mode_t = 0) {
    var (old, made) = (stat(), stat())
    guard stat(store, &old) == 0, fstat(descriptor, &made) == 0 else { return }
    if made.st_uid != old.st_uid || made.st_gid != old.st_gid,
      fchown(descriptor, old.st_uid, old.st_gid) != 0
    {
      // Only a superuser gives files away, but each user to the groups that he is in.
      _ = fchown(descriptor, made.st_uid, old.st_gid)
    }
    // Another group must not get the rights that this one has.
    let isSameGroup = fstat(descriptor, &made) == 0 && made.st_gid == old.st_gid
    fchmod(descriptor, old.st_mode & (isSameGroup ? 0o777 : 0o707) | least)
  }
}
