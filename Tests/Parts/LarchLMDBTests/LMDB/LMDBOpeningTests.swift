import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct LMDBOpeningTests {
  private func open(_ path: String, _ options: LMDBEnvironment.Options = .quick) throws {
    try LMDBEnvironment.open(path: path, options: options).close()
  }

  // MARK: What is not opened

  @Test("Links, directories, pipes, empty and foreign files are refused with their reason")
  func unsuitable() throws {
    let scratch = try ScratchDirectory()
    let files = FileManager.default
    try open(scratch.store)
    let link = scratch.path + "/link.larch"
    try files.createSymbolicLink(atPath: link, withDestinationPath: scratch.store)
    #expect(code { try open(link) } == .unsuitableFile)
    let dangling = scratch.path + "/dangling.larch"
    try files.createSymbolicLink(atPath: dangling, withDestinationPath: scratch.path + "/none")
    #expect(code { try open(dangling) } == .unsuitableFile)
    #expect(!files.fileExists(atPath: scratch.path + "/none"))
    #expect(code { try open(scratch.path) } == .unsuitableFile)
    #expect(code { try open(scratch.path + "/") } == .unsuitableFile)
    #expect(code { try open(scratch.path + "/..") } == .unsuitableFile)
    #expect(code { try open(scratch.path + "/a\0b") } == .unsuitableFile)
    #expect(
      code { try open(scratch.path + "/" + String(repeating: "n", count: 300)) } == .unsuitableFile)
    let pipe = scratch.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(code { try open(pipe) } == .unsuitableFile)
    #expect(code { try open(scratch.path + "/absent/x.larch") } == .fileNotFound)
    #expect(code { try open(scratch.store + "/x.larch") } == .fileNotFound)
    let empty = scratch.path + "/empty.larch"
    _ = files.createFile(atPath: empty, contents: Data())
    #expect(code { try open(empty) } == .notAStore)
    #expect(try files.attributesOfItem(atPath: empty)[.size] as? Int == 0)
    let text = scratch.path + "/text.larch"
    _ = files.createFile(atPath: text, contents: Data(repeating: 65, count: 20_000))
    #expect(code { try open(text) } == .notAStore)
    let lock = scratch.path + "/lock.larch"
    try files.createSymbolicLink(
      atPath: lock + "-lock", withDestinationPath: scratch.path + "/none")
    #expect(code { try open(lock) } == .unsuitableFile)
  }

  @Test("A file that was cut short is refused before anyone reads past its end")
  func truncated() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let database = try environment.database("a")
    try environment.write { transaction in
      for key in UInt64(0)..<5_000 { try database.put(key, key, in: transaction) }
    }
    environment.close()
    let file = try #require(FileHandle(forWritingAtPath: scratch.store))
    try file.truncate(atOffset: 5 * 4096)
    try file.close()
    #expect(code { try open(scratch.store) } == .truncated)
  }

  @Test("A missing store is created only on request")
  func absent() throws {
    let scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.quick
    options.canCreate = false
    #expect(code { try open(scratch.store, options) } == .fileNotFound)
    options.canCreate = true
    options.isReadOnly = true
    #expect(code { try open(scratch.store, options) } == .fileNotFound)
    #expect(scratch.names == [])
  }

  @Test("A store opened read-only reads and refuses writes")
  func readOnly() throws {
    let scratch = try ScratchDirectory()
    let writer = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let database = try writer.database("a")
    try writer.write { try database.put(1, 1, in: $0) }
    writer.close()
    var options = LMDBEnvironment.Options.quick
    options.isReadOnly = true
    let reader = try LMDBEnvironment.open(path: scratch.store, options: options)
    defer { reader.close() }
    let reopened = try #require(try reader.openDatabases { try LMDBDatabase.open("a", in: $0) })
    #expect(try reader.read { try reopened.number(1, in: $0) } == 1)
    #expect(code { try reader.write { _ in } } == .readOnly)
    try reader.sync()
  }

  @Test("The check of the file comes before mapping, and its error stops the opening")
  func beforeMapping() throws {
    let scratch = try ScratchDirectory()
    try open(scratch.store)
    let seen = Locked<[String]>([])
    var options = LMDBEnvironment.Options.quick
    options.beforeMapping = { path in
      seen.withLock { $0.append(path) }
      throw LarchError(.corrupted, "The check found damage.")
    }
    #expect(code { try open(scratch.store, options) } == .corrupted)
    let paths = seen.withLock { $0 }
    #expect(paths.count == 1)
    #expect(paths.first?.hasSuffix("/test.larch") == true)
    try open(scratch.store)
  }

  @Test("A fixed map size that is not available is refused, an automatic one gets smaller")
  func reservation() throws {
    let scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.quick
    options.reservedMapSize = 1 << 60
    #expect(code { try open(scratch.store, options) } == .outOfResources)
    #expect(scratch.names == [])
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    #expect(environment.map.bytes >= 64 << 20)
  }

  // MARK: Sharing

  @Test("The same file by any name is one environment, closed with its last owner")
  func sharing() throws {
    let scratch = try ScratchDirectory()
    let first = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let second = try LMDBEnvironment.open(
      path: scratch.path + "/../" + (scratch.path as NSString).lastPathComponent + "/test.larch",
      options: .quick)
    #expect(first === second)
    first.close()
    try second.write { _ in }
    second.close()
    #expect(code { try second.write { _ in } } == .closed)
    #expect(code { _ = try second.beginRead() } == .closed)
    // An excess close does not release the environment of others.
    let third = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    second.close()
    try third.write { _ in }
    third.close()
  }

  @Test("A shared environment cannot have different options")
  func conflicts() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    var readOnly = LMDBEnvironment.Options.quick
    readOnly.isReadOnly = true
    var more = LMDBEnvironment.Options.quick
    more.maxDatabases = 10_000
    for options in [readOnly, more, .init()] {
      #expect(code { try open(scratch.store, options) } == .conflictingOptions)
    }
    environment.close()
    for options in [readOnly, more, .init()] { try open(scratch.store, options) }
  }

  @Test("An environment that is closed inside a transaction closes after it")
  func closingInside() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let database = try environment.database("a")
    try environment.write { transaction in
      environment.close()
      try database.put(1, 1, in: transaction)
    }
    #expect(environment.handle == nil)
    let again = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    #expect(again !== environment)
    let reopened = try again.database("a")
    let value = try again.read { transaction in
      again.close()
      return try reopened.number(1, in: transaction)
    }
    #expect(value == 1)
    #expect(again.handle == nil)
  }

  @Test("An environment that waits to close is reused when it is opened again")
  func reopenedWhileClosing() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let reader = try environment.beginRead()
    environment.close()
    let again = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    #expect(again === environment)
    environment.endRead(reader)
    try again.write { _ in }
    again.close()
    #expect(again.handle == nil)
  }

  @Test("A store that is removed while it is open cannot be created again beside the old one")
  func removedWhileOpen() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    try FileManager.default.removeItem(atPath: scratch.store)
    #expect(code { try open(scratch.store) } == .unsuitableFile)
    environment.close()
    try open(scratch.store)
  }

  @Test("Opening and closing, or failing to, a thousand times leaks no descriptor")
  func descriptors() throws {
    let scratch = try ScratchDirectory()
    try open(scratch.store)
    let files = FileManager.default
    let text = scratch.path + "/text.larch"
    _ = files.createFile(atPath: text, contents: Data(repeating: 65, count: 20_000))
    // Other tests open files meanwhile: only those in this directory count.
    func openFiles() -> Int {
      openDescriptors().filter { number in
        let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
        return target?.contains((scratch.path as NSString).lastPathComponent) == true
      }.count
    }
    for round in 0..<1_000 {
      try open(scratch.store)
      guard round % 10 == 0 else { continue }
      try open(scratch.path + "/new-\(round).larch")
      // Refused after a fifth of a second only: another process might be making it.
      #expect(code { try open(text) } == .notAStore)
    }
    #expect(openFiles() == 0)
  }

  @Test("Many threads that open, use and close one file see one store")
  func openingStorm() async throws {
    let scratch = try ScratchDirectory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in UInt64(0)..<8 {
        group.addTask {
          try await onThread {
            for round in UInt64(0)..<50 {
              let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
              let database = try environment.database("a")
              try environment.write { try database.put(thread * 100 + round, round, in: $0) }
              environment.close()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    #expect(try environment.read { try database.statistics(in: $0).entries } == 400)
  }
}
