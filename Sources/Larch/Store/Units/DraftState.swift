/// What a draft is at one moment: a value, so that a step can be undone by putting an older one
/// back.
struct DraftState<R: Record>: Sendable {
  /// The stored record that the edits began with; of a draft that is not stored, the record as it
  /// was inserted.
  var origin: R
  /// Whether `origin` is stored.
  var isStored: Bool
  var record: R
  var isDeleted: Bool

  /// The state of a record that was just read.
  init(stored record: R) {
    origin = RecordComparer.snapshot(of: record)
    isStored = true
    self.record = record
    isDeleted = false
  }

  /// The state of a record that no longer is, or not yet.
  init(absent record: R) {
    origin = RecordComparer.snapshot(of: record)
    isStored = false
    self.record = record
    isDeleted = true
  }

  /// What a commit would do; nil for nothing.
  var change: RecordChange? {
    if isDeleted { return isStored ? .deleted : nil }
    if !isStored { return .inserted }
    return isSame(record.keepingTimes(of: origin), origin) ? nil : .updated
  }

  /// The same without edits.
  var reverted: DraftState {
    var state = self
    state.record = RecordComparer.snapshot(of: origin)
    state.isDeleted = !isStored
    return state
  }

  /// The fields that the edits changed.
  func changes() throws -> [FieldChange] {
    guard isStored else {
      return try StoredComparison(state: .new, record: record, stored: nil).changes()
    }
    return try StoredComparison(
      state: .changed, record: record.keepingTimes(of: origin), stored: origin
    ).changes()
  }

  /// The same edits, made to a record that others have stored meanwhile.
  func rebased(on stored: R) throws -> DraftState {
    var state = self
    state.record = try RecordComparer.with {
      try $0.merged(origin, record.keepingTimes(of: origin), into: stored)
    }
    state.origin = RecordComparer.snapshot(of: stored)
    state.isStored = true
    return state
  }

  /// Whether both records would be stored as the same bytes. A value that cannot be encoded equals
  /// nothing, so that it counts as a change, and the commit throws its error.
  func isSame(_ a: R, _ b: R) -> Bool {
    (try? RecordComparer.with { try $0.isSame(a, b) }) == true
  }
}
