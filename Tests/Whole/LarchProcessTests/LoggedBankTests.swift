import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// One process that logs its commits, and others that read beside it; each may die at any moment.
@Suite("A writer that logs its commits, beside readers", .serialized)
struct LoggedBankTests {
  @Test("No acknowledged write is lost or unseen, whoever dies")
  func killedAtRandom() throws {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store, transfers: 200)
    let beacon = try Beacon(path: directory.beacon)
    beacon[.acknowledged(0)] = 200
    beacon[.attempted(0)] = 200
    var random = SeededGenerator(seed: runSeed)
    var children = [Child?](repeating: nil, count: 3)
    var deaths = [0, 0, 0]
    let end = Date() + Double(amount("LARCH_LOGGED_SECONDS", 12))
    // On a loaded machine both kinds of death may take longer to come.
    while Date() < end || deaths.contains(0) && Date() < end + 600 {
      for number in children.indices {
        if let child = children[number], !child.isRunning {
          throw Mismatch("\(number) ended with \(try child.wait()): \(child.output)")
        }
        if children[number] == nil, random.below(2) == 0 {
          children[number] = try Child(
            number == 0
              ? ["logged-teller", directory.store, directory.beacon, "\(runSeed)"]
              : ["logged-reader", directory.store, directory.beacon, "\(runSeed)", "\(number)"],
            in: directory.path)
        }
      }
      usleep(UInt32(5_000 + random.below(100_000)))
      for number in children.indices where random.below(number == 0 ? 3 : 5) == 0 {
        guard let child = children[number] else { continue }
        try child.killHard()
        children[number] = nil
        deaths[number] += 1
      }
    }
    for child in children.compactMap({ $0 }) { try child.killHard() }
    let (done, begun) = (beacon[.acknowledged(0)], beacon[.attempted(0)])
    let looks = beacon[.acknowledged(1)] + beacon[.acknowledged(2)]
    print("logged bank: \(done) transfers, \(deaths) deaths, \(looks) looks, seed \(runSeed)")
    #expect(done > 200)
    #expect(looks > 0)
    let store = try SharedBank.open(at: directory.store)
    defer { store.close() }
    let contents = try store.read { try bank.contents($0) }
    try bank.checkEverything(contents)
    #expect(contents.done[0] >= done && contents.done[0] <= begun, "seed \(runSeed)")
    #expect(try store.verify().isClean)
    #expect(!FileManager.default.fileExists(atPath: directory.store + "-log"))
  }

  @Test("A reader sees the log of the writer, and its copies need none")
  func readBeside() throws {
    let directory = try CrashDirectory()
    let bank = SharedBank(seed: runSeed)
    try bank.make(at: directory.store, transfers: 50)
    let beacon = try Beacon(path: directory.beacon)
    beacon[.acknowledged(0)] = 50
    beacon[.attempted(0)] = 50
    func startWriter(until number: Int) throws -> Child {
      let child = try Child(
        ["logged-teller", directory.store, directory.beacon, "\(runSeed)"], in: directory.path)
      while beacon[.acknowledged(0)] < number {
        guard child.isRunning else { throw Mismatch(child.output) }
        usleep(1000)
      }
      return child
    }
    let child = try startWriter(until: 80)
    // The writer closes the store and opens it again at times, and then others may open it.
    for durability in [Store.Options.Durability.durable, .logged] {
      var code: LarchError.Code?
      while code != .busy {
        code =
          caught {
            try SharedBank.open(at: directory.store) { $0.durability = durability }.close()
          }?
          .code
        guard child.isRunning else { throw Mismatch(child.output) }
      }
    }
    let store = try SharedBank.open(at: directory.store) { $0.isReadOnly = true }
    defer { store.close() }
    // The writer opens the store again at times.
    var log: StoreStatistics.Log?
    while log == nil { log = try store.statistics(exact: false).log }
    let found = try #require(log)
    #expect(found.bytes > 0 && found.checkpoint > 0)
    let copy = directory.path + "/copy.larch"
    try store.backup(to: copy)
    let least = beacon[.acknowledged(0)]
    try child.killHard()
    for _ in 0..<2 {
      let copied = try SharedBank.open(at: copy) { $0.isVerified = true }
      try bank.checkEverything(try copied.read { try bank.contents($0) })
      #expect(try copied.verify().isClean)
      try copied.write { tx throws in try bank.move(1, teller: 1, in: tx) {} }
      copied.close()
    }
    // The writer is dead, and this reader is proof that the system has all that it wrote.
    try startWriter(until: least + 20).killHard()
    #expect(try store.read { try bank.check($0) }[0] >= least + 20)
  }
}
