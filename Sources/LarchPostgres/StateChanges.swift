internal import Larch

/// What entries change in a state, all together: of each key only the last change.
struct StateChanges {
  struct Key: Hashable {
    let tree: Int32
    let key: [UInt8]
  }
  struct Pair: Hashable {
    let tree: Int32
    let key: [UInt8]
    let value: [UInt8]
  }

  /// Contradicts what is there.
  struct Contradiction: Error {}

  /// The trees as they are after the changes.
  private(set) var trees: [String: (number: Int32, flags: UInt32)] = [:]
  /// The numbers of trees whose old content goes first.
  private(set) var emptied: Set<Int32> = []
  /// The numbers of trees that are there no more.
  private(set) var dropped: Set<Int32> = []
  private(set) var made: Set<Int32> = []
  /// Keys of pairs of which all old values go, before the pairs are applied.
  private(set) var cleared: Set<Key> = []
  /// The new value, or nil if the key goes.
  private(set) var cells: [Key: [UInt8]?] = [:]
  /// Whether the pair is there afterwards.
  private(set) var pairs: [Pair: Bool] = [:]
  /// The new pairs of a key, for those that are cleared later.
  private var values: [Key: Set<[UInt8]>] = [:]
  private var nextNumber: Int32

  init(_ trees: [Int32: LogTree]) {
    for (number, tree) in trees { self.trees[tree.name] = (number, tree.flags) }
    nextNumber = (trees.keys.max() ?? 0) &+ 1
  }

  /// Adds the changes of an entry, which came after those that were added before.
  mutating func add(_ changes: UnsafeRawBufferPointer) throws {
    let record = try ChangeRecord(changes)
    try record.forEach { change in
      let tree = record.trees[change.tree]
      if change.operation == .drop {
        if let known = trees.removeValue(forKey: tree.name) {
          forget(known.number)
          dropped.insert(known.number)
        }
        return
      }
      let number = try number(of: tree)
      let key = Key(tree: number, key: [UInt8](change.key))
      switch change.operation {
      case .create, .drop: break
      case .empty: forget(number)
      case .put where tree.hasDuplicates: set(key, change.value, to: true)
      case .put: cells[key] = .some([UInt8](change.value))
      case .deletePair where tree.hasDuplicates: set(key, change.value, to: false)
      case .deletePair: throw Contradiction()
      case .deleteKey where tree.hasDuplicates:
        for value in values.removeValue(forKey: key) ?? [] {
          pairs[Pair(tree: number, key: key.key, value: value)] = nil
        }
        cleared.insert(key)
      case .deleteKey: cells[key] = .some(nil)
      }
    }
  }

  private mutating func set(_ key: Key, _ value: UnsafeRawBufferPointer, to isThere: Bool) {
    let value = [UInt8](value)
    pairs[Pair(tree: key.tree, key: key.key, value: value)] = isThere
    values[key, default: []].insert(value)
  }

  private mutating func number(of tree: LogTree) throws -> Int32 {
    if let known = trees[tree.name] {
      guard known.flags == tree.flags else { throw Contradiction() }
      return known.number
    }
    let number = nextNumber
    guard number > 0 else { throw Contradiction() }
    nextNumber &+= 1
    trees[tree.name] = (number, tree.flags)
    made.insert(number)
    return number
  }

  /// Nothing that was in the tree remains.
  private mutating func forget(_ number: Int32) {
    emptied.insert(number)
    cleared = cleared.filter { $0.tree != number }
    cells = cells.filter { $0.key.tree != number }
    pairs = pairs.filter { $0.key.tree != number }
    values = values.filter { $0.key.tree != number }
  }

  /// Whether a tree came that was not there before, and still is.
  var newTrees: [(name: String, number: Int32, flags: UInt32)] {
    trees.filter { made.contains($0.value.number) }.map {
      ($0.key, $0.value.number, $0.value.flags)
    }
  }
}
