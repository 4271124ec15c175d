import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Processes that are killed while they write: no acknowledged write may be lost.
@Suite("Kill at any moment", .serialized)
struct KillTests {
  @Test("One writer, killed again and again")
  func oneWriter() throws {
    try loop(writers: 1, kills: amount("LARCH_KILLS", 1000) / 2, readers: 0, onDisk: false)
  }

  @Test("Three writers and a reader at once, killed again and again")
  func threeWriters() throws {
    try loop(writers: 3, kills: amount("LARCH_KILLS", 1000) / 2, readers: 1, onDisk: false)
  }

  @Test("Writers on a disk that is flushed at each commit")
  func onDisk() throws {
    try loop(writers: 2, kills: amount("LARCH_DISK_KILLS", 50), readers: 1, onDisk: true)
  }

  /// Lets children write, kills some of them, and compares the store with the models.
  private func loop(writers: Int, kills: Int, readers: Int, onDisk: Bool) throws {
    let directory = try CrashDirectory(onDisk: onDisk)
    let watch = KillWatch(writers: writers, directory: directory)
    do {
      try watch.run(kills: kills, readers: readers)
    } catch {
      Issue.record("seed \(runSeed), kill \(watch.kills): \(error)")
    }
    print(
      "\(writers) writers: \(watch.kills) kills, \(watch.killedEarly) of them while opening,",
      "\(watch.models.map(\.progress.transactions).reduce(0, +)) transactions,",
      "\(watch.unacknowledged) there but not acknowledged, \(watch.verified) full verifications,",
      "seed \(runSeed)")
    #expect(watch.kills >= kills)
  }
}

/// The state of one kill loop.
private final class KillWatch {
  private let directory: CrashDirectory
  private let writers: Int
  private var random: SeededGenerator
  private var children: [Child?]
  /// The model of each writer, as far as the store was compared with it.
  private(set) var models: [WriterModel]
  private(set) var kills = 0
  private var rounds = 0
  private(set) var killedEarly = 0
  private(set) var unacknowledged = 0
  private(set) var verified = 0

  init(writers: Int, directory: CrashDirectory) {
    self.writers = writers
    self.directory = directory
    random = SeededGenerator(seed: runSeed &+ UInt64(writers))
    children = []
    models = (0..<writers).map { WriterModel(seed: runSeed, writer: $0) }
  }

  func run(kills count: Int, readers: Int) throws {
    let beacon = try Beacon(path: directory.beacon)
    children = Array(repeating: nil, count: writers + readers)
    for number in children.indices { try start(number) }
    while kills < count {
      var victims = Set([random.below(children.count)])
      // Sometimes several at once, so that no process is left that knows the state.
      while victims.count < children.count, random.below(3) > 0 {
        victims.insert(random.below(children.count))
      }
      // One in eight rounds kills early, before the victims have begun to write.
      let isEarly = random.below(8) == 0
      for victim in victims where !isEarly {
        try children[victim]?.waitUntilStarted(beacon, victim)
      }
      usleep(UInt32(random.below(isEarly ? 15_000 : 10_000)))
      for victim in victims {
        guard let child = children[victim] else { continue }
        if beacon[.started(victim)] != Int(child.id) { killedEarly += 1 }
        child.signal(SIGKILL)
      }
      for victim in victims { try children[victim]?.killHard() }
      kills += victims.count
      rounds += 1
      try compare(beacon, dead: victims)
      for victim in victims { try start(victim) }
    }
    for child in children { try child?.killHard() }
    try compare(beacon, dead: Set(children.indices))
    children = []
    try verify()
  }

  private func start(_ number: Int) throws {
    let kind = number < writers ? "crash-writer" : "crash-reader"
    var arguments = [kind, directory.store, directory.beacon, "\(number)", "\(runSeed)"]
    if number >= writers { arguments.append("\(writers)") }
    children[number] = try Child(arguments, in: directory.path)
  }

  /// Opens the store as the next program would, and compares it with the models.
  private func compare(_ beacon: Beacon, dead: Set<Int>) throws {
    // A new opening each time: it is what recovers from a death.
    let store = try Store.forCrashes(at: directory.store)
    defer { store.close() }
    let before = (0..<writers).map { beacon[.acknowledged($0)] }
    let found = try store.read { tx throws in
      try (0..<writers).map { try WriterModel.read($0, seed: runSeed, in: tx) }
    }
    for writer in 0..<writers {
      let done = found[writer].progress.transactions
      // A living writer may have continued since then.
      let isDead = dead.contains(writer)
      let after = isDead ? before[writer] : beacon[.acknowledged(writer)]
      guard done >= before[writer], done <= after + 1 else {
        throw Mismatch(
          "writer \(writer): \(before[writer]) to \(after) acknowledged, \(done) in the store")
      }
      if isDead, done > after {
        unacknowledged += 1
        // The check has seen it, so the next kill must not lose it.
        beacon[.acknowledged(writer)] = done
      }
      while models[writer].progress.transactions < done { _ = models[writer].next() }
      guard "\(models[writer].progress)" == "\(found[writer].progress)",
        models[writer].contents == found[writer].contents
      else {
        throw Mismatch(
          "writer \(writer) at \(done): "
            + (TextDifference.between(
              expected: models[writer].contents.joined(separator: "\n"),
              actual: found[writer].contents.joined(separator: "\n")) ?? "counts"))
      }
    }
    if rounds % 10 == 0 { try verify(store) }
  }

  private func verify() throws {
    let store = try Store.forCrashes(at: directory.store) { $0.isVerified = true }
    defer { store.close() }
    try verify(store)
  }

  private func verify(_ store: Store) throws {
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    verified += 1
  }
}
