/// Which changes can concern what an observer has read, for the hub that wakes it.
///
/// The rows of a query depend only on the records that pass its filter, and these are in the ranges
/// of its plan (`RowBounds`), whatever its order and its limit show of them. A change of a record
/// that is there neither before nor after it concerns nobody who has read by this query.
struct ObservedRoutes {
  /// False if something else was read since.
  var isCurrent = false
  private var routes: ListenerRoutes?
  /// The declarations by which keys are made.
  private var catalog: Catalog?

  /// The routes for what was read. They are made again only after another read, or if the
  /// declarations have changed, and stay the same object if they are the same.
  mutating func updated(
    trees: TreeSet, unfiltered: TreeSet, _ filters: [ObservedFilter], _ dataTrees: DataTrees,
    _ catalog: Catalog, _ environment: LMDBEnvironment
  ) -> ListenerRoutes? {
    if isCurrent, self.catalog === catalog { return routes }
    let maker = RouteMaker(catalog, environment)
    var byTree: [UInt32: [ListenerRoute]?] = [:]
    var routed: [UInt32: TreeSet] = [:]
    var unrouted = TreeSet()
    for tree in trees.trees {
      // Each change of a list, and of what was read without a filter, counts.
      guard !unfiltered.contains(tree), let records = dataTrees.records(of: tree) else {
        unrouted.insert(tree)
        continue
      }
      let routes = byTree[records] ?? maker.routes(filters, of: records)
      byTree[records] = .some(routes)
      if routes == nil {
        unrouted.insert(tree)
      } else {
        routed[records, default: TreeSet()].insert(tree)
      }
    }
    let found = ListenerRoutes(
      byTree: byTree.compactMapValues { $0 }, trees: routed, unrouted: unrouted)
    if routes?.isSame(as: found) != true { routes = found }
    (self.catalog, isCurrent) = (catalog, true)
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
  func routes(_ filters: [ObservedFilter], of records: UInt32) -> [ListenerRoute]? {
    guard let collection = catalog.collections.first(where: { $0.records.handle == records })
    else { return nil }
    var routes: [ListenerRoute] = []
    var hasFilter = false
    for filter in filters where filter.tree == records {
      hasFilter = true
      // If the filter cannot be used, the read shows the error.
      guard let bounds = try? filter.bounds(collection) else { return nil }
      for part in bounds {
        guard let route = route(part, collection) else { return nil }
        routes.append(route)
      }
    }
    return hasFilter ? routes : nil
  }

  private func route(_ bounds: RowBounds, _ collection: CollectionHandle) -> ListenerRoute? {
    switch bounds {
    case .ids(let ranges): return ListenerRoute(keys: nil, ranges: ranges.map(\.bytes))
    case .index(let position, let ranges):
      guard let number = collection.indexes.firstIndex(where: { $0.position == position })
      else { return nil }
      let tree = collection.indexes[number].database.handle
      let keys =
        environment.changes.routeKeys(catalog, index: tree, of: collection.records.handle)
        ?? StoredRouteKeys(
          catalog, collection, index: number, environment, generation: environment.generation)
      return ListenerRoute(keys: keys, ranges: ranges.map(\.bytes))
    }
  }
}

extension KeyRange {
  fileprivate var bytes: ByteRange { ByteRange(lower: lower, upper: upper) }
}
