/// What the program asks of the thread.
extension MirrorShipper {
  func status() throws -> MirrorStatus {
    let header = try header()
    return locked { () -> MirrorStatus in
      // What the server has is noted in the file, and removed from it, later.
      let noted = header.needsFirstCopy ? nil : header.shipped.position
      let shipped =
        mustStartOver || lacksStore ? nil : shipped?.position ?? noted
      return MirrorStatus(
        activity: activity, committed: header.place.position, shipped: shipped,
        waitingBytes: shipped == header.place.position ? 0 : Int(clamping: header.bytes))
    }
  }

  /// Whether the file says that the server has a commit. If not, it soon will.
  func hasNoted(_ position: UInt64) throws -> Bool {
    if let header = try environment.outboxHeader(), header.shipped.position < position {
      locked { mustTrim = true }
      signal.wake()
      return false
    }
    return true
  }

  private func header() throws -> OutboxHeader {
    if let header = try environment.outboxHeader() { return header }
    throw LarchError(.closed, "The mirror of the store was ended; open the store again.") {
      $0.path = self.environment.path
    }
  }

  /// The position of the newest commit.
  func newestPosition() throws -> UInt64 {
    let position = try header().place.position
    // The server cannot have more than the file: this is another outbox, which was begun again or restored, and the thread
    // has not seen it yet.
    if let known = locked({ shipped }), known.position > position,
      try known.position > header().place.position
    {
      locked { if shipped == known { shipped = nil } }
    }
    return position
  }

  /// - Throws: the error with which the mirror has stopped.
  func hasShipped(_ position: UInt64) throws -> Bool {
    try locked {
      if !mustStartOver, let shipped, shipped.position >= position { return true }
      if case .stopped(let error) = activity { throw error }
      if isEnding { throw LarchError.closed(environment.path) }
      return false
    }
  }

  var notShipped: LarchError {
    let cause: LarchError? = locked {
      if case .waiting(let error) = activity { error } else { nil }
    }
    return LarchError(
      .unavailable, "The server did not get all commits in time; the mirror goes on.",
      underlying: cause
    ) { $0.path = environment.path }
  }

  func startOver() throws {
    try locked {
      if isEnding { throw LarchError.closed(environment.path) }
      mustStartOver = true
      activity = .copying(pairs: 0)
      shipped = nil
    }
    signal.wake()
  }
}
