import Foundation
import LarchTestSupport
import Testing

@testable import Larch

extension WriteTransaction {
  fileprivate func keep<R: Record>(_ record: R) throws {
    var record = record
    try insert(&record)
  }
}

/// A program opened a file with a type that had one field less, closed it, and the program before it
/// could not open the file any more: "Stored records do not have a field", although nothing had been
/// written. Opening had noted the new declaration as one of those under which records were written.
@Suite struct OpenedVersionsTests {
  struct Whole: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var a: String
    var c: Int
  }
  struct Less: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var a: String
  }
  struct Optionally: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var a: String
    var c: Int?
  }
  struct Defaulted: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<Defaulted> { Default(\.c, 7) }
    var id: Int
    var a: String
    var c: Int
  }
  struct Retyped: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var a: String
    var c: String?
  }
  struct Indexed: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<Indexed> { Index(\.note) }
    var id: Int
    var a: String
    var note: String?
  }
  struct Reused: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var a: String
    var note: Int?
  }

  private let off = Store.Options.quick { $0.evolution = .off }
  private let readOnly = Store.Options.quick { $0.isReadOnly = true }

  private func whole() throws -> EvolutionFile {
    let file = try EvolutionFile()
    try file.save(Whole(id: 1, a: "a", c: 3))
    return file
  }

  private func expectWhole(_ file: EvolutionFile, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    for options in [readOnly, .quick] {
      let all = try file.open(Whole.self, options: options) { try $0.all(Whole.self) }
      #expect(all.first == Whole(id: 1, a: "a", c: 3), sourceLocation: location)
    }
  }

  @Test func `A version that only opened a file does not lock out the previous one`() throws {
    let file = try whole()
    try file.open(Less.self)
    try expectWhole(file)
    try file.open(Less.self) { store throws in
      // Neither reading nor saving an unchanged record writes anything.
      try store.put(try store.all(Less.self))
    }
    try expectWhole(file)
    let before = try file.transactionID
    try file.open(Less.self)
    try file.open(Whole.self)
    #expect(try file.transactionID == before)
  }

  @Test func `Undone writes and deletions lock nobody out`() throws {
    struct Stop: Error {}
    let file = try whole()
    try file.open(Less.self) { store throws in
      #expect(throws: Stop.self) {
        try store.write { tx throws in
          try tx.keep(Less(id: 2, a: "b"))
          throw Stop()
        }
      }
      try store.write { tx throws in
        _ = try? tx.savepoint {
          try tx.keep(Less(id: 2, a: "b"))
          throw Stop()
        }
      }
    }
    try expectWhole(file)
    try file.open(Whole.self) { try $0.put([Whole(id: 2, a: "b", c: 4)]) }
    try file.open(Less.self) { store throws in
      try store.write { tx throws in _ = try tx.delete(Less.self, 2) }
    }
    try expectWhole(file)
  }

  @Test(arguments: [false, true])
  func `The first record without a field locks out only versions that require the field`(
    isChild: Bool
  ) throws {
    let file = try whole()
    try file.open(Less.self) { store throws in
      try store.write { tx throws in
        if isChild {
          try tx.savepoint { try tx.keep(Less(id: 2, a: "b")) }
        } else {
          try tx.keep(Less(id: 2, a: "b"))
        }
      }
      #expect(try store.all(Less.self).count == 2)
      try store.put([Less(id: 3, a: "c")])
    }
    for options in [readOnly, .quick] {
      let error = file.refusal(Whole.self, options: options)
      #expect(error?.code == .schemaMismatch)
      #expect(error?.context.field == "c")
      #expect(error?.context.detail == "stored nothing, declared int64")
    }
    #expect(
      try file.open(Optionally.self) { try $0.all(Optionally.self) }.map(\.c) == [3, nil, nil])
    #expect(try file.open(Defaulted.self) { try $0.all(Defaulted.self) }.map(\.c) == [3, 7, 7])
  }

  @Test func `A change of an old record counts as a write`() throws {
    let file = try whole()
    try file.open(Less.self) { store throws in
      try store.write { tx in try tx.update(Less(id: 1, a: "other")) }
    }
    #expect(file.refusal(Whole.self)?.context.field == "c")
  }

  @Test func `A field that comes back with another type is refused while records have it`() throws {
    let file = try whole()
    try file.open(Less.self)
    #expect(file.refusal(Retyped.self)?.context.detail == "stored int64, declared string")
    try file.open(Less.self) { try $0.put([Less(id: 2, a: "b")]) }
    #expect(file.refusal(Retyped.self)?.context.detail == "stored int64, declared string")
    // A field that no record has can have any type.
    let other = try EvolutionFile()
    try other.save(Less(id: 1, a: "a"))
    try other.open(Optionally.self)
    try other.save(Retyped(id: 2, a: "b", c: "text"))
    #expect(other.refusal(Optionally.self)?.context.detail == "stored string, declared int64")
  }

  @Test func `An open store notices the first record that it cannot read`() throws {
    let file = try whole()
    try file.open(Whole.self) { first throws in
      try file.open(Less.self) { second throws in
        #expect(try first.all(Whole.self).count == 1)
        try first.put([Whole(id: 2, a: "b", c: 4)])
        try second.put([Less(id: 3, a: "c")])
        let error = #expect(throws: LarchError.self) { try first.all(Whole.self) }
        #expect(error?.code == .schemaMismatch)
        #expect(throws: LarchError.self) { try first.put([Whole(id: 4, a: "d", c: 5)]) }
        #expect(try second.all(Less.self).map(\.id) == [1, 2, 3])
      }
    }
  }

  @Test func `An open store of an empty file goes on beside a later version that it can read`()
    throws
  {
    let file = try EvolutionFile()
    try file.open(Less.self) { first throws in
      try file.open(Optionally.self) { second throws in
        #expect(try first.all(Less.self).isEmpty)
        try second.put([Optionally(id: 1, a: "a", c: 5)])
        #expect(try first.all(Less.self).map(\.a) == ["a"])
        try first.put([Less(id: 2, a: "b")])
        #expect(try second.all(Optionally.self).map(\.c) == [5, nil])
      }
    }
    #expect(try file.history("Thing")?.unwritten.isEmpty == true)
    #expect(try file.history("Thing")?.versions.count == 2)
  }

  @Test func `An open store of an empty file does not go on beside a version that cannot read it`()
    throws
  {
    let file = try EvolutionFile()
    try file.open(Less.self) { first throws in
      try file.open(Whole.self) { second throws in
        let error = #expect(throws: LarchError.self) { try first.put([Less(id: 1, a: "a")]) }
        #expect(error?.code == .schemaChanged)
        try second.put([Whole(id: 2, a: "b", c: 1)])
        #expect(throws: LarchError.self) { try first.put([Less(id: 3, a: "c")]) }
        #expect(try second.all(Whole.self).map(\.id) == [2])
      }
    }
  }

  @Test func `Two types that opened a file exclude each other once one of them writes`() throws {
    let file = try EvolutionFile()
    try file.save(Less(id: 1, a: "a"))
    try file.open(Optionally.self) { numbers throws in
      try file.open(Retyped.self) { texts throws in
        try texts.put([Retyped(id: 2, a: "b", c: "text")])
        #expect(throws: LarchError.self) {
          try numbers.put([Optionally(id: 3, a: "c", c: 5)])
        }
        #expect(try texts.all(Retyped.self).map(\.c) == [nil, "text"])
      }
    }
  }

  @Test func `A program that does not compare fields counts like any other that opened the file`()
    throws
  {
    let file = try whole()
    try file.open(Less.self)
    try file.open(Less.self, options: off)
    try expectWhole(file)
    try file.open(Less.self, options: off) { try $0.put([Less(id: 2, a: "b")]) }
    #expect(file.refusal(Whole.self)?.context.field == "c")
  }

  @Test func `A file that did not keep declarations is not locked by an opening either`() throws {
    let file = try whole()
    try file.forgetHistory()
    try file.open(Indexed.self)
    try expectWhole(file)
    try file.save(Indexed(id: 2, a: "b", note: nil))
    #expect(file.refusal(Whole.self)?.context.field == "c")
  }

  @Test func `After a migration that throws, the previous program can still use the file`() throws {
    struct Stop: Error {}
    let file = try whole()
    let failing = Store.Options.quick { $0.migrations = [Migration("stops") { _ in throw Stop() }] }
    #expect(file.refusal(Less.self, options: failing)?.code == .migrationFailed)
    try expectWhole(file)
    let idle = Store.Options.quick { $0.migrations = [Migration("idle") { _ in }] }
    try file.open(Less.self, options: idle)
    try expectWhole(file)
    let saving = Store.Options.quick {
      $0.migrations = [Migration("saves") { tx in try tx.keep(Less(id: 2, a: "b")) }]
    }
    try file.open(Less.self, options: saving)
    #expect(file.refusal(Whole.self)?.context.field == "c")
  }

  @Test func `Asynchronous writes are noted too`() async throws {
    let file = try whole()
    let store = try Store(path: file.path, types: [Less.self], options: .quick, isTemporary: false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in 2..<20 {
        group.addTask { try await store.write { tx in try tx.keep(Less(id: id, a: "b")) } }
      }
      try await group.waitForAll()
    }
    store.close()
    #expect(file.refusal(Whole.self)?.context.field == "c")
  }

  @Test func `An error names each field once`() throws {
    // Two versions of a type had been written, and the error named the field once for each.
    struct Required: Record {
      static let collectionName = "Thing"
      var id: Int
      var c: Int
      var zip: Int
    }
    let file = try EvolutionFile()
    try file.save(Less(id: 1, a: "a"))
    try file.save(Optionally(id: 2, a: "b", c: nil))
    #expect(
      file.refusal(Required.self)?.context.detail
        == "c: stored nothing, declared int64; zip: stored nothing, declared int64")
    struct RequiredOnly: Record {
      static let collectionName = "Thing"
      var id: Int
      var c: Int
    }
    #expect(file.refusal(RequiredOnly.self)?.context.detail == "stored nothing, declared int64")
  }
}
