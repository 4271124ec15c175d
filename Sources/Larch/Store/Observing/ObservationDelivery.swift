/// Which values come to an observer that is slower than the writes.
public enum ObservationDelivery: Sendable {
  /// The newest one: writes during a call, or while a loop is busy, are one value.
  case newest
  /// One for each write that changed the result, in order, also for writes that shared a commit. When
  /// more than 64 writes wait, neighbours are merged (``Observed/writeCount`` tells), and none is
  /// dropped.
  ///
  /// They are merged sooner with an interval (`every:`), and where the value must be read again: after
  /// commits of other processes, and if it is not the rows of a query. See "Each write by itself" in
  /// the guide.
  case each
}

/// What an observer does with the writes that it hears of.
struct ObservationRules: Sendable {
  /// The author whose writes give no value by themselves.
  var ignored: String?
  var delivery = ObservationDelivery.newest

  var isUsual: Bool { ignored == nil && delivery == .newest }

  /// Whether it needs the changes of each write of a commit.
  var needsParts: Bool { ignored != nil || delivery == .each }

  func isIgnored(_ event: ChangeEvent) -> Bool {
    guard let ignored else { return false }
    return event.authorship.isOnly(ignored)
  }
}
