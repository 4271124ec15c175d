/// How many changes of single records wait in an index of words before they are merged into its blocks.
///
/// What waits is merged all at once if it is little. Otherwise each save merges a piece of it, since all of it would
/// take one save some 600 milliseconds.
package struct SearchLimits: Sendable {
  /// The records with pending words in one index, about.
  package var records = 128
  /// The bytes of their words that wait, about. The entries also have those that are merged, until the sweep comes
  /// back to them.
  package var bytes = 1 << 20
  /// A piece has this part of `bytes`, or a little more.
  package var pieces = 32

  package init() {}

  package init(records: Int, bytes: Int = 1 << 20) {
    self.records = records
    self.bytes = bytes
  }

  private static let little = 128 << 10

  /// Whether so many entries with so many bytes are merged all at once.
  func mergesAll(_ count: Int, _ size: Int) -> Bool {
    count > records && size <= Self.little || count > 4 * records || size > 2 * bytes
  }
}
