/// The way that was chosen to answer a query. A value that can be printed; `PlanRun` follows it
/// and makes no choice of its own.
struct Plan: Sendable {
  /// Where rows come from.
  var source: Source
  /// What is still to be checked on each record: all must be true.
  var residue: [FilterNode]
  /// The order that rows leave in.
  var order: RowOrder
  /// Rows are complete without their records: nothing but keys is read, unless a key is cut.
  var isCovering: Bool
  /// Only rows behind this place in the order.
  var after: PageToken?
  var offset: Int
  var limit: Int?
  /// The way to go on where the rows that are wanted come late in this one.
  var otherwise: Otherwise?
}

extension Plan {
  /// Rows before they are ordered.
  indirect enum Source: Sendable {
    /// The filter contradicts itself.
    case nothing
    /// Records of these ranges of ids, ascending and apart from each other.
    case records([KeyRange])
    case index(IndexScan)
    case list(ListScan)
    /// The rows of all, each once.
    case union([Source])
    /// The rows that are in all.
    case intersection([Source])
  }

  /// Entries of one index.
  struct IndexScan: Sendable {
    /// The place of the index in the schema.
    var index: Int
    /// Ranges of keys, ascending and apart from each other.
    var ranges: [KeyRange]
    /// The filters that the ranges were made from, for the text of the plan.
    var bounds: [FilterNode]
    /// Checked on the values of each key before its records are looked at; on the record where
    /// the key is cut. `IndexSchema.component(for:)` tells which field a filter is about.
    var keyFilter: [FilterNode]
    /// A record may have several entries in the ranges.
    var mayRepeat: Bool
    /// Every range is one whole key, so the ids of each range ascend.
    var isPoints: Bool
  }

  /// The lists of ids that the store keeps for some records of another collection, or of the same.
  struct ListScan: Sendable {
    /// Says which lists they are, seen from the records in them.
    var filter: RelatedFilter
    /// Whose lists they are, ascending, each once.
    var ids: [[KeyValue]]
  }

  /// Another way to the same rows in the same order. It costs the same wherever these rows lie in
  /// the order, and so bounds what a way costs that ends with the last row that is wanted.
  struct Otherwise: Sendable {
    var source: Source
    var residue: [FilterNode]
    var order: RowOrder
    /// The first way is left behind so many records.
    var records: Int
    /// The first way is left behind so many entries of its index.
    var entries: Int
  }

  enum RowOrder: Sendable {
    /// Whatever comes: for counts and for whether there is a row.
    case any
    /// By id, as records are kept.
    case byID(descends: Bool)
    /// As the single index scan gives them: by the first `components` fields of the index, and by
    /// id where those are the same. The values of `after`, if any, are those of the last of them.
    case byIndex(components: Int, descends: Bool, idsDescend: Bool)
    /// By a sort of all rows; the best few are kept where there is a limit.
    case sorted([OrderTerm], idsDescend: Bool)
  }
}

extension Plan {
  /// The indexes whose entries are read, by bit and by their place in the schema.
  var indexes: UInt64 { source.indexes | (otherwise?.source.indexes ?? 0) }
}

extension Plan.Source {
  fileprivate var indexes: UInt64 {
    switch self {
    case .nothing, .records, .list: 0
    case .index(let scan): scan.index < UInt64.bitWidth ? 1 << UInt64(scan.index) : 0
    case .union(let parts), .intersection(let parts): parts.reduce(0) { $0 | $1.indexes }
    }
  }
}

/// Cheap figures about the data, asked for only where there is a choice.
protocol PlanStatistics {
  /// How many records the collection has.
  func recordCount() throws -> Int
  /// About how many entries the ranges of an index hold: exact when few.
  func estimate(index: Int, ranges: [KeyRange]) throws -> Int
  /// About how many ids the lists hold.
  func estimate(_ lists: Plan.ListScan) throws -> Int
}
