import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Processes that end at each step of a compaction, and the state for the next one.
@Suite("A crash at each step of a compaction", .serialized)
struct CrashedSwapTests {
  private func fill(_ path: String) throws -> String {
    let store = try Store.forCrashes(at: path)
    defer { store.close() }
    var model = WriterModel(seed: runSeed, writer: 0)
    var ids: [Int: RecordID<Item>] = [:]
    for _ in 0..<40 { try model.write(to: store, ids: &ids) }
    return try store.dump()
  }

  private func crash(_ directory: CrashDirectory, at step: ReplacementStep) throws {
    let child = try Child(
      [
        "space-work", directory.store, directory.beacon, "0", directory.path, "compact",
        step.rawValue,
      ],
      in: directory.path)
    guard try child.wait() == .signal(SIGKILL) else { throw Mismatch(child.output) }
  }

  @Test(
    "The next process that opens the store finds it complete", arguments: ReplacementStep.allCases)
  func opened(step: ReplacementStep) throws {
    let directory = try CrashDirectory()
    let before = try fill(directory.store)
    for round in 0..<3 {
      try crash(directory, at: step)
      let left = directory.names.contains("store.larch-compact")
      #expect(left == (step != .swapped), "\(step)")
      let store = try Store.forCrashes(at: directory.store)
      #expect(try store.dump() == before, "\(step), round \(round)")
      #expect(try store.verify().isClean)
      #expect(directory.names.filter { $0.contains("compact") } == [])
      let isNew = step != .begun && step != .copied
      #expect((try FileCheck.verify(path: directory.store).freePages == 0) == isNew || round > 0)
      try store.write { tx throws in
        var progress = Progress(id: 90 + round)
        try tx.save(&progress)
        try tx.delete(progress)
      }
      store.close()
    }
  }

  @Test(
    "A process that has the store open continues, and so does the next one to open it",
    arguments: ReplacementStep.allCases)
  func following(step: ReplacementStep) throws {
    let directory = try CrashDirectory()
    let before = try fill(directory.store)
    let store = try Store.forCrashes(at: directory.store)
    defer { store.close() }
    var options = Store.Options()
    options.isReadOnly = true
    try crash(directory, at: step)
    #expect(try store.dump() == before, "\(step)")
    try store.write { tx throws in
      var progress = Progress(id: 77)
      try tx.save(&progress)
    }
    #expect(try store.read { try $0.find(Progress.self, 77) } != nil)
    let beacon = try Beacon(path: directory.beacon)
    let reader = try Child(
      ["crash-reader", directory.store, directory.beacon, "1", "\(runSeed)", "1"],
      in: directory.path)
    try reader.waitUntilStarted(beacon, 1)
    try reader.wait("reads") { beacon[.acknowledged(1)] > 3 }
    try reader.killHard()
    #expect(try store.verify().isClean)
    let file = try StoreLocation(directory.store).existingFile()
    #expect(file == store.environment.file)
    if step != .begun, step != .copied {
      #expect(directory.names.filter { $0.contains("compact") } == [])
    }
  }

  @Test(
    "The store is also complete if it is opened read-only first",
    arguments: ReplacementStep.allCases)
  func readOnly(step: ReplacementStep) throws {
    let directory = try CrashDirectory()
    let before = try fill(directory.store)
    try crash(directory, at: step)
    let store = try Store.forCrashes(at: directory.store) { $0.isReadOnly = true }
    #expect(try store.dump() == before)
    store.close()
    let writing = try Store.forCrashes(at: directory.store)
    #expect(try writing.dump() == before)
    writing.close()
  }

  @Test("An old file that is moved away from the new one becomes a store again")
  func moved() throws {
    for isReadOnly in [false, true] {
      let directory = try CrashDirectory()
      let before = try fill(directory.store)
      try crash(directory, at: .announced)
      // Like a tool that copies one file and does not know the other.
      let other = directory.path + "/moved.larch"
      try FileManager.default.copyItem(atPath: directory.store, toPath: other)
      let moved = try Store.forCrashes(at: other) { $0.isReadOnly = isReadOnly }
      #expect(try moved.dump() == before)
      #expect(try moved.verify().isClean)
      if !isReadOnly {
        try moved.write { tx throws in
          var progress = Progress(id: 5)
          try tx.save(&progress)
        }
        #expect(try FileCheck.verify(path: other).databases > 0)
      }
      moved.close()
      // It does not use the file of another compaction beside it.
      let backup = directory.path + "/backup.larch"
      let store = try Store.forCrashes(at: directory.store)
      try store.write { tx throws in try tx.erase(Item.self) }
      try store.backup(to: backup)
      store.close()
      let third = directory.path + "/third.larch"
      try FileManager.default.copyItem(atPath: other, toPath: third)
      try FileManager.default.copyItem(atPath: backup, toPath: third + "-compact")
      let last = try Store.forCrashes(at: third)
      #expect(try last.read { try $0.count(Item.all) } > 0)
      last.close()
    }
  }

  @Test("A marked file without the new one can be restored and backed up like any other")
  func backupOfMarked() throws {
    let directory = try CrashDirectory()
    let before = try fill(directory.store)
    try crash(directory, at: .announced)
    let marked = directory.path + "/marked.larch"
    try FileManager.default.copyItem(atPath: directory.store, toPath: marked)
    let target = directory.path + "/restored.larch"
    try Store.restore(from: marked, to: target)
    let restored = try Store.forCrashes(at: target)
    #expect(try restored.dump() == before)
    try Store.restore(from: marked, to: target, replacing: true)
    #expect(try restored.dump() == before)
    #expect(try restored.verify().isClean)
    restored.close()
  }
}
