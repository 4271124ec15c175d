import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A record was saved in a write that was undone, and kept its id. Another store or process
/// assigned the id to another record, which the next save of the first one replaced without an
/// error. An id is assigned only once, however its write ended.
@Suite("An id is assigned once")
struct AssignedIDTests {
  private struct Boom: Error {}

  /// Saves a record in a write that is undone: it has an id, but is not stored.
  private static func undone(_ store: Store, _ owner: String = "undone") -> Owned {
    var record = Owned(owner: owner)
    try? store.write { tx in
      try tx.save(&record)
      throw Boom()
    }
    return record
  }

  @discardableResult
  private static func save(_ store: Store, _ owner: String) throws -> Owned {
    var record = Owned(owner: owner)
    try store.write { tx throws in try tx.save(&record) }
    return record
  }

  /// Saves undone records, and requires that they are inserted under their ids.
  private static func requireBeside(_ record: Owned, _ others: [Owned], in store: Store) throws {
    var record = record
    let id = record.id
    #expect(!others.contains { $0.id == id })
    try store.write { tx throws in try tx.save(&record) }
    #expect(record.id == id)
    for expected in others + [record] {
      #expect(try store.read { try $0.find(Owned.self, expected.id)?.owner } == expected.owner)
    }
  }

  private static func scratch<T>(_ body: (String) throws -> T) throws -> T {
    let directory = try CrashDirectory()
    return try withExtendedLifetime(directory) { try body(directory.store) }
  }

  @Test("Another store of the process does not assign it again")
  func twoStores() throws {
    try Self.scratch { path throws in
      let (a, b) = (try Owned.open(at: path), try Owned.open(at: path))
      defer {
        a.close()
        b.close()
      }
      let p = Self.undone(a)
      #expect(p.id.rawValue == 1)
      let q = try Self.save(b, "q")
      #expect(q.id.rawValue == 2)
      try Self.requireBeside(p, [q], in: a)
    }
  }

  @Test("A store that was closed and opened again does not assign it again")
  func reopened() throws {
    try Self.scratch { path throws in
      let a = try Owned.open(at: path)
      let p = Self.undone(a)
      a.close()
      let b = try Owned.open(at: path)
      let q = try Self.save(b, "q")
      b.close()
      let c = try Owned.open(at: path)
      defer { c.close() }
      let r = try Self.save(c, "r")
      try Self.requireBeside(p, [q, r], in: c)
    }
  }

  @Test("Another process does not assign it again while the first process lives")
  func twoProcesses() throws {
    let directory = try CrashDirectory()
    let store = try Owned.open(at: directory.store)
    defer { store.close() }
    try Self.save(store, "first")
    let child = try Child(["undone-id", directory.store], in: directory.path)
    try child.wait("gives an id") { child.output.contains("\n") }
    #expect(child.output == "2\n")
    #expect(try Self.save(store, "second").id.rawValue == 3)
    // Later processes assign the ids above it, without a gap.
    #expect(try Self.save(store, "third").id.rawValue == 4)
    try child.killHard()
    #expect(try Self.save(store, "fourth").id.rawValue == 5)
  }

  @Test("An id that a dead process assigned and did not store is free again")
  func killed() throws {
    let directory = try CrashDirectory()
    let store = try Owned.open(at: directory.store)
    defer { store.close() }
    let child = try Child(["undone-id", directory.store], in: directory.path)
    try child.wait("gives an id") { child.output.contains("\n") }
    #expect(child.output == "1\n")
    try child.killHard()
    #expect(try Self.save(store, "first").id.rawValue == 1)
  }

  @Test("The commit notes the ids of undone savepoints")
  func savepoints() throws {
    try Self.scratch { path throws in
      let a = try Owned.open(at: path)
      var (p, q) = (Owned(owner: "p"), Owned(owner: "q"))
      try a.write { tx throws in
        try tx.save(&q)
        try? tx.savepoint {
          try tx.save(&p)
          throw Boom()
        }
      }
      #expect(p.id.rawValue == 2)
      let noted = try a.read { tx throws in
        try tx.storage {
          try tx.context.catalog.storage.highestDeletedID(
            tx.context.collection(of: Owned.self).stored.id, in: $0)
        }
      }
      #expect(noted == 2)
      a.close()
      let b = try Owned.open(at: path)
      defer { b.close() }
      try Self.requireBeside(p, [q, try Self.save(b, "r")], in: b)
    }
  }

  @Test("A closure that runs again never assigns an id of another run")
  func runsTwice() throws {
    try Self.scratch { path throws in
      let store = try Owned.open(at: path, runsTwice: true)
      defer { store.close() }
      var (outer, inner) = (Owned(owner: "outer"), Owned(owner: "inner"))
      var runs = 0
      try store.write { tx throws in
        runs += 1
        if runs == 2 { try tx.save(&inner) }
        try tx.save(&outer)
      }
      #expect(outer.id.rawValue == 1)
      #expect(inner.id.rawValue == 2)
      #expect(try store.read { try $0.count(Owned.all) } == 2)
    }
  }

  @Test("A write that runs again after a full map assigns new ids")
  func growth() throws {
    try Self.scratch { path throws in
      let store = try Owned.open(at: path)
      defer { store.close() }
      var outer = Owned(owner: "outer")
      var runs = 0
      try store.write { tx throws in
        runs += 1
        for number in 0..<4000 {
          var inner = Owned(owner: "inner \(number)")
          try tx.save(&inner)
          if number == 0 { try tx.save(&outer) }
        }
      }
      #expect(runs > 1)
      #expect(try store.read { try $0.count(Owned.all) } == 4001)
      #expect(try store.read { try $0.find(Owned.self, outer.id)?.owner } == "outer")
    }
  }

  @Test("Writes that share a commit, some of them undone, share no id")
  func groups() async throws {
    let directory = try CrashDirectory()
    let store = try Owned.open(at: directory.store)
    defer { withExtendedLifetime(directory) { store.close() } }
    let held = Guarded<[Owned]>([])
    await withTaskGroup { group in
      for number in 0..<60 {
        group.addTask {
          var record = Owned(owner: "\(number)")
          let given = Guarded(record)
          try? await store.write { tx throws in
            var saved = Owned(owner: "\(number)")
            try tx.save(&saved)
            given.withLock { [saved] in $0 = saved }
            if number % 3 == 0 { throw Boom() }
          }
          record = given.withLock { $0 }
          if number % 3 == 0 { held.withLock { [record] in $0.append(record) } }
        }
      }
    }
    let records = held.withLock { $0 }
    #expect(Set(records.map(\.id)).count == 20)
    try await store.write { tx throws in
      for var record in records { try tx.insert(&record) }
    }
    let owners = try store.read { try $0.fetch(Owned.all).map(\.owner) }
    #expect(Set(owners) == Set((0..<60).map(String.init)))
    #expect(owners.count == 60)
  }

  @Test("A compaction, which replaces the file, forgets no id")
  func compaction() throws {
    let directory = try CrashDirectory()
    let store = try Owned.open(at: directory.store)
    defer { store.close() }
    try Self.save(store, "first")
    let child = try Child(["undone-id", directory.store], in: directory.path)
    try child.wait("gives an id") { child.output.contains("\n") }
    let p = Self.undone(store)
    #expect(p.id.rawValue == 3)
    try store.compact()
    let q = try Self.save(store, "q")
    #expect(q.id.rawValue == 4)
    try Self.requireBeside(p, [q], in: store)
    try child.killHard()
  }

  @Test("A very high id that the program chooses does not use up the ids of a store")
  func highest() throws {
    try Self.scratch { path throws in
      let store = try Owned.open(at: path)
      defer { store.close() }
      var last = Owned(owner: "last")
      last.id = RecordID(rawValue: .max)
      var limit = Owned(owner: "limit")
      limit.id = RecordID(rawValue: 1 << 62)
      try store.write { tx throws in
        try tx.save(&last)
        try tx.save(&limit)
      }
      #expect(try Self.save(store, "first").id.rawValue == 1)
      #expect(try Self.save(store, "second").id.rawValue == 2)
      try store.write { tx throws in try tx.erase(Owned.self) }
      #expect(try Self.save(store, "third").id.rawValue == 3)
      try store.write { tx throws in
        try tx.save(&last)
        try tx.delete(last)
      }
      #expect(try Self.save(store, "fourth").id.rawValue == 4)
      var highest = Owned(owner: "highest")
      highest.id = RecordID(rawValue: 1 << 62 - 1)
      try store.write { tx throws in try tx.save(&highest) }
      let error = #expect(throws: LarchError.self) { try Self.save(store, "none") }
      #expect(error?.code == .idTooLong)
    }
  }

  @Test("Lock bytes are in the order of the ids, and different bytes never share an id")
  func bytes() {
    let edges: [Int64] = [1, 2, 1 << 20, 1 << 47 - 1, 1 << 47, 1 << 47 + 1, 1 << 55, 1 << 62 - 2]
    for id in edges {
      let bytes = IDBytes(of: id..<(id + 1), in: 3)
      let after = IDBytes.id(after: bytes.start + bytes.count - 1, in: 3)
      #expect(after > id)
      #expect(after - id <= 1 << 16)
      #expect(IDBytes(of: after..<(after + 1), in: 3).start > bytes.start + bytes.count - 1)
      #expect(bytes.start >= IDBytes.base)
      let next = IDBytes(of: 1..<2, in: 4)
      #expect(next.start > bytes.start + bytes.count - 1)
    }
    let last = IDBytes(of: (1 << 62 - 1)..<(1 << 62), in: .max)
    #expect(!last.start.addingReportingOverflow(last.count - 1).overflow)
  }

  /// `LARCH_ID_STEPS` makes it longer, `LARCH_CRASH_SEED` repeats its random numbers.
  @Test("Four processes that undo, repeat, share and close overwrite nothing of each other")
  func processes() throws {
    let directory = try CrashDirectory()
    try Owned.open(at: directory.store).close()
    let steps = amount("LARCH_ID_STEPS", 150)
    let children = try (0..<4).map { number in
      try Child(
        [
          "owned-writer", directory.store, "p\(number)", "\(runSeed &+ UInt64(number))", "\(steps)",
        ],
        in: directory.path)
    }
    var expected: [Int64: String] = [:]
    for child in children {
      #expect(try child.wait() == .exit(0), "seed \(runSeed): \(child.output)")
      for line in child.output.split(separator: "\n") {
        let parts = line.split(separator: " ")
        let id = try #require(parts.first.flatMap { Int64($0) }, "\(line)")
        let owner = expected.updateValue(String(parts[1]), forKey: id)
        #expect(owner == nil, "seed \(runSeed): \(id) is of \(owner ?? "") and \(parts[1])")
      }
    }
    let store = try Owned.open(at: directory.store)
    defer { store.close() }
    let records = try store.read { try $0.fetch(Owned.all) }
    let found = records.map { ($0.id.rawValue, $0.owner) }
    #expect(Dictionary(found) { first, _ in first } == expected, "seed \(runSeed)")
    #expect(try store.verify().isClean)
  }
}
