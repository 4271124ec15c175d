/// What this process has published since a state with which a later one is compared.
///
/// The comparison finds the changes of all processes since that state. Listeners know a part of them
/// already, and wait for what changed after that.
struct PublishedChanges {
  /// Beyond that, nothing is kept, and the changed records are not known.
  private static let (countLimit, sizeLimit) = (64, 8 << 20)

  private var commits: [CommittedChanges] = []
  private var size = 0
  private var isKnown = true

  /// - Parameter event: nil for a commit that has changed nothing.
  mutating func add(_ event: ChangeEvent?) {
    guard let event, isKnown else { return }
    if case .commit(_, let changes) = event {
      commits.append(changes)
      size += changes.size
      if commits.count <= Self.countLimit, size <= Self.sizeLimit { return }
    }
    (commits, isKnown) = ([], false)
  }

  func mayHaveChanged(_ tree: UInt32) -> Bool {
    !isKnown || commits.contains { $0.trees.contains(tree) }
  }

  /// The changes of a tree since the last commit; nil if they are not known.
  ///
  /// - Parameter changes: those since the state, each id once and in the order of ids.
  func later(_ changes: [StoredChange], of tree: UInt32) -> [StoredChange]? {
    guard isKnown else { return nil }
    var published: [[UInt8]: StoredChange] = [:]
    for commit in commits where commit.trees.contains(tree) {
      // What was left out concerned no listener then, but perhaps does now.
      guard !commit.sifting.leftOut.contains(tree), let items = commit.records[tree] else {
        return nil
      }
      for item in items {
        let first = published[item.id] ?? item
        published[item.id] = StoredChange(id: item.id, before: first.before, after: item.after)
      }
    }
    if published.isEmpty { return changes }
    var later: [StoredChange] = []
    for change in changes {
      guard let known = published.removeValue(forKey: change.id) else {
        later.append(change)
        continue
      }
      // Both begin with the same state.
      guard known.before == change.before else { return nil }
      if known.after != change.after {
        later.append(StoredChange(id: change.id, before: known.after, after: change.after))
      }
    }
    // What is the same as in that state was changed back.
    for known in published.values where known.before != known.after {
      later.append(StoredChange(id: known.id, before: known.after, after: known.before))
    }
    return later.sorted { $0.id.lexicographicallyPrecedes($1.id) }
  }
}
