import Foundation
import LarchCrashSupport
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// The marks of a platform that has them: like those of a file system, they belong to files.
private final class Marks: Sendable {
  private let files = Mutex<Set<FileIdentity>>([])
  let refuses = Mutex(false)

  struct Refused: Error {}

  private static func identity(_ path: String) -> FileIdentity? {
    var status = stat()
    return lstat(path, &status) == 0 ? FileIdentity(status) : nil
  }

  func install(in folder: String) {
    BackupExclusion.use(
      BackupExclusion.Platform(
        mark: { [self] path in
          if refuses.withLock({ $0 }) { throw Refused() }
          guard let file = Marks.identity(path) else { throw Refused() }
          _ = files.withLock { $0.insert(file) }
        },
        isMarked: { [self] path in
          guard let file = Marks.identity(path) else { return false }
          return files.withLock { $0.contains(file) }
        }), in: folder)
  }
}

@Suite("Exclusion from backups")
struct BackupExclusionTests {
  private let marks = Marks()

  private func options(_ change: (inout Store.Options) -> Void = { _ in }) -> Store.Options {
    Store.Options.quick.with {
      $0.isExcludedFromBackup = true
      change(&$0)
    }
  }

  @Test("The mark is on the file and its companions, and stays when the file is replaced")
  func replaced() throws {
    let directory = try CrashDirectory()
    marks.install(in: directory.path)
    defer { BackupExclusion.use(nil, in: directory.path) }
    func isMarked(_ name: String) -> Bool { BackupExclusion.isMarked(directory.store + name) }
    try makeHollowStore(at: directory.store).close()
    #expect(!isMarked(""))
    let store = try Store(at: directory.store, for: IndexedBook.self, options: options())
    #expect(store.isExcludedFromBackup && isMarked("-lock"))
    // By the process that asked for it.
    let before = try StoreLocation(directory.store).existingFile()
    try store.compact()
    #expect(try StoreLocation(directory.store).existingFile() != before)
    #expect(store.isExcludedFromBackup)
    let backup = directory.path + "/backup.larch"
    try store.backup(to: backup)
    #expect(!BackupExclusion.isMarked(backup))
    store.close()
    // By one that did not.
    let other = try Store(at: directory.store, for: IndexedBook.self, options: .quick)
    try other.compact()
    #expect(other.isExcludedFromBackup)
    try Store.restore(from: backup, to: directory.store, replacing: true)
    #expect(other.isExcludedFromBackup)
    other.close()
    // A store that nobody has open.
    try Store.restore(from: backup, to: directory.store, replacing: true)
    #expect(isMarked(""))
    // One that is too damaged to be opened.
    try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: directory.store + ".new"))
    #expect(rename(directory.store + ".new", directory.store) == 0)
    try BackupExclusionTests.mark(directory.store)
    try Store.restore(from: backup, to: directory.store, replacing: true)
    #expect(isMarked(""))
  }

  private static func mark(_ path: String) throws { _ = BackupExclusion.mark(path) }

  @Test("The log of commits is marked too")
  func logged() throws {
    let directory = try CrashDirectory()
    marks.install(in: directory.path)
    defer { BackupExclusion.use(nil, in: directory.path) }
    let store = try Store(
      at: directory.store, for: IndexedBook.self, options: options { $0.durability = .logged })
    #expect(BackupExclusion.isMarked(directory.store + "-log"))
    try store.compact()
    #expect(BackupExclusion.isMarked(directory.store + "-log") && store.isExcludedFromBackup)
    store.close()
  }

  @Test("A log and a lock file that are made later get the mark from the store")
  func madeLater() throws {
    let directory = try CrashDirectory()
    marks.install(in: directory.path)
    defer { BackupExclusion.use(nil, in: directory.path) }
    try Store(at: directory.store, for: IndexedBook.self, options: options()).close()
    // A new lock file, by a process that does not ask for the mark.
    try #require(unlink(directory.store + "-lock") == 0)
    let store = try Store(
      at: directory.store, for: IndexedBook.self,
      options: Store.Options.quick.with { $0.durability = .logged })
    defer { store.close() }
    for name in ["", "-log", "-lock"] {
      #expect(BackupExclusion.isMarked(directory.store + name), "\(name)")
    }
  }

  @Test("Where there is no mark, or it is refused, the log says so, once for each opening")
  func told() throws {
    let directory = try CrashDirectory()
    let messages = Mutex<[LogMessage]>([])
    let logging = options { $0.log = { message in messages.withLock { $0.append(message) } } }
    func told() -> [LogMessage] {
      messages.withLock { list in
        defer { list = [] }
        return list.filter { $0.event == .notExcludedFromBackup }
      }
    }
    marks.install(in: directory.path)
    defer { BackupExclusion.use(nil, in: directory.path) }
    marks.refuses.withLock { $0 = true }
    let store = try Store(at: directory.store, for: IndexedBook.self, options: logging)
    #expect(told().map(\.level) == [.warning] && !store.isExcludedFromBackup)
    store.close()
    #if !canImport(Darwin)
      BackupExclusion.use(nil, in: directory.path)
      let linux = try Store(at: directory.store, for: IndexedBook.self, options: logging)
      #expect(told().map(\.level) == [.notice] && !linux.isExcludedFromBackup)
      linux.close()
      // Nobody asked for it.
      try Store(
        at: directory.store, for: IndexedBook.self,
        options: logging.with { $0.isExcludedFromBackup = false }
      )
      .close()
      #expect(told().isEmpty)
    #endif
  }
}
