package import Larch

extension StoreInspector {
  /// A value that changes with the records of a collection, found without reading them. It can be
  /// compared with a later one as long as a snapshot keeps the state.
  package struct Footprint: Sendable, Hashable {
    package let collection: String
    package let records: Int
    /// The root page of the records: see `topPage`.
    private let root: UInt64

    init(_ collection: Collection, root: UInt64) {
      self.collection = collection.name
      records = collection.recordCount
      self.root = root
    }
  }

  /// Sorted by the names of the collections.
  package func footprints() throws -> [Footprint] {
    try collections.sorted { $0.name < $1.name }.map {
      Footprint($0, root: try $0.handle.topPage(in: transaction))
    }
  }
}

extension Store {
  /// The number of the last commit.
  package func transactionNumber() throws -> Int { Int(clamping: try version.transaction) }
}
