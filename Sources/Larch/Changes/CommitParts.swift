/// The changes of several writes that share a commit, each by itself.
///
/// They are kept apart only if an observer ignores an author or wants each write. Whoever wants the
/// whole commit gets the parts folded into one, which reads nothing.
struct CommitParts {
  let isDivided: Bool
  /// All writes that have ended, also those that changed nothing.
  var authorship = Authorship()
  private var parts: [CommittedChanges] = []
  /// How many records of each tree are kept, and their bytes.
  private var sizes: [UInt32: (count: Int, bytes: Int)] = [:]

  init(isDivided: Bool = false) { self.isDivided = isDivided }

  var isEmpty: Bool { parts.isEmpty }

  mutating func add(_ changes: CommittedChanges) {
    for tree in changes.trees {
      guard let items = changes.records.changes(of: tree) else { continue }
      sizes[tree, default: (0, 0)].count += items.count
      sizes[tree]?.bytes += items.size
    }
    parts.append(changes)
  }

  /// What is kept of a tree so far.
  func size(of tree: UInt32) -> (count: Int, bytes: Int) { sizes[tree] ?? (0, 0) }

  /// Whether all parts together have too many changes of a tree to keep more.
  func isFull(_ tree: UInt32, with count: Int, _ limits: ChangeLog.Limits) -> Bool {
    let kept = size(of: tree)
    return kept.count + count > limits.records || kept.bytes > 2 * limits.bytes
  }

  /// The whole commit.
  ///
  /// - Parameter keys: those that all writes have written in indexes.
  func whole(_ keys: WrittenKeys) -> CommittedChanges {
    if parts.count == 1, keys.isEmpty { return parts[0] }
    let authorship = parts.reduce(into: Authorship()) { $0.add($1.authorship) }
    var trees = TreeSet()
    for part in parts { trees.formUnion(part.trees) }
    var records: [UInt32: RecordChanges] = [:]
    for tree in trees {
      let lists = parts.filter { $0.trees.contains(tree) }.map { $0.records.changes(of: tree) }
      // What one of them does not know, the whole does not know.
      let known = lists.compactMap { $0 }
      guard known.count == lists.count else { continue }
      records[tree] =
        known.count == 1 ? known[0] : RecordChanges(known.map(\.list).folded(), isFolded: true)
    }
    return CommittedChanges(
      trees: trees, records: ChangedRecords(records), authorship: authorship,
      // Of one write, the commit itself tells.
      parts: parts.count == 1 ? [] : parts, keys: keys)
  }
}

extension [[StoredChange]] {
  /// Changes that follow each other as one: each id once, in the order of ids.
  fileprivate func folded() -> [StoredChange] {
    var places: [[UInt8]: Int] = [:]
    var all: [StoredChange] = []
    for change in joined() {
      if let place = places.updateValue(all.count, forKey: change.id) {
        places[change.id] = place
        all[place] = StoredChange(id: change.id, before: all[place].before, after: change.after)
      } else {
        all.append(change)
      }
    }
    return all.filter { $0.before != $0.after }
      .sorted { $0.id.lexicographicallyPrecedes($1.id) }
  }
}

extension StoredChange {
  /// About how much memory it takes.
  var size: Int { id.count + (before?.count ?? 0) + (after?.count ?? 0) }
}
