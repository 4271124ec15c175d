/// How large a store is, what its space is used for, and who reads it: ``Store/statistics(exact:)``.
///
/// Print it for an operator: its description is a table.
public struct StoreStatistics: Sendable, Hashable {
  /// One sorted tree of pages: the records of a collection, or the entries of an index.
  public struct Tree: Sendable, Hashable {
    /// Records, entries or links.
    public internal(set) var entries = 0
    /// How many pages a search reads, without those of values that are longer than a page.
    public internal(set) var depth = 0
    /// Pages that lead to others.
    public internal(set) var branchPages = 0
    /// Pages of entries.
    public internal(set) var leafPages = 0
    /// Pages of values that do not fit into a leaf.
    public internal(set) var overflowPages = 0
    /// Pages of keys with so many ids that these have a tree of their own. Only counted by an exact
    /// look.
    public internal(set) var listPages = 0
    /// The bytes of a page.
    public internal(set) var pageSize = 0

    /// All pages of the tree.
    public var pages: Int { branchPages + leafPages + overflowPages + listPages }
    /// The bytes of all its pages.
    public var bytes: Int { pages * pageSize }
  }

  /// An index of a collection.
  public struct Index: Sendable, Hashable {
    /// The name of the index.
    public internal(set) var name: String
    /// Whether no two records may share a key.
    public internal(set) var isUnique: Bool
    /// Whether it is complete; else it is being built, and no query uses it.
    public internal(set) var isReady: Bool
    /// How many different keys there are. Only counted by an exact look.
    public internal(set) var keys: Int?
    /// The space of its entries.
    public internal(set) var tree: Tree
  }

  /// A collection of records.
  public struct CollectionStatistics: Sendable, Hashable {
    /// The name of the collection.
    public internal(set) var name: String
    /// The space of its records, without their indexes.
    public internal(set) var tree: Tree
    /// The indexes, in the order of their names.
    public internal(set) var indexes: [Index]

    /// How many records there are.
    public var records: Int { tree.entries }
    /// The bytes of its records and indexes.
    public var bytes: Int { indexes.reduce(tree.bytes) { $0 + $1.tree.bytes } }
    /// How many bytes of the file a record takes, without its indexes; nil where there is none.
    public var meanRecordBytes: Double? {
      records == 0 ? nil : Double(tree.bytes) / Double(records)
    }
  }

  /// An association that keeps lists of ids.
  public struct Association: Sendable, Hashable {
    /// The name of the association in the catalog.
    public internal(set) var name: String
    /// The lists of the first end.
    public internal(set) var forward: Tree
    /// The lists of the second end: the same links the other way round.
    public internal(set) var inverse: Tree

    /// How many links there are.
    public var links: Int { forward.entries }
    /// The bytes of both directions.
    public var bytes: Int { forward.bytes + inverse.bytes }
  }

  /// A tree that is not of the program: the catalog, the free list, the list of the trees.
  public struct Part: Sendable, Hashable {
    /// What it is called.
    public internal(set) var name: String
    /// Its space.
    public internal(set) var tree: Tree
  }

  /// The length of the file in bytes.
  public internal(set) var fileBytes = 0
  /// The bytes of a page.
  public internal(set) var pageSize = 0
  /// All pages of the file, with the two of its header.
  public internal(set) var pages = 0
  /// Pages that hold nothing now, and are used again before the file grows.
  public internal(set) var freePages = 0
  /// Those of the free pages that wait for reads of older snapshots to end.
  public internal(set) var pinnedPages = 0
  /// The addresses reserved for the file, in bytes: it grows up to this size without a stop.
  public internal(set) var mapBytes = 0
  /// The number of the last commit.
  public internal(set) var lastTransaction: UInt64 = 0
  /// Reads that are open, over all processes, without the one that counted.
  public internal(set) var openReads = 0
  /// The snapshot of the oldest open read; nil where none is open.
  public internal(set) var oldestRead: UInt64?
  /// Slots for reads that are taken, also by processes that keep them for their next read.
  public internal(set) var readerSlots = 0
  /// How many slots there are.
  public internal(set) var maximumReaders = 0
  /// The collections, in the order of their names, whether the store was opened for them or not.
  public internal(set) var collections: [CollectionStatistics] = []
  /// The associations that keep lists, in the order of their names.
  public internal(set) var associations: [Association] = []
  /// What else has pages.
  public internal(set) var parts: [Part] = []
  /// Whether all pages were counted: see ``Store/statistics(exact:)``.
  public internal(set) var isExact = true

  /// The pages of the header.
  public var headerPages: Int { 2 }
  /// Pages that hold something.
  public var usedPages: Int { pages - freePages }
  /// Pages of all the trees here.
  public var treePages: Int {
    collections.reduce(0) { $0 + $1.tree.pages + $1.indexes.reduce(0) { $0 + $1.tree.pages } }
      + associations.reduce(0) { $0 + $1.forward.pages + $1.inverse.pages }
      + parts.reduce(0) { $0 + $1.tree.pages }
  }
  /// Pages in use that no tree here has: none after an exact look; else those of long lists.
  public var otherPages: Int { pages - headerPages - freePages - treePages }

  init() {}
}
