internal import Foundation
package import Larch
package import LarchTestSupport

/// What one process changes while another one observes it.
package struct WatchedItem: Record, Equatable {
  package var id = RecordID<WatchedItem>()
  package var group: Int
  package var number: Int

  package init(group: Int, number: Int) {
    self.group = group
    self.number = number
  }

  package static let schema = Schema<WatchedItem> { Index(\.group) }
}

/// A record without an index, so that a program that knows no Larch can remove it and put it back.
package struct WatchedNote: Record, Equatable {
  package var id: Int
  package var text: String

  package init(id: Int, text: String) {
    self.id = id
    self.text = text
  }
}

/// Belongs to a record that another process changes.
package struct WatchedTask: Record, Equatable {
  package var id = RecordID<WatchedTask>()
  package var itemID: WatchedItem.ID?

  package init(itemID: WatchedItem.ID?) { self.itemID = itemID }

  package static let item = BelongsTo<WatchedTask, WatchedItem>(\.itemID, onDelete: .nullify)
  package static let schema = Schema<WatchedTask> { item }
}

package enum Watched {
  package static func open(
    at path: String, _ change: (inout Store.Options) -> Void = { _ in }
  ) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    change(&options)
    return try Store(
      at: path, for: WatchedItem.self, WatchedNote.self, WatchedTask.self, options: options)
  }

  /// A store with some records.
  package static func make(at path: String) throws {
    let store = try open(at: path)
    defer { store.close() }
    try store.write { tx throws in
      for number in 0..<200 {
        var item = WatchedItem(group: number % 10, number: number)
        try tx.save(&item)
        var note = WatchedNote(id: number, text: "note \(number)")
        try tx.save(&note)
      }
    }
  }

  /// A random change of one kind of record. It always changes something.
  package static func change(
    _ kind: Kind, _ tx: WriteTransaction, _ random: inout SeededGenerator
  ) throws {
    switch kind {
    case .items:
      let group = random.below(10)
      let items = try tx.fetch(WatchedItem.where { $0.group == group })
      guard var item = items.first(where: { _ in random.below(2) == 0 }), random.below(3) > 0
      else {
        var item = WatchedItem(group: group, number: random.below(1000))
        return try tx.save(&item)
      }
      if items.count > 25 {
        try tx.delete(item)
        return
      }
      item.number += 1
      item.group = random.below(2) == 0 ? item.group : random.below(10)
      try tx.save(&item)
    case .notes:
      let id = random.below(200)
      var note = try tx.find(WatchedNote.self, id) ?? WatchedNote(id: id, text: "")
      note.text = "note \(random.next())"
      try tx.save(&note)
    }
  }

  package enum Kind: String { case items, notes }

  /// A clock that all processes share.
  package static var nanoseconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
  }

  /// Where a writer notes when its last commit had returned: in the beacon, under this number.
  package static func times(_ number: Int) -> Int { number + 100_000 }
}

/// Observes a query with a closure, and checks each value.
package final class WatchedCheck<R: Record & Equatable>: Sendable {
  package struct Latest: Sendable {
    package var rows: [R]?
    package var version: StoreVersion?
    package var count = 0
    /// How many values could be compared with a fetch of the same version.
    package var compared = 0
    package var failures: [String] = []
  }

  private let store: Store
  private let query: Query<R>
  private let state: State
  private let token: ObservationToken

  private final class State: @unchecked Sendable {
    private let mutex = NSLock()
    private var value = Latest()

    func with<T>(_ body: (inout Latest) throws -> T) rethrows -> T {
      mutex.lock()
      defer { mutex.unlock() }
      return try body(&value)
    }
  }

  /// - Parameter mayRestart: whether versions may begin again, since the store is restored.
  package init(
    _ store: Store, _ query: Query<R>, mayRestart: Bool = false,
    onFailure: @escaping @Sendable () -> Void = {}
  ) {
    let state = State()
    (self.store, self.query, self.state) = (store, query, state)
    let fail: @Sendable (String) -> Void = { text in
      state.with { $0.failures.append(text) }
      onFailure()
    }
    token = store.observe(query, onError: { fail("\($0)") }) { value in
      do {
        // The rows of this version can be read only as long as it is the newest one. If two commits
        // come while a read begins, LMDB may give it a number that is too low, so a difference
        // counts only if it is there again.
        var now = value.rows as [R]?
        for _ in 0..<2 where now != nil {
          now = try store.read { tx in
            try tx.version == value.version ? try tx.fetch(query) : nil
          }
          if now == value.rows { break }
        }
        if let now, now != value.rows, !mayRestart { fail("wrong rows of \(value.version)") }
        state.with { latest in
          if let last = latest.version, last >= value.version, !mayRestart {
            latest.failures.append("\(last), then \(value.version)")
          }
          (latest.rows, latest.version) = (value.rows, value.version)
          latest.count += 1
          latest.compared += now == nil ? 0 : 1
        }
      } catch {
        fail("\(error)")
      }
    }
  }

  package var latest: Latest { state.with { $0 } }

  /// Whether the last value is what a fetch returns now.
  package var isCurrent: Bool { get throws { try store.fetch(query) == latest.rows } }

  package func cancel() { token.cancel() }
}
