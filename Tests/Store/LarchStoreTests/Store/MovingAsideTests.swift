import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// One collection, as three versions of a program declare it.
private enum Models {
  struct Old: Record {
    static let collectionName = "Thing"
    var id = RecordID<Old>()
    var size: Int
    var name = "same"
  }

  /// Contradicts `Old`: another kind of a field.
  struct New: Record {
    static let collectionName = "Thing"
    var id = RecordID<New>()
    var size: [String]
    var name = "same"
  }

  /// Stored records of `Old` break its index.
  struct Unlike: Record {
    static let collectionName = "Thing"
    var id = RecordID<Unlike>()
    var size: Int
    var name: String
    static let schema = Schema<Unlike> { Unique(\.name) }
  }

  struct OtherID: Record {
    static let collectionName = "Thing"
    var id: String
    var size: Int
  }
}

/// A folder that is removed at the end.
private final class Folder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/larch-aside-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var store: String { path + "/things.larch" }
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
  /// What was moved aside.
  var aside: [String] { names.filter { $0.contains("-aside-") && !$0.hasSuffix("-lock") } }

  func makeOld(_ sizes: [Int] = [1, 2, 3]) throws {
    try Store.using(store, Models.Old.self) { try $0.saveAll(sizes.map { Models.Old(size: $0) }) }
  }

  func oldSizes(at name: String? = nil) throws -> [Int] {
    try Store.using(name.map { path + "/" + $0 } ?? store, Models.Old.self) {
      try $0.everything(Models.Old.self).map(\.size)
    }
  }
}

@Suite("A file that does not fit the types is moved aside")
struct MovingAsideTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private func options(_ change: (inout Store.Options) -> Void = { _ in }) -> Store.Options {
    Store.Options.quick.with {
      $0.onMismatch = .moveAside(alsoInRelease: true)
      change(&$0)
    }
  }

  @Test(
    "The old file stays beside a new store, under a name that says when, and the log says where")
  func moved() throws {
    try folder.makeOld()
    let messages = Mutex<[LogMessage]>([])
    let options = options {
      $0.log = { message in messages.withLock { $0.append(message) } }
      $0.clock = { Date(timeIntervalSince1970: 1_700_000_000) }
    }
    let store = try Store(at: folder.store, for: Models.New.self, options: options)
    let aside = folder.path + "/things-aside-20231114T221320Z.larch"
    #expect(store.movedAside.map { ($0 as NSString).lastPathComponent } == folder.aside.first)
    #expect(folder.aside == [(aside as NSString).lastPathComponent])
    try store.saveAll([Models.New(size: ["a"])])
    store.close()
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3])
    let told = try #require(messages.withLock { $0.first { $0.event == .movedAside } })
    #expect(told.level == .warning && told.context.collection == "Thing")
    #expect(told.context.detail?.contains("things-aside-20231114T221320Z.larch") == true)
    #expect(told.context.path?.hasSuffix("things.larch") == true)
    // The new store fits, and is only opened.
    let again = try Store(at: folder.store, for: Models.New.self, options: options)
    #expect(try again.everything(Models.New.self).map(\.size) == [["a"]])
    #expect(again.movedAside == nil && folder.aside.count == 1)
    again.close()
  }

  @Test("A new type of the id and a new unique index are mismatches too")
  func kinds() throws {
    try folder.makeOld()
    try Store.using(folder.store, Models.OtherID.self, options: options()) { store throws in
      #expect(store.movedAside != nil)
      #expect(try store.count(Models.OtherID.all) == 0)
    }
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3])
    try Store.destroy(at: folder.store)
    try folder.makeOld()
    try Store.using(folder.store, Models.Unlike.self, options: options()) { store throws in
      #expect(store.movedAside != nil)
      #expect(try store.count(Models.Unlike.all) == 0)
    }
    #expect(folder.aside.count == 2)
  }

  @Test("Repeated at one moment, each file keeps a name of its own")
  func repeated() throws {
    for round in 0..<4 {
      let options = options { $0.clock = { Date(timeIntervalSince1970: 1_700_000_000) } }
      if round % 2 == 0 {
        try Store.using(folder.store, Models.Old.self, options: options) {
          try $0.saveAll([Models.Old(size: round)])
        }
      } else {
        try Store.using(folder.store, Models.New.self, options: options) {
          try $0.saveAll([Models.New(size: ["\(round)"])])
        }
      }
    }
    #expect(folder.aside.count == 3)
    #expect(folder.aside.contains("things-aside-20231114T221320Z-3.larch"))
    var sizes: [Int] = []
    for name in folder.aside { sizes += (try? folder.oldSizes(at: name)) ?? [] }
    #expect(sizes.sorted() == [0, 2])
  }

  @Test("Without the option, in a release build, and where no file may be made, it is refused")
  func refused() throws {
    try folder.makeOld()
    // What `moveAside` is in a release build.
    let release = Store.MismatchPolicy(movesAside: false, isRefusedHere: true)
    let cases: [(Store.Options, String?)] = [
      (.quick, nil),
      (.quick.with { $0.onMismatch = release }, "not moved aside, since this is a release build"),
      (options { $0.createsFile = false }, nil),
      (options { $0.evolution = .check }, nil),
      (options { $0.isReadOnly = true }, nil),
    ]
    for (options, detail) in cases {
      let error = caught { try Store.using(folder.store, Models.New.self, options: options) }
      #expect(error?.code == .schemaMismatch)
      if let detail { #expect(error?.context.detail?.contains(detail) == true) }
    }
    #expect(folder.aside.isEmpty)
    #expect(try folder.oldSizes() == [1, 2, 3])
  }

  @Test("These tests are a debug build, in which one word is enough")
  func debugBuild() {
    #if DEBUG
      #expect(Store.MismatchPolicy.moveAside.movesAside)
    #else
      #expect(Store.MismatchPolicy.moveAside.isRefusedHere)
    #endif
    #expect(Store.MismatchPolicy.moveAside(alsoInRelease: true).movesAside)
    #expect(Store.Options().onMismatch == .refuse)
  }

  @Test("A file that cannot be opened for another reason is never moved")
  func otherErrors() throws {
    func expect(
      _ code: LarchError.Code, _ options: Store.Options,
      sourceLocation: SourceLocation = #_sourceLocation
    ) {
      let before = folder.names
      let error = caught { try Store.using(folder.store, Models.New.self, options: options) }
      #expect(error?.code == code, sourceLocation: sourceLocation)
      #expect(folder.names == before, sourceLocation: sourceLocation)
    }
    try Data("no store at all".utf8).write(to: URL(fileURLWithPath: folder.store))
    expect(.notAStore, options())
    unlink(folder.store)
    try folder.makeOld()
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.store))
    // A damaged file.
    try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: folder.store))
    expect(.truncated, options())
    // A newer version of LMDB.
    var newer = whole
    for page in [0, 4096] { newer[page + 20] = 99 }
    try newer.write(to: URL(fileURLWithPath: folder.store))
    expect(.newerFormat, options())
    try whole.write(to: URL(fileURLWithPath: folder.store))
    // A migration that throws.
    struct Mine: Error {}
    let failing = options { $0.migrations = [Migration("fails") { _ in throw Mine() }] }
    let migrated = caught {
      let store = try Store(
        path: folder.store, types: [Models.Old.self], options: failing, isTemporary: false)
      store.close()
    }
    #expect(migrated?.code == .migrationFailed && folder.aside.isEmpty)
    // A declaration that is wrong by itself.
    struct Wrong: Record {
      static let collectionName = ""
      var id = RecordID<Wrong>()
    }
    #expect(
      caught { try Store.using(folder.store, Wrong.self, options: options()) }?.code
        == .invalidSchema)
    #expect(folder.aside.isEmpty)
    #expect(try folder.oldSizes() == [1, 2, 3])
  }

  @Test("A file that a process has open stays, and the error says so")
  func inUse() async throws {
    try folder.makeOld()
    let holder = try Store(at: folder.store, for: Models.Old.self, options: .quick)
    let error = caught { try Store.using(folder.store, Models.New.self, options: options()) }
    #expect(error?.code == .busy && (error?.underlying as? LarchError)?.code == .schemaMismatch)
    // The same from another process.
    await #expect(processExitsWith: .success) { [path = folder.store as String] in
      let options = Store.Options.quick.with { $0.onMismatch = .moveAside(alsoInRelease: true) }
      let error = caught { try Store.using(path, Models.New.self, options: options) }
      try #require(error?.code == .busy)
    }
    #expect(try holder.count(Models.Old.all) == 3)
    holder.close()
    #expect(folder.aside.isEmpty)
    #expect(try folder.oldSizes() == [1, 2, 3])
    #expect(folder.names.allSatisfy { !$0.hasPrefix(".larch-new") })
  }

  @Test(
    "A process that dies at any step leaves the old file under one name, whole",
    arguments: AsideStep.allCases)
  func killed(step: AsideStep) async throws {
    try folder.makeOld()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.store as String, step = step.rawValue as String] in
      let options = Store.Options.quick.with {
        $0.onMismatch = .moveAside(alsoInRelease: true)
        $0.aside = { if $0.rawValue == step { kill(getpid(), SIGKILL) } }
      }
      try Store.using(path, Models.New.self, options: options)
    }
    let isMoved = step == .moved || step == .placed
    #expect(folder.aside.count == (isMoved ? 1 : 0))
    let data = try folder.oldSizes(at: isMoved ? folder.aside[0] : "things.larch")
    #expect(data == [1, 2, 3])
    // The next opening makes it good.
    try Store.using(folder.store, Models.New.self, options: options()) {
      try $0.saveAll([Models.New(size: ["x"])])
      #expect(try $0.verify().isClean)
    }
    #expect(folder.aside.count == 1)
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3])
    #expect(folder.names.allSatisfy { !$0.hasPrefix(".larch-new") })
  }

  @Test("An error in the middle leaves the old file at its path", arguments: AsideStep.allCases)
  func failing(step: AsideStep) throws {
    struct Full: Error {}
    try folder.makeOld()
    let failing = options { $0.aside = { if $0 == step { throw Full() } } }
    #expect(throws: Full.self) {
      try Store.using(folder.store, Models.New.self, options: failing)
    }
    if step == .placed {
      // Everything was done; only the opening after it is missing.
      #expect(folder.aside.count == 1)
    } else {
      #expect(folder.aside.isEmpty)
      #expect(try folder.oldSizes() == [1, 2, 3])
    }
    #expect(folder.names.allSatisfy { !$0.hasPrefix(".larch-new") })
  }

  @Test("On a full disk nothing is moved")
  func fullDisk() async throws {
    try folder.makeOld()
    await #expect(processExitsWith: .success) { [path = folder.store as String] in
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit()
      #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      #else
        let resource = RLIMIT_FSIZE
      #endif
      getrlimit(resource, &limit)
      // Less than an empty store needs.
      limit.rlim_cur = 6000
      try #require(setrlimit(resource, &limit) == 0)
      let options = Store.Options.quick.with { $0.onMismatch = .moveAside(alsoInRelease: true) }
      let error = caught { try Store.using(path, Models.New.self, options: options) }
      try #require(error != nil)
    }
    #expect(folder.aside.isEmpty)
    #expect(try folder.oldSizes() == [1, 2, 3])
  }

  @Test("What somebody changed meanwhile is judged again, and moved with the change")
  func changedMeanwhile() throws {
    try folder.makeOld()
    let location = try StoreLocation(folder.store)
    let state = try #require(StoredState(at: location.path, FileCheck.lastTransaction))
    try Store.using(folder.store, Models.Old.self) { try $0.saveAll([Models.Old(size: 4)]) }
    let new = try TemporaryFile(in: location.directory, for: location.path)
    defer { new.discard() }
    let aside = try location.moveAside(
      ifStill: state, for: new, at: Date(), FileCheck.lastTransaction, nil)
    #expect(aside == nil && folder.aside.isEmpty)
    // Somebody else has moved it aside already.
    try Store.using(folder.store, Models.New.self, options: options())
    let late = try MovingAside(folder.store, try StoreSchema([Models.New.self]), options())
    #expect(try late.run(LarchError(.schemaMismatch, "It did not fit.")) == nil)
    #expect(folder.aside.count == 1)
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3, 4])
  }

  @Test("Many openings at once move the file once")
  func race() async throws {
    try folder.makeOld()
    let folder = folder
    let moved = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var options = Store.Options.quick
          options.onMismatch = .moveAside(alsoInRelease: true)
          while true {
            do {
              let store = try Store(at: folder.store, for: Models.New.self, options: options)
              defer { store.close() }
              return store.movedAside != nil
            } catch let error as LarchError where error.code == .busy {
              // Another opening is just looking at the old file.
              await Task.yield()
            }
          }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(moved == 1 && folder.aside.count == 1)
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3])
  }

  @Test("What is only in the log of commits is in the file that is kept")
  func logged() async throws {
    let options = Store.Options().with { $0.durability = .logged }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.store as String] in
      var options = Store.Options()
      options.durability = .logged
      let store = try Store(at: path, for: Models.Old.self, options: options)
      for size in 1...5 { try store.saveAll([Models.Old(size: size)]) }
      kill(getpid(), SIGKILL)
    }
    #expect(folder.names.contains("things.larch-log"))
    let store = try Store(
      at: folder.store, for: Models.New.self,
      options: options.with { $0.onMismatch = .moveAside(alsoInRelease: true) })
    #expect(store.movedAside != nil)
    store.close()
    #expect(folder.names.allSatisfy { !$0.hasSuffix("-log") })
    #expect(try folder.oldSizes(at: folder.aside[0]) == [1, 2, 3, 4, 5])
  }

  @Test("Migrations run on the new store too")
  func migrations() throws {
    try folder.makeOld()
    let migration = Migration("seed") { tx in
      var one = Models.New(size: ["seed"])
      try tx.save(&one)
    }
    let store = try Store(
      at: folder.store, for: Models.New.self, migrations: [migration], options: options())
    #expect(store.movedAside != nil)
    #expect(try store.everything(Models.New.self).map(\.size) == [["seed"]])
    store.close()
  }
}
