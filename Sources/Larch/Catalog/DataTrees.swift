/// The trees of the collections and lists of a catalog, for what depends on their contents.
struct DataTrees: Sendable {
  /// The tree of the records, by the trees of the records and of each index.
  private var records: [UInt32: UInt32] = [:]
  private var all = TreeSet()

  init(_ collections: [CollectionHandle], _ associations: [AssociationHandle]) {
    for collection in collections {
      let tree = collection.records.handle
      for database in [collection.records] + collection.allIndexes.map(\.database) {
        records[database.handle] = tree
        all.insert(database.handle)
      }
    }
    for association in associations {
      guard let lists = association.lists else { continue }
      all.insert(lists.forward.handle)
      all.insert(lists.inverse.handle)
    }
  }

  /// Those of the trees whose contents a value can depend on. The others are of the catalog. A
  /// stored shape never changes, and a change of the schema changes no record.
  func data(_ trees: TreeSet) -> TreeSet { trees.intersection(all) }

  /// The trees of the records of these trees.
  func recordTrees(of trees: TreeSet) -> TreeSet { TreeSet(trees.lazy.compactMap { records[$0] }) }

  /// The tree of the records of an index or collection; nil for a list.
  func records(of tree: UInt32) -> UInt32? { records[tree] }
}
