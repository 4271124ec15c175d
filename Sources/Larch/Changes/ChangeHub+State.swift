// Used only while the lock of the hub is held.

extension ChangeHub {
  /// The listeners, found by what concerns them, and what was published to them.
  struct State {
    typealias Listeners = [ObjectIdentifier: ChangeListener]

    /// Each knows its place.
    var listeners: [ChangeListener] = []
    /// Those for which commits of all trees count, while they find out what they read.
    var undecided: Listeners = [:]
    /// Those for which each change of a tree counts: a commit costs nothing for listeners of other
    /// trees.
    var byTree: [UInt32: Listeners] = [:]
    /// Those that say which changes concern them, by the tree of the records.
    var routed: [UInt32: RouteIndex] = [:]
    /// Those that may have read a state after the last commit that was published. The changes of several
    /// foreign commits do not show what was changed after that state and changed back.
    var ahead: [ObjectIdentifier: (listener: ChangeListener, read: UInt64)] = [:]
    /// The number of the last commit that was published, or of one that no further event has.
    var filed: UInt64 = 0
    /// The number of listeners that ask for the changed records of a tree.
    var recordTrees: [UInt32: Int] = [:]
    /// The number of events, and how many listeners were looked at for them.
    var rounds: UInt64 = 0
    var visits = 0
    /// The last commit of this process that every listener has, and with it all before.
    var published: UInt64 = 0
    /// The number of listeners that ask for the changes of each write.
    var dividing = 0
    /// How many listeners want all changed records of a tree, and not only those of their routes.
    var wide: [UInt32: Int] = [:]
    /// How many times a listener was filed under other trees or routes than before.
    var filings: UInt64 = 0
    /// Those that were filed since a write began that leaves records out: they were not asked.
    var late: Listeners = [:]
    /// Whether such a write has begun.
    var isSifting = false
    /// What the next write has to keep; nil if that may have changed.
    var wanted: Wanted?
  }

  /// What a write has to keep; never changed once it is made. One reference, since each write takes it.
  final class Wanted {
    var records = TreeSet()
    var keys = TreeSet()
    /// The same, unless records are left out.
    var siftedKeys = TreeSet()
    var isDivided = false
    var sieve = RecordSieve()
  }
}

extension ChangeHub.State {
  /// Calls once with each listener for which an event counts.
  ///
  /// - Parameter changed: what is known of the changed records, for some trees.
  mutating func forEachConcerned(
    by event: ChangeEvent, _ changed: [RouteIndex.Changed],
    _ body: (ChangeListener) -> Void
  ) {
    rounds += 1
    let round = rounds
    var count = 0
    func visit(_ listener: ChangeListener) {
      if listener.round == round { return }
      listener.round = round
      count += 1
      body(listener)
    }
    defer { visits += count }
    guard case .commit(let number, let changes) = event else {
      return listeners.forEach(visit)
    }
    filed = number
    undecided.values.forEach(visit)
    if !ahead.isEmpty {
      for (listener, read) in ahead.values where changes.since.map({ $0 < read }) == true {
        if listener.trees?.intersects(changes.trees) == true { visit(listener) }
      }
      ahead = ahead.filter { $0.value.read > number }
    }
    for tree in changes.trees { byTree[tree]?.values.forEach(visit) }
    if !changes.sifting.leftOut.isEmpty {
      for listener in late.values where listener.trees?.intersects(changes.trees) == true {
        visit(listener)
      }
    }
    for (tree, index) in routed where index.isConcerned(by: changes) {
      index.forEach(concernedBy: changed.first { $0.tree == tree }) {
        // It may have read only an index that has not changed.
        if $0.trees?.intersects(changes.trees) == true { visit($0) }
      }
    }
  }

  mutating func add(_ listener: ChangeListener) {
    if listener.isListed { return }
    listener.place = Int32(listeners.count)
    listeners.append(listener)
  }

  /// Returns whether it was there.
  mutating func remove(_ listener: ChangeListener) -> Bool {
    guard listener.isListed else { return false }
    // The last one takes its place.
    let last = listeners.removeLast()
    if last !== listener {
      listeners[Int(listener.place)] = last
      last.place = listener.place
    }
    listener.place = -1
    return true
  }

  private mutating func decide(_ listener: ObjectIdentifier) {
    undecided[listener] = nil
    // After many have begun at once, the empty table would be large.
    if undecided.isEmpty, undecided.capacity > 64 { undecided = [:] }
  }

  mutating func file(
    _ listener: ChangeListener, under trees: TreeSet, _ routes: ListenerRoutes?
  ) {
    let key = ObjectIdentifier(listener)
    decide(key)
    if listener.trees == trees, listener.routes === routes { return }
    unfile(listener)
    (listener.trees, listener.routes) = (trees, routes)
    for tree in routes?.unrouted ?? trees { byTree[tree, default: [:]][key] = listener }
    guard let routes else { return }
    var last: UInt32?
    for route in routes.routes {
      let index = routed[route.records] ?? RouteIndex()
      routed[route.records] = index
      index.add(listener, route, isFirst: route.records != last)
      last = route.records
    }
  }

  mutating func unfile(_ listener: ChangeListener) {
    let key = ObjectIdentifier(listener)
    decide(key)
    (ahead[key], late[key]) = (nil, nil)
    for tree in listener.routes?.unrouted ?? listener.trees ?? TreeSet() {
      byTree[tree]?[key] = nil
      if byTree[tree]?.isEmpty == true { byTree[tree] = nil }
    }
    var last: UInt32?
    for route in listener.routes?.routes ?? Few([]) {
      routed[route.records]?.remove(listener, route, isFirst: route.records != last)
      last = route.records
    }
    if let last, routed[last]?.isEmpty == true { routed[last] = nil }
    (listener.trees, listener.routes) = (nil, nil)
  }

  /// Counts a listener among those that want all records of their trees, if it is one.
  mutating func countWide(_ listener: ChangeListener, by number: Int) {
    if listener.routes?.unrouted.isEmpty == true { return }
    for tree in listener.recordTrees {
      let count = wide[tree, default: 0] + number
      wide[tree] = count == 0 ? nil : count
    }
  }

  func allWanted() -> ChangeHub.Wanted {
    let wanted = ChangeHub.Wanted()
    wanted.records = TreeSet(recordTrees.keys)
    wanted.isDivided = dividing > 0
    var sifted: [(tree: UInt32, index: RouteIndex)] = []
    for (tree, index) in routed {
      let isSifted = dividing == 0 && wide[tree] == nil && recordTrees[tree] != nil
      if isSifted { sifted.append((tree, index)) }
      // A few listeners are woken at once, where a commit has many changes.
      guard index.isLarge else { continue }
      wanted.keys.formUnion(index.keyTrees)
      if !isSifted { wanted.siftedKeys.formUnion(index.keyTrees) }
    }
    wanted.sieve = RecordSieve(sifted, filings: filings)
    return wanted
  }

  mutating func release(_ tree: UInt32) {
    recordTrees[tree, default: 1] -= 1
    if recordTrees[tree] == 0 { recordTrees[tree] = nil }
  }
}
