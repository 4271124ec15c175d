// Turns are for fairness only: who has the next place is decided by `append` alone. So a log without
// them is still right, and a client that ends in its turn does no harm.

extension SharedLog {
  package func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail {
    try tail(after: place, limit: limit)
  }

  package func endTurn() {}
}

extension SharedLog {
  /// A log without standbys shows what it has acknowledged, and no more.
  package func confirm() throws {}
}

/// Why an error came, if it is certain that the call changed nothing: the server did not get it, or refused it.
package struct CallHadNoEffect: Error, CustomStringConvertible {
  /// What kept the program from the server, or the server's answer.
  package let cause: (any Error)?

  package init(cause: (any Error)? = nil) { self.cause = cause }

  package var description: String { cause.map { "\($0)" } ?? "the server did nothing" }
}

extension Error {
  /// Whether a call of a log that failed so has certainly changed nothing.
  package var hadNoEffect: Bool { (self as? LarchError)?.underlying is CallHadNoEffect }
}
