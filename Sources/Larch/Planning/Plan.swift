/// The plan of a query. It is a value that can be printed; `PlanRun` executes it and makes no
/// choices.
struct Plan: Sendable {
  /// The source of rows.
  var source: Source
  /// The filters to test on each record: all must be true.
  var residue: [FilterNode]
  /// The order of the result.
  var order: RowOrder
  /// Whether rows are complete without their records: only keys are read, unless a key is cut.
  var isCovering: Bool
  /// Only rows after this position in the order.
  var after: PageToken?
  var offset: Int
  var limit: Int?
  /// The alternative if the wanted rows come late in this plan.
  var otherwise: Otherwise?
  /// Further alternatives, for rows in any order: all of them take turns.
  var others: [Otherwise] = []
  /// Set if the index is read group by group: one row stands for all that have the same values.
  var groups: Groups?
  /// Single keys of indexes in which all rows are: the first and the last id of each bound a scan of
  /// the records. They are read when the run begins.
  var idBounds: [IndexScan] = []
  /// Set if the query is sorted by relevance.
  var relevance: Relevance?
}

extension Plan {
  /// The plan of a query without rows.
  static func nothing(_ query: QueryDescription) -> Plan {
    Plan(
      source: .nothing, residue: [], order: .any, isCovering: true, offset: query.offset,
      limit: query.limit)
  }

  /// The source of rows, before they are ordered.
  indirect enum Source: Sendable {
    /// The filter is never true.
    case nothing
    /// Records in these ranges of ids, ascending and without overlaps.
    case records([KeyRange])
    case index(IndexScan)
    case list(ListScan)
    case search(SearchScan)
    /// The rows of all sources, without duplicates.
    case union([Source])
    /// The rows that are in all sources.
    case intersection([Source])
  }

  /// A scan of one index.
  struct IndexScan: Sendable {
    /// The place of the index in the schema.
    var index: Int
    /// Ranges of keys, ascending and without overlaps.
    var ranges: [KeyRange]
    /// The filters from which the ranges were made, for the text of the plan.
    var bounds: [FilterNode]
    /// Tested on the values of each key before its records are read; on the record if the key is
    /// cut. `IndexSchema.component(for:)` returns the field of a filter.
    var keyFilter: [FilterNode]
    /// Whether a record may have several entries in the ranges.
    var mayRepeat: Bool
    /// Whether every range is one whole key, so that the ids of each range ascend.
    var isPoints: Bool
  }

  /// The lists of ids that the store keeps for some records of another collection, or of the same.
  struct ListScan: Sendable {
    /// The association of the lists, seen from the records in them.
    var filter: RelatedFilter
    /// The ids of the owners of the lists, ascending, without duplicates.
    var ids: [[KeyValue]]
  }

  /// The records that an index of words finds for a test.
  struct SearchScan: Sendable {
    /// The place of the search in the schema.
    var search: Int
    var filter: WordsFilter
    /// The fields of the test among those of the search, by bit.
    var mask: UInt32
  }

  /// How well each record matches, for an order.
  struct Relevance: Sendable {
    /// The test whose words count, and the search that has them.
    var scan: SearchScan
    /// One for each field of the search; 0 for those that the test does not have.
    var weights: [Double]
  }

  /// An alternative plan with the same rows in the same order. Its cost does not depend on where
  /// these rows are in the order, so it limits the cost of a plan that stops at the last wanted
  /// row.
  struct Otherwise: Sendable {
    var source: Source
    var residue: [FilterNode]
    var order: RowOrder
    /// The number of records after which the first plan is abandoned.
    var records: Int
    /// The number of index entries after which the first plan is abandoned.
    var entries: Int
    /// The expected cost of the alternative.
    var work: Double
  }

  /// Rows whose keys begin with the same components of an index, which is the only source.
  struct Groups: Sendable {
    enum Reading: Sendable, Equatable {
      /// The rows of each group are counted.
      case counting
      /// The first row of a group in the order of the plan is read, and the others are skipped.
      case skipping
      /// The row of each group with the least id, or with the greatest if ids descend.
      case byID
    }

    /// The number of these components. Each of them has a field by which rows are grouped, or one
    /// value in all rows.
    var components: Int
    var reading: Reading
  }

  enum RowOrder: Sendable {
    /// Any order: for counts, and for testing whether there is a row.
    case any
    /// By id, which is the order of records in the file.
    case byID(descends: Bool)
    /// In the order of the single index scan: by the first `components` fields of the index, then
    /// by id. The values of `after`, if any, are those of the last of these fields.
    case byIndex(components: Int, descends: Bool, idsDescend: Bool)
    /// By sorting all rows; with a limit only the first ones are kept.
    case sorted([OrderTerm], idsDescend: Bool)

    /// Whether rows that are equal in the order come from the greatest id to the least.
    var idsDescend: Bool {
      switch self {
      case .any: false
      case .byID(let descends): descends
      case .byIndex(_, _, let idsDescend), .sorted(_, let idsDescend): idsDescend
      }
    }
  }
}

extension Plan {
  /// The indexes that are read, by bit and by their place in the schema.
  var indexes: UInt64 {
    var sources = [source]
    for other in alternatives { sources.append(other.source) }
    for scan in idBounds { sources.append(.index(scan)) }
    return sources.reduce(0) { $0 | $1.indexes }
  }

  /// The searches that are read, by bit and by their place in the schema.
  var searches: UInt64 {
    let scored: UInt64 = relevance.map { 1 << UInt64($0.scan.search) } ?? 0
    return ([source] + alternatives.map(\.source)).reduce(scored) { $0 | $1.searches }
  }

  /// All alternatives.
  var alternatives: [Otherwise] {
    otherwise.map { [$0] + others } ?? []
  }
}

extension Plan.Source {
  fileprivate var indexes: UInt64 {
    switch self {
    case .nothing, .records, .list, .search: 0
    case .index(let scan): scan.index < UInt64.bitWidth ? 1 << UInt64(scan.index) : 0
    case .union(let parts), .intersection(let parts): parts.reduce(0) { $0 | $1.indexes }
    }
  }
}

extension Plan.Source {
  fileprivate var searches: UInt64 {
    switch self {
    case .nothing, .records, .index, .list: 0
    case .search(let scan): 1 << UInt64(scan.search)
    case .union(let parts), .intersection(let parts): parts.reduce(0) { $0 | $1.searches }
    }
  }
}

/// Cheap statistics, read only if there is a choice.
protocol PlanStatistics {
  /// The number of records in the collection.
  func recordCount() throws -> Int
  /// The approximate number of entries in ranges of an index; exact if there are few.
  func estimate(index: Int, ranges: [KeyRange]) throws -> Int
  /// The approximate number of records in ranges of ids.
  func estimate(ids ranges: [KeyRange]) throws -> Int
  /// The approximate number of ids in the lists.
  func estimate(_ lists: Plan.ListScan) throws -> Int
  /// The approximate number of records that a search finds.
  func estimate(_ search: Plan.SearchScan) throws -> Int
  /// The number of pages with keys of an index: the fewer keys the entries have, the fewer pages.
  func pagesOfKeys(index: Int) throws -> Int
  /// Some keys of a source, and what conditions say of some of its rows; nil if the source has no
  /// keys, or they cannot be sampled.
  ///
  /// - Parameter count: the number of rows that are tested.
  func sample(
    _ source: Plan.Source, _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample?
}

extension PlanStatistics {
  func estimate(_ search: Plan.SearchScan) throws -> Int { try recordCount() }

  func pagesOfKeys(index: Int) throws -> Int { 0 }

  func sample(
    _ source: Plan.Source, _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample? { nil }
}
