/// The places in a save or a deletion at which code of the type runs.
enum HookStep {
  case willSave, willInsert, willUpdate, didInsert, didUpdate, didSave, willDelete, didDelete
}

extension RecordHooks {
  /// Runs a hook.
  ///
  /// - Parameter other: what is or was stored, for the hooks of an update.
  static func run<R: Record>(
    _ step: HookStep, _ record: inout R, _ other: R?, _ tx: WriteTransaction
  ) throws {
    try withSame(&record) { record in
      switch step {
      case .willSave: try record.willSave(in: tx)
      case .willInsert: try record.willInsert(in: tx)
      case .willUpdate:
        if let other = other as? Self { try record.willUpdate(from: other, in: tx) }
      case .didInsert: try record.didInsert(in: tx)
      case .didUpdate:
        if let other = other as? Self { try record.didUpdate(from: other, in: tx) }
      case .didSave: try record.didSave(in: tx)
      case .willDelete: try record.willDelete(in: tx)
      case .didDelete: try record.didDelete(in: tx)
      }
    }
  }

  static func didCommit<R>(_ record: R, _ change: RecordChange) {
    (record as? Self)?.didCommit(change)
  }
}

extension Record {
  /// The record in place, where the caller found this type by asking `R.self`.
  static func withSame<R, T>(
    _ record: inout R, _ body: (inout Self) throws -> T
  ) rethrows -> T {
    // Callers have this type from `R.self as?`, so both are one whatever the record holds; a fault
    // of Larch must not go on and write through a pointer of another type.
    precondition(R.self == Self.self, "a hook is of the type of its record")
    return try withUnsafeMutablePointer(to: &record) {
      try body(&UnsafeMutableRawPointer($0).assumingMemoryBound(to: Self.self).pointee)
    }
  }
}
