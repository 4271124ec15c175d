package import Larch

extension StoreInspector {
  /// What tells that records of a collection have changed, without looking at one.
  package struct Footprint: Sendable, Hashable {
    package let collection: String
    package let records: Int
    /// The page at the top of the records, which is another one after each change of one of them.
    private let root: UInt64

    init(_ collection: Collection, root: UInt64) {
      self.collection = collection.name
      records = collection.recordCount
      self.root = root
    }
  }

  /// In the order of the collections' names.
  fileprivate func footprints() throws -> [Footprint] {
    try collections.sorted { $0.name < $1.name }.map {
      Footprint($0, root: try $0.handle.topPage(in: transaction))
    }
  }
}

extension Store {
  /// The number of the last commit, and what tells which records it changed.
  package func footprints() throws -> (transaction: Int, [StoreInspector.Footprint]) {
    try inspect { inspector in
      (Int(clamping: inspector.transaction.id), try inspector.footprints())
    }
  }

  /// The number of the last commit.
  package func transactionNumber() throws -> Int { Int(clamping: try version.transaction) }
}
