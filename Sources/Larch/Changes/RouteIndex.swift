/// The listeners of the records of one tree that say how a change can concern them (`ListenerRoutes`).
///
/// A commit costs as much as it changes records, not as there are listeners: the ids of the records,
/// and their keys before and after the commit, are searched among the ranges of the listeners.
/// Whatever is not known concerns all.
///
/// Guarded by the hub.
final class RouteIndex {
  /// What a commit has changed in a tree.
  struct Changed {
    /// The tree of the records.
    let tree: UInt32
    let records: RecordChanges
    /// The keys of these records in each index, in one or two batches; nil where they are not known.
    /// There are few indexes.
    var keys: [(id: RouteKeysID, batches: [KeyBatch]?)] = []
  }

  private struct Keyed {
    let id: RouteKeysID
    let keys: any RouteKeys
    var ranges = RangeIndex()
  }

  // Asked for each key of a bulk write.
  /// The number of listeners. One without a route is nowhere: no record concerns it.
  @exclusivity(unchecked) private var count = 0
  /// All of the collection that count for one of the listeners, and perhaps some more.
  @exclusivity(unchecked) private var trees = TreeSet()
  @exclusivity(unchecked) private var ids = RangeIndex()
  @exclusivity(unchecked) private var keyed: [Keyed] = []

  var isEmpty: Bool { count == 0 }

  /// What makes the keys, for each index.
  var makers: [any RouteKeys] { keyed.map(\.keys) }

  /// Whether a search is worth its while however many records a commit changes: see `isWorthSearching`.
  var isLarge: Bool { count >= 8 }

  /// What is in use for an index already.
  func keys(_ id: RouteKeysID) -> (any RouteKeys)? { place(of: id).map { keyed[$0].keys } }

  private func place(of id: RouteKeysID) -> Int? { keyed.firstIndex { $0.id == id } }

  // MARK: Filing

  /// - Parameter isFirst: whether it is the first route of the listener.
  func add(_ listener: ChangeListener, _ route: ListenerRoute, isFirst: Bool) {
    if isFirst { count += 1 }
    trees.formUnion(route.trees)
    guard let keys = route.keys else { return ids.add(listener, route.range) }
    let id = keys.id
    let place = place(of: id) ?? keyed.count
    if place == keyed.count {
      // It may have been out of use for a while.
      keys.note(nil)
      keyed.append(Keyed(id: id, keys: keys))
    }
    keyed[place].ranges.add(listener, route.range)
  }

  func remove(_ listener: ChangeListener, _ route: ListenerRoute, isFirst: Bool) {
    if isFirst { count -= 1 }
    guard let keys = route.keys else { return ids.remove(listener, route.range) }
    guard let place = place(of: keys.id) else { return }
    keyed[place].ranges.remove(listener, route.range)
    if keyed[place].ranges.isEmpty { keyed.remove(at: place) }
  }

  // MARK: One record

  /// The indexes by which listeners are found.
  var keyTrees: TreeSet { TreeSet(keyed.lazy.map(\.id.tree)) }

  /// Whether all keys that listeners are found by are those of one owner.
  func isOnly(of owner: AnyObject) -> Bool {
    for place in keyed.indices where keyed[place].id.owner != ObjectIdentifier(owner) {
      return false
    }
    return true
  }

  /// Whether a listener is found by an id.
  func has(id: UnsafeRawBufferPointer) -> Bool { !ids.isEmpty && ids.has(id) }

  /// Whether a listener is found by a key of an index.
  func has(key: UnsafeRawBufferPointer, of tree: UInt32) -> Bool {
    for place in keyed.indices where keyed[place].id.tree == tree {
      if keyed[place].ranges.has(key) { return true }
    }
    return false
  }

  // MARK: Searching

  func isConcerned(by changes: CommittedChanges) -> Bool { trees.intersects(changes.trees) }

  /// Whether to search for so many records. To wake a few listeners costs less, and they look at the
  /// records on their own threads. A record that is searched costs as much as several listeners that
  /// look at it.
  func isWorthSearching(_ records: Int) -> Bool { records <= 16 || isLarge }

  /// Calls with the listeners whose routes a commit hits, some of them several times.
  ///
  /// - Parameter changed: nil if it is not known.
  func forEach(concernedBy changed: Changed?, _ body: (ChangeListener) -> Void) {
    // What is left out concerns nobody.
    if changed?.records.count == 0 { return }
    guard let changed else {
      ids.forEach(body)
      for index in keyed { index.ranges.forEach(body) }
      return
    }
    var found: [ChangeListener] = []
    if !ids.isEmpty {
      ids.find({ search in changed.records.forEach { id, _, _ in search(id) } }, into: &found)
    }
    for index in keyed {
      guard let batches = changed.keys.first(where: { $0.id == index.id })?.batches else {
        index.ranges.forEach(body)
        continue
      }
      for batch in batches { index.ranges.find(batch.forEach, into: &found) }
    }
    found.forEach(body)
  }
}

/// Listeners by ranges and by single values.
struct RangeIndex {
  private var points = PointTable()
  private var ranges = RangeTree()

  var isEmpty: Bool { points.isEmpty && ranges.isEmpty }

  mutating func add(_ listener: ChangeListener, _ range: ByteRange) {
    if range.isPoint {
      points.add(listener, range.lower)
    } else {
      ranges.add(listener, range)
    }
  }

  mutating func remove(_ listener: ChangeListener, _ range: ByteRange) {
    if range.isPoint {
      points.remove(listener, range.lower)
    } else {
      ranges.remove(listener, range)
    }
  }

  /// Finds the listeners one of whose ranges has one of some values, some of them several times.
  ///
  /// - Parameter values: calls its closure with each value.
  func find(
    _ values: ((UnsafeRawBufferPointer) -> Void) -> Void, into found: inout [ChangeListener]
  ) {
    points.find(values, into: &found)
    ranges.find(values, into: &found)
  }

  /// Whether a listener has a range with a value. It changes nothing, but is used where it lies: a bulk
  /// write asks for each key, and a copy would count five references.
  mutating func has(_ value: UnsafeRawBufferPointer) -> Bool {
    points.has(value) || ranges.has(value)
  }

  func forEach(_ body: (ChangeListener) -> Void) {
    points.forEach(body)
    ranges.forEach(body)
  }
}
