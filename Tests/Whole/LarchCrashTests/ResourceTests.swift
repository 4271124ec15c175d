import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

#if os(Linux)
  /// Everything that is opened is released: descriptors, maps, memory, reader slots, files.
  @Suite("Resources", .serialized)
  struct ResourceTests {
    @Test(
      "After a thousand repetitions nothing is left",
      arguments: ["open", "write", "forgotten", "temporary", "refused"])
    func nothingIsLeft(what: String) throws {
      let directory = try CrashDirectory()
      let store = try Store.forCrashes(at: directory.store)
      var model = WriterModel(seed: runSeed, writer: 0)
      var ids: [Int: RecordID<Item>] = [:]
      for _ in 0..<20 { try model.write(to: store, ids: &ids) }
      let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.store))
      try bytes.prefix(bytes.count / 2).write(
        to: URL(fileURLWithPath: directory.path + "/cut.larch"))
      try Data("This is no store.\n".utf8).write(
        to: URL(fileURLWithPath: directory.path + "/text.larch"))

      let count = amount("LARCH_OPENINGS", 1000)
      let scratch = directory.path + "/scratch"
      try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
      let child = try Child(
        ["resources", directory.path, what, "\(count)"], in: directory.path,
        environment: ["TMPDIR": scratch])
      #expect(try child.wait() == .exit(0), "\(child.output)")
      let grown = child.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
      try #require(grown.count == 3, "\(child.output)")
      print("\(what), \(count) times: descriptors, maps, bytes \(grown)")
      #expect(grown[0] == 0)
      #expect(grown[1] == 0)
      // A leak of a few hundred bytes each time would be noticed; memory that the allocator keeps
      // is not.
      #expect(grown[2] < (isSanitized ? 1 << 26 : 1 << 20))
      // This store was open all the time, so the lock table still exists: a slot that was not
      // released would still be taken.
      #expect(try store.environment.info().readersInUse <= 2)
      #expect(try store.verify().isClean)
      store.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch) == [])
      let left = directory.names.filter { $0.hasPrefix(".larch") || $0.hasSuffix("cut.larch-lock") }
      #expect(left == [])
    }

    @Test("The list of a program's maps is read to its end")
    func wholeText() throws {
      let maps = try systemText("/proc/self/maps")
      #expect(maps.utf8.count > 8192 && maps.contains("[stack]"))
    }
  }
#endif

/// Several processes work on one store, and some of them die.
@Suite("Many processes", .serialized)
struct ManyProcessTests {
  @Test("Money is neither lost nor made while writers and readers die")
  func bank() throws {
    let directory = try CrashDirectory()
    try Bank.make(at: directory.store)
    let beacon = try Beacon(path: directory.beacon)
    var random = SeededGenerator(seed: runSeed)
    let seconds = Double(amount("LARCH_BANK_SECONDS", 6))
    func start(_ number: Int) throws -> Child {
      let place = [directory.store, directory.beacon, "\(number)"]
      let arguments =
        number < 3
        ? ["bank-writer"] + place + ["\(runSeed)"]
        : ["bank-reader"] + place + [number == 3 ? "0" : "1"]
      return try Child(arguments, in: directory.path)
    }
    var children = try (0..<5).map(start)
    var kills = 0
    var last = [Int](repeating: -1, count: 5)
    var lastChange = [Date](repeating: Date(), count: 5)
    let end = Date() + seconds
    // LMDB's lock is not fair, and on a loaded machine it takes longer until each had it.
    while Date() < end || (0..<5).contains(where: { beacon[.acknowledged($0)] == 0 }) {
      usleep(UInt32(20_000 + random.below(60_000)))
      for number in 0..<5 {
        try #require(children[number].isRunning, "seed \(runSeed): \(children[number].output)")
        let done = beacon[.acknowledged(number)]
        if done != last[number] {
          last[number] = done
          lastChange[number] = Date()
        }
        // A process that does nothing for this long waits for a lock that is never released.
        try #require(
          Date().timeIntervalSince(lastChange[number]) < 300, "seed \(runSeed): \(number) hangs")
      }
      if random.below(3) == 0 {
        let victim = random.below(5)
        try children[victim].killHard()
        kills += 1
        children[victim] = try start(victim)
      }
    }
    for child in children { try child.killHard() }
    kills += 5
    // Slots of dead processes are taken until someone checks.
    let left = try slots(directory)
    let store = try Bank.open(at: directory.store)
    try store.read { try Bank.check($0) }
    #expect(try store.verify().isClean, "seed \(runSeed)")
    store.close()
    let cleared = try slots(directory)
    let size = try FileManager.default.attributesOfItem(atPath: directory.store)[.size] as? Int
    print(
      "bank: \((0..<3).map { beacon[.acknowledged($0)] }) transfers,",
      "\((3..<5).map { beacon[.acknowledged($0)] }) sums, \(kills) kills, slots taken and dead",
      "\(left) at the end, \(cleared) after opening, file \(size ?? 0) bytes, seed \(runSeed)")
    #expect(cleared == [0, 0])
    for number in 0..<5 { #expect(beacon[.acknowledged(number)] > 0) }
  }

  @Test("Killed readers keep neither space nor a slot")
  func killedReaders() throws {
    let directory = try CrashDirectory()
    try Bank.make(at: directory.store)
    let beacon = try Beacon(path: directory.beacon)
    // Open all the time, so that the lock file is never created again.
    let store = try Bank.open(at: directory.store)
    defer { store.close() }
    let count = amount("LARCH_KILLED_READERS", 40)
    var random = SeededGenerator(seed: runSeed)
    for _ in 0..<count / 8 {
      let children = try (0..<8).map { number in
        try Child(
          ["bank-reader", directory.store, directory.beacon, "\(number)", "0"], in: directory.path)
      }
      for (number, child) in children.enumerated() { try child.waitUntilStarted(beacon, number) }
      usleep(UInt32(random.below(10_000)))
      for child in children { try child.killHard() }
      // Each of these frees pages, which a dead reader would keep from being used again.
      for number in 0..<200 {
        try store.write { tx throws in
          try tx.update(Account(id: 0, balance: 1000 - number))
          try tx.update(Account(id: 1, balance: 1000 + number))
        }
      }
    }
    try store.write { tx throws in
      for id in 0...1 { try tx.update(Account(id: id, balance: 1000)) }
    }
    let size =
      try FileManager.default.attributesOfItem(atPath: directory.store)[.size] as? Int ?? 0
    let before = try slots(directory)
    try store.environment.checkReaders()
    let after = try slots(directory)
    print("killed readers: \(count), slots taken and dead \(before), then \(after), file \(size)")
    // An overwrite takes about ten pages; without a check for dead readers they would all stay.
    #expect(size < 2 << 20)
    #expect(after[1] == 0)
    try store.read { try Bank.check($0) }
    #expect(try store.verify().isClean)
  }

  private func slots(_ directory: CrashDirectory) throws -> [Int] {
    let child = try Child(["reader-slots", directory.store], in: directory.path)
    let ending = try child.wait()
    #expect(ending == .exit(0), "\(child.output)")
    return child.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
  }
}
