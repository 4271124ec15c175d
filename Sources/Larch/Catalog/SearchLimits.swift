/// How many changes of single records wait in an index of words before they are merged into its blocks.
package struct SearchLimits: Sendable {
  /// The most records with pending words in one index.
  package var records = 128
  /// The most bytes of their entries.
  package var bytes = 1 << 20

  package init() {}
}
