/// The size of a store, the use of its space, and its open reads: ``Store/statistics(exact:)``.
///
/// Print it for an operator: its description is a table.
public struct StoreStatistics: Sendable, Hashable {
  /// One sorted tree of pages: the records of a collection, or the entries of an index.
  public struct Tree: Sendable, Hashable {
    /// The number of records, entries or links.
    public internal(set) var entries = 0
    /// The number of pages that a search reads, without those of values longer than a page.
    public internal(set) var depth = 0
    /// The number of branch pages, which lead to others.
    public internal(set) var branchPages = 0
    /// The number of leaf pages, which have the entries.
    public internal(set) var leafPages = 0
    /// The number of overflow pages, for values that do not fit into a leaf.
    public internal(set) var overflowPages = 0
    /// The number of pages of keys with so many ids that these have their own tree. Only in exact
    /// statistics.
    public internal(set) var listPages = 0
    /// The size of a page in bytes.
    public internal(set) var pageSize = 0

    /// The number of pages of the tree.
    public var pages: Int { branchPages + leafPages + overflowPages + listPages }
    /// The size of all its pages in bytes.
    public var bytes: Int { pages * pageSize }
  }

  /// An index of a collection.
  public struct Index: Sendable, Hashable {
    /// The name of the index.
    public internal(set) var name: String
    /// Whether the index is unique.
    public internal(set) var isUnique: Bool
    /// Whether it is complete; if not, it is being built, and no query uses it.
    public internal(set) var isReady: Bool
    /// The number of distinct keys. Only in exact statistics.
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
    /// The indexes, sorted by name.
    public internal(set) var indexes: [Index]

    /// The number of records.
    public var records: Int { tree.entries }
    /// The size of its records and indexes in bytes.
    public var bytes: Int { indexes.reduce(tree.bytes) { $0 + $1.tree.bytes } }
    /// The mean size of a record in the file in bytes, without its indexes; nil if there are no
    /// records.
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
    /// The lists of the second end: the same links in the other direction.
    public internal(set) var inverse: Tree

    /// The number of links.
    public var links: Int { forward.entries }
    /// The size of both directions in bytes.
    public var bytes: Int { forward.bytes + inverse.bytes }
  }

  /// A tree of Larch or LMDB itself: the catalog, the free list, the list of the trees.
  public struct Part: Sendable, Hashable {
    /// Its name.
    public internal(set) var name: String
    /// Its space.
    public internal(set) var tree: Tree
  }

  /// The commit log of a store that is open with ``Store/Options/Durability-swift.enum/logged``.
  public struct Log: Sendable, Hashable {
    /// The length of the log's file in bytes.
    public internal(set) var bytes: Int
    /// The last commit that the store has on the disk without its log. Its pages are kept until the
    /// next checkpoint, as if a read of it were open.
    public internal(set) var checkpoint: UInt64
    /// The number of commits since then.
    public internal(set) var commits: Int
  }

  /// The length of the file in bytes.
  public internal(set) var fileBytes = 0
  /// The size of a page in bytes.
  public internal(set) var pageSize = 0
  /// The number of pages of the file, including the two of its header.
  public internal(set) var pages = 0
  /// The number of free pages, which are reused before the file grows.
  public internal(set) var freePages = 0
  /// The number of free pages that wait for reads of older snapshots to end.
  public internal(set) var pinnedPages = 0
  /// The address space that is reserved for the file, in bytes: the file grows up to it without a
  /// pause.
  public internal(set) var mapBytes = 0
  /// The number of the last commit.
  public internal(set) var lastTransaction: UInt64 = 0
  /// The commit log beside the file; nil if none is in use.
  public internal(set) var log: Log?
  /// The number of open reads in all processes, without the one that counted.
  public internal(set) var openReads = 0
  /// The snapshot of the oldest open read; nil if none is open.
  public internal(set) var oldestRead: UInt64?
  /// The number of reader slots in use, including those that processes keep for their next read.
  public internal(set) var readerSlots = 0
  /// The number of reader slots.
  public internal(set) var maximumReaders = 0
  /// The collections, sorted by name, whether the store was opened for them or not.
  public internal(set) var collections: [CollectionStatistics] = []
  /// The associations with lists, sorted by name.
  public internal(set) var associations: [Association] = []
  /// The other trees.
  public internal(set) var parts: [Part] = []
  /// Whether the statistics are exact: see ``Store/statistics(exact:)``.
  public internal(set) var isExact = true

  /// The number of header pages.
  public var headerPages: Int { 2 }
  /// The number of pages in use.
  public var usedPages: Int { pages - freePages }
  /// The number of pages of all trees in these statistics.
  public var treePages: Int {
    collections.reduce(0) { $0 + $1.tree.pages + $1.indexes.reduce(0) { $0 + $1.tree.pages } }
      + associations.reduce(0) { $0 + $1.forward.pages + $1.inverse.pages }
      + parts.reduce(0) { $0 + $1.tree.pages }
  }
  /// The number of used pages that belong to no tree here: zero in exact statistics, otherwise the
  /// pages of long lists.
  public var otherPages: Int { pages - headerPages - freePages - treePages }

  init() {}
}
