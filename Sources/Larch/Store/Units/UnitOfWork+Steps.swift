extension UnitOfWork {
  /// Makes the edits of a closure one step, which is undone and redone as a whole.
  ///
  /// ```swift
  /// work.step("Move to Oslo") {
  ///   for person in people { person.city = "Oslo" }
  /// }
  /// ```
  ///
  /// Outside of it each edit is a step without a name. A step inside a step is a part of it. If the
  /// closure throws, its edits are taken back; those of an outer step stay. A step without an edit
  /// is none.
  ///
  /// - Throws: the errors of `body`.
  /// - Complexity: O(n) in its edits.
  @discardableResult
  public func step<T>(_ name: String, _ body: () throws -> T) rethrows -> T {
    try group(name, body)
  }

  func group<T>(_ name: String?, _ body: () throws -> T) rethrows -> T {
    let mark = openStep?.edits.count
    if mark == nil { openStep = EditStep(name: name) }
    let result: T
    do {
      result = try body()
    } catch {
      takeBack(to: mark ?? 0)
      if mark == nil { openStep = nil }
      throw error
    }
    if mark == nil, let step = openStep {
      openStep = nil
      if !step.edits.isEmpty { changeHistory { $0.append(step.compacted) } }
    }
    return result
  }

  /// Undoes the edits of the open step after its first ones.
  private func takeBack(to count: Int) {
    guard let edits = openStep?.edits, edits.count > count else { return }
    openStep?.edits.removeSubrange(count...)
    for edit in edits[count...].reversed() { edit.undo() }
  }

  /// Undoes the last step. Returns false if there is none, and inside a step.
  ///
  /// A commit and a discard clear the history: what was committed may be what others built on, so
  /// it is changed back by a new edit. If a draft was brought up to date meanwhile, undoing an
  /// older step of it leads to a conflict at the commit, and overwrites nothing silently.
  ///
  /// - Complexity: O(n) in the drafts of the step.
  @discardableResult
  public func undo() -> Bool {
    guard openStep == nil, let step = history.done.last else { return false }
    changeHistory {
      $0.done.removeLast()
      $0.undone.append(step)
    }
    for edit in step.edits.reversed() { edit.undo() }
    return true
  }

  /// Makes the step again that was undone last. Returns false if there is none, and inside a step.
  /// An edit after an undo leaves nothing to redo.
  ///
  /// - Complexity: O(n) in the drafts of the step.
  @discardableResult
  public func redo() -> Bool {
    guard openStep == nil, let step = history.undone.last else { return false }
    changeHistory {
      $0.undone.removeLast()
      $0.done.append(step)
    }
    for edit in step.edits { edit.redo() }
    return true
  }

  /// Whether there is a step to undo.
  public var canUndo: Bool { !readHistory.done.isEmpty }

  /// Whether there is a step to redo.
  public var canRedo: Bool { !readHistory.undone.isEmpty }

  /// The name of the step that ``undo()`` undoes; nil if it has none, and if there is no step.
  public var undoName: String? { readHistory.done.last?.name }

  /// The name of the step that ``redo()`` makes again; nil if it has none, and if there is no step.
  public var redoName: String? { readHistory.undone.last?.name }

  /// The greatest number of steps that are kept to be undone; nil, as it is at first, for all. The
  /// oldest are forgotten.
  public var undoLimit: Int? {
    get { readHistory.limit }
    set {
      changeHistory {
        $0.limit = newValue
        $0.trim()
      }
    }
  }

  /// Notes an edit of a draft.
  func note(_ edit: some DraftEdit) {
    if openStep != nil {
      openStep?.edits.append(edit)
    } else {
      changeHistory { $0.append(EditStep(name: nil, edits: [edit])) }
    }
  }

  func clearHistory() {
    openStep?.edits = []
    if !history.done.isEmpty || !history.undone.isEmpty { changeHistory { $0.clear() } }
  }

  private var readHistory: EditHistory {
    registrar.access(self, keyPath: \.history)
    return history
  }

  private func changeHistory(_ body: (inout EditHistory) -> Void) {
    var next = history
    body(&next)
    // What is released may be the last reference to a draft, whose owner may call the unit.
    let old = history
    mutate(\.history) { history = next }
    withExtendedLifetime(old) {}
  }
}
