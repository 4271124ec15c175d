/// Which changes can concern what an observer has read, for the hub that wakes it.
///
/// The rows of a query depend only on the records that pass its filter, and these are in the ranges
/// of its plan (`RowBounds`), whatever its order and its limit show of them. A change of a record
/// that is there neither before nor after it concerns nobody who has read by this query.
struct ObservedRoutes {
  private var routes: ListenerRoutes?
  /// False if something else was read since, or with other declarations, by which keys are made.
  var isCurrent = false

  /// The routes for what was read. They are made again only after another read, or if the
  /// declarations have changed, and stay the same object if they are the same.
  mutating func updated(
    trees: TreeSet, unfiltered: TreeSet, _ filters: Few<ObservedFilter>,
    _ dataTrees: DataTrees, _ catalog: Catalog, _ environment: LMDBEnvironment
  ) -> ListenerRoutes? {
    if isCurrent { return routes }
    let maker = RouteMaker(catalog, environment)
    var found: [ListenerRoute] = []
    var (unrouted, done) = (TreeSet(), TreeSet())
    for tree in trees where !done.contains(tree) {
      let records = dataTrees.records(of: tree)
      let own =
        records == nil
        ? TreeSet([tree]) : TreeSet(trees.lazy.filter { dataTrees.records(of: $0) == records })
      done.formUnion(own)
      let filtered = own.subtracting(unfiltered)
      // Each change of a list, and of what was read without a filter, counts.
      guard let records, !filtered.isEmpty,
        let routes = maker.routes(filters, of: records, filtered)
      else {
        unrouted.formUnion(own)
        continue
      }
      found += routes
      unrouted.formUnion(own.intersection(unfiltered))
    }
    let new = ListenerRoutes(found, unrouted: unrouted)
    if routes?.isSame(as: new) != true { routes = new }
    isCurrent = true
    return routes
  }
}

/// Makes routes of filters.
private struct RouteMaker {
  private let catalog: Catalog
  private let environment: LMDBEnvironment

  init(_ catalog: Catalog, _ environment: LMDBEnvironment) {
    self.catalog = catalog
    self.environment = environment
  }

  /// The routes of all filters of one collection; nil if each change counts.
  ///
  /// - Parameter trees: those of the collection whose changes count.
  func routes(
    _ filters: Few<ObservedFilter>, of records: UInt32, _ trees: TreeSet
  ) -> [ListenerRoute]? {
    guard let collection = catalog.collections.first(where: { $0.records.handle == records })
    else { return nil }
    var routes: [ListenerRoute] = []
    var hasFilter = false
    for filter in filters where filter.tree == records {
      hasFilter = true
      // If the filter cannot be used, the read shows the error.
      guard let bounds = try? filter.bounds(collection) else { return nil }
      for part in bounds {
        guard let more = self.routes(part, collection, trees) else { return nil }
        routes += more
      }
    }
    return hasFilter ? routes : nil
  }

  private func routes(
    _ bounds: RowBounds, _ collection: CollectionHandle, _ trees: TreeSet
  ) -> [ListenerRoute]? {
    let records = collection.records.handle
    switch bounds {
    case .ids(let ranges):
      return ranges.map {
        ListenerRoute(records: records, trees: trees, keys: nil, range: $0.bytes)
      }
    case .index(let position, let ranges):
      guard let number = collection.indexes.firstIndex(where: { $0.position == position })
      else { return nil }
      let tree = collection.indexes[number].database.handle
      let keys =
        environment.changes.routeKeys(catalog, index: tree, of: collection.records.handle)
        ?? StoredRouteKeys(
          catalog, collection, index: number, environment, generation: environment.generation)
      return ranges.map {
        ListenerRoute(records: records, trees: trees, keys: keys, range: $0.bytes)
      }
    }
  }
}

extension KeyRange {
  fileprivate var bytes: ByteRange { ByteRange(lower: lower, upper: upper) }
}
