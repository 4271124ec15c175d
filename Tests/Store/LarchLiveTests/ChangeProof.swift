import Testing

@testable import Larch

/// Every record of a store as bytes: by tree, then by id.
typealias StoredState = [UInt32: [[UInt8]: [UInt8]]]

/// Compares the changes that commits publish with the difference of the states before and after, by
/// their records and by their pages.
final class ChangeProof {
  private let store: Store
  private let listener: ChangeListener
  private var state: StoredState
  private var version: UInt64
  private(set) var commits = 0
  private(set) var changes = 0
  private var pages: HeldState
  /// How many trees were compared by their pages.
  private(set) var compared = 0

  init(_ store: Store) throws {
    self.store = store
    pages = try HeldState(store)
    listener = ChangeListener(owner: store)
    store.environment.changes.add(listener)
    (state, version) = try Self.state(of: store)
    listen()
  }

  deinit { store.environment.changes.remove(listener) }

  private func listen() {
    let trees = TreeSet(state.keys)
    store.environment.changes.listen(listener, to: trees, recordTrees: trees, after: version)
  }

  static func state(of store: Store) throws -> (StoredState, UInt64) {
    try store.read { tx in
      let transaction = try tx.live()
      var state: StoredState = [:]
      for collection in tx.context.catalog.collections {
        var records: [[UInt8]: [UInt8]] = [:]
        var cursor = try LMDBCursor(collection.records, in: transaction)
        var entry = try cursor.first()
        while let here = entry {
          records[[UInt8](here.key)] = [UInt8](here.value)
          entry = try cursor.next()
        }
        state[collection.records.handle] = records
      }
      return (state, transaction.id)
    }
  }

  /// Applies what was published since the last call to the state of then, and compares it with the
  /// state of now.
  ///
  /// - Parameter mayMerge: whether a collection may be known only to have changed.
  func check(mayMerge: Bool = false, _ comment: Comment) throws {
    let (now, newest) = try Self.state(of: store)
    /// By tree; nil for one that is known only to have changed.
    var published: [UInt32: [[UInt8]: StoredChange]?] = [:]
    for event in listener.take() {
      guard case .commit(let number, let commit) = event else {
        Issue.record("an event without changes: \(event); \(comment)")
        continue
      }
      #expect(number > version, comment)
      version = number
      commits += 1
      for tree in state.keys where commit.trees.contains(tree) {
        if let items = commit.records[tree] {
          apply(items, to: tree, comment)
          if var folded = published[tree, default: [:]] {
            for item in items {
              let first = folded[item.id] ?? item
              folded[item.id] = StoredChange(
                id: item.id, before: first.before, after: item.after)
            }
            published.updateValue(folded, forKey: tree)
          }
        } else {
          published.updateValue(nil, forKey: tree)
          #expect(mayMerge, comment)
          state[tree] = now[tree]
        }
      }
    }
    #expect(version <= newest, comment)
    #expect(state == now, comment)
    try checkPages(published, comment)
    state = now
    listen()
  }

  /// Compares what was published with what the pages of both states say.
  private func checkPages(
    _ published: [UInt32: [[UInt8]: StoredChange]?], _ comment: Comment
  ) throws {
    let now = try HeldState(store)
    defer { pages = now }
    for tree in state.keys {
      guard let known = published[tree, default: [:]],
        let found = try now.changes(of: tree, since: pages)
      else { continue }
      let changes = known.values.filter { $0.before != $0.after }
      #expect(found == changes.sorted { $0.id.lexicographicallyPrecedes($1.id) }, comment)
      compared += 1
    }
  }

  private func apply(_ items: [StoredChange], to tree: UInt32, _ comment: Comment) {
    for item in items {
      #expect(item.before != item.after, comment)
      #expect(state[tree]?[item.id] == item.before, comment)
      state[tree]?[item.id] = item.after
      changes += 1
    }
    #expect(Set(items.map(\.id)).count == items.count, comment)
  }
}

/// A state of a store whose pages are kept.
final class HeldState {
  private let environment: LMDBEnvironment
  private let held: LMDBHeldRead
  private let roots: TreeRoots

  init(_ store: Store) throws {
    let environment = store.environment
    let reader = try environment.beginRead()
    roots = try environment.treeNames.withLock { try TreeRoots(of: $0, in: reader.transaction) }
    held = environment.hold(
      reader, owner: ObjectIdentifier(store), deadline: nil, isObserving: true)
    self.environment = environment
  }

  deinit { environment.endHeldRead(held) }

  /// The changed records of a tree since another state; nil if one of them was ended.
  func changes(of tree: UInt32, since old: HeldState) throws -> [StoredChange]? {
    guard environment.isOpen(held), environment.isOpen(old.held) else { return nil }
    guard let transaction = try environment.beginUse(of: held, isBounded: false) else { return nil }
    defer { environment.endUse(of: held) }
    _ = try environment.beginUse(of: old.held, isBounded: false)
    defer { environment.endUse(of: old.held) }
    var changes = TreeChanges(
      since: old.roots, in: transaction, .init(records: .max, bytes: 1 << 40))
    let name = environment.treeNames.withLock { $0[tree] }
    return try #require(name.map { changes.records(of: tree, named: $0) })
  }
}
