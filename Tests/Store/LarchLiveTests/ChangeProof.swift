import Testing

@testable import Larch

/// Every record of a store as bytes: by tree, then by id.
typealias StoredState = [UInt32: [[UInt8]: [UInt8]]]

/// Compares the changes that commits publish with the difference of the states before and after.
final class ChangeProof {
  private let store: Store
  private let listener: ChangeListener
  private var state: StoredState
  private var version: UInt64
  private(set) var commits = 0
  private(set) var changes = 0

  init(_ store: Store) throws {
    self.store = store
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
    for event in listener.take() {
      guard case .commit(let number, let published) = event else {
        Issue.record("an event without changes: \(event); \(comment)")
        continue
      }
      #expect(number > version, comment)
      version = number
      commits += 1
      for tree in state.keys where published.trees.contains(tree) {
        if let items = published.records[tree] {
          apply(items, to: tree, comment)
        } else {
          #expect(mayMerge, comment)
          state[tree] = now[tree]
        }
      }
    }
    #expect(version <= newest, comment)
    #expect(state == now, comment)
    state = now
    listen()
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
