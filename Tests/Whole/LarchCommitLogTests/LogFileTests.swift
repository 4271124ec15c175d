import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

#if canImport(Glibc)
  import Glibc
#endif

/// The files of a store with a log: how long they are, what they are called, and who may use them.
@Suite("The files of a store with a commit log", .serialized)
struct LogFileTests {
  private func open(
    _ path: String, _ durability: Store.Options.Durability = .logged,
    _ change: (inout Store.Options) -> Void = { _ in }
  ) throws -> Store {
    try Store.forCrashes(at: path) {
      $0.durability = durability
      $0.logLimits = .forPowerFailures
      $0.logLimits.idle = .seconds(60)
      change(&$0)
    }
  }

  private func save(_ id: String, _ store: Store) throws {
    try store.write { tx throws in
      var entry = Entry(id: id, owner: 7, text: id)
      try tx.save(&entry)
    }
  }

  /// The files of a store that was open when its process ended.
  private func crashed(_ directory: CrashDirectory, _ ids: [String]) throws -> StoreImage {
    let path = directory.path + "/crashed.larch"
    let store = try open(path)
    defer { store.close() }
    for id in ids { try save(id, store) }
    return try StoreImage(of: path)
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  private func owner(_ path: String) -> [UInt32] {
    var status = stat()
    return stat(path, &status) == 0 ? [UInt32(status.st_uid), UInt32(status.st_gid)] : []
  }

  @Test(
    "A file that lacks pages of its checkpoint is refused as truncated, and nothing is changed",
    arguments: [false, true])
  func truncated(isVerified: Bool) throws {
    let directory = try CrashDirectory()
    let image = try crashed(directory, (0..<60).map { "kept \($0)" })
    let header = try #require(image.header)
    try #require(header.state == .inUse)
    let found = header.meta.withUnsafeBytes { bytes in
      bytes.baseAddress.map { MetaPage(slot: 0, $0).main.root }
    }
    let root = try Int(#require(found))
    // Both header pages stay, and the page that leads to all others goes.
    var cut = image
    cut.data.removeSubrange((root * header.pageSize)...)
    // A header that asks for more pages than a disk has.
    var forged = header
    forged.number += 2
    let place = PageLayout.headerSize + 24 + 2 * PageLayout.databaseRecordSize
    let lastPage = UInt64(1) << 40
    withUnsafeBytes(of: lastPage) { forged.meta.replaceSubrange(place..<place + 8, with: $0) }
    var large = image
    let start = Int(forged.number & 1) * CommitLogFormat.headerDistance
    large.log?.replaceSubrange(start..<start + CommitLogFormat.headerSize, with: forged.bytes)
    let copy = directory.path + "/copy.larch"
    for damaged in [cut, large] {
      try damaged.write(to: copy)
      let error = caught { try open(copy, .durable) { $0.isVerified = isVerified }.close() }
      #expect(error?.code == .truncated, "\(String(describing: error))")
      let after = try StoreImage(of: copy)
      let isSame = after.data == damaged.data && after.log == damaged.log
      #expect(isSame)
    }
    // The whole file is recovered.
    try image.write(to: copy)
    let store = try open(copy, .durable) { $0.isVerified = isVerified }
    defer { store.close() }
    #expect(try store.count(Entry.all) == 60)
    #expect(try store.verify().isClean)
  }

  @Test("A store whose folder gets another name while it is open leaves no log that is kept")
  func movedFolder() throws {
    let directory = try CrashDirectory()
    let (old, new) = (directory.path + "/old", directory.path + "/new")
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
    let store = try open(old + "/store.larch")
    defer { store.close() }
    for number in 0..<20 { try save("kept \(number)", store) }
    #expect(store.environment.commitLog?.isInUse == true)
    try #require(rename(old, new) == 0)
    store.close()
    let again = try open(new + "/store.larch")
    defer { again.close() }
    #expect(try again.count(Entry.all) == 20)
    let names = try FileManager.default.contentsOfDirectory(atPath: new)
    #expect(names.filter { $0.contains("-aside-") } == [])
  }

  @Test("A mark that its writer has removed while the store was opened is not put back")
  func removedMark() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let image = try crashed(directory, ["kept"])
    let pageSize = try #require(image.header?.pageSize)
    for isRemoved in [false, true] {
      try image.write(to: path)
      let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC)
      defer { Foundation.close(descriptor) }
      let mark = LogMark(descriptor: descriptor, pageSize: pageSize)
      #expect(try mark.isSet())
      let wasMarked = try LogMark.withoutMark(path: path) { () throws(LMDBError) -> Bool in
        let isMarked = try mark.isSet()
        if isRemoved { try mark.remove() }
        return isMarked
      }
      #expect(!wasMarked)
      #expect(try mark.isSet() == !isRemoved)
      #expect(try (mark.identity() == 0) == isRemoved)
    }
  }

  @Test("A log and a lock file that are made again have the owner and the permissions of the store")
  func permissions() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    try crashed(directory, ["kept"]).write(to: path)
    try #require(chmod(path, 0o660) == 0)
    // The lock file of a store that is recovered is a new one.
    try open(path, .durable).close()
    #expect(mode(path + "-lock") == 0o660)
    let logged = try open(path)
    #expect(mode(path + "-log") == 0o660)
    logged.close()
    // LMDB opens its lock file for writing also where the store is only read.
    try #require(unlink(path + "-lock") == 0 && chmod(path, 0o440) == 0)
    try open(path, .durable) { $0.isReadOnly = true }.close()
    #expect(mode(path + "-lock") == 0o640)
    // Only a superuser can give a file away.
    guard chown(path, 65534, 65534) == 0 else { return }
    try #require(unlink(path + "-lock") == 0)
    let store = try open(path)
    defer { store.close() }
    #expect(owner(path + "-lock") == [65534, 65534])
    #expect(owner(path + "-log") == [65534, 65534])
  }

  @Test("Where the file system has no locks on files, the error says how to open the store")
  func noLocks() {
    for code in [ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL] {
      let error = Door.translated(LMDBError(code, "flock"), path: "/store.larch") as? LarchError
      #expect(error?.code == .unsuitableFile && error?.context.path == "/store.larch")
      #expect(error?.message.hasSuffix("open it with `durability: .durable`.") == true)
    }
    #expect(Door.translated(LMDBError(EIO, "flock"), path: "/store.larch") is LMDBError)
  }

  @Test("The log of another store that lies where a backup is made is moved aside with a message")
  func logOfAnother() throws {
    let directory = try CrashDirectory()
    let backup = directory.path + "/backup.larch"
    let log = try #require(try crashed(directory, ["kept"]).log)
    try Data(log).write(to: URL(fileURLWithPath: backup + "-log"))
    let messages = Locked<[LogMessage]>([])
    let store = try open(directory.store, .durable) {
      $0.log = { message in messages.withLock { $0.append(message) } }
    }
    defer { store.close() }
    try store.backup(to: backup)
    let told = messages.withLock { $0.filter { $0.event == .movedAside } }
    #expect(told.count == 1)
    #expect(told.first?.context.path?.hasSuffix("/backup.larch") == true)
    #expect(directory.names.filter { $0.contains("-aside-") }.count == 1)
  }
}
