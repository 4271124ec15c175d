/// A state of a file: that after a commit, or after one of the writes that share the commit.
struct StoreState: Hashable, Comparable {
  /// The opening of the file, since the numbers of commits may begin again after another one.
  let generation: Int
  let transaction: UInt64
  /// Which write of the commit; the last one of those that count has `whole`.
  let part: Int

  static let whole = Int.max

  init(generation: Int, transaction: UInt64, part: Int = whole) {
    self.generation = generation
    self.transaction = transaction
    self.part = part
  }

  /// Of one opening, the order of time.
  static func < (a: StoreState, b: StoreState) -> Bool {
    (a.generation, a.transaction, a.part) < (b.generation, b.transaction, b.part)
  }
}

/// What an observer has read: trees, and the filters of the queries that read them.
final class ReadFacts: Sendable {
  let trees: TreeSet
  /// Those of the trees that were not read by queries with a filter.
  let unfiltered: TreeSet
  /// The declarations with which it was read; nil before that.
  let catalog: Catalog?
  let filters: Few<ObservedFilter>

  static let nothing = ReadFacts(trees: TreeSet(), unfiltered: TreeSet(), filters: [], catalog: nil)

  init(trees: TreeSet, unfiltered: TreeSet, filters: [ObservedFilter], catalog: Catalog?) {
    self.trees = trees
    self.unfiltered = unfiltered
    self.filters = Few(filters)
    self.catalog = catalog
  }

  /// Whether another read has read the same by the same filters.
  func isSame(as other: ReadFacts) -> Bool {
    catalog === other.catalog && trees == other.trees && unfiltered == other.unfiltered
      && filters.count == other.filters.count
      && zip(filters, other.filters).allSatisfy { $0.isSame(as: $1) }
  }
}
