/// An edit of one draft.
protocol DraftEdit {
  var draft: AnyDraft { get }
  func undo()
  func redo()
  /// This edit and a later one of the same draft as one.
  func joined(with later: any DraftEdit) -> any DraftEdit
}

struct StateEdit<R: Record>: DraftEdit {
  let owner: Draft<R>
  let before: DraftState<R>
  let after: DraftState<R>

  init(draft: Draft<R>, before: DraftState<R>, after: DraftState<R>) {
    owner = draft
    self.before = before
    self.after = after
  }

  var draft: AnyDraft { owner }
  func undo() { owner.take(before) }
  func redo() { owner.take(after) }

  func joined(with later: any DraftEdit) -> any DraftEdit {
    // One draft has one type.
    guard let later = later as? StateEdit<R> else { return self }
    return StateEdit(draft: owner, before: before, after: later.after)
  }
}

/// Edits that are undone and redone together.
struct EditStep {
  var name: String?
  var edits: [any DraftEdit] = []

  /// One edit for each draft.
  var compacted: EditStep {
    var places: [ObjectIdentifier: Int] = [:]
    var step = EditStep(name: name)
    for edit in edits {
      let draft = ObjectIdentifier(edit.draft)
      if let place = places[draft] {
        step.edits[place] = step.edits[place].joined(with: edit)
      } else {
        places[draft] = step.edits.count
        step.edits.append(edit)
      }
    }
    return step
  }
}

/// The steps of a unit that can be undone, and those that can be redone.
struct EditHistory {
  /// The oldest first.
  var done: [EditStep] = []
  /// The one to redo next last.
  var undone: [EditStep] = []
  var limit: Int?

  mutating func append(_ step: EditStep) {
    undone = []
    done.append(step)
    trim()
  }

  mutating func trim() {
    if let limit, done.count > limit { done.removeFirst(done.count - max(limit, 0)) }
  }

  mutating func clear() {
    done = []
    undone = []
  }
}
