/// Queries for one range, answered from the pages of a tree: as in `ReadTransaction+Keys`, a plan and its
/// run cost several times as much.
extension ReadTransaction {
  /// The number of records in a range of values of an index, or with the prefix of an id; nil if the
  /// query must be planned.
  func countOfRange<R: Record>(_ query: QueryDescription, of type: R.Type) throws -> Int? {
    guard query.limit == nil, case .field(let filter) = query.filter, filter.isPlainlyNormal,
      mayBeAnsweredDirectly(query)
    else { return nil }
    return try storage { transaction in
      let collection = try context.collection(of: type)
      if filter.field.identity == .id {
        guard let prefix = PrefixOfIDs([query.filter], collection.stored.idKind) else { return nil }
        return try context.count(prefix, in: collection)
      }
      let planner = Planner(schema: collection.schema, usable: collection.answering)
      let known = context.planMemory.known(query.filter, query, for: .count, planner)
      guard let scan = known?.scan, let match = scan.match, match.hasRange, match.pointCount == 0,
        !match.mayRepeat, scan.residue.isEmpty, scan.keyFilter.isEmpty
      else { return nil }
      let index = try collection.index(at: match.index)
      var bounds = ScanBounds(index.schema, [query.filter], pointCount: 0)
      bounds.make()
      if bounds.isUnwritable || bounds.isCut { return nil }
      return try context.countPages(of: index.database, in: bounds.ranges)?.entries
    }
  }

  /// The ids that begin with a text; nil if the query must be planned, or if their bytes do not decide.
  func idsOfPrefix<R: Record>(_ query: QueryDescription, of type: R.Type) throws -> [R.ID]? {
    guard query.limit == nil, case .field(let filter) = query.filter, filter.field.identity == .id,
      mayBeAnsweredDirectly(query)
    else { return nil }
    return try storage { _ in
      let collection = try context.collection(of: type)
      guard let prefix = PrefixOfIDs([query.filter], collection.stored.idKind),
        let end = KeyRange.successor(ofPrefix: prefix.bytes),
        let tree = try context.mappedTree(collection.records)
      else { return nil }
      let key = collection.declarations(of: R.self).idKey
      let ids = RecordBuffer<R.ID>()
      let isWhole = prefix.bytes.withUnsafeBytes { start in
        end.withUnsafeBytes { end in
          tree.forEachLeaf(from: start, to: end) { leaf, places in
            ids.reserve(places.count)
            for place in places {
              guard let node = tree.node(place, in: leaf), prefix.isSurely(in: node.key),
                key.makeID(node.key, at: ids.next())
              else { return false }
              ids.filled()
            }
            return true
          }
        }
      }
      return isWhole ? ids.takeArray() : nil
    }
  }
}
