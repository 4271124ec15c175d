internal import Larch
internal import LarchInspection

/// The content of a report, from one snapshot.
struct ReportContent {
  struct Collection {
    var name: String
    var typeName: String
    var recordCount: Int
    /// Only of the records.
    var recordBytes: Int
    var indexes: [Index]
    var sample: ReportSample

    var bytes: Int { indexes.reduce(recordBytes) { $0 + $1.bytes } }
  }

  struct Index {
    var name: String
    var definition: String
    var isUnique: Bool
    var isReady: Bool
    var entryCount: Int
    var bytes: Int
    /// The used fraction of its pages; nil if it has none.
    var fill: Double?
  }

  /// An association from the first collection to the second.
  struct Association {
    var key: String
    var first: String
    var second: String
    var isLists: Bool
    var traits: [String]
    var firstRule: String
    var secondRule: String
    var linkCount: Int
    var bytes: Int

    /// The name without those of the collections.
    var label: String {
      let prefix = isLists ? "\(first)/\(second)/" : "\(first)."
      return key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : key
    }
  }

  var title: String
  /// When the report was made; the only difference between reports of one state.
  var date: String
  var fileBytes: Int
  var pageSize: Int
  var pages: Int
  var freePages: Int
  var lastTransaction: UInt64
  var collections: [Collection]
  var associations: [Association]
  var migrations: [String]

  var recordCount: Int { collections.reduce(0) { $0 + $1.recordCount } }
  var indexCount: Int { collections.reduce(0) { $0 + $1.indexes.count } }
  var linkCount: Int { associations.reduce(0) { $0 + $1.linkCount } }
}

extension ReportContent {
  /// - Parameters:
  ///   - title: the title of the page.
  ///   - sampleSize: the number of records that are shown of each collection.
  init(_ store: Store, title: String, date: String, sampleSize: Int) throws {
    let space = try store.statistics()
    self.title = title
    self.date = date
    fileBytes = space.fileBytes
    pageSize = space.pageSize
    pages = space.pages
    freePages = space.freePages
    lastTransaction = space.lastTransaction
    (collections, associations, migrations) = try store.inspect { inspector in
      let used = try inspector.usedBytes()
      return (
        try inspector.collections.sorted { $0.name < $1.name }.map {
          try Collection($0, inspector, space, used, sampleSize)
        },
        inspector.associations.map { Association($0, space) },
        inspector.migrations.map(\.name)
      )
    }
  }
}

extension ReportContent.Collection {
  fileprivate init(
    _ collection: StoreInspector.Collection, _ inspector: StoreInspector,
    _ space: StoreStatistics, _ used: [StoreInspector.TreeName: Int], _ sampleSize: Int
  ) throws {
    let known = space.collections.first { $0.name == collection.name }
    name = collection.name
    typeName = collection.typeName
    recordCount = collection.recordCount
    recordBytes = known?.tree.bytes ?? 0
    indexes = collection.indexes.sorted { $0.name < $1.name }.map { index in
      let tree = known?.indexes.first { $0.name == index.name }?.tree
      let room = tree?.bytes ?? 0
      let bytes = used[.index(collection.name, index.name)]
      return ReportContent.Index(
        name: index.name, definition: index.definition, isUnique: index.isUnique,
        isReady: index.isReady, entryCount: index.entryCount, bytes: tree?.bytes ?? 0,
        fill: room > 0 ? bytes.map { min(1, Double($0) / Double(room)) } : nil)
    }
    sample = try ReportSample(of: collection, inspector, size: sampleSize)
  }
}

extension ReportContent.Association {
  fileprivate init(_ association: StoreInspector.Association, _ space: StoreStatistics) {
    key = association.key
    first = association.first
    second = association.second
    isLists = association.isLists
    traits = association.traits
    firstRule = "\(association.firstRule)"
    secondRule = "\(association.secondRule)"
    linkCount = association.linkCount
    bytes = space.associations.first { $0.name == association.key }?.bytes ?? 0
  }
}
