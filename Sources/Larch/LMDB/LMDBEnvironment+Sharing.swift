extension LMDBEnvironment {
  /// Whether another store of this process has the same file open, and so the same handles.
  var isShared: Bool { LMDBRegistry.shared.owners(of: self) > 1 }
}
