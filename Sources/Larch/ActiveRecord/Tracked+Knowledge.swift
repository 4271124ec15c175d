/// What a tracked record knows about the stored one, which may later be undone.
extension Tracked {
  /// The known state of the stored record, to which ``revert()`` returns.
  struct Known: Sendable {
    enum Standing {
      /// It is not stored; the record is that from the beginning, or from before its deletion.
      case absent
      case stored
      /// It was read in a transaction that had changed something and was undone, so it may be one
      /// of the undone changes.
      case uncertain
    }

    var record: R
    var standing: Standing

    /// A copy that is independent of changes of the record.
    static func snapshot(_ record: R) -> R { RecordComparer.snapshot(of: record) }
  }

  /// A fact from a transaction, and how to undo it.
  struct Step: Sendable {
    var known: Known
    let outcome: TransactionOutcome
    /// The record in memory before it.
    var before: R
    /// `edits` after it.
    var edits: Int
  }

  /// The known state, once it is settled.
  var known: Known { pending.last?.known ?? base }

  /// The same without facts that were undone meanwhile.
  var settled: Tracked {
    if pending.isEmpty { return self }
    var copy = self
    copy.settle()
    return copy
  }

  /// Undoes the facts that were undone, and makes the others final.
  mutating func settle() {
    if pending.isEmpty { return }
    while let last = pending.last, last.outcome.verdict == .undone {
      pending.removeLast()
      current = Tracked.takenBack(current, isEdited: edits != last.edits, last)
    }
    // One of another store, below one that lasts.
    pending.removeAll { $0.outcome.verdict == .undone }
    while let first = pending.first, first.outcome.verdict == .kept {
      base = first.known
      pending.removeFirst()
    }
  }

  /// The record without the changes of an undone step. Later changes in memory stay.
  private static func takenBack(_ record: R, isEdited: Bool, _ step: Step) -> R {
    guard isEdited else { return step.before }
    var record = record.takingBackTimes(of: step.known.record, to: step.before)
    if record.id == step.known.record.id { record.id = step.before.id }
    return record
  }

  /// Notes what was done or read, and makes `record` the one in memory.
  mutating func learn(_ known: Known, _ record: R, before: R, _ outcome: TransactionOutcome?) {
    current = record
    guard let outcome else {
      base = known
      pending = []
      return
    }
    var step = Step(known: known, outcome: outcome, before: before, edits: edits)
    while let last = pending.last, last.outcome.root === outcome.root {
      // They end together, so one step undoes them all; a transaction may have many.
      step.before = Tracked.takenBack(step.before, isEdited: edits != last.edits, last)
      pending.removeLast()
    }
    pending.append(step)
    settle()
  }
}
