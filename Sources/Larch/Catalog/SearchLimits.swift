/// How many changes of single records wait in an index of words before they are merged into its blocks.
///
/// What waits is merged all at once if it is little. Otherwise a save that finds too much merges a piece of it, since
/// all of it would take one save some 600 milliseconds.
package struct SearchLimits: Sendable {
  /// The records with pending words in one index, about.
  package var records = 128
  /// The bytes of their words that wait, about. The entries also have those that are merged, until the sweep comes
  /// back to them.
  package var bytes = 2 << 20
  /// A piece has this part of `bytes`, or more.
  package var pieces = 128

  package init() {}

  package init(records: Int, bytes: Int = 2 << 20) {
    self.records = records
    self.bytes = bytes
  }

  private static let little = 128 << 10

  /// Whether all that waits is merged at once, if it is this.
  func mergesAll(_ amount: PendingAmount) -> Bool {
    amount.entries > records && amount.bytes <= Self.little || amount.entries > 4 * records
      || amount.bytes > 2 * bytes
  }

  /// Whether a save merges a piece of what waits, if it is this.
  func mergesPiece(_ amount: PendingAmount) -> Bool {
    amount.entries > 2 * records || amount.bytes > bytes
  }

  /// How many bytes such a piece has, about: where long texts are saved, enough for the next two saves as well, so that
  /// most of them merge nothing.
  func piece(of amount: PendingAmount) -> Int { max(bytes / pieces, 3 * (amount.bytes - bytes)) }
}

/// How much waits in the pending entries of one index of words.
struct PendingAmount {
  var entries = 0
  /// Of their words that wait.
  var bytes = 0

  mutating func add(_ size: Int) {
    entries += 1
    bytes += size
  }

  mutating func remove(_ size: Int) {
    entries -= 1
    bytes -= size
  }
}
