extension CommitWatch {
  /// What it did, for tests.
  struct Counts {
    /// Whether the system tells of changes now; nil before the thread has asked it.
    var isTold: Bool? { didSet { if isTold == false { untold += 1 } } }
    /// How often it began not to.
    var untold = 0
    /// How many threads were begun.
    var threads = 0
    /// How often the thread woke up, and how often it looked for a new commit.
    var wakes = 0
    var looks = 0
    /// How often it compared trees, and how often that gave no certain answer.
    var comparisons = 0
    var unknown = 0
    /// How many trees changed whose records somebody wants, and for how many these were found.
    var wanted = 0
    var found = 0
    /// How many answers came too late.
    var late = 0
    /// How many pages were read for that.
    var pages = 0
  }

  /// What a look has found.
  enum Finding {
    /// The thread is not needed any more.
    case ended
    /// Nobody listens now, and has not since this time.
    case unheard(since: Int64)
    case nothing
    case commit
    /// A commit of this process, which it will publish, and then wake the thread.
    case ownCommit
    /// So many commits of this process, which it has published, and no other.
    case ownCommits(Int)
  }
}

/// What is needed to find the changed records between two states.
final class PageComparison {
  let newest: UInt64
  /// The last commit that was published.
  let known: UInt64
  let old: TreeRoots
  /// What this process has published since the old state.
  let published: PublishedChanges
  /// The trees that have changed, and those of them whose records somebody wants.
  let trees: TreeSet
  var wanted: [UInt32] = []
  /// What keeps the pages of the old state, in use.
  var pin: LMDBHeldRead?

  init(
    newest: UInt64, known: UInt64, old: TreeRoots, published: PublishedChanges, trees: TreeSet
  ) {
    self.newest = newest
    self.known = known
    self.old = old
    self.published = published
    self.trees = trees
  }

  func event(_ records: [UInt32: [StoredChange]]) -> ChangeEvent {
    .commit(newest, CommittedChanges(trees: trees, records: records, since: known))
  }
}
