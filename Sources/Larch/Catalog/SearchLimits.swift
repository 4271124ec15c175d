/// How many changes of single records wait in an index of words before they are merged into its blocks.
package struct SearchLimits: Sendable {
  /// The most records with pending words in one index. With more, all of them are merged.
  package var records = 128
  /// The bytes of their entries, about. With more, a save merges some of the words.
  package var bytes = 1 << 20
  /// A save merges this part of `bytes`, or a little more. Merging all that waits at once would take a save of a long
  /// text some 600 milliseconds.
  package var pieces = 12

  package init() {}

  package init(records: Int, bytes: Int = 1 << 20) {
    self.records = records
    self.bytes = bytes
  }
}
