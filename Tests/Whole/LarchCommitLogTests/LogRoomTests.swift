import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

#if canImport(Glibc)
  import Glibc
#endif

/// A store whose commits are logged, where there is no room.
@Suite("Commit logs without room", .serialized)
struct LogRoomTests {
  #if os(Linux)
    @Test("A limit on the size of files gives an error and not the end of the process")
    func sizeLimits() throws {
      let directory = try CrashDirectory()
      let child = try Child(["size-limits", directory.path], in: directory.path)
      let ending = try child.wait()
      #expect(ending == .exit(0), "\(child.output)")
      #expect(child.output == "done\n")
    }
  #endif

  @Test("Where the disk is full, pages that wait for a checkpoint are used before a write fails")
  func waitingPages() throws {
    let directory = try CrashDirectory()
    let child = try Child(["waiting-pages", directory.path], in: directory.path)
    let ending = try child.wait()
    #expect(ending == .exit(0), "\(child.output)")
    print("full disk with pages that wait:", child.output, terminator: "")
  }

  private func save(_ id: String, _ store: Store) throws {
    try store.write { tx throws in
      var entry = Entry(id: id, owner: 7, text: id)
      try tx.save(&entry)
    }
  }

  /// How often a write runs that always finds no room, and its error.
  private func runs(_ store: Store, _ error: any Error) -> (count: Int, code: LarchError.Code?) {
    var count = 0
    let told = caught {
      try store.environment.write { _ in
        count += 1
        throw error
      }
    }
    return (count, told?.code)
  }

  @Test("A write that finds no room runs once more if pages wait for a checkpoint, and never again")
  func runsOnceMore() throws {
    let directory = try CrashDirectory()
    let store = try Store.forCrashes(at: directory.store) {
      $0.durability = .logged
      $0.logLimits = .forPowerFailures
      $0.logLimits.idle = .seconds(600)
    }
    defer { store.close() }
    let full = LMDBError(ENOSPC, "mdb_put")
    let log = try #require(store.environment.commitLog)
    let map = store.environment.map.bytes
    for error in [full, full.larchError(path: store.path)] as [any Error] {
      try save("a \(type(of: error))", store)
      try save("b \(type(of: error))", store)
      #expect(log.isInUse)
      // Other errors, and those of other stores.
      #expect(runs(store, LMDBError(EIO, "mdb_put")) == (1, .ioFailure))
      #expect(runs(store, full.larchError(path: "/another")) == (1, .diskFull))
      #expect(log.isInUse)
      #expect(runs(store, error) == (2, .diskFull))
      // Nothing waits any more.
      #expect(!log.isInUse)
      #expect(runs(store, error) == (1, .diskFull))
    }
    try save("c", store)
    try save("d", store)
    var count = 0
    try store.write { tx throws in
      count += 1
      var entry = Entry(id: "once", owner: 7, text: "\(count)")
      try tx.save(&entry)
      if count == 1 { throw full.larchError(path: store.path) }
    }
    #expect(count == 2)
    #expect(try store.find(Entry.self, "once")?.text == "2")
    #expect(store.environment.map.bytes == map)
    // The log has the commit once.
    let image = try StoreImage(of: directory.store)
    let copy = directory.path + "/copy.larch"
    try image.write(to: copy)
    let copied = try Store.forCrashes(at: copy)
    defer { copied.close() }
    #expect(try copied.count(Entry.all) == 7)
    #expect(try copied.verify().isClean)
  }
}
