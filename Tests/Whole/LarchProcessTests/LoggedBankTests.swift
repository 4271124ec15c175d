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
}
