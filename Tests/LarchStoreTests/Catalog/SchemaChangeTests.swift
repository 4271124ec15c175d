import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// One collection under the declarations of several versions of a program.
private protocol Version: Record, Equatable {
  init(_ number: Int)
}

private enum S {
  struct Plain: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number % 10)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
  }
  struct WithA: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number % 10)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> { Index(\.a, name: "x") }
  }
  struct WideA: Version {
    var id = RecordID<Int>()
    var a = 0
    var b = ""
    init(_ number: Int) {
      a = number % 10
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> { Index(\.a, name: "x") }
  }
  struct UniqueA: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> { Unique(\.a, name: "x") }
  }
  struct WithB: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number % 10)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> { Index(\.b, name: "x") }
  }
  struct Folded: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number % 10)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> { Index(\.b, options: .caseInsensitive, name: "x") }
  }
  struct Both: Version {
    var id = RecordID<Int>()
    var a: Int32 = 0
    var b = ""
    init(_ number: Int) {
      a = Int32(number % 10)
      b = "b\(number)"
    }
    static let collectionName = "Thing"
    static let schema = Schema<Self> {
      Index(\.a, \.b, name: "x")
      Unique(\.b)
    }
  }
}

/// Two enums under one index name: neither is a standard key type.
private enum Choice: String, Codable, IndexKey { case yes, no }
private struct FirstChoice: Record {
  var id = RecordID<Int>()
  var first = Choice.yes
  var second = Choice.no
  static let collectionName = "Choices"
  static let schema = Schema<Self> { Index(\.first, name: "choice") }
}
private struct SecondChoice: Record {
  var id = RecordID<Int>()
  var first = Choice.yes
  var second = Choice.no
  static let collectionName = "Choices"
  static let schema = Schema<Self> { Index(\.second, name: "choice") }
}

@Suite("Declarations that change between openings")
struct SchemaChangeTests {
  private static let versions: [any Version.Type] = [
    S.Plain.self, S.WithA.self, S.WideA.self, S.WithB.self, S.Folded.self, S.Both.self,
  ]

  private func fill<R: Version>(_ type: R.Type, _ path: String, count: Int) throws {
    try Store.using(path, R.self) { try $0.saveAll((0..<count).map { R($0) }) }
  }

  /// What a store looks like that had these declarations from the beginning.
  private func fresh<R: Version>(_ type: R.Type, count: Int) throws -> String {
    let store = try Store.temporary(for: R.self)
    try store.saveAll((0..<count).map { R($0) })
    return try store.dump()
  }

  private func change<Old: Version, New: Version>(
    _ old: Old.Type, _ new: New.Type, count: Int
  ) throws {
    try withScratchPath { path throws in
      try fill(old, path, count: count)
      // One of the changes narrows a number, with values that fit.
      let options = Store.Options.quick.with {
        $0.indexBatchSize = 7
        $0.evolution = .off
      }
      try Store.using(path, New.self, options: options) { store throws in
        // Records of another version keep its shape, but read the same.
        let difference = TextDifference.between(
          expected: try fresh(new, count: count), actual: try store.dump())
        #expect(difference == nil, "\(old) to \(new), \(count) records:\n\(difference ?? "")")
        #expect(try store.verify().isClean)
        let before = try store.environment.info().lastTransactionID
        store.close()
        let again = try Store(at: path, for: New.self, options: options)
        #expect(try again.environment.info().lastTransactionID == before, "opened without a write")
        again.close()
      }
    }
  }

  @Test(
    "Whatever changes in the declarations, the file is as if they had always been so",
    arguments: [0, 1, 7, 23])
  func everyChange(count: Int) throws {
    for old in Self.versions {
      for new in Self.versions where old != new {
        func open<Old: Version>(_ old: Old.Type) throws {
          func close<New: Version>(_ new: New.Type) throws { try change(old, new, count: count) }
          try close(new)
        }
        try open(old)
      }
    }
  }

  @Test("A named index that goes over to another enum property is built anew")
  func namedEnum() throws {
    try withScratchPath { path throws in
      try Store.using(path, FirstChoice.self) { store throws in
        try store.saveAll([FirstChoice()])
        #expect(try store.entries("choice") == ["[\"yes\"] -> 1"])
      }
      try Store.using(path, SecondChoice.self) { store throws in
        #expect(try store.entries("choice") == ["[\"no\"] -> 1"])
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("An index made unique over equal values is refused with both ids; the old one opens")
  func uniqueOverDuplicates() throws {
    try withScratchPath { path throws in
      try fill(S.WithA.self, path, count: 23)
      let before = try Store.using(path, S.WithA.self) { try $0.dump() }
      let error = caught { try Store.using(path, S.UniqueA.self) { _ in } }
      #expect(error?.code == .uniqueConflict)
      #expect(error?.context.collection == "Thing")
      #expect(error?.context.index == "x")
      #expect(error?.context.id == "1")
      #expect(error?.context.otherID == "11")
      #expect(error?.context.path == path)
      // Again: an attempt that failed leaves nothing that a second one trips over.
      #expect(caught { try Store.using(path, S.UniqueA.self) { _ in } }?.code == .uniqueConflict)
      try Store.using(path, S.WithA.self) { store throws in
        #expect(try store.dump() == before)
        #expect(try store.verify().isClean)
        try store.write { tx throws in
          for id in 11...23 { try tx.delete(S.WithA.self, RecordID(Int64(id))) }
        }
      }
      try Store.using(path, S.UniqueA.self) { store throws in
        #expect(try store.entries("x").count == 10)
        #expect(
          caught { try store.saveAll([S.UniqueA(3)]) }?.code == .uniqueConflict)
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("The progress of a build rises to the number of records")
  func progress() throws {
    try withScratchPath { path throws in
      try fill(S.Plain.self, path, count: 23)
      let seen = Locked<[String]>([])
      let options = Store.Options.quick.with {
        $0.indexBatchSize = 10
        $0.indexProgress = { step in
          seen.withLock { $0.append("\(step.collection).\(step.index) \(step.done)/\(step.total)") }
        }
      }
      try Store.using(path, S.Both.self, options: options) { _ in }
      let expected = ["x", "b"].flatMap { index in
        [10, 20, 23].map { "Thing.\(index) \($0)/23" }
      }
      #expect(seen.withLock { $0 } == expected)
    }
  }

  @Test("Two stores on one path in a process share the file, and see each other's writes")
  func twoStores() throws {
    try withScratchPath { path throws in
      let first = try Store(at: path, for: S.WithA.self, options: .quick)
      let second = try Store(at: path, for: S.WithA.self, options: .quick)
      try first.saveAll([S.WithA(1)])
      try second.saveAll([S.WithA(2)])
      #expect(try first.everything(S.WithA.self) == second.everything(S.WithA.self))
      #expect(try first.everything(S.WithA.self).map(\.id) == [1, 2])
      first.close()
      try second.saveAll([S.WithA(3)])
      #expect(try second.verify().isClean)
      second.close()
    }
  }

  @Test("A second store with other declarations makes the first one say so, never answer wrong")
  func otherDeclarations() throws {
    try withScratchPath { path throws in
      let first = try Store(at: path, for: S.WithA.self, options: .quick)
      try first.saveAll([S.WithA(1)])
      let second = try Store(at: path, for: S.WithB.self, options: .quick)
      let reading = caught { _ = try first.everything(S.WithA.self) }
      #expect(reading?.code == .schemaChanged)
      #expect(reading?.context.path == path)
      #expect(caught { try first.saveAll([S.WithA(1)]) }?.code == .schemaChanged)
      try second.saveAll([S.WithB(2)])
      #expect(try second.entries("x") == ["[\"b1\"] -> 1", "[\"b2\"] -> 2"])
      #expect(try second.verify().isClean)
      first.close()
      second.close()
    }
  }

  @Test("A store goes on when another one brings a collection of its own into the file")
  func otherCollection() throws {
    try withScratchPath { path throws in
      let first = try Store(at: path, for: S.WithA.self, options: .quick)
      try first.saveAll([S.WithA(1)])
      let second = try Store(at: path, for: FirstChoice.self, options: .quick)
      try second.saveAll([FirstChoice()])
      try first.saveAll([S.WithA(2)])
      #expect(try first.everything(S.WithA.self).count == 2)
      #expect(try first.verify().isClean)
      #expect(try second.verify().isClean)
      first.close()
      second.close()
    }
  }

  @Test("Reading goes on while the indexes are made anew")
  func readingWhileRebuilding() throws {
    let store = try Store.temporary(
      for: S.Both.self, options: .quick.with { $0.indexBatchSize = 10 })
    try store.saveAll((0..<100).map { S.Both($0) })
    let before = try store.dump()
    let wrong = Locked<[String]>([])
    let isDone = Atomic<Bool>(false)
    let thread = Thread {
      repeat {
        let error = caught {
          let count = try store.everything(S.Both.self).count
          if count != 100 { wrong.withLock { $0.append("\(count) records") } }
        }
        if let error { wrong.withLock { $0.append("\(error)") } }
      } while !isDone.load(ordering: .relaxed)
      isDone.store(false, ordering: .relaxed)
    }
    thread.start()
    for _ in 0..<5 { try store.rebuild() }
    isDone.store(true, ordering: .relaxed)
    while isDone.load(ordering: .relaxed) { usleep(1000) }
    #expect(wrong.withLock { $0.first } == nil)
    #expect(try store.dump() == before)
    #expect(try store.verify().isClean)
  }

  @Test("Read-only, a collection or index that the file lacks is left out, and nothing is written")
  func readOnly() throws {
    try withScratchPath { path throws in
      try fill(S.WithA.self, path, count: 3)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let options = Store.Options.quick.with { $0.isReadOnly = true }
      try Store.using(path, S.Both.self, FirstChoice.self, options: options) { store throws in
        #expect(try store.everything(S.Both.self).count == 3)
        let error = caught { _ = try store.everything(FirstChoice.self) }
        #expect(error?.code == .unknownCollection)
        #expect(error?.context.collection == "Choices")
        #expect(error?.message.contains("read-only") == true)
        #expect(caught { try store.saveAll([FirstChoice()]) }?.code == .readOnly)
        #expect(try store.verify().isClean)
        #expect(caught { try store.rebuild() }?.code == .readOnly)
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
      let missing = caught {
        try Store.using(path + ".none", S.Plain.self, options: options) { _ in }
      }
      #expect(missing?.code == .fileNotFound)
      #expect(missing?.context.path == path + ".none")
    }
  }
}
