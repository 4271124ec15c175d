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
    let records: [StoredChange]
    /// The keys of these records in each index; nil where they are not known. There are few indexes.
    var keys: [(id: RouteKeysID, batch: KeyBatch?)] = []
  }

  private struct Keyed {
    let id: RouteKeysID
    let keys: any RouteKeys
    var ranges = RangeIndex()
  }

  /// The number of listeners. One without a route is nowhere: no record concerns it.
  private var count = 0
  /// All of the collection that count for one of the listeners, and perhaps some more.
  private var trees = TreeSet()
  private var ids = RangeIndex()
  private var keyed: [Keyed] = []

  var isEmpty: Bool { count == 0 }

  /// What makes the keys, for each index.
  var makers: [any RouteKeys] { keyed.map(\.keys) }

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

  // MARK: Searching

  func isConcerned(by changes: CommittedChanges) -> Bool { trees.intersects(changes.trees) }

  /// Whether to search for so many records. To wake a few listeners costs less, and they look at the
  /// records on their own threads. A record that is searched costs as much as several listeners that
  /// look at it.
  func isWorthSearching(_ records: Int) -> Bool { records <= 16 || count >= 8 }

  /// Calls with the listeners whose routes a commit hits, some of them several times.
  ///
  /// - Parameter changed: nil if it is not known.
  func forEach(concernedBy changed: Changed?, _ body: (ChangeListener) -> Void) {
    guard let changed else {
      ids.forEach(body)
      for index in keyed { index.ranges.forEach(body) }
      return
    }
    if !ids.isEmpty {
      for record in changed.records { record.id.withUnsafeBytes { ids.forEach(at: $0, body) } }
    }
    for place in keyed.indices {
      guard let batch = changed.keys.first(where: { $0.id == keyed[place].id })?.batch else {
        keyed[place].ranges.forEach(body)
        continue
      }
      batch.forEach { keyed[place].ranges.forEach(at: $0, body) }
    }
  }
}

/// Listeners by ranges and by single values.
struct RangeIndex {
  /// By the hash of the value. Two values with one hash wake some listeners in vain, and nobody
  /// keeps or compares their bytes.
  private var points: [Int: ListenerBag] = [:]
  private var ranges = RangeTree()

  var isEmpty: Bool { points.isEmpty && ranges.isEmpty }

  mutating func add(_ listener: ChangeListener, _ range: ByteRange) {
    if range.isPoint {
      points[Self.hash(range.lower), default: ListenerBag()].add(listener)
    } else {
      ranges.add(listener, range)
    }
  }

  mutating func remove(_ listener: ChangeListener, _ range: ByteRange) {
    guard range.isPoint else { return ranges.remove(listener, range) }
    let hash = Self.hash(range.lower)
    points[hash]?.remove(listener)
    if points[hash]?.isEmpty == true { points[hash] = nil }
  }

  func forEach(at value: UnsafeRawBufferPointer, _ body: (ChangeListener) -> Void) {
    if !points.isEmpty { points[Self.hash(value)]?.forEach(body) }
    ranges.forEach(at: value, body)
  }

  func forEach(_ body: (ChangeListener) -> Void) {
    for listeners in points.values { listeners.forEach(body) }
    ranges.forEach(body)
  }

  private static func hash(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { hash($0) } }

  private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return hasher.finalize()
  }
}
