package import Larch

/// What a shared log should have, in memory.
package struct SharedLogModel {
  /// A tree and its pairs. A tree without duplicates has one value for each key.
  package struct Tree: Equatable {
    var flags: UInt32
    var pairs: Set<Pair> = []
  }
  package struct Pair: Hashable, Comparable {
    let key: [UInt8]
    let value: [UInt8]

    package static func < (left: Pair, right: Pair) -> Bool {
      left.key == right.key
        ? left.value.lexicographicallyPrecedes(right.value)
        : left.key.lexicographicallyPrecedes(right.key)
    }
  }
  package struct Contradiction: Error {}

  package private(set) var isBegun = false
  package private(set) var use = LogUse.mirrored
  package private(set) var folded = LogPlace.start
  package private(set) var trees: [String: Tree] = [:]
  /// The entries after the state.
  package private(set) var entries: [LogEntry] = []
  /// All places that the log ever had, with what was there before it was begun again.
  package private(set) var history: [LogPlace] = []

  package init() {}

  package var newest: LogPlace { entries.last?.place ?? folded }

  package var head: LogHead? {
    guard isBegun else { return nil }
    return LogHead(
      use: use, newest: newest, folded: folded, entries: entries.count,
      bytes: entries.reduce(0) { $0 + $1.changes.count }, time: 0,
      foldedTime: 0)
  }

  mutating func begin(at place: LogPlace, for use: LogUse, _ trees: [String: Tree]) {
    isBegun = true
    self.use = use
    folded = place
    entries = []
    self.trees = trees
    history.append(place)
  }

  mutating func share(with entry: LogEntry) {
    use = .shared
    append([entry])
  }

  mutating func append(_ new: [LogEntry]) {
    entries += new
    history += new.map(\.place)
  }

  /// What `append` must say.
  func accepts(_ new: [LogEntry]) -> Bool {
    isBegun
      && new.first.map { $0.before == newest.token && $0.place.position == newest.position + 1 }
        ?? true
  }

  /// Whether entries are there already. The newest of them stands for all.
  func has(_ new: [LogEntry]) -> Bool {
    guard isBegun, let last = new.last?.place else { return isBegun }
    return last == folded || entries.contains { $0.place == last }
  }

  enum Tail: Equatable {
    case entries([LogPlace])
    case cut, diverged
  }

  func tail(after place: LogPlace) -> Tail {
    guard isBegun, place.position <= newest.position else { return .diverged }
    if place.position < folded.position { return .cut }
    if place == folded { return .entries(entries.map(\.place)) }
    guard let index = entries.firstIndex(where: { $0.place == place }) else { return .diverged }
    return .entries(entries[(index + 1)...].map(\.place))
  }

  mutating func fold(through position: UInt64) throws {
    while let next = entries.first, next.place.position <= position {
      try next.changes.withUnsafeBytes { try apply($0) }
      folded = next.place
      entries.removeFirst()
    }
  }

  private mutating func apply(_ bytes: UnsafeRawBufferPointer) throws {
    let record = try ChangeRecord(bytes)
    try record.forEach { change in
      let tree = record.trees[change.tree]
      let pair = Pair(key: [UInt8](change.key), value: [UInt8](change.value))
      if change.operation == .drop {
        trees[tree.name] = nil
        return
      }
      var known = trees[tree.name] ?? Tree(flags: tree.flags)
      guard known.flags == tree.flags else { throw Contradiction() }
      switch change.operation {
      case .create, .drop: break
      case .empty: known.pairs = []
      case .deleteKey: known.pairs = known.pairs.filter { $0.key != pair.key }
      case .deletePair: known.pairs.remove(pair)
      case .put:
        if !tree.hasDuplicates { known.pairs = known.pairs.filter { $0.key != pair.key } }
        known.pairs.insert(pair)
      }
      trees[tree.name] = known
    }
  }
}
