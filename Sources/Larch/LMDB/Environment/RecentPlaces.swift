/// The places in the log of the newest commits of this process, by the numbers of their transactions.
///
/// An observer delivers a state that may not be the newest any more, and names it by its place.
final class RecentPlaces: Sendable {
  private static let limit = 256

  private let places = Locked<[(transaction: UInt64, place: LogPlace)]>([])

  func note(_ place: LogPlace, after transaction: UInt64) {
    places.withLock { places in
      if places.count >= Self.limit { places.removeFirst(Self.limit / 2) }
      places.append((transaction, place))
    }
  }

  /// Nil if it is not known any more, or another process has committed it.
  func place(after transaction: UInt64) -> LogPlace? {
    places.withLock { places in places.last { $0.transaction == transaction }?.place }
  }

  /// The numbers may be those of another past.
  func forget() { places.withLock { $0 = [] } }
}
