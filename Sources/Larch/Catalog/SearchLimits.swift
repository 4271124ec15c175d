/// How many changes of single records wait in an index of words before they are merged into its blocks.
package struct SearchLimits: Sendable {
  /// The most records with pending words in one index.
  package var records = 128
  /// The most bytes of their entries: a merge of long texts takes some 15 milliseconds each, and one save waits for it.
  package var bytes = 128 << 10

  package init() {}
}
