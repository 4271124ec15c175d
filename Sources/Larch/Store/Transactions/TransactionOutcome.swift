/// Whether the changes of a transaction, or of a savepoint in it, were kept.
///
/// It is created when something depends on it, and the transaction sets it at its end. Values that
/// outlive the transaction hold it, so any thread may read it.
final class TransactionOutcome: Sendable {
  enum Verdict: Sendable {
    /// The transaction still runs.
    case pending
    /// It was committed.
    case kept
    /// It, or a savepoint around it, was undone.
    case undone
  }

  private enum State: Sendable {
    case known(Verdict)
    /// The savepoint was kept and is now a part of this one.
    case part(of: TransactionOutcome)
  }

  private let state = Locked<State>(.known(.pending))

  var verdict: Verdict {
    switch state.withLock({ $0 }) {
    case .known(let verdict): verdict
    case .part(let outer): outer.verdict
    }
  }

  /// The outermost outcome of which this one is known to be a part.
  var root: TransactionOutcome {
    switch state.withLock({ $0 }) {
    case .known: self
    case .part(let outer): outer.root
    }
  }

  func resolve(_ verdict: Verdict) { state.withLock { $0 = .known(verdict) } }

  /// Called when a savepoint is kept: from now on it has the outcome of the level around it.
  func join(_ outer: TransactionOutcome) {
    if outer !== self { state.withLock { $0 = .part(of: outer) } }
  }
}

extension WriteTransaction {
  /// The outcome of the current changes: that of the innermost savepoint, or else of the
  /// transaction.
  var outcome: TransactionOutcome {
    if let known = startedOutcome { return known }
    let outcome = TransactionOutcome()
    startedOutcome = outcome
    return outcome
  }

  /// Ends a savepoint. A kept savepoint becomes a part of the level around it.
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
