internal import CLMDB

/// The trees of the snapshot that a context reads, for searches on the mapped pages.
///
/// LMDB has no call for the root of a tree, so it is read from the tree that lists all others. That costs
/// as much as one search, and is kept until another state is read: programs read one state many times,
/// in one read or in many.
///
/// It belongs to one thread at a time, like the context.
package final class MappedTrees {
  private struct Known {
    /// The state of which `tree` is.
    var state = 0
    /// The number of searches in this state before `tree` was made.
    var searches = 0
    /// Whether the tree cannot be used in this state.
    var isUnusable = false
    var tree: MappedTree?
  }

  /// As many searches in a state are done by LMDB: for so few, its root costs more than it saves.
  private static let searchesBefore = 1

  private let environment: LMDBEnvironment
  /// What is known of each tree, by its handle.
  @exclusivity(unchecked) private var known: UnsafeMutablePointer<Known>
  @exclusivity(unchecked) private var capacity = 0
  /// Rises when another state is read, or when the map moves.
  @exclusivity(unchecked) private var state = 1
  @exclusivity(unchecked) private var snapshot = UInt64.max
  @exclusivity(unchecked) private var moves = 0
  @exclusivity(unchecked) private var isChecked = false
  private var names: [UInt32: [UInt8]] = [:]

  package init(_ environment: LMDBEnvironment) {
    self.environment = environment
    known = .allocate(capacity: 1)
  }

  deinit {
    known.deinitialize(count: capacity)
    known.deallocate()
  }

  /// A transaction begins with the context.
  @inline(__always)
  package func begin() { isChecked = false }

  /// The value of the key, or the only one of several; as `LMDBDatabase.get` otherwise.
  @inline(__always)
  package func get(
    _ key: UnsafeRawBufferPointer, from database: LMDBDatabase, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if let tree = tree(of: database, in: transaction, isOften: false) {
      var value: UnsafeRawBufferPointer?
      if tree.find(key, &value) { return value }
    }
    return try database.get(key, in: transaction)
  }

  /// The tree of a database; nil if it cannot be used, or if it is not worth it.
  ///
  /// - Parameter isOften: whether it is worth it even for the first search.
  @inline(__always)
  package func tree(
    of database: LMDBDatabase, in transaction: LMDBTransaction, isOften: Bool
  ) -> MappedTree? {
    if isChecked, database.handle < capacity {
      let known = known[Int(database.handle)]
      if known.state == state, let tree = known.tree { return tree }
    }
    return newTree(of: database, in: transaction, isOften: isOften)
  }

  @inline(never)
  private func newTree(
    of database: LMDBDatabase, in transaction: LMDBTransaction, isOften: Bool
  ) -> MappedTree? {
    if !isChecked { check(transaction) }
    let place = Int(database.handle)
    if place >= capacity { grow(to: place + 1) }
    let known = known + place
    if known.pointee.state != state { known.pointee = Known(state: state) }
    if known.pointee.tree == nil, !known.pointee.isUnusable {
      guard isOften || known.pointee.searches >= MappedTrees.searchesBefore else {
        known.pointee.searches += 1
        return nil
      }
      known.pointee.tree = read(database, in: transaction)
      known.pointee.isUnusable = known.pointee.tree == nil
    }
    return known.pointee.tree
  }

  /// Whether the transaction reads the same state as the last one.
  ///
  /// Its number tells that. A write has the number of a state that is not there yet.
  private func check(_ transaction: LMDBTransaction) {
    isChecked = true
    let moves = environment.map.moves.load(ordering: .relaxed)
    let isCertain = transaction.hasItsNumber
    if isCertain, snapshot == transaction.id, self.moves == moves { return }
    state += 1
    snapshot = isCertain ? transaction.id : .max
    self.moves = moves
  }

  private func grow(to count: Int) {
    let larger = UnsafeMutablePointer<Known>.allocate(capacity: count)
    larger.moveInitialize(from: known, count: capacity)
    (larger + capacity).initialize(repeating: Known(), count: count - capacity)
    known.deallocate()
    known = larger
    capacity = count
  }

  /// Reads the address of a tree in the state of the transaction.
  private func read(_ database: LMDBDatabase, in transaction: LMDBTransaction) -> MappedTree? {
    let known = names[database.handle]
    // Whoever watches the transaction hears of the tree alone, from whoever reads it.
    let transaction = LMDBTransaction(pointer: transaction.pointer)
    guard
      let name = known
        ?? environment.treeNames.withLock({ $0[database.handle] }).map({ Array($0.utf8) }),
      let value = try? name.withUnsafeBytes({
        try LMDBDatabase.unnamed.get($0, in: transaction)
      })
    else { return nil }
    if known == nil { names[database.handle] = name }
    return MappedTree(value, in: transaction)
  }
}
