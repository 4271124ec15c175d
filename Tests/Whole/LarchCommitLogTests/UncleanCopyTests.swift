import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A copy of a store whose program was killed, without its log")
struct UncleanCopyTests {
  /// The store while it is in use, as a killed program leaves it.
  private func killed(at path: String) throws -> StoreImage {
    let store = try Store.forCrashes(at: path) { $0.durability = .logged }
    defer { store.close() }
    for number in 0..<20 { try save("killed \(number)", store) }
    return try StoreImage(of: path)
  }

  private func save(_ id: String, _ store: Store) throws {
    try store.write { tx throws in
      var entry = Entry(id: id, owner: 7, text: id)
      try tx.save(&entry)
    }
  }

  private func restore(_ backup: String, to path: String) async -> LarchError? {
    do {
      try await Store.restore(from: backup, to: path, replacing: true)
      return nil
    } catch { return error as? LarchError }
  }

  @Test("It is not restored, and the store at the target stays", arguments: [false, true])
  func restored(isOpen: Bool) async throws {
    let directory = try CrashDirectory()
    let backup = directory.path + "/backup.larch"
    try killed(at: directory.path + "/killed.larch").write(to: backup)
    let path = directory.store
    let store = try Store.forCrashes(at: path)
    defer { store.close() }
    try save("kept", store)
    if !isOpen { store.close() }
    #expect(await restore(backup, to: path)?.code == .unsuitableFile)
    let new = directory.path + "/new.larch"
    #expect(await restore(backup, to: new)?.code == .unsuitableFile)
    #expect(access(new, F_OK) != 0)
    if isOpen { #expect(try store.find(Entry.self, "kept") != nil) }
    store.close()
    let again = try Store.forCrashes(at: path)
    #expect(try again.find(Entry.self, "kept") != nil)
    again.close()
    // What the message says to do.
    try Store.forCrashes(at: backup).close()
    #expect(await restore(backup, to: path) == nil)
    let found = try Store.forCrashes(at: path)
    defer { found.close() }
    #expect(try found.count(Entry.all) == 20)
  }

  @Test("Salvage says that commits of the log are not copied")
  func salvaged() throws {
    let directory = try CrashDirectory()
    let path = directory.store
    let image = try killed(at: path)
    let target = directory.path + "/saved.larch"
    // Closed, it needs no log.
    #expect(try Store.salvage(path, to: target).damage.isEmpty)
    unlink(target)
    try image.write(to: path)
    #expect(try Store.salvage(path, to: target).damage.contains { $0.hasPrefix("the log") })
  }
}
