import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

@Suite("The changes that a commit publishes")
struct RecordedChangeTests {
  private func withStore(_ body: (Store, String) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    try body(store, path)
  }

  @Test("they are the difference of the states before and after", arguments: UInt64(1)...6)
  func difference(seed: UInt64) throws {
    try withStore { store, _ in
      let proof = try ChangeProof(store)
      var writes = RandomWrites(seed: seed)
      for round in 0..<250 {
        writes.write(to: store)
        try proof.check("seed \(seed), round \(round)")
      }
      #expect(proof.commits > 100)
      #expect(proof.changes > 300)
      // Each of the five collections after each write.
      #expect(proof.compared == 5 * 250)
    }
  }

  @Test("they are the same if each write is rehearsed")
  func rehearsed() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    options.runsWritesTwice = true
    let store = try Store(
      at: path, for: Owner.self, Pet.self, Note.self, Tag.self, Guarded.self, options: options)
    defer { store.close() }
    let proof = try ChangeProof(store)
    for number in 0..<40 {
      try store.write { tx in
        var owner = Owner(name: "o", city: "Oslo", age: number)
        try tx.save(&owner)
        try tx.delete(Owner.where { $0.age == number - 3 })
      }
      try proof.check("write \(number)")
    }
    #expect(proof.commits == 40)
  }

  @Test("writes that share a commit, of which some throw, publish what stays")
  func groups() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    let proof = try ChangeProof(store)
    for round in 0..<20 {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          group.addTask {
            try? await store.write { tx in
              var writes = RandomWrites(seed: UInt64(round * 100 + number))
              try writes.change(tx)
              if number % 3 == 0 { throw RandomWrites.Undone() }
            }
          }
        }
      }
      try proof.check("round \(round)")
    }
    #expect(proof.changes > 100)
  }

  @Test("an insertion and deletion in one transaction is no change")
  func nothing() throws {
    try withStore { store, _ in
      let listener = ChangeListener(owner: store)
      let changes = store.environment.changes
      changes.add(listener)
      let tree = try store.read { try $0.context.collection(of: Tag.self).records.handle }
      changes.listen(listener, to: [tree], after: 0)
      try store.write { tx in
        try tx.put(Tag(id: "a", color: 1))
        try tx.delete(Tag.self, "a")
      }
      #expect(listener.changes(of: tree) == [[]])

      try store.write { tx in
        try? tx.savepoint {
          try tx.put(Tag(id: "a", color: 1))
          throw RandomWrites.Undone()
        }
      }
      // No tree was changed in the end.
      #expect(listener.changes(of: tree) == [])

      try store.write { tx in try tx.put(Tag(id: "a", color: 1)) }
      changes.listen(listener, to: [tree], after: 0)
      try store.write { tx in
        try tx.delete(Tag.self, "a")
        try tx.put(Tag(id: "a", color: 2))
        try tx.put(Tag(id: "b", color: 1))
        try tx.put(Tag(id: "b", color: 2))
      }
      let found = listener.changes(of: tree).last ?? []
      #expect(found.map { $0.before == nil } == [false, true])
      #expect(found.allSatisfy { $0.after != nil })
      changes.remove(listener)
    }
  }

  @Test("an erased collection is one deletion for each record")
  func erased() throws {
    try withStore { store, _ in
      try store.write { tx in
        for number in 0..<50 { try tx.put(Tag(id: "\(number)", color: number)) }
      }
      let proof = try ChangeProof(store)
      try store.write { tx in
        try tx.erase(Tag.self)
        try tx.put(Tag(id: "3", color: 3))
        try tx.put(Tag(id: "4", color: 5))
        try tx.put(Tag(id: "new", color: 5))
      }
      try proof.check("erased")
      // All but the one that came back as it was.
      #expect(proof.changes == 50)
    }
  }

  @Test("more changes than the limit are known only as a change of the collection")
  func flooded() throws {
    try withStore { store, _ in
      store.environment.changes.log.limits = .init(records: 20, bytes: 4 << 20)
      let proof = try ChangeProof(store)
      var writes = RandomWrites(seed: 9)
      for round in 0..<60 {
        try store.write { tx in
          try tx.put(Tag(id: "one", color: round))
          try? tx.savepoint {
            for number in 0..<30 { try tx.put(Tag(id: "\(number)", color: round)) }
            if round % 3 == 0 { throw RandomWrites.Undone() }
          }
        }
        try proof.check(mayMerge: true, "bulk, round \(round)")
        writes.write(to: store)
        try proof.check(mayMerge: true, "round \(round)")
      }
      store.environment.changes.log.limits = .init(records: 1000, bytes: 500)
      for round in 0..<20 {
        try store.write { tx in
          for number in 0..<30 { try tx.put(Tag(id: "\(number)", color: -round)) }
        }
        try proof.check(mayMerge: true, "bytes, round \(round)")
      }
    }
  }

  @Test("imports, migrations, repairs and new indexes publish what they change")
  func otherPaths() throws {
    try withStore { store, path in
      let proof = try ChangeProof(store)
      try store.importJSON(
        Tag.self, from: .text(#"[{"id": "a", "color": 1}, {"id": "b", "color": 2}]"#))
      try proof.check("import of JSON")
      #expect(proof.changes == 2)

      var bytes = Data()
      try store.export { bytes += $0 }
      let text = String(decoding: bytes, as: UTF8.self)
        .replacingOccurrences(of: #""color":2"#, with: #""color":7"#)
      try store.importExport(from: .text(text), existing: .replace)
      try proof.check("import of an export")
      #expect(proof.changes == 3)

      try Store.using(
        path, Owner.self, Pet.self, Note.self, Tag.self,
        migrations: [
          Migration("colors") { tx in
            try tx.rewrite(Tag.self) { fields in fields["color"] = .int(9) }
          },
          Migration("one") { tx in try tx.put(Tag(id: "c", color: 3)) },
        ]
      ) { _ in }
      try proof.check("migrations")
      #expect(proof.changes == 6)

      try store.rebuild()
      try proof.check("rebuild")
      #expect(proof.changes == 6)
    }
  }

  @Test("a compaction is published as a new state")
  func compaction() throws {
    try withStore { store, _ in
      try store.write { tx in try tx.put(Tag(id: "a", color: 1)) }
      let listener = ChangeListener(owner: store)
      store.environment.changes.add(listener)
      try store.compact()
      let resets = listener.take().filter { if case .reset = $0 { true } else { false } }
      #expect(resets.count == 1)
      store.environment.changes.remove(listener)
    }
  }

  @Test("a write that began before the first listener is published as any change")
  func late() throws {
    try withStore { store, _ in
      let listener = ChangeListener(owner: store)
      try store.write { tx in
        store.environment.changes.add(listener)
        try tx.put(Tag(id: "a", color: 1))
      }
      let events = listener.take()
      #expect(events.count == 1)
      switch events.first {
      case .anything?: break
      // The thread that looks for commits of others may see this one first, and compares its trees.
      case .commit(_, let changes)?: #expect(changes.since != nil && !changes.trees.isEmpty)
      case .reset?, nil: Issue.record("not any change")
      }
      store.environment.changes.remove(listener)
    }
  }

  @Test("a transaction in which nothing is found to delete publishes nothing")
  func nothingFound() throws {
    try withStore { store, _ in
      try store.put(Tag(id: "a", color: 1))
      let listener = ChangeListener(owner: store)
      store.environment.changes.add(listener)
      let records = try store.read { try $0.context.collection(of: Tag.self).records }
      let isDeleted = try store.environment.write { transaction in
        try [UInt8]([9]).withUnsafeBytes { try records.delete($0, in: transaction) }
      }
      #expect(!isDeleted)
      #expect(listener.take().isEmpty)
      store.environment.changes.remove(listener)
    }
  }

  @Test("without a listener a write has no log")
  func unobserved() throws {
    try withStore { store, _ in
      try store.write { tx throws in
        let watcher = try tx.live().watcher
        #expect(watcher == nil)
      }
      let proof = try ChangeProof(store)
      try store.write { tx throws in
        let watcher = try tx.live().watcher
        #expect(watcher != nil)
      }
      withExtendedLifetime(proof) {}
    }
  }
}

extension ChangeHub {
  func listen(_ listener: ChangeListener, to trees: [UInt32], after transaction: UInt64) {
    listen(
      listener, to: TreeSet(trees), recordTrees: TreeSet(trees), after: transaction)
  }
}

extension ChangeListener {
  /// The changed records of a tree, for each commit since the last call.
  func changes(of tree: UInt32) -> [[StoredChange]] {
    take().compactMap {
      guard case .commit(_, let changes) = $0 else { return nil }
      return changes.records[tree]
    }
  }
}
