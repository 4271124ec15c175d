extension UnitOfWork {
  /// Saves all changes of the unit in one transaction, or nothing.
  ///
  /// Each record is compared with the one that its edits began with: if somebody else has changed,
  /// deleted or inserted any of them, the commit throws `.conflict`, which names them. Saves run
  /// the hooks and the rules of the schema, deletions those of the associations. Saves come first,
  /// then deletions, and the other order is tried where a rule forbids this one; among themselves
  /// they need no order. A reference must lead to a record at the end of the commit.
  ///
  /// After it, the drafts hold what is stored: versions, times, changes of hooks and of delete
  /// rules. So do the drafts without changes. The history is cleared. After an error the file and
  /// the drafts are as they were, with all edits and the history.
  ///
  /// Without changes nothing happens. Two records cannot exchange values that must be unique in one
  /// commit.
  ///
  /// - Parameters:
  ///   - author: who writes, for observers: see `Store.write`.
  ///   - durability: what the commit waits for; by default the option of the store.
  ///   - file: the calling file, for the log; do not pass it.
  ///   - line: the calling line; do not pass it.
  /// - Throws: `.conflict`; `.idChanged` for a draft that got another id; `.busy` inside a step,
  ///   and while another commit of the unit is running; the errors of ``RecordWriting/insert(_:)``,
  ///   `RecordWriting.update(_:)` and ``RecordWriting/delete(_:_:)``, of hooks, and of
  ///   `Store.write`.
  /// - Complexity: that of the saves and deletions, and a search for each draft that somebody
  ///   keeps.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await work.commit()`"
  )
  public func commit(
    author: String? = nil, durability: Store.WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line
  ) throws {
    guard let (drafts, task) = try beginCommit() else { return }
    defer { endCommit(drafts) }
    let results = try store.writeBlocking(durability, author: author, file: file, line: line) {
      try task.run(in: $0)
    }
    finish(drafts, results)
  }

  /// Saves all changes of the unit in one transaction, or nothing, without blocking the task's
  /// thread.
  ///
  /// Drafts can be edited while it waits: such edits stay, as changes of what was stored, and are
  /// written by the next commit. They cannot be undone, since the history is cleared.
  ///
  /// - Throws: the errors of the synchronous form; `CancellationError` if the task was cancelled
  ///   before its turn.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func commit(
    author: String? = nil, durability: Store.WriteDurability = .storeDefault,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    guard let (drafts, task) = try beginCommit() else { return }
    defer { endCommit(drafts) }
    let results = try await store.writeSuspending(
      author: author, durability: durability, file: file, line: line
    ) { try task.run(in: $0) }
    finish(drafts, results)
  }

  /// What to write; nil for nothing.
  private func beginCommit() throws -> ([AnyDraft], CommitTask)? {
    if commitRuns || openStep != nil {
      throw LarchError(
        .busy,
        "A unit of work cannot be committed inside a step, nor while a commit of it is running; commit after that."
      )
    }
    let drafts = heldDrafts
    guard drafts.first?.isChangedNow == true else { return nil }
    let task = CommitTask(parts: try drafts.map { try $0.makePart() })
    for draft in drafts { draft.beginCommit() }
    mutate(\.isCommitting) { commitRuns = true }
    return (drafts, task)
  }

  private func finish(_ drafts: [AnyDraft], _ results: [any DraftResult]) {
    clearHistory()
    for (draft, result) in zip(drafts, results) { result.take(into: draft) }
  }

  private func endCommit(_ drafts: [AnyDraft]) {
    for draft in drafts { draft.endCommit() }
    mutate(\.isCommitting) { commitRuns = false }
  }
}
