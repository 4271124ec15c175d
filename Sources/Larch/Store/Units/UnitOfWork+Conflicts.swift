extension UnitOfWork {
  /// The drafts with changes whose record somebody else changed, deleted or inserted meanwhile, in
  /// the order of ``changedDrafts``.
  ///
  /// A commit throws `.conflict` where there are some. A record that is stored as the draft has it
  /// is no conflict, nor one that both deleted. The times of a ``Timestamped`` record do not count;
  /// the number of a ``Versioned`` one does.
  ///
  /// - Throws: the errors of ``RecordReading/find(_:_:)->R?``: a stored record that cannot be
  ///   decoded cannot be compared.
  /// - Complexity: one search for each draft with changes, O(log n), and the encoding of the
  ///   records.
  public func conflicts() throws -> [DraftConflict] {
    let drafts = changedDraftsNow
    if drafts.isEmpty { return [] }
    return try store.read { tx in try drafts.compactMap { try $0.conflict(in: tx) } }
  }

  /// Resolves one conflict. It is an edit, which can be undone.
  ///
  /// ```swift
  /// for conflict in try work.conflicts() {
  ///   try work.resolve(conflict, by: conflict.isMergeable ? .merge : .takeTheirs)
  /// }
  /// try work.commit()
  /// ```
  ///
  /// The draft is compared with the stored record of the conflict from now on: if that changes once
  /// more before the commit, there is a new conflict.
  ///
  /// - Throws: `.conflict` for a merge where the same property was changed to different values, or
  ///   where one side deleted or inserted the record, and for a conflict that is out of date; `.foreignDraft` for a conflict of another
  ///   unit. The draft is as it was then.
  /// - Complexity: the encoding of the records.
  public func resolve(_ conflict: DraftConflict, by resolution: ConflictResolution) throws {
    try checkIsOwn(conflict.draft)
    try conflict.draft.resolve(conflict, by: resolution)
  }

  /// Resolves all conflicts as one step.
  ///
  /// - Returns: those that ``ConflictResolution/merge`` cannot resolve, unchanged. The commit
  ///   throws `.conflict` for them.
  /// - Throws: the errors of ``conflicts()``.
  /// - Complexity: that of ``conflicts()``.
  @discardableResult
  public func resolveConflicts(by resolution: ConflictResolution) throws -> [DraftConflict] {
    let all = try conflicts()
    let left = all.filter { resolution == .merge && !$0.isMergeable }
    try group(nil) {
      for conflict in all where resolution != .merge || conflict.isMergeable {
        try resolve(conflict, by: resolution)
      }
    }
    return left
  }

  /// The same as ``changedDrafts``, for the unit, which is no reader of it.
  var changedDraftsNow: [AnyDraft] { Array(heldDrafts.prefix { $0.isChangedNow }) }
}
