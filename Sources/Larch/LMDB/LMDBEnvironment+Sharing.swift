extension LMDBEnvironment {
  /// Whether another store of this process has the same file open, and so the same handles, or a
  /// snapshot does, which may be of an older schema.
  var isShared: Bool {
    if LMDBRegistry.shared.owners(of: self) > 1 { return true }
    mutex.lock()
    defer { mutex.unlock() }
    return !heldReads.isEmpty
  }
}
