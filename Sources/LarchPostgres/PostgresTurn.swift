package import Larch

/// The turn of a client: a lock that a transaction holds, on a connection of its own.
///
/// Commits are made on the other connections, so a turn that the server ends harms nothing, and the
/// statement of a commit is the same with a turn and without. The transaction, and not the session, holds the
/// lock, since a pooler gives each transaction another session. Behind a pooler those that wait may have all
/// connections, so there the commit is made in the transaction of the turn.
///
/// Unchecked, since `PostgresLog` guards it.
struct PostgresTurn: @unchecked Sendable {
  /// The connection that holds it.
  var connection: PostgresConnection?

  /// Milliseconds for which the server lets a client keep its turn without a word.
  static let limit = 10_000
}

extension PostgresLog {
  package func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail {
    guard place.position < Self.positionLimit else { return .diverged }
    do {
      if let tail = try waitForTurn(after: place, limit) { return tail }
    } catch let failure as PostgresFailure where failure.kind != .closed {
      // Another one has its turn for too long, or the connection is lost. The plain call says what is wrong,
      // and goes on if nothing is.
    } catch let failure as PostgresFailure {
      throw failure.error(of: name)
    }
    return try tail(after: place, limit: limit)
  }

  /// Calls with the connection of the turn, if it is one of a pooler, and commits the turn's transaction.
  ///
  /// - Parameter calls: counts a commit that was sent.
  /// - Returns: what the body returns; nil if it was not called or failed, or if the outcome is not known.
  func inTurn(_ calls: inout Int, _ body: (PostgresConnection) throws -> Bool) -> Bool? {
    guard let held = releasedTurn() else { return nil }
    defer { pool.freeTurn() }
    let before = held.trips
    defer { count(held.trips - before) }
    do {
      let result = try body(held)
      calls += 1
      try held.commit()
      pool.giveBack(held)
      return result
    } catch {
      // The plain call tells, on another connection.
      return nil
    }
  }

  /// The connection of the turn, if it is one of a pooler; the turn is the caller's to end.
  private func releasedTurn() -> PostgresConnection? {
    turn.withLock { turn in
      guard let held = turn.connection, held.isPooled else { return nil }
      turn.connection = nil
      return held
    }
  }

  /// Ends the turn if a pooler is used: the next call needs a second connection, which the pool may not have.
  func endTurnIfPooled() { if turn.withLock({ $0.connection?.isPooled == true }) { endTurn() } }

  /// Lets the next one have the turn. Nobody waits for the answer; whoever uses the connection next reads it.
  package func endTurn() {
    let held = turn.withLock { turn in
      defer { turn.connection = nil }
      return turn.connection
    }
    guard let held else { return }
    if (try? held.sendAhead("COMMIT")) != nil { pool.giveBack(held) }
    // Not before, or the next one would make a connection more.
    pool.freeTurn()
  }

  /// Waits for the turn, on a connection that nobody uses if there is one.
  ///
  /// - Returns: nil if too many others of this process have turns.
  private func waitForTurn(after place: LogPlace, _ limit: Int) throws -> LogTail? {
    endTurn()
    guard pool.mayHoldTurn() else { return nil }
    do {
      if let waiting = pool.take() {
        do { return try waitForTurn(on: waiting, after: place, limit) } catch let failure
          as PostgresFailure where failure.isLost
        {
          // The server was started again since, or has ended a turn that was kept for too long.
          pool.forget()
        }
      }
      let made: PostgresConnection
      do { made = try connected() } catch { throw error.error(of: name, hadNoEffect: true) }
      return try waitForTurn(on: made, after: place, limit)
    } catch {
      pool.freeTurn()
      throw error
    }
  }

  /// Milliseconds for which the server waits for the lock of a turn. Half of the caller's time is left for what needs no turn.
  private var turnPatience: Int {
    let left = wake.earlier(.infinity) - PostgresWake.now
    return max(1, Int(min(Double(lockPatience), left * 500)))
  }

  /// Begins a transaction, waits for its lock and reads the entries, all in one round trip.
  private func waitForTurn(
    on connection: PostgresConnection, after place: LogPlace, _ limit: Int
  ) throws -> LogTail {
    connection.wake = wake
    let before = connection.trips
    defer { count(connection.trips - before) }
    try connection.finishAhead()
    // Each statement sees what was committed before it began, so the entries are those after the wait.
    // A cursor of this kind sends values in their binary form, as the other calls get them.
    let rows = try connection.lastRows(
      of: """
        BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = \(turnPatience);
        SET LOCAL idle_in_transaction_session_timeout = \(PostgresTurn.limit);
        SELECT pg_advisory_xact_lock(\(PostgresTables.lock("turn \(tables.schema) \(store)")));
        DECLARE turn BINARY CURSOR FOR \(tailStatement(.literals(store, place, limit)));
        FETCH ALL FROM turn
        """)
    let tail = try readTail(rows, after: place, limit, connection)
    turn.withLock { $0.connection = connection }
    // Closed meanwhile: nobody else ends it.
    if wake.hasEnded { endTurn() }
    return tail
  }
}
