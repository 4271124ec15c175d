import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// While `rebuild()` ran, and after it was stopped, its empty indexes were asked whether a value is
/// taken and whether a record is referred to: 200 of 200 duplicates were saved, 160 of 160 records that
/// `.deny` protects were deleted, and then the store could not be opened.
@Suite("What is saved and deleted while indexes are not complete")
struct RebuildSafetyTests {
  struct Group: Record {
    var id = RecordID<Group>()
    var name: String
    static let schema = Schema<Group> {
      HasMany(\Member.groupID, onDelete: .deny)
    }
  }

  struct Member: Record {
    var id = RecordID<Member>()
    var login: String
    var groupID: Group.ID?
    static let schema = Schema<Member> {
      Unique(\.login)
    }
    init(login: String, groupID: Group.ID? = nil) {
      self.login = login
      self.groupID = groupID
    }
  }

  /// The same records in a program without associations and indexes.
  struct PlainMember: Record {
    var id = RecordID<PlainMember>()
    var login: String
    var groupID: Int64?
    static let collectionName = "Member"
  }

  struct PlainGroup: Record {
    var id = RecordID<PlainGroup>()
    var name: String
    static let collectionName = "Group"
  }

  private struct Enough: Error {}
  private static let count = 400
  private static let long = String(repeating: "long ", count: 100)

  private static func login(_ number: Int) -> String {
    number.isMultiple(of: 10) ? long + "\(number)" : "login \(number)"
  }

  private static func fill(_ store: Store) throws {
    try store.write { tx throws in
      for number in 0..<count {
        if number.isMultiple(of: 10) {
          var group = Group(name: "group \(number / 10)")
          try tx.insert(&group)
        }
        var member = Member(
          login: login(number), groupID: RecordID(Int64(number / 10 + 1)))
        try tx.insert(&member)
      }
    }
  }

  private static func withStore(_ body: (String, Store) throws -> Void) throws {
    try withScratchPath { path throws in
      var options = Store.Options()
      options.indexBatchSize = 20
      options.durability = .none
      try Store.using(path, Group.self, Member.self, options: options) { store throws in
        try fill(store)
        try body(path, store)
      }
    }
  }

  private static func saves(_ login: String, in store: Store) -> LarchError.Code? {
    caught {
      var member = Member(login: login)
      try store.save(&member)
    }?.code
  }

  private static func deletes(_ group: Int64, in store: Store) -> LarchError.Code? {
    caught { try store.delete(Group.self, RecordID(group)) }?.code
  }

  /// What other threads tried meanwhile.
  private struct Attempts {
    var saved = 0
    var deleted = 0
    var others: [String] = []
  }

  /// Rebuilds with one store while a thread breaks the rules with another.
  private static func attempts(_ rebuilding: Store, _ writing: Store) throws -> Attempts {
    let found = Locked(Attempts())
    let isStarted = Locked(false)
    let ended = DispatchSemaphore(value: 0)
    let work: @Sendable () -> Void = {
      for number in 0..<40 {
        let save = saves(login(number * 7), in: writing)
        let delete = deletes(Int64(number % 40 + 1), in: writing)
        found.withLock {
          if save == nil { $0.saved += 1 }
          if delete == nil { $0.deleted += 1 }
          if let save, save != .uniqueConflict { $0.others.append("\(save)") }
          if let delete, delete != .deleteDenied { $0.others.append("\(delete)") }
        }
      }
      ended.signal()
    }
    var failure: (any Error)?
    do {
      try rebuilding.rebuild { _ in
        let begins = isStarted.withLock { isStarted in
          defer { isStarted = true }
          return !isStarted
        }
        if begins { Thread.detachNewThread(work) }
        usleep(2_000)
      }
    } catch {
      failure = error
    }
    ended.wait()
    if let failure { throw failure }
    return found.withLock { $0 }
  }

  @Test(
    "While a store rebuilds, its other threads save no duplicate and delete nothing that is denied")
  func threads() throws {
    try RebuildSafetyTests.withStore { _, store throws in
      let dump = try store.dump()
      let found = try RebuildSafetyTests.attempts(store, store)
      #expect(found.saved == 0 && found.deleted == 0 && found.others.isEmpty, "\(found)")
      #expect(try store.dump() == dump)
      #expect(try store.verify().isClean)
    }
  }

  @Test("While a store rebuilds, another store of the file keeps the rules too")
  func twoStores() throws {
    try RebuildSafetyTests.withStore { path, store throws in
      let other = try Store(at: path, for: Group.self, Member.self, options: .quick)
      defer { other.close() }
      let found = try RebuildSafetyTests.attempts(store, other)
      #expect(found.saved == 0 && found.deleted == 0 && found.others.isEmpty, "\(found)")
      #expect(try other.verify().isClean)
    }
  }

  @Test("A rebuild that is stopped at any step leaves the file as it was")
  func stopped() throws {
    for step in [1, 2, 20, 21, 40] {
      try RebuildSafetyTests.withStore { _, store throws in
        let dump = try store.dump()
        let version = try store.read { try $0.storage { $0.id } }
        var steps = 0
        #expect(throws: Enough.self) {
          try store.rebuild { _ in
            steps += 1
            if steps == step { throw Enough() }
          }
        }
        #expect(try store.read { try $0.storage { $0.id } } == version, "step \(step)")
        #expect(RebuildSafetyTests.saves("login 7", in: store) == .uniqueConflict, "step \(step)")
        #expect(RebuildSafetyTests.deletes(3, in: store) == .deleteDenied, "step \(step)")
        let query = Member.where { $0.login == "login 9" }
        #expect(try store.explain(query).description.contains("index login"), "step \(step)")
        #expect(try store.dump() == dump, "step \(step)")
        #expect(try store.verify().isClean, "step \(step)")
      }
    }
  }

  @Test("What the progress closure reads is the file before the rebuild, and it cannot write")
  func progressReads() throws {
    try RebuildSafetyTests.withStore { _, store throws in
      var counts: Set<Int> = []
      var codes: Set<String> = []
      try store.rebuild { _ in
        counts.insert(try store.count(Member.where { $0.login == "login 9" }))
        codes.insert(RebuildSafetyTests.saves("new", in: store)?.rawValue ?? "saved")
      }
      #expect(counts == [1])
      #expect(codes == [LarchError.Code.nestedWrite.rawValue])
    }
  }

  @Test("A rebuild that needs a larger map runs again, and reports its steps from the first on")
  func growth() throws {
    var grown = 0
    for count in stride(from: 1_000, to: 12_000, by: 500) where grown == 0 {
      try withScratchPath { path throws in
        var options = Store.Options.quick
        options.initialMapSize = 1 << 20
        options.indexBatchSize = 100
        try Store.using(path, Group.self, Member.self, options: options) { store throws in
          try store.write { tx throws in
            for number in 1...count {
              var member = Member(login: RebuildSafetyTests.login(number))
              try tx.insert(&member)
            }
          }
          var attempts = 0
          var last = 0
          try store.rebuild { step in
            if step.done == 100, step.index == "login" { attempts += 1 }
            last = step.done
          }
          #expect(last == count)
          if attempts > 1 { grown += 1 }
          #expect(try store.count(Member.where { $0.login == "login 7" }) == 1)
          #expect(try store.verify().isClean)
        }
      }
    }
    #expect(grown > 0)
  }

  @Test("While an opening builds indexes, other stores of the file keep the rules, or refuse")
  func opening() throws {
    try RebuildSafetyTests.withStore { path, store throws in
      try Store(at: path, for: PlainGroup.self, PlainMember.self, options: .quick).close()
      var options = Store.Options.quick
      options.indexBatchSize = 60
      let results = Locked<Set<String>>([])
      let fresh = Locked(0)
      options.indexProgress = { step in
        guard step.done < step.total else { return }
        var codes: [String] = []
        // Values at the beginning, which the index has, and at the end, which it does not have.
        for number in [7, 10, 11, 380, 390, 397] {
          let code = RebuildSafetyTests.saves(RebuildSafetyTests.login(number), in: store)
          codes.append("save \(code?.rawValue ?? "done")")
        }
        let number = fresh.withLock { number in
          number += 1
          return number
        }
        let new = RebuildSafetyTests.saves(RebuildSafetyTests.long + "new \(number)", in: store)
        codes.append("new \(new?.rawValue ?? "done")")
        for group: Int64 in [1, 40] {
          let code = RebuildSafetyTests.deletes(group, in: store)
          codes.append("delete \(code?.rawValue ?? "done")")
        }
        results.withLock { $0.formUnion(codes) }
      }
      let opened = try Store(at: path, for: Group.self, Member.self, options: options)
      #expect(fresh.withLock { $0 } > 2)
      let allowed: Set = [
        "save unique_conflict", "new done", "delete delete_denied", "delete unknown_association",
      ]
      let found = results.withLock { $0 }
      #expect(
        found.isSubset(of: allowed) && found.contains("delete unknown_association"), "\(found)")
      // Complete indexes are noticed by whoever had the store open.
      for store in [store, opened] {
        #expect(RebuildSafetyTests.deletes(40, in: store) == .deleteDenied)
        #expect(RebuildSafetyTests.saves("login 397", in: store) == .uniqueConflict)
        let query = Member.where { $0.login == "login 9" }
        #expect(try store.explain(query).description.contains("index login"))
      }
      #expect(try opened.verify().isClean)
      opened.close()
    }
  }
}
