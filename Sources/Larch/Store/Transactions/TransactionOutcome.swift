/// Whether what was done in a transaction, or in a savepoint of one, was kept.
///
/// Created when something depends on it, and set by the transaction at its end. Values that outlive
/// the transaction hold it, so any thread may ask.
final class TransactionOutcome: Sendable {
  enum Verdict: Sendable {
    /// The transaction still runs.
    case pending
    /// It was committed.
    case kept
    /// It was undone, or a savepoint was around what was done in it.
    case undone
  }

  private enum State: Sendable {
    case known(Verdict)
    /// The savepoint is a part of this one now.
    case part(of: TransactionOutcome)
  }

  private let state = Locked<State>(.known(.pending))

  var verdict: Verdict {
    switch state.withLock({ $0 }) {
    case .known(let verdict): verdict
    case .part(let outer): outer.verdict
    }
  }

  /// The outermost one that this one is known to share its end with.
  var root: TransactionOutcome {
    switch state.withLock({ $0 }) {
    case .known: self
    case .part(let outer): outer.root
    }
  }

  func resolve(_ verdict: Verdict) { state.withLock { $0 = .known(verdict) } }

  /// The savepoint is kept: its end is that of what is around it.
  func join(_ outer: TransactionOutcome) {
    if outer !== self { state.withLock { $0 = .part(of: outer) } }
  }
}

extension WriteTransaction {
  /// What comes of what is being done now: of the innermost savepoint, else of the transaction.
  var outcome: TransactionOutcome {
    if let known = startedOutcome { return known }
    let outcome = TransactionOutcome()
    startedOutcome = outcome
    return outcome
  }

  /// Ends a savepoint, which gives its outcome to what is around it.
  func endOutcome(isKept: Bool, outer: TransactionOutcome?) {
    let inner = startedOutcome
    startedOutcome = outer
    guard let inner else { return }
    if !isKept {
      inner.resolve(.undone)
    } else if let outer {
      inner.join(outer)
    } else {
      // Nothing depends on the outer outcome yet: from now on both have the same one.
      startedOutcome = inner
    }
  }
}
