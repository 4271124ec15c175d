import Foundation
import LarchCrashSupport
import Testing

@testable import Larch

@Suite("Stores at URLs, and stores that are removed")
struct DestroyTests {
  @Test("A store is removed with its lock file and remains of a crash, and can be created again")
  func removed() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    for left in [directory.store + "-compact", directory.path + "/.larch-new-left"] {
      try #require(FileManager.default.createFile(atPath: left, contents: Data("left".utf8)))
    }
    let other = directory.path + "/store.larch-other"
    try #require(FileManager.default.createFile(atPath: other, contents: nil))
    #expect(try Store.destroy(at: directory.store))
    #expect(directory.names == ["store.larch-other"])
    // What is not there needs no removing.
    #expect(try !Store.destroy(at: directory.store))
    try SharedBank(seed: runSeed).make(at: directory.store)
    #expect(try Store.destroy(at: directory.store))
  }

  @Test("A store that is open stays, in this process and in another, under whatever name")
  func open() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    func expectBusy(_ path: String) throws {
      let before = directory.names
      let error = #expect(throws: LarchError.self) { try Store.destroy(at: path) }
      #expect(error?.code == .busy)
      #expect(directory.names == before)
    }
    let store = try SharedBank.open(at: directory.store)
    try expectBusy(directory.store)
    store.close()
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(
      ["named-teller", directory.store, directory.beacon, "0", "\(runSeed)", "0"],
      in: directory.path)
    try child.wait("writes") { beacon[.acknowledged(0)] > 0 }
    try expectBusy(directory.store)
    let other = directory.path + "/other.larch"
    try #require(rename(directory.store, other) == 0)
    try expectBusy(other)
    try child.killHard()
    #expect(try Store.destroy(at: other))
  }

  @Test("A file that is not a store of Larch is not removed")
  func foreign() throws {
    let directory = try CrashDirectory()
    let text = directory.path + "/text.larch"
    try Data("not a store".utf8).write(to: URL(fileURLWithPath: text))
    let empty = directory.path + "/empty.larch"
    try #require(FileManager.default.createFile(atPath: empty, contents: nil))
    let raw = directory.path + "/raw.larch"
    let environment = try LMDBEnvironment.open(path: raw, options: LMDBEnvironment.Options())
    try environment.write { transaction in
      _ = try environment.openDatabase("other", .create, in: transaction)
    }
    environment.close()
    for path in [text, empty, raw] {
      let error = #expect(throws: LarchError.self) { try Store.destroy(at: path) }
      #expect(error?.code == .notAStore, "\(path)")
      #expect(access(path, F_OK) == 0)
    }
    try SharedBank(seed: runSeed).make(at: directory.store)
    let link = directory.path + "/link.larch"
    try #require(symlink(directory.store, link) == 0)
    let lock = directory.store + "-lock"
    for path in [link, directory.path, lock] {
      let error = #expect(throws: LarchError.self) { try Store.destroy(at: path) }
      #expect(error?.code == .unsuitableFile, "\(path)")
    }
    #expect(access(directory.store, F_OK) == 0)
  }

  @Test("URLs work like paths: opening, backup, restoring and removing")
  func urls() async throws {
    let directory = try CrashDirectory()
    let folder = URL(fileURLWithPath: directory.path, isDirectory: true)
    let url = folder.appendingPathComponent("ä store.larch")
    let backup = folder.appendingPathComponent("backup.larch")
    let store = try Store(at: url, for: Account.self)
    #expect(store.path.hasSuffix("/ä store.larch"))
    try await store.write { tx throws in
      var account = Account(id: 1, balance: 5)
      try tx.insert(&account)
    }
    try await store.backup(to: backup)
    store.close()
    #expect(try Store.destroy(at: url))
    try await Store.restore(from: backup, to: url)
    let again = try Store(at: url, for: Account.self)
    #expect(try again.read { try $0.find(Account.self, 1) }?.balance == 5)
    again.close()
    let web = try #require(URL(string: "https://example.org/store.larch"))
    for body: () throws -> Void in [
      { _ = try Store(at: web) }, { _ = try Store.destroy(at: web) },
    ] {
      let error = #expect(throws: LarchError.self) { try body() }
      #expect(error?.code == .unsuitableFile)
    }
  }
}
