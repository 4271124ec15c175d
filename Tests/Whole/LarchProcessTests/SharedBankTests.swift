import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Processes that read and write one file at the same time, and die at any moment.
@Suite("Four processes on one file", .serialized)
struct SharedBankTests {
  @Test("No acknowledged write is lost, however processes die")
  func killedAtRandom() throws {
    let directory = try CrashDirectory()
    let run = try SharedBankRun(directory: directory)
    do {
      try run.go(seconds: Double(amount("LARCH_PROCESS_SECONDS", 15)))
    } catch {
      Issue.record("seed \(runSeed), death \(run.deaths): \(error)")
    }
    print("four processes: \(run.summary), seed \(runSeed)")
    for kind in SharedBankRun.kinds {
      #expect(run.deathsByKind[kind, default: 0] > 0, "\(kind), seed \(runSeed)")
    }
  }

  @Test("Readers that died keep no space: the file is as large as without them")
  func deadReaders() throws {
    let rounds = amount("LARCH_DEAD_READERS", 12)
    let without = try sizeAfterWrites(rounds: rounds) { _ in }
    let with = try sizeAfterWrites(rounds: rounds) { directory in
      let child = try Child(["die-in-read", directory.store], in: directory.path)
      #expect(try child.wait() == .signal(SIGKILL), "\(child.output)")
    }
    print("dead readers: \(rounds), file \(without) bytes without, \(with) with, seed \(runSeed)")
    #expect(Double(with) < Double(without) * 1.5)
  }

  /// The size of a file while something happens between many writes.
  private func sizeAfterWrites(
    rounds: Int, between: (CrashDirectory) throws -> Void
  ) throws -> Int {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store, transfers: 100)
    // Open all the time, like a service, so that no opening clears the slots of dead processes.
    let store = try SharedBank.open(at: directory.store)
    defer { store.close() }
    for _ in 0..<rounds {
      try between(directory)
      for _ in 0..<100 {
        try store.write { tx throws in
          guard var account = try tx.find(Account.self, 0) else { return }
          account.balance += 1
          try tx.update(account)
          account.balance -= 1
          try tx.update(account)
        }
      }
    }
    try bank.checkEverything(try store.read { try bank.contents($0) })
    #expect(try store.verify().isClean)
    return try store.environment.info().fileSize
  }
}

/// One run of tellers that die and are started again.
private final class SharedBankRun {
  static let kinds = ["outside", "inWrite", "beforeCommit", "afterCommit", "inRead", "inSavepoint"]
  private static let transfersBefore = 1500

  private let directory: CrashDirectory
  private let beacon: Beacon
  private let bank = SharedBank(seed: runSeed)
  private var random = SeededGenerator(seed: runSeed)
  private var children: [Child?] = Array(repeating: nil, count: SharedBank.tellerCount)
  /// The way in which each of them kills itself.
  private var plans = [String](repeating: "never", count: SharedBank.tellerCount)
  private var returns = [Date](repeating: .distantPast, count: SharedBank.tellerCount)
  private var progress = [(done: Int, since: Date)](
    repeating: (-1, Date()), count: SharedBank.tellerCount)
  private(set) var deathsByKind: [String: Int] = [:]
  private var looks = 0
  private var sizes = (file: 0, live: 0)
  private var stale = 0

  init(directory: CrashDirectory) throws {
    self.directory = directory
    beacon = try Beacon(path: directory.beacon)
    try bank.make(at: directory.store, transfers: Self.transfersBefore)
    // The initial state, for a check before the first report of a teller.
    for number in children.indices {
      beacon[.acknowledged(number)] = Self.transfersBefore
      beacon[.attempted(number)] = Self.transfersBefore
    }
  }

  var deaths: Int { deathsByKind.values.reduce(0, +) }

  var summary: String {
    let done = children.indices.map { beacon[.acknowledged($0)] }
    let kinds = deathsByKind.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    return "\(done) transfers, \(deaths) deaths (\(kinds.joined(separator: ", "))), "
      + "\(looks) looks, \(stale) slots of dead readers left at the end, "
      + "file \(sizes.file) bytes, live \(sizes.live)"
  }

  func go(seconds: Double) throws {
    let end = Date() + seconds
    var nextLook = Date() + 1
    // On a loaded machine a kind of death may take longer to come.
    while Date() < end
      || Self.kinds.contains(where: { deathsByKind[$0] == nil }) && Date() < end + 600
    {
      usleep(UInt32(5_000 + random.below(40_000)))
      for number in children.indices { try tend(number) }
      if random.below(4) == 0 {
        // Several at once at times.
        for number in children.indices where random.below(3) == 0 {
          guard let child = children[number], plans[number] == "never" else { continue }
          try child.killHard()
          try note("outside", number)
        }
      }
      // Opening the store clears the slots of dead readers, so it must not happen too often.
      if Date() > nextLook {
        try look()
        nextLook = Date() + 2
      }
    }
    try finish()
  }

  /// Checks whether a teller has died or hangs, and starts it again when it is time.
  private func tend(_ number: Int) throws {
    if let child = children[number] {
      let done = beacon[.acknowledged(number)]
      if done != progress[number].done { progress[number] = (done, Date()) }
      // A process that does nothing for this long waits for a lock that is never released.
      guard Date().timeIntervalSince(progress[number].since) < 300 else {
        throw Mismatch("teller \(number) hangs at \(done)")
      }
      if child.isRunning { return }
      guard plans[number] != "never", try child.wait() == .signal(SIGKILL) else {
        throw Mismatch("teller \(number) ended: \(child.output)")
      }
      try note(plans[number], number)
    } else if Date() >= returns[number] {
      try start(number)
    }
  }

  private func start(_ number: Int) throws {
    let places = ["inWrite", "beforeCommit", "afterCommit", "inRead", "inSavepoint"]
    plans[number] = random.below(2) == 0 ? "never" : places[random.below(places.count)]
    progress[number] = (-1, Date())
    children[number] = try Child(
      [
        "teller", directory.store, directory.beacon, "\(number)", "\(runSeed)", plans[number],
        "\(random.below(60))",
      ], in: directory.path)
  }

  private func note(_ kind: String, _ number: Int) throws {
    deathsByKind[kind, default: 0] += 1
    children[number] = nil
    // Some are not started for a while: the others must notice themselves that they died.
    returns[number] = Date() + (random.below(2) == 0 ? 0 : Double(random.below(400)) / 1000)
  }

  /// Compares a snapshot with the model and with what was acknowledged.
  private func look() throws {
    looks += 1
    let before = children.indices.map { beacon[.acknowledged($0)] }
    let store = try SharedBank.open(at: directory.store)
    defer { store.close() }
    let contents = try store.read { try bank.contents($0) }
    try bank.checkEverything(contents)
    let done = contents.done
    for number in children.indices {
      // One that lives may have gone on since.
      let bound = beacon[.attempted(number)]
      guard done[number] >= before[number], done[number] <= bound else {
        throw Mismatch(
          "teller \(number): \(before[number]) acknowledged, \(bound) begun, \(done[number]) there")
      }
    }
  }

  /// The number of slots that dead readers have. Looking clears none.
  private func deadSlots() throws -> Int {
    let slots = try Child(["reader-slots", directory.store], in: directory.path)
    guard try slots.wait() == .exit(0) else { throw Mismatch(slots.output) }
    return Int(slots.output.split(whereSeparator: \.isWhitespace).last ?? "") ?? -1
  }

  private func finish() throws {
    // One survives: it continues, and clears the slots of the dead ones.
    let survivor = random.below(children.count)
    for number in children.indices where number != survivor {
      _ = children[number]?.killOrLeave()
      children[number] = nil
    }
    _ = children[survivor]?.killOrLeave()
    try start(survivor)
    while plans[survivor] != "never" {
      _ = children[survivor]?.killOrLeave()
      try start(survivor)
    }
    guard let child = children[survivor] else { throw Mismatch("no survivor") }
    try child.waitUntilStarted(beacon, survivor)
    // From here on, only the process that dies in it opens the store.
    for _ in 0..<3 {
      let victim = try Child(["die-in-read", directory.store], in: directory.path)
      guard try victim.wait() == .signal(SIGKILL) else { throw Mismatch(victim.output) }
    }
    let done = beacon[.acknowledged(survivor)]
    // It looks for dead readers about once a second, if the machine lets it write so often.
    try child.wait("clears the slots of dead readers") {
      stale = try deadSlots()
      return stale == 0 && beacon[.acknowledged(survivor)] > done
    }
    try child.killHard()
    try look()
    let store = try SharedBank.open(at: directory.store) { $0.isVerified = true }
    defer { store.close() }
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    let copy = directory.path + "/live.larch"
    try store.environment.copy(to: copy, compacting: true)
    sizes.file = try store.environment.info().fileSize
    sizes.live = try FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int ?? 0
    guard sizes.file <= sizes.live * 2 else {
      throw Mismatch("the file has \(sizes.file) bytes for \(sizes.live)")
    }
  }
}
