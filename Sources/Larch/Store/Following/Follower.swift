public import Foundation

/// What keeps a copy like the log of another store: ``Store/follower``.
///
/// A thread reads the log and applies what comes. The copy can be read at any time, also while the server
/// cannot be reached.
public final class Follower: StoreCompanion {
  /// What a follower does now.
  public enum Activity: Sendable, Hashable {
    /// It reads the log and applies it.
    case following
    /// Another process or store applies the log to the same copy; this one reads it.
    case waiting
    /// It makes the copy again, since the log has cut what the copy needs, or has another past.
    case copying
    /// The last attempt failed, as ``Status/error`` says; the next one follows by itself.
    case interrupted
    /// It has ended: the store was closed, or promoted.
    case stopped
  }

  /// The state of a follower at one moment.
  public struct Status: Sendable {
    /// The number of commits of the log that the copy has.
    public internal(set) var position: UInt64
    /// The newest position of the log that this follower knows; nil before the first contact.
    public internal(set) var newestPosition: UInt64?
    /// When the server last answered; nil before the first contact.
    public internal(set) var lastContact: Date?
    /// What it does.
    public internal(set) var activity: Activity
    /// Why the last attempt failed; nil once one has succeeded.
    public internal(set) var error: LarchError?
    /// Where the last copy was kept that had another past than the log; nil if there was none.
    public internal(set) var keptAside: String?

    /// How many commits of the log the copy does not have yet, as far as is known; nil before the first
    /// contact.
    public var commitsBehind: UInt64? {
      newestPosition.map { $0 > position ? $0 - position : 0 }
    }
  }

  let work: FollowingWork

  init(_ work: FollowingWork) { self.work = work }

  func end() { work.close() }

  /// Where the log is, without a password.
  public var logName: String { work.serverLog.name }

  /// What it has, and what it does.
  ///
  /// - Complexity: O(1), without the server.
  public var status: Status { work.status }

  /// Waits until the copy has what the log had at the call. It asks the server once.
  ///
  /// - Parameter limit: how long to wait; the wait for the server's answer comes before it.
  /// - Throws: `.unavailable` if the server cannot be reached or the time has passed; the other errors
  ///   of a server; `.closed`.
  /// - Complexity: one question to the server, and the entries that are missing.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func settled(within limit: Duration = .seconds(5)) throws {
    try work.wait(for: try work.newestPlace(), limit)
  }

  /// Waits until the copy has what the log had at the call, without blocking the task's thread.
  ///
  /// - Parameter limit: how long to wait; the wait for the server's answer comes before it.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func settled(within limit: Duration = .seconds(5)) async throws {
    try await work.wait(for: try await work.newestPlace(), limit)
  }
}

extension Follower.Status: CustomStringConvertible {
  /// All of it on one line.
  public var description: String {
    let newest = newestPosition.map { " of \($0)" } ?? ""
    let failure = error.map { ", \($0)" } ?? ""
    return "\(activity) at \(position)\(newest)\(failure)"
  }
}
