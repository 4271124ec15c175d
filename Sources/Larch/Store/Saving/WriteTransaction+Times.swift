public import Foundation

extension WriteTransaction {
  /// The time of the transaction: one for all records that it saves, read once from
  /// ``Store/Options/clock``.
  public var now: Date {
    if let known = time { return known }
    let now = writer.clock()
    time = now
    return now
  }
}

extension Record {
  /// The record with the times of the stored one, where they are no change by themselves.
  func keepingTimes(of stored: Self) -> Self {
    guard let type = Self.self as? any Timestamped.Type else { return self }
    var record = self
    type.keepTimes(of: stored, in: &record)
    return record
  }

  /// The record without the times that a save gave it, where it still has these.
  func takingBackTimes(of saved: Self, to before: Self) -> Self {
    guard let type = Self.self as? any Timestamped.Type else { return self }
    var record = self
    type.takeBackTimes(of: saved, to: before, in: &record)
    return record
  }
}

extension Timestamped {
  /// Gives the record the times of the stored one, so that they are no change by themselves.
  static func keepTimes<R>(of stored: R, in record: inout R) {
    // The type was asked of `R.self`, so both are of this type.
    guard let stored = stored as? Self else { return }
    withSame(&record) { record in
      record.createdAt = record.createdAt ?? stored.createdAt
      record.updatedAt = stored.updatedAt
    }
  }

  fileprivate static func takeBackTimes<R>(of saved: R, to before: R, in record: inout R) {
    // As above.
    guard let saved = saved as? Self, let before = before as? Self else { return }
    withSame(&record) { record in
      if record.createdAt == saved.createdAt { record.createdAt = before.createdAt }
      if record.updatedAt == saved.updatedAt { record.updatedAt = before.updatedAt }
    }
  }

  static func stamp<R>(_ record: inout R, _ now: Date, isNew: Bool) {
    withSame(&record) { record in
      if isNew { record.createdAt = record.createdAt ?? now }
      record.updatedAt = isNew ? record.updatedAt ?? now : now
    }
  }
}

extension Record {
  /// The record in place, where the caller found this type by asking `R.self`.
  fileprivate static func withSame<R, T>(
    _ record: inout R, _ body: (inout Self) throws -> T
  ) rethrows -> T {
    // Callers have this type from `R.self as?`, so both are one whatever the record holds; a fault
    // of Larch must not go on and write through a pointer of another type.
    precondition(R.self == Self.self, "the times are of the type of their record")
    return try withUnsafeMutablePointer(to: &record) {
      try body(&UnsafeMutableRawPointer($0).assumingMemoryBound(to: Self.self).pointee)
    }
  }
}
