import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// Two collections under the declarations of several versions of a program.
private enum Version {
  struct Firm: Record {
    var id = RecordID<Firm>()
    var name = ""
    static let collectionName = "Firm"
    static let schema = Schema<Firm> {}
  }
  struct Clerk: Record {
    var id = RecordID<Clerk>()
    var firmID: RecordID<Firm>?
    static let collectionName = "Clerk"
    static let schema = Schema<Clerk> {}
  }

  struct LinkedFirm: Record {
    var id = RecordID<LinkedFirm>()
    var name = ""
    static let collectionName = "Firm"
    static let schema = Schema<LinkedFirm> {
      HasMany(\LinkedClerk.firmID)
      ManyToMany(LinkedClerk.self, named: "guests")
    }
  }
  struct LinkedClerk: Record {
    var id = RecordID<LinkedClerk>()
    var firmID: RecordID<LinkedFirm>?
    static let collectionName = "Clerk"
    static let schema = Schema<LinkedClerk> {}
  }

  struct StrictFirm: Record {
    var id = RecordID<StrictFirm>()
    var name = ""
    static let collectionName = "Firm"
    static let schema = Schema<StrictFirm> {
      HasMany(\StrictClerk.firmID, onDelete: .destroy)
      ManyToMany(StrictClerk.self, named: "guests", onDelete: .deny)
    }
  }
  struct StrictClerk: Record {
    var id = RecordID<StrictClerk>()
    var firmID: RecordID<StrictFirm>?
    static let collectionName = "Clerk"
    static let schema = Schema<StrictClerk> {}
  }

  static let plain: [any Record.Type] = [Firm.self, Clerk.self]
  static let linked: [any Record.Type] = [LinkedFirm.self, LinkedClerk.self]
  static let strict: [any Record.Type] = [StrictFirm.self, StrictClerk.self]

  struct Other: Record {
    var id = RecordID<Other>()
  }
  /// A type with more lists than a store has handles by itself.
  struct Crowded: Record {
    var id = RecordID<Crowded>()
    static let collectionName = "Crowd"
    static let schema = Schema<Crowded> {
      for number in 0..<300 { ManyToMany(Crowded.self, named: "n\(number)") }
    }
  }
  struct Crowd: Record {
    var id = RecordID<Crowd>()
    static let collectionName = "Crowd"
  }
}

@Suite("Associations of a file that was made under other declarations")
struct AssociationEvolutionTests {
  private func withPath(_ body: (String) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try body(path)
  }

  @discardableResult
  private func using<T>(
    _ path: String, _ types: [any Record.Type], isReadOnly: Bool = false,
    _ progress: (@Sendable (Store.IndexProgress) -> Void)? = nil, _ body: (Store) throws -> T
  ) throws -> T {
    var options = Store.Options()
    options.isReadOnly = isReadOnly
    options.indexProgress = progress
    if !isReadOnly { options.durability = .none }
    let store = try Store(path: path, types: types, options: options, isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// Two firms, ten clerks of the first one, and every other clerk a guest of the second.
  private func make(_ path: String, _ types: [any Record.Type] = Version.linked) throws {
    try using(path, Version.plain) { store throws in
      try store.saveAll([Version.Firm(name: "a"), Version.Firm(name: "b")])
      try store.saveAll((1...10).map { _ in Version.Clerk(firmID: 1) })
    }
    try using(path, types) { store throws in
      let guests = DamagedLinks(store: store, key: "Clerk/Firm/guests")
      for clerk in stride(from: 2, through: 10, by: 2) {
        try guests.add(
          try bytes(of: RecordID<Int>(Int64(clerk))), try bytes(of: RecordID<Int>(2)))
      }
    }
  }

  @Test(
    "A new association over existing records gets its index; verify reports dangling references")
  func added() throws {
    try withPath { path throws in
      try using(path, Version.plain) { store throws in
        try store.saveAll([Version.Firm()])
        try store.saveAll([Version.Clerk(firmID: 1), .init(firmID: 9), .init(firmID: nil)])
      }
      try using(path, Version.linked) { store throws in
        #expect(
          try store.dump([.entries, .associations]) == """
            collection Clerk: 3 records
              index firmID: 3 entries
                [nil] -> 3
                [1] -> 1
                [9] -> 2
            collection Firm: 1 record
            reference Clerk.firmID: Clerk to Firm, optional, on delete none, nullify
            lists Clerk/Firm/guests: Clerk with Firm, 0 links, on delete nullify, nullify

            """)
        #expect(
          try store.faults() == [
            "danglingReference, collection Clerk, association Clerk.firmID, id 2, no record 9 of Firm"
          ])
        try store.write { tx in
          var clerk = try #require(try tx.find(Version.LinkedClerk.self, 2))
          clerk.firmID = nil
          try tx.save(&clerk)
        }
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("Changed rules are written to the file, and nothing is rebuilt")
  func rules() throws {
    try withPath { path throws in
      try make(path)
      let before = try using(path, Version.linked) { try $0.dump() }
      let steps = Atomic<Int>(0)
      let after = try using(path, Version.strict, { _ in steps.add(1, ordering: .relaxed) }) {
        store throws in
        #expect(try store.verify().isClean)
        return try store.dump()
      }
      #expect(steps.load(ordering: .relaxed) == 0)
      #expect(before.contains("Clerk with Firm, 5 links, on delete nullify, nullify"))
      #expect(
        after
          == before.replacingOccurrences(of: "none, nullify", with: "none, destroy")
          .replacingOccurrences(of: "nullify, nullify", with: "nullify, deny"))
      // Opened again, nothing is written.
      let transaction = try using(path, Version.strict) {
        try $0.environment.info().lastTransactionID
      }
      let later = try using(path, Version.strict) {
        try $0.environment.info().lastTransactionID
      }
      #expect(later == transaction)
      let again = try using(path, Version.linked) { try $0.dump() }
      #expect(again == before)
    }
  }

  @Test(
    "Associations that are no longer declared: references lose their index, lists stay and are checked"
  )
  func dropped() throws {
    try withPath { path throws in
      try make(path)
      try using(path, Version.plain) { store throws in
        #expect(
          try store.dump([.indexes, .associations, .links]) == """
            collection Clerk: 10 records
            collection Firm: 2 records
            lists Clerk/Firm/guests: Clerk with Firm, 5 links, on delete nullify, nullify
              2 -> 2
              4 -> 2
              6 -> 2
              8 -> 2
              10 -> 2

            """)
        #expect(try store.verify().linkCount == 5)
        let association = try store.read { tx throws in
          tx.context.catalog.association("Clerk/Firm/guests")
        }
        #expect(association?.schema == nil)
        #expect(association?.lists != nil)
        #expect(association?.rule(deletingFirst: true) == .nullify)
        // The reference means nothing any more.
        try store.saveAll([Version.Clerk(firmID: 77)])
        #expect(try store.verify().isClean)
      }
      try using(path, Version.linked) { store throws in
        #expect(try store.verify().faults.map(\.kind) == [.danglingReference])
        #expect(try store.verify().linkCount == 5)
      }
    }
  }

  @Test("What the type at the other end declares stays while that type is not opened")
  func oneEnd() throws {
    try withPath { path throws in
      try make(path)
      let before = try using(path, Version.linked) { try $0.dump() }
      // The firms alone: nobody touches the clerks.
      for types in [[Version.Firm.self], []] as [[any Record.Type]] {
        let dump = try using(path, types) { try $0.dump() }
        #expect(dump == before)
      }
      // The clerks alone: their index belongs to an association that they do not know, and would
      // not be kept.
      try using(path, [Version.Clerk.self]) { store throws in
        let dump = try store.dump([.indexes, .associations])
        #expect(!dump.contains("firmID: 10"))
        #expect(dump.contains("reference Clerk.firmID: Clerk to Firm"))
        #expect(dump.contains("Clerk with Firm, 5 links"))
        #expect(try store.verify().isClean)
      }
      let again = try using(path, Version.linked) { try $0.dump() }
      #expect(again == before)
    }
  }

  @Test(
    "A change of the rules by another store is noticed; a store that it does not concern continues")
  func otherStore() throws {
    try withPath { path throws in
      try make(path)
      try using(path, Version.linked) { first throws in
        try using(path, [Version.Other.self]) { other throws in
          try other.saveAll([Version.Other()])
          #expect(try first.read { try $0.count(Version.LinkedFirm.all) } == 2)
          try using(path, Version.strict) { second throws in
            #expect(try second.read { try $0.count(Version.StrictFirm.all) } == 2)
            let error = caught {
              try first.write { tx in _ = try tx.count(Version.LinkedFirm.all) }
            }
            #expect(error?.code == .schemaChanged)
            try other.saveAll([Version.Other()])
            #expect(try other.verify().isClean)
            #expect(try other.verify().linkCount == 5)
          }
        }
      }
    }
  }

  @Test("A file without the association is opened read-only as it is, and reads on")
  func readOnly() throws {
    try withPath { path throws in
      try using(path, Version.plain) { store throws in
        try store.saveAll([Version.Firm(name: "a")])
        try store.saveAll([Version.Clerk(firmID: 1), Version.Clerk(firmID: 5)])
      }
      let file = try Data(contentsOf: URL(filePath: path))
      try using(path, Version.linked, isReadOnly: true) { store throws in
        #expect(try store.read { try $0.count(Version.LinkedClerk.all) } == 2)
        #expect(
          try store.fetch(Version.LinkedClerk.where { $0.firmID == 1 }).map(\.id) == [1])
        #expect(
          try store.read { tx throws in tx.context.catalog.associations.map(\.stored.key) } == [])
        #expect(try store.verify().isClean)
        #expect(
          try store.dump([.indexes, .associations])
            == "collection Clerk: 2 records\ncollection Firm: 1 record\n")
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == file)
      // With the association, but without the index, that a program took away which knew only one.
      try make(path + "2")
      defer { ScratchFile.remove(path + "2") }
      try using(path + "2", [Version.Clerk.self]) { _ in }
      try using(path + "2", Version.strict, isReadOnly: true) { store throws in
        let association = try #require(
          try store.read { tx throws in tx.context.catalog.association("Clerk.firmID") })
        #expect(association.index == nil)
        #expect(association.rule(deletingFirst: false) == .destroy)
        let report = try store.verify()
        #expect(report.isClean)
        // Proved from the records, since there is no index.
        #expect(report.referenceCount == 10)
        #expect(report.linkCount == 5)
        #expect(
          try store.fetch(Version.StrictClerk.where { $0.firmID == 1 }).count == 10)
        // Nothing else may be taken for an empty list.
        let firm = try #require(
          try store.read { tx throws in try tx.find(Version.StrictFirm.self, 1) })
        let clerks = firm.related(HasMany<Version.StrictFirm, Version.StrictClerk>(\.firmID))
        let error = caught { _ = try clerks.count(in: store) }
        #expect(error?.code == .unknownAssociation)
        #expect(error?.context.field == "Clerk.firmID")
        let guests = firm.related(
          ManyToMany<Version.StrictFirm, Version.StrictClerk>(named: "guests"))
        #expect(try guests.count(in: store) == 0)
      }
    }
  }

  @Test("A store with more lists than the program declares can be opened, proved and salvaged")
  func manyLists() throws {
    try withPath { path throws in
      try using(path, [Version.Crowded.self]) { store throws in
        try store.saveAll([Version.Crowded()])
        let id = try bytes(of: RecordID<Version.Crowded>(1))
        try DamagedLinks(store: store, key: "Crowd/Crowd/n299").add(id, id)
      }
      for types in [[Version.Crowd.self], [Version.Other.self], []] as [[any Record.Type]] {
        try using(path, types) { store throws in
          #expect(try store.verify().linkCount == 1)
          #expect(try store.verify().isClean)
          #expect(
            try store.dump([.indexes, .associations, .links]).contains("lists Crowd/Crowd/n150:"))
        }
      }
      try withPath { target throws in
        try Store.salvage(path, to: target)
        try using(target, [Version.Crowded.self]) { store throws in
          #expect(try store.verify().linkCount == 1)
          #expect(try store.verify().isClean)
        }
      }
    }
  }
}
