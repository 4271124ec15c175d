extension [ChangeEvent] {
  /// The changes of the records of several trees by all events, each id once; nil if some are not
  /// known.
  ///
  /// - Parameters:
  ///   - records: the trees of the records.
  ///   - trees: those that count, also of indexes and lists.
  func changes(
    ofRecords records: TreeSet, _ trees: TreeSet, _ dataTrees: DataTrees
  ) -> ChangesByTree? {
    var known = ChangesByTree()
    var rest = trees
    for tree in records {
      let own = TreeSet(trees.lazy.filter { dataTrees.records(of: $0) == tree })
      guard let changes = changes(ofRecords: tree, own, dataTrees) else { return nil }
      known[tree] = changes
      rest = rest.subtracting(own)
    }
    for event in self {
      guard case .commit(_, let changes) = event, !changes.trees.intersects(rest) else {
        return nil
      }
    }
    return known
  }

  /// The changes of the records of a tree by each event that has some, in order; nil if some are not
  /// known.
  ///
  /// - Parameter trees: those that count, with what they belong to.
  func commits(
    ofRecords tree: UInt32, _ trees: TreeSet, _ dataTrees: DataTrees
  ) -> [RecordChanges]? {
    // Most often there is one.
    var commits: [RecordChanges] = []
    for event in self {
      guard case .commit(_, let changes) = event else { return nil }
      let changed = trees.intersection(changes.trees)
      if changed.isEmpty { continue }
      guard changed.allSatisfy({ dataTrees.records(of: $0) == tree }),
        let items = changes.records.changes(of: tree)
      else { return nil }
      commits.append(items)
    }
    return commits
  }

  /// The same by all events together, each id once.
  func changes(ofRecords tree: UInt32, _ trees: TreeSet, _ dataTrees: DataTrees) -> [StoredChange]?
  {
    guard let commits = commits(ofRecords: tree, trees, dataTrees) else { return nil }
    guard commits.count > 1 else { return commits.first?.list ?? [] }
    var places: [[UInt8]: Int] = [:]
    var all: [StoredChange] = []
    for change in commits.lazy.map(\.list).joined() {
      guard let place = places[change.id] else {
        places[change.id] = all.count
        all.append(change)
        continue
      }
      all[place] = StoredChange(
        id: change.id, before: all[place].before, after: change.after)
    }
    return all.filter { $0.before != $0.after }
  }
}
