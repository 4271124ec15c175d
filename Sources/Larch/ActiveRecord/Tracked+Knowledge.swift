/// What a tracked record knows of the store, which may turn out to be undone.
extension Tracked {
  /// What is stored, and what ``revert()`` goes back to.
  struct Known: Sendable {
    enum Standing {
      /// It is not stored; the record is what it was at the beginning, or before it was deleted.
      case absent
      case stored
      /// It was read in a transaction that had changed something and was undone: nobody knows
      /// whether this record was what had been changed.
      case uncertain
    }

    var record: R
    var standing: Standing

    /// A copy that changes of the record do not reach.
    static func snapshot(_ record: R) -> R {
      guard R.self is AnyObject.Type else { return record }
      // What was read or saved can be encoded and decoded; else both are one object.
      return (try? RecordComparer.with { try $0.copy(of: record) }) ?? record
    }
  }

  /// What was learned in a transaction, and how to take it back.
  struct Step: Sendable {
    var known: Known
    let outcome: TransactionOutcome
    /// The record in memory before it.
    var before: R
    /// `edits` after it.
    var edits: Int
  }

  /// What is known, once it is settled.
  var known: Known { pending.last?.known ?? base }

  /// The same without what was undone meanwhile.
  var settled: Tracked {
    if pending.isEmpty { return self }
    var copy = self
    copy.settle()
    return copy
  }

  /// Takes back what was undone, and forgets how to take back what was kept.
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

  /// A record without what an undone step made of it. What was changed in memory after it stays.
  private static func takenBack(_ record: R, isEdited: Bool, _ step: Step) -> R {
    guard isEdited else { return step.before }
    var record = record.takingBackTimes(of: step.known.record, to: step.before)
    if record.id == step.known.record.id { record.id = step.before.id }
    return record
  }

  /// Takes note of what was done or read, and makes `record` the one in memory.
  mutating func learn(_ known: Known, _ record: R, before: R, _ outcome: TransactionOutcome?) {
    current = record
    guard let outcome else {
      base = known
      pending = []
      return
    }
    var step = Step(known: known, outcome: outcome, before: before, edits: edits)
    while let last = pending.last, last.outcome.root === outcome.root {
      // They share their end, so one step takes back all; there may be many in a transaction.
      step.before = Tracked.takenBack(step.before, isEdited: edits != last.edits, last)
      pending.removeLast()
    }
    pending.append(step)
    settle()
  }
}
