import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A record whose first save was undone keeps its assigned id, which no other record gets.
/// `state(of:)` called it deleted, although it had never been stored.
@Suite("The state of a record whose save was undone")
struct UndoneStateTests {
  private struct Undone: Error {}

  struct Item: Record {
    var id = RecordID<Item>()
    var name: String
  }
  struct Other: Record {
    var id = RecordID<Other>()
    var name: String
  }

  @Test("It is new, and deleted after a save and a deletion")
  func closure() throws {
    let store = try Store.temporary(for: Item.self)
    var item = Item(name: "a")
    #expect(throws: Undone.self) {
      try store.write { tx throws in
        try tx.save(&item)
        throw Undone()
      }
    }
    #expect(item.id == 1)
    #expect(try store.state(of: item) == .new)
    var kept = Item(name: "b")
    try store.save(&kept)
    #expect(try store.state(of: item) == .new)
    #expect(try store.state(of: kept) == .unchanged)
    try store.delete(kept)
    #expect(try store.state(of: kept) == .deleted)
    // After a save in another undone write it still never existed.
    #expect(throws: Undone.self) {
      try store.write { tx throws in
        try tx.save(&item)
        #expect(try tx.state(of: item) == .unchanged)
        try tx.delete(item)
        #expect(try tx.state(of: item) == .deleted)
        throw Undone()
      }
    }
    #expect(try store.state(of: item) == .new)
    try store.save(&item)
    #expect(try store.state(of: item) == .unchanged)
    try store.delete(item)
    #expect(try store.state(of: item) == .deleted)
  }

  @Test("A savepoint: ids assigned in it are new, ids assigned around it are not")
  func savepoints() throws {
    let store = try Store.temporary(for: Item.self, Other.self)
    var items = (0..<5).map { Item(name: "\($0)") }
    var other = Other(name: "o")
    try store.write { tx throws in
      try tx.save(&items[0])
      try? tx.savepoint { () throws -> Void in
        try tx.save(&items[1])
        try tx.save(&other)
        try tx.savepoint { try tx.save(&items[2]) }
        throw Undone()
      }
      #expect(try tx.state(of: items[1]) == .new)
      #expect(try tx.state(of: items[2]) == .new)
      try tx.savepoint {
        try tx.save(&items[3])
        try? tx.savepoint { () throws -> Void in
          try tx.save(&items[4])
          throw Undone()
        }
      }
    }
    #expect(
      try items.map { try store.state(of: $0) } == [.unchanged, .new, .new, .unchanged, .new])
    #expect(try store.state(of: other) == .new)
    try store.write { tx throws in _ = try tx.erase(Item.self) }
    #expect(try items.map { try store.state(of: $0) } == [.deleted, .new, .new, .deleted, .new])
  }

  @Test("A closure that runs twice: the ids of the first run are new")
  func runsTwice() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let store = try Store.temporary(for: Item.self, options: options)
    var given: [Item] = []
    try store.write { tx throws in
      var item = Item(name: "a")
      try tx.save(&item)
      given.append(item)
    }
    #expect(given.map(\.id) == [1, 2])
    #expect(try given.map { try store.state(of: $0) } == [.new, .unchanged])
  }

  @Test("A store that is closed and opened again, and another store of the file")
  func reopened() throws {
    try withScratchPath { path throws in
      var (undone, deleted) = (Item(name: "a"), Item(name: "b"))
      try Store.using(path, Item.self) { store throws in
        try? store.write { tx throws -> Void in
          try tx.save(&undone)
          throw Undone()
        }
        try Store.using(path, Item.self) { second throws in
          #expect(try second.state(of: undone) == .new)
        }
        // The file knows of the id from here on.
        try store.save(&deleted)
        try store.delete(deleted)
      }
      try Store.using(path, Item.self) { store throws in
        #expect(try store.state(of: undone) == .new)
        #expect(try store.state(of: deleted) == .deleted)
        try store.save(&undone)
        try store.delete(undone)
      }
      try Store.using(path, Item.self) { store throws in
        #expect(try store.state(of: undone) == .deleted)
      }
    }
  }

  @Test("A store that is opened and closed in between, without a write")
  func openedInBetween() throws {
    try withScratchPath { path throws in
      var (undone, stored) = (Item(name: "a"), Item(name: "b"))
      try Store.using(path, Item.self) { store throws in
        try? store.write { tx throws -> Void in
          try tx.save(&undone)
          throw Undone()
        }
        try store.save(&stored)
      }
      for _ in 0..<3 {
        try Store.using(path, Item.self) { store throws in
          #expect(try store.state(of: undone) == .new)
          #expect(try store.state(of: stored) == .unchanged)
        }
      }
    }
  }

  @Test("Writes that share a commit: one is undone, the others are not")
  func shared() async throws {
    let store = try Store.temporary(for: Item.self)
    let items = await withTaskGroup(of: Item.self) { group in
      for number in 0..<60 {
        group.addTask {
          let box = Locked(Item(name: "\(number)"))
          try? await store.write { tx throws -> Void in
            var item = Item(name: "\(number)")
            try tx.save(&item)
            box.withLock { [item] in $0 = item }
            if number.isMultiple(of: 3) { throw Undone() }
          }
          return box.withLock { $0 }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(items.count == 60)
    for item in items {
      let isUndone = Int(item.name)!.isMultiple(of: 3)
      #expect(try store.state(of: item) == (isUndone ? .new : .unchanged))
    }
    try await store.write { tx throws in _ = try tx.erase(Item.self) }
    for item in items {
      let isUndone = Int(item.name)!.isMultiple(of: 3)
      #expect(try store.state(of: item) == (isUndone ? .new : .deleted))
    }
  }

  @Test("Random saves, savepoints and deletions agree with a model", arguments: 1...20)
  func random(seed: UInt64) throws {
    let store = try Store.temporary(for: Item.self)
    var generator = SeededGenerator(seed: seed)
    var all: [Item] = []
    // The ids that were ever committed, and those that are stored.
    var committed: Set<Item.ID> = []
    var stored: Set<Item.ID> = []
    for _ in 0..<30 {
      var (seen, there, made) = (committed, stored, all)
      func work(_ tx: WriteTransaction, _ depth: Int) throws {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          switch Int.random(in: 0..<5, using: &generator) {
          case 0, 1:
            var item = Item(name: "x")
            try tx.save(&item)
            made.append(item)
            seen.insert(item.id)
            there.insert(item.id)
          case 2:
            guard var item = made.randomElement(using: &generator) else { continue }
            item.name += "y"
            try tx.save(&item)
            seen.insert(item.id)
            there.insert(item.id)
          case 3:
            guard let item = made.randomElement(using: &generator) else { continue }
            try tx.delete(item)
            there.remove(item.id)
          default:
            if depth == 3 { continue }
            let before = (seen, there)
            do {
              try tx.savepoint {
                try work(tx, depth + 1)
                if Bool.random(using: &generator) { throw Undone() }
              }
            } catch is Undone {
              (seen, there) = before
            }
          }
          for item in made where !there.contains(item.id) {
            #expect(try tx.state(of: item) == (seen.contains(item.id) ? .deleted : .new))
          }
        }
      }
      do {
        try store.write { tx throws in
          try work(tx, 0)
          if Int.random(in: 0..<3, using: &generator) == 0 { throw Undone() }
        }
        (committed, stored) = (seen, there)
      } catch is Undone {}
      all = made
      for item in all where !stored.contains(item.id) {
        #expect(try store.state(of: item) == (committed.contains(item.id) ? .deleted : .new))
      }
    }
  }
}
