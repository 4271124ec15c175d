import Foundation
import LarchCrashSupport
import Testing

@testable import Larch

/// Two programs wrote one file by two names, or after its lock file had been removed. LMDB, which
/// finds its lock file by the name, let both write at once. One of them died in every run, and
/// acknowledged writes were lost.
@Suite("One file under two names", .serialized)
struct SecondNameTests {
  enum Variant: String, CaseIterable, Sendable {
    case hardLink, rename, lockFileRemoved, lockFileReplaced
  }

  @Test("Two writers neither crash nor lose anything", arguments: Variant.allCases)
  func writers(_ variant: Variant) throws {
    var refusals = 0
    var done = 0
    for _ in 0..<amount("LARCH_NAME_RUNS", 2) {
      let run = try go(variant)
      refusals += run.refusals
      done += run.done
    }
    print("\(variant.rawValue): \(done) transfers, \(refusals) openings refused, seed \(runSeed)")
  }

  private func go(_ variant: Variant) throws -> (done: Int, refusals: Int) {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store, transfers: 100)
    let beacon = try Beacon(path: directory.beacon)
    // A renamed store that is closed is not found by its old name.
    let reopens = variant == .lockFileRemoved || variant == .lockFileReplaced ? "1" : "0"
    func start(_ number: Int, _ path: String) throws -> Child {
      try Child(
        ["named-teller", path, directory.beacon, "\(number)", "\(runSeed)", reopens],
        in: directory.path)
    }
    func refusals(_ number: Int) -> Int { beacon[.acknowledged(SharedBank.tellerCount + number)] }
    let first = try start(0, directory.store)
    let before = beacon[.acknowledged(0)]
    try first.wait("writes") { beacon[.acknowledged(0)] > before + 2 }
    var path = directory.path + "/other.larch"
    switch variant {
    case .hardLink: try #require(link(directory.store, path) == 0)
    case .rename: try #require(rename(directory.store, path) == 0)
    case .lockFileRemoved, .lockFileReplaced:
      path = directory.store
      try #require(unlink(path + "-lock") == 0)
      if variant == .lockFileReplaced {
        try #require(FileManager.default.createFile(atPath: path + "-lock", contents: nil))
      }
    }
    let second = try start(1, path)
    if reopens == "0" {
      try second.wait("is refused") { refusals(1) > 20 }
    } else {
      try second.wait("writes, or is refused") {
        beacon[.acknowledged(1)] > 100 || refusals(1) > 100
      }
      // After the first has closed the store, it has the current lock file.
      try second.wait("writes") { beacon[.acknowledged(1)] > 100 }
    }
    let now = beacon[.acknowledged(0)]
    try first.wait("goes on") { beacon[.acknowledged(0)] > now + 20 }
    if reopens == "0" {
      #expect(second.output.contains("process \(first.id) "), "\(second.output)")
      #expect(beacon[.acknowledged(1)] == 0)
    }
    try first.killHard()
    if variant == .hardLink {
      // Nobody has it open any more, but it still has two names.
      let refused = refusals(1)
      try second.wait("is refused") { refusals(1) > refused + 5 }
      try #require(unlink(directory.store) == 0)
    }
    let later = beacon[.acknowledged(1)]
    try second.wait("writes") { beacon[.acknowledged(1)] > later + 20 }
    try second.killHard()
    let store = try SharedBank.open(at: path) { $0.isVerified = true }
    defer { store.close() }
    let contents = try store.read { try bank.contents($0) }
    try bank.checkEverything(contents)
    for number in 0..<2 {
      let range = beacon[.acknowledged(number)]...beacon[.attempted(number)]
      #expect(range.contains(contents.done[number]), "teller \(number), seed \(runSeed)")
    }
    #expect(try store.verify().isClean)
    return (contents.done[0] + contents.done[1], refusals(0) + refusals(1))
  }

  @Test("A refused process leaves no old commit number in a new lock file")
  func refusedWhileTheOtherReopens() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(
      ["named-teller", directory.store, directory.beacon, "0", "\(runSeed)", "1"],
      in: directory.path)
    try child.wait("writes") { beacon[.acknowledged(0)] > 0 }
    try #require(unlink(directory.store + "-lock") == 0)
    try #require(FileManager.default.createFile(atPath: directory.store + "-lock", contents: nil))
    var options = LMDBEnvironment.Options()
    options.mapped = {
      // While LMDB has the file open here, the child commits, closes the store and opens it again.
      let now = beacon[.acknowledged(0)]
      let deadline = Date() + 10
      while beacon[.acknowledged(0)] < now + 5000, Date() < deadline { usleep(500) }
    }
    while true {
      do {
        let environment = try LMDBEnvironment.open(path: directory.store, options: options)
        environment.close()
        break
      } catch let error as LarchError where error.code == .busy {
        // The child still has the lock file that was removed.
        try child.wait("goes on") { true }
        usleep(500)
      }
    }
    let now = beacon[.acknowledged(0)]
    try child.wait("goes on") { beacon[.acknowledged(0)] > now + 20 }
    try child.killHard()
  }

  @Test("The error says which process has the file, under which name, and what to do")
  func message() throws {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store)
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(
      ["named-teller", directory.store, directory.beacon, "0", "\(runSeed)", "0"],
      in: directory.path)
    try child.wait("writes") { beacon[.acknowledged(0)] > 0 }
    let renamed = directory.path + "/renamed.larch"
    try #require(rename(directory.store, renamed) == 0)
    for isReadOnly in [false, true] {
      let error = #expect(throws: LarchError.self) {
        _ = try SharedBank.open(at: renamed) { $0.isReadOnly = isReadOnly }
      }
      #expect(error?.code == .busy)
      #expect(error?.message.contains("close it there") == true)
      let detail = error?.context.detail ?? ""
      #expect(
        detail
          == "process \(child.id) (LarchChild) has it open as \(renamed) with the lock file \(directory.store)-lock"
      )
    }
    try #require(rename(renamed, directory.store) == 0)
    // By the name with which it was opened, everybody may open it.
    let store = try SharedBank.open(at: directory.store)
    _ = try store.read { try bank.check($0) }
    store.close()
    try child.killHard()
  }

  @Test("A second name is refused in the same process too")
  func secondNameAlone() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    let other = directory.path + "/other.larch"
    try #require(link(directory.store, other) == 0)
    for path in [directory.store, other] {
      let error = #expect(throws: LarchError.self) { _ = try SharedBank.open(at: path) }
      #expect(error?.code == .unsuitableFile)
      #expect(error?.message.contains("hard link") == true)
    }
    try #require(unlink(other) == 0)
    let store = try SharedBank.open(at: directory.store)
    defer { store.close() }
    try #require(link(directory.store, other) == 0)
    #expect(throws: LarchError.self) { _ = try SharedBank.open(at: other) }
    // What is open goes on.
    try store.write { tx throws in
      var account = Account(id: 1000, balance: 0)
      try tx.insert(&account)
    }
  }

  @Test("In one process a renamed store is the same store")
  func renamedInProcess() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    let store = try SharedBank.open(at: directory.store)
    defer { store.close() }
    let other = directory.path + "/other.larch"
    try #require(rename(directory.store, other) == 0)
    let again = try SharedBank.open(at: other)
    defer { again.close() }
    #expect(store.environment === again.environment)
  }

  @Test("The remains of a crash during creation are not a second name")
  func leftover() throws {
    let directory = try CrashDirectory()
    try SharedBank(seed: runSeed).make(at: directory.store)
    let left = directory.path + "/.larch-new-abc"
    try #require(link(directory.store, left) == 0)
    let store = try SharedBank.open(at: directory.store) { $0.isReadOnly = true }
    defer { store.close() }
    #expect(access(left, F_OK) != 0)
  }

  @Test("A claim of another process is seen until it ends, whatever the lock file")
  func restoring() throws {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store)
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(
      ["named-teller", directory.store, directory.beacon, "0", "\(runSeed)", "0"],
      in: directory.path)
    try child.wait("writes") { beacon[.acknowledged(0)] > 0 }
    try #require(unlink(directory.store + "-lock") == 0)
    // A file that somebody writes to is not a backup, even without its lock file.
    let error = #expect(throws: LarchError.self) {
      try Store.restore(from: directory.store, to: directory.path + "/restored.larch")
    }
    #expect(error?.code == .busy)
    try child.killHard()
    try Store.restore(from: directory.store, to: directory.path + "/restored.larch")
  }
}
