/// The places in the log of the newest commits, by the numbers of their transactions.
///
/// An observer delivers a state that may not be the newest any more, and names it by its place.
final class RecentPlaces: Sendable {
  /// More than an observer lags behind that has each change and does not sleep; half a megabyte.
  private static let limit = 16_384

  /// In the order of the numbers.
  private let places = Locked<[(transaction: UInt64, place: LogPlace)]>([])

  func note(_ place: LogPlace, after transaction: UInt64) {
    places.withLock { places in
      if places.count >= Self.limit { places.removeFirst(Self.limit / 2) }
      // A commit of others may be noted after a later one of this process.
      places.insert((transaction, place), at: places.placeAfter { $0.transaction < transaction })
    }
  }

  /// Nil if it is not known any more.
  func place(after transaction: UInt64) -> LogPlace? {
    places.withLock { places in
      let index = places.placeAfter { $0.transaction < transaction }
      guard index < places.count, places[index].transaction == transaction else { return nil }
      return places[index].place
    }
  }

  /// The numbers may be those of another past.
  func forget() { places.withLock { $0 = [] } }
}
