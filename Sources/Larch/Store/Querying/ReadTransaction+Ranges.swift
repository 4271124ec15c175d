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

  /// The selected values of the records in ranges of an index that has all of them, in the order of their ids; nil
  /// if the query must be planned, or if a key does not have every bit of a value.
  func valuesOfRange<R: Record, Row>(_ selection: Selection<R, Row>) throws -> [Row]? {
    let query = selection.query.details
    guard query.limit == nil, !selection.isDistinct,
      let fields = selection.references, let elements = selection.elements,
      mayBeAnsweredDirectly(query)
    else { return nil }
    return try storage { _ in
      let collection = try context.collection(of: R.self)
      let planner = Planner(schema: collection.schema, usable: collection.answering)
      // The plan tells what is wrong with a filter.
      guard let filter = try? query.filter.normalized() else { return nil }
      let known = context.planMemory.known(filter, query, for: .fields(fields), planner)
      guard let known, !known.needsPlan, collection.stored.idKind.width == 8,
        let scan = known.scan, scan.isCovering,
        let match = scan.match, !match.mayRepeat, scan.residue.isEmpty, scan.keyFilter.isEmpty
      else { return nil }
      let index = try collection.index(at: match.index)
      var bounds = ScanBounds(
        index.schema, filter.conjuncts(scan.bounds), pointCount: match.pointCount)
      bounds.make()
      if bounds.isUnwritable || bounds.isCut { return nil }
      guard let values = KeyedValues(elements, fields, in: index.schema),
        let tree = try context.mappedTree(index.database)
      else { return nil }
      // There may be more keys that do not tell all, so that the next query would begin in vain too.
      known.needsPlan = true
      guard let rows = tree.rows(in: bounds.ranges) else { return nil }
      let result = RecordBuffer<Row>()
      result.reserve(rows.count)
      for row in rows {
        let key = RowWithKey.key(of: row, from: tree.start)
        guard try values.make(key, at: UnsafeMutableRawPointer(result.next())) else { return nil }
        result.filled()
      }
      known.needsPlan = false
      return result.takeArray()
    }
  }
}

extension MappedTree {
  /// The ids of eight bytes in ranges of keys, each with its key, in the order of the ids; nil if a key has so many
  /// that only LMDB has them all. They take no more memory than the values that are made of them.
  fileprivate func rows(in ranges: [KeyRange]) -> [UInt128]? {
    var rows: [UInt128] = []
    rows.reserveCapacity(128)
    for range in ranges where !range.isEmpty {
      let isWhole = range.withBounds { lower, upper in
        forEachLeaf(from: lower, to: upper) { leaf, places in
          for place in places {
            guard let node = node(place, in: leaf), let key = node.key.baseAddress else {
              return false
            }
            let ids: UnsafeRawBufferPointer
            switch values(of: node, in: leaf) {
            case .one(let id) where id.count == 8: ids = id
            case .run(let all, 8): ids = all
            case .one, .run, .other: return false
            }
            for place in stride(from: 0, to: ids.count & ~7, by: 8) {
              rows.append(
                RowWithKey.row(
                  UInt64(bigEndian: ids.loadUnaligned(fromByteOffset: place, as: UInt64.self)),
                  keyAt: key - start, count: node.key.count))
            }
          }
          return true
        }
      }
      guard isWhole else { return nil }
    }
    RadixSort.sort(&rows)
    return rows
  }
}
