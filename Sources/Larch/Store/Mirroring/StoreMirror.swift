/// The mirror of a store: its commits are shipped to a log on a server, in the background.
///
/// ```swift
/// let store = try Store(at: "shop.larch", mirror: .postgres("postgres://db/larch"), for: Order.self)
/// try store.save(&order)
/// try await store.mirror?.settled()  // Now it is on the server, too.
/// ```
///
/// A write does not wait for the server. Its changes are kept in the file, in the same commit, until the
/// server has them; so nothing is lost and nothing arrives twice, whatever ends the program. While the
/// server cannot be reached, commits go on and are shipped later.
///
/// The server decides who continues a log. If another store does, because a follower was promoted or a
/// copy was restored, this store refuses writes with `.diverged` from the next shipment on.
public final class StoreMirror: Sendable {
  private let shipper: MirrorShipper

  init(_ shipper: MirrorShipper) { self.shipper = shipper }

  /// Ends the shipping; what waits stays in the file.
  func end() { shipper.end() }

  /// Which commits the server does not have yet, and what the mirror is doing.
  ///
  /// - Throws: `.closed`, `.readersFull`, `.ioFailure`.
  /// - Complexity: O(1): one read of the file, and no call of the server.
  public var status: MirrorStatus {
    get throws { try shipper.status() }
  }

  /// Waits until the server has everything that was committed before the call.
  ///
  /// - Parameter limit: how long to wait.
  /// - Throws: `CancellationError`; `.unavailable` if the time has passed; the error of the mirror if it
  ///   has stopped: `.diverged`, `.serverRefused`, `.newerLog`, `.damagedLog`; `.closed`.
  /// - Complexity: that of the shipment; without commits that wait for it, no call of the server.
  public func settled(within limit: Duration = .seconds(60)) async throws {
    let place = try shipper.newestPosition()
    let end = ContinuousClock.now + limit
    while try !shipper.hasShipped(place) {
      if ContinuousClock.now > end { throw shipper.notShipped }
      try await Task.sleep(for: .milliseconds(2))
    }
    let patience = ContinuousClock.now + Self.patience
    while try !shipper.hasNoted(place), ContinuousClock.now < patience {
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Whether the file itself says that the server has all commits up to one. If not, it soon will.
  package func hasNoted(_ position: UInt64) throws -> Bool { try shipper.hasNoted(position) }

  /// How long the file may take to note what the server has: another program may be writing.
  package static let patience = Duration.seconds(1)

  /// Puts the present state of this store in place of everything that the log has, and continues from
  /// there.
  ///
  /// For a store that was restored to an earlier state, that takes the log of another one, or whose mirror moves to
  /// another log: the one that it had until then stays as it is.
  /// Followers throw their copies away and fetch the new state. The log of a shared store is not touched: then the
  /// mirror stops.
  ///
  /// - Throws: `.unavailable`, `.serverRefused`; `.closed`.
  /// - Complexity: O(store): everything is sent.
  public func startOver() throws { try shipper.startOver() }
}

/// What a mirror is doing, and which commits the server does not have yet: see ``StoreMirror/status``.
public struct MirrorStatus: Sendable {
  /// What the mirror is doing.
  public enum Activity: Sendable {
    /// It has not reached the server yet since the store was opened.
    case connecting
    /// It has shipped everything, or ships what comes.
    case shipping
    /// It sends the whole store, for the first time or again; so many pairs of keys and values are sent.
    case copying(pairs: Int)
    /// The server cannot be reached; the mirror tries again by itself.
    case waiting(LarchError)
    /// It has stopped: the program must do something about the error, and open the store again.
    case stopped(LarchError)
  }

  /// What it is doing.
  public let activity: Activity
  /// The number of the newest commit of the store, in the order of the log.
  public let committed: UInt64
  /// The number of the newest commit that the server is known to have; nil before the first copy.
  public let shipped: UInt64?
  /// The bytes of the changes that wait in the file.
  public let waitingBytes: Int

  /// The commits that wait to be shipped.
  public var waiting: UInt64 { committed - min(committed, shipped ?? 0) }
}

extension MirrorStatus: CustomStringConvertible {
  /// One line for an operator.
  public var description: String {
    let what =
      switch activity {
      case .connecting: "connecting to the server"
      case .shipping: waiting == 0 ? "everything is on the server" : "shipping"
      case .copying(let pairs): "sending the whole store, \(pairs) pairs so far"
      case .waiting(let error): "waiting for the server: \(error)"
      case .stopped(let error): "stopped: \(error)"
      }
    let place = shipped.map { "\($0) of \(committed) commits shipped" } ?? "nothing shipped yet"
    return "\(place), \(waitingBytes) bytes wait; \(what)"
  }
}
