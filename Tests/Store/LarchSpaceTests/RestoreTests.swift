import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Restoring")
struct RestoreTests {
  @Test("A backup is restored where there is nothing")
  func anew() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
    let target = directory.path + "/restored.larch"
    let steps = Steps()
    try Store.restore(from: backup, to: target) { steps.take($0) }
    steps.expectWhole(bytes.count)
    #expect(try Data(contentsOf: URL(fileURLWithPath: backup)) == bytes)
    let restored = try Store(at: target, for: IndexedBook.self)
    defer { restored.close() }
    #expect(try restored.dump() == store.dump())
    #expect(code { try Store.restore(from: backup, to: target) } == .fileExists)
  }

  @Test("Restoring over an open store switches every store of the process to the backup")
  func overOpen() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let other = try Store(at: directory.store, for: IndexedBook.self)
    defer { other.close() }
    let backup = directory.path + "/backup.larch"
    let before = try store.dump()
    try store.backup(to: backup)
    try store.write { tx throws in try tx.erase(IndexedBook.self) }
    let number = try store.environment.info().lastTransactionID
    try Store.restore(from: backup, to: directory.store, replacing: true)
    #expect(try store.dump() == before)
    #expect(try other.dump() == before)
    #expect(try store.environment.info().lastTransactionID > number)
    try store.write { tx throws in try tx.delete(IndexedBook.self, RecordID(3)) }
    #expect(try other.read { try $0.find(IndexedBook.self, RecordID(3)) } == nil)
    #expect(try store.verify().isClean)
    #expect(directory.names.filter { $0.contains("compact") || $0.hasPrefix(".larch-new") } == [])
  }

  @Test("A store that is damaged is replaced when nobody has it open")
  func overDamaged() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    let backup = directory.path + "/backup.larch"
    let before = try store.dump()
    try store.backup(to: backup)
    let damaged = directory.path + "/damaged.larch"
    try Bank.make(at: damaged)
    let reader = try Bank.open(at: damaged)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: damaged))
    // Its header stays valid, so that it opens, but no tree does.
    for page in 2..<(fileSize(damaged) / 4096) {
      try file.seek(toOffset: UInt64(page * 4096))
      try file.write(contentsOf: Data(repeating: 0xFF, count: 64))
    }
    try file.close()
    reader.close()
    let beacon = try Beacon(path: directory.beacon)
    _ = beacon
    try Store.restore(from: backup, to: damaged, replacing: true)
    let restored = try Store(at: damaged, for: IndexedBook.self)
    #expect(try restored.dump() == before)
    restored.close()
    store.close()
    for text in ["", "no store at all"] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: damaged))
      try Store.restore(from: backup, to: damaged, replacing: true)
      let again = try Store(at: damaged, for: IndexedBook.self)
      #expect(try again.dump() == before)
      again.close()
    }
  }

  @Test("A backup with a detectable fault is refused, and the store stays")
  func damagedBackups() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store, count: 120)
    defer { store.close() }
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    let before = try store.dump()
    let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: backup)))
    var random = SeededGenerator(seed: runSeed)
    var refused = 0
    for round in 0..<60 {
      var bytes = whole
      let kind = FileDamage.allCases[round % FileDamage.allCases.count]
      kind.apply(to: &bytes, pageSize: 4096, using: &random)
      let path = directory.path + "/bad.larch"
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let result = code { try Store.restore(from: path, to: directory.store, replacing: true) }
      if result == nil {
        // The fault changed no data that is read, or an index entry, which `rebuild` repairs.
        #expect(try store.read { try $0.count(IndexedBook.all) } == 40)
        try Store.restore(from: backup, to: directory.store, replacing: true)
      } else {
        refused += 1
      }
      #expect(try store.dump() == before, "seed \(runSeed), round \(round), \(kind)")
    }
    #expect(refused > 30)
    #expect(
      code { try Store.restore(from: directory.path + "/no", to: directory.store, replacing: true) }
        == .fileNotFound)
  }

  @Test("A backup in which a changed letter hides a database is refused")
  func hiddenDatabases() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    let collection = try #require(
      try store.read { $0.context.catalog.collections.first }?.stored)
    store.close()
    let whole = try Data(contentsOf: URL(fileURLWithPath: backup))
    let names =
      [CatalogStorage.shapesName, CatalogStorage.recordsName(collection.id)]
      + collection.indexes.map { CatalogStorage.indexName($0.id) }
    let target = directory.path + "/restored.larch"
    for name in names {
      var refusals = 0
      var start = whole.startIndex
      while let place = whole.range(of: Data(name.utf8), in: start..<whole.endIndex) {
        start = place.upperBound
        var bytes = whole
        bytes[place.upperBound - 1] = UInt8(ascii: "~")
        try bytes.write(to: URL(fileURLWithPath: backup))
        if libraryError({ try Store.restore(from: backup, to: target) }) != nil {
          refusals += 1
        } else {
          try FileManager.default.removeItem(atPath: target)
        }
      }
      #expect(refusals > 0, "\(name)")
    }
    // The last name stays in order, so that only the catalog tells that it is missing.
    let last = try #require(names.dropFirst(2).last)
    let place = try #require(whole.range(of: Data(last.utf8)))
    var bytes = whole
    bytes[place.upperBound - 1] = UInt8(ascii: "~")
    try bytes.write(to: URL(fileURLWithPath: backup))
    let refused = libraryError { try Store.restore(from: backup, to: target) }
    #expect(refused?.code == .corrupted && refused?.context.detail == last)
  }

  @Test("A changed record is found by its checksum, even on valid pages")
  func changedRecord() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    let whole = try Data(contentsOf: URL(fileURLWithPath: backup))
    let text = Data(Books.book(300, seed: runSeed).isbn.utf8)
    let target = directory.path + "/restored.larch"
    var found: [LarchError.Code?] = []
    var start = whole.startIndex
    // Its place in the record, and its place in the index.
    while let place = whole.range(of: text, in: start..<whole.endIndex) {
      start = place.upperBound
      var bytes = whole
      // The last digit but one: the order of the keys stays.
      bytes[place.upperBound - 6] ^= 1
      try bytes.write(to: URL(fileURLWithPath: backup))
      found.append(code { try Store.restore(from: backup, to: target) })
      if found.last == .some(nil) { try FileManager.default.removeItem(atPath: target) }
    }
    #expect(found.count >= 2)
    #expect(found.contains(.checksumMismatch))
    #expect(!directory.names.contains("restored.larch"))
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") } == [])
  }

  @Test("A backup that is open, or that is the store itself, is refused")
  func openBackup() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let target = directory.path + "/restored.larch"
    #expect(code { try Store.restore(from: directory.store, to: target) } == .busy)
    #expect(
      code { try Store.restore(from: directory.store, to: directory.store, replacing: true) }
        == .unsuitableFile)
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    #expect(
      code {
        try Store.restore(from: backup, to: directory.store, replacing: true) { _ in
          throw Stopped()
        }
      }?.rawValue == "Stopped()")
    #expect(try store.verify().isClean)
    #expect(
      code {
        try store.read { _ in
          try Store.restore(from: backup, to: directory.store, replacing: true)
        }
      } == .busy)
  }

  @Test("A backup that is open is refused also under the name of a link to it")
  func linkedBackup() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let link = directory.path + "/link.larch"
    try #require(symlink(directory.store, link) == 0)
    let target = directory.path + "/restored.larch"
    #expect(code { try Store.restore(from: link, to: target) } == .busy)
    #expect(
      code { try Store.restore(from: link, to: directory.store, replacing: true) }
        == .unsuitableFile)
    #expect(!directory.names.contains("restored.larch"))
    // Where nobody has the file open, the link is as good as its name.
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    try #require(unlink(link) == 0 && symlink(backup, link) == 0)
    try Store.restore(from: link, to: target)
    #expect(fileSize(target) == fileSize(backup))
  }

  @Test("A backup that is written while it is copied is refused", arguments: [false, true])
  func writtenBackup(replaces: Bool) throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let before = try store.dump()
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    let target = replaces ? directory.store : directory.path + "/restored.larch"
    var isWritten = false
    let refused = code {
      try Store.restore(from: backup, to: target, replacing: replaces) { _ in
        if isWritten { return }
        isWritten = true
        let other = try Store(at: backup, for: IndexedBook.self)
        defer { other.close() }
        try other.write { tx throws in try tx.erase(IndexedBook.self) }
      }
    }
    #expect(refused == .busy)
    #expect(try store.dump() == before)
    #expect(!directory.names.contains("restored.larch"))
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") || $0.contains("compact") } == [])
    // It is a store as before, which nobody writes any more.
    try Store.restore(from: backup, to: target, replacing: replaces)
  }

  @Test("Tasks restore without blocking, and a cancelled one changes nothing")
  func tasks() async throws {
    let directory = try CrashDirectory()
    let store = try await Work { try makeHollowStore(at: directory.store) }.value
    let backup = directory.path + "/backup.larch"
    try await store.backup(to: backup)
    let target = directory.path + "/restored.larch"
    let task = Task {
      try await Store.restore(from: backup, to: target) { _ in
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!directory.names.contains("restored.larch"))
    try await Store.restore(from: backup, to: target)
    #expect(fileSize(target) == fileSize(backup))
    store.close()
  }
}
