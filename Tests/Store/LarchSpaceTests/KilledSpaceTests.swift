import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Processes that are killed at random moments of a compaction, a backup and a restoration, alone
/// and while others use the store.
@Suite("Killed while files are copied", .serialized)
struct KilledSpaceTests {
  private static let kills = amount("LARCH_SPACE_KILLS", 50)

  @Test("The store is complete after each kill", arguments: ["compact", "backup", "restore"])
  func killed(what: String) throws {
    let directory = try CrashDirectory()
    var random = SeededGenerator(seed: runSeed)
    var model = WriterModel(seed: runSeed, writer: 0)
    var ids: [Int: RecordID<Item>] = [:]
    var expected = ""
    func withStore(_ body: (Store) throws -> Void) throws {
      let store = try Store.forCrashes(at: directory.store)
      defer { store.close() }
      try body(store)
      expected = try store.dump()
    }
    try withStore { store in
      for _ in 0..<60 { try model.write(to: store, ids: &ids) }
      try store.backup(to: directory.path + "/source.larch")
    }
    let beacon = try Beacon(path: directory.beacon)
    var done = 0
    for kill in 0..<Self.kills {
      let child = try Child(
        ["space-work", directory.store, directory.beacon, "0", directory.path, what],
        in: directory.path)
      try child.waitUntilStarted(beacon, 0)
      usleep(UInt32(random.below(20_000)))
      try child.killHard()
      let place = "\(what), kill \(kill), seed \(runSeed)"
      let store = try Store.forCrashes(at: directory.store) { $0.isVerified = kill % 2 == 0 }
      #expect(try store.dump() == expected, "\(place)")
      #expect(try store.verify().isClean, "\(place)")
      #expect(directory.names.filter { $0.contains("compact") } == [], "\(place)")
      if what != "restore" {
        try model.write(to: store, ids: &ids)
        expected = try store.dump()
      }
      store.close()
      for name in directory.names where name.hasPrefix("backup-") && name.hasSuffix(".larch") {
        let backup = try Store.forCrashes(at: directory.path + "/" + name) { $0.isVerified = true }
        #expect(try backup.verify().isClean, "\(place), \(name)")
        backup.close()
      }
      done = beacon[.acknowledged(0)]
    }
    print("\(what): \(Self.kills) kills, \(done) done to the end, seed \(runSeed)")
    try Store.forCrashes(at: directory.store).backup(to: directory.path + "/last.larch")
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") } == [])
  }

  @Test("Processes that read and write follow each compaction, killed or not", arguments: [1, 2])
  func others(writers: Int) throws {
    let directory = try CrashDirectory()
    try Store.forCrashes(at: directory.store).close()
    let beacon = try Beacon(path: directory.beacon)
    var random = SeededGenerator(seed: runSeed)
    // Each in a process of its own: writers, a reader, and last the one that compacts.
    let children = try (0..<writers).map { number in
      try Child(
        ["crash-writer", directory.store, directory.beacon, "\(number)", "\(runSeed)"],
        in: directory.path)
    }
    let reader = try Child(
      [
        "crash-reader", directory.store, directory.beacon, "\(writers)", "\(runSeed)", "\(writers)",
      ],
      in: directory.path)
    for (number, child) in (children + [reader]).enumerated() {
      try child.waitUntilStarted(beacon, number)
    }
    let place = writers + 1
    var rounds = 0
    for _ in 0..<amount("LARCH_SPACE_ROUNDS", 20) {
      let compactor = try Child(
        ["space-work", directory.store, directory.beacon, "\(place)", directory.path, "compact"],
        in: directory.path)
      try compactor.waitUntilStarted(beacon, place)
      // One gets to its end on any machine.
      if rounds == 0 { try compactor.wait("compacts") { beacon[.acknowledged(place)] > 0 } }
      usleep(UInt32(random.below(60_000)))
      try compactor.killHard()
      rounds += 1
      // LMDB's lock is not fair between processes: one writer may wait while another continues.
      let before = (0..<writers).map { beacon[.acknowledged($0)] }
      let read = beacon[.acknowledged(writers)]
      try reader.wait("goes on after kill \(rounds), seed \(runSeed)") {
        beacon[.acknowledged(writers)] > read + 1
          && (0..<writers).contains { beacon[.acknowledged($0)] > before[$0] + 2 }
      }
    }
    #if os(Linux)
      // A process that has followed the compactions has no old file open.
      try reader.wait("goes along, seed \(runSeed)") {
        openFiles(of: reader).allSatisfy { !$0.hasSuffix("(deleted)") }
      }
      #expect(openFiles(of: reader).contains { $0.hasSuffix("store.larch") })
    #endif
    let acknowledged = (0..<writers).map { beacon[.acknowledged($0)] }
    for child in children + [reader] { try child.killHard() }
    let store = try Store.forCrashes(at: directory.store)
    defer { store.close() }
    let report = try store.verify()
    #expect(report.isClean, "seed \(runSeed): \(report)")
    for writer in 0..<writers {
      let found = try store.read { try WriterModel.read(writer, seed: runSeed, in: $0) }
      let done = found.progress.transactions
      #expect(done >= acknowledged[writer], "seed \(runSeed)")
      #expect(done <= beacon[.acknowledged(writer)] + 1, "seed \(runSeed)")
      var model = WriterModel(seed: runSeed, writer: writer)
      while model.progress.transactions < done { _ = model.next() }
      #expect(model.contents == found.contents, "seed \(runSeed)")
    }
    print(
      "\(writers) writers: \(beacon[.acknowledged(place)]) compactions, \(rounds) kills,",
      "\(acknowledged) transactions, \(beacon[.acknowledged(writers)]) reads, seed \(runSeed)")
    #expect(beacon[.acknowledged(place)] > 0)
  }

  private func openFiles(of child: Child) -> [String] {
    let folder = "/proc/\(child.id)/fd"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
    }
  }

  @Test("A full disk refuses the copy, whatever its size, and changes nothing")
  func fullDisk() throws {
    let directory = try CrashDirectory()
    try makeHollowStore(at: directory.store, count: 900).close()
    let work = directory.path + "/work"
    try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
    let child = try Child(["space-limit", directory.store, work, "\(runSeed)"], in: directory.path)
    #expect(try child.wait() == .exit(0), "seed \(runSeed): \(child.output)")
    #expect(child.output.trimmingCharacters(in: .whitespacesAndNewlines) == "64")
  }
}
