import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// Snapshots under random writes: each must equal the model as it was when it was taken.
@Suite("Snapshots at random")
struct RandomSnapshotTests {
  /// A snapshot, and what must be found in it: texts by number.
  private final class Taken: Sendable {
    let snapshot: Snapshot
    let model: [Int: String]

    init(_ snapshot: Snapshot, _ model: [Int: String]) {
      self.snapshot = snapshot
      self.model = model
    }

    /// Reads with one of several verbs; false if the snapshot has ended.
    func check(_ random: inout SeededGenerator) throws -> Bool {
      do {
        switch random.below(5) {
        case 0:
          let all = try snapshot.fetch(Note.all)
          try #require(all.count == model.count)
          for note in all { try #require(model[note.number] == note.text) }
        case 1:
          try #require(try snapshot.count(Note.all) == model.count)
        case 2:
          let limit = random.below(200)
          let below = try snapshot.ids(Note.where { $0.number < limit }).count
          try #require(below == model.keys.count { $0 < limit })
        case 3:
          let number = random.below(200)
          let found = try snapshot.first(Note.where { $0.number == number })
          try #require(found?.text == model[number])
        default:
          try snapshot.read { tx throws in
            var seen = 0
            for note in try tx.all(Note.self) {
              seen += 1
              if seen % 16 == 0 {
                // An inner use, in the middle of a sequence.
                try #require(try snapshot.find(Note.self, note.id) == note)
              }
            }
            try #require(seen == model.count)
          }
        }
        return true
      } catch let error as LarchError where error.code == .snapshotEnded {
        return false
      }
    }
  }

  /// What the threads of a run share.
  private final class Run: Sendable {
    let taken = Locked<[Taken]>([])
    let isDone = Atomic<Bool>(false)
    let checks = Atomic<Int>(0)
    let ended = Atomic<Int>(0)

    func pick(_ random: inout SeededGenerator) -> Taken? {
      let number = random.below(1 << 20)
      return taken.withLock { $0.isEmpty ? nil : $0[number % $0.count] }
    }
  }

  private static let seeds: [UInt64] = {
    let count =
      ProcessInfo.processInfo.environment["LARCH_SNAPSHOT_RUNS"].flatMap(Int.init) ?? 6
    if let seed = ProcessInfo.processInfo.environment["LARCH_SEED"].flatMap(UInt64.init) {
      return [seed]
    }
    return (0..<count).map { _ in UInt64.random(in: 1..<(1 << 32)) }
  }()

  @Test("Each equals the model of its moment, from any thread, until it ends", arguments: seeds)
  func random(seed: UInt64) throws {
    var options = Store.Options.quick
    // Very small for some, so that the map moves during them.
    options.initialMapSize = seed % 2 == 0 ? 256 << 10 : nil
    options.maximumSnapshots = 24
    options.maximumSnapshotAge = seed % 3 == 0 ? .milliseconds(40) : nil
    let store = try Store.temporary(for: Note.self, options: options)
    let run = Run()
    let readers = (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: seed &+ UInt64(number) &+ 1)
        while !run.isDone.load(ordering: .relaxed) {
          guard let taken = run.pick(&random) else {
            usleep(200)
            continue
          }
          let isThere = try taken.check(&random)
          run.checks.add(1, ordering: .relaxed)
          if !isThere || random.below(40) == 0 {
            taken.snapshot.end()
            run.ended.add(1, ordering: .relaxed)
            run.taken.withLock { list in list.removeAll { $0 === taken } }
          }
        }
      }
    }
    do {
      try write(to: store, run, seed: seed)
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
    run.isDone.store(true, ordering: .relaxed)
    for reader in readers {
      do { try reader.join() } catch { Issue.record("seed \(seed): \(error)") }
    }
    run.taken.withLock { $0 = [] }
    #expect(try store.openReads().isEmpty, "seed \(seed)")
    #expect(store.environment.readers.activeUses == 0, "seed \(seed)")
    #expect(try store.verify().isClean, "seed \(seed)")
    print(
      "snapshots: seed \(seed), \(run.checks.load(ordering: .relaxed)) checks,",
      "\(run.ended.load(ordering: .relaxed)) ended")
  }

  /// Makes random writes, and takes snapshots in between.
  private func write(to store: Store, _ run: Run, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model: [Int: String] = [:]
    var ids: [Int: RecordID<Note>] = [:]
    for _ in 0..<300 {
      let changes = (0..<(1 + random.below(12))).map { _ in
        (number: random.below(200), size: 1 + random.below(600), deletes: random.below(3) == 0)
      }
      var (newModel, newIDs) = (model, ids)
      try store.write { tx throws in
        (newModel, newIDs) = (model, ids)
        for change in changes {
          if change.deletes {
            if let id = newIDs.removeValue(forKey: change.number) { try tx.delete(Note.self, id) }
            newModel[change.number] = nil
            continue
          }
          var note = Note(change.number, size: change.size)
          if let id = newIDs[change.number] { note.id = id }
          try tx.save(&note)
          newIDs[change.number] = note.id
          newModel[change.number] = note.text
        }
      }
      (model, ids) = (newModel, newIDs)
      guard random.below(3) == 0 else { continue }
      do {
        let taken = Taken(try store.snapshot(), model)
        run.taken.withLock { $0.append(taken) }
      } catch let error as LarchError where error.code == .tooManySnapshots {
        if let old = run.pick(&random) {
          old.snapshot.end()
          run.taken.withLock { list in list.removeAll { $0 === old } }
        }
      }
    }
  }
}
