import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// Four processes that work on one shared store, each with a copy of its own.
final class VillageProcesses {
  static let count = 4
  static let numbers = 0..<count

  /// How a process works.
  struct Way {
    /// The attempts of each process; 0 for no end.
    var attempts = 0
    /// The commit timeout of each process, in milliseconds.
    var timeouts = [Int](repeating: 30_000, count: VillageProcesses.count)
    var ignoresPlaces = false
  }

  let directory: CrashDirectory
  let files: VillageFiles
  let beacon: Beacon
  let log: ServerLog
  private(set) var children: [Child] = []

  /// Founds the store, and starts the processes, which all open their copies before one of them writes.
  init(
    _ url: String, _ way: Way = Way(), seed: UInt64 = runSeed,
    beforeStart: (String) throws -> Void = { _ in }
  ) throws {
    let name = freshName()
    directory = try CrashDirectory()
    files = VillageFiles(directory: directory.path)
    beacon = try Beacon(path: files.beacon)
    log = .postgres(url, store: name)
    do {
      let store = try Village.open(log, copy: files.copy(Self.count), options: .quick)
      defer { store.close() }
      try Village.found(in: store)
    }
    try beforeStart(name)
    for number in Self.numbers {
      let child = try Child(
        [
          "village-writer", directory.path, "\(number)", "\(seed &* 4 &+ UInt64(number))", url,
          name,
          "\(way.attempts)", "\(way.timeouts[number])", way.ignoresPlaces ? "ignores" : "heeds",
        ], in: directory.path)
      children.append(child)
    }
    for (number, child) in children.enumerated() { try child.waitUntilStarted(beacon, number) }
    beacon[VillageSlot.mayBegin] = 1
  }

  /// The number of acknowledged writes of each process.
  var acknowledged: [Int] { Self.numbers.map { beacon[.acknowledged($0)] } }
  var reads: [Int] { Self.numbers.map { beacon[VillageSlot.reads($0)] } }
  var readErrors: Int { Self.numbers.map { beacon[VillageSlot.readErrors($0)] }.reduce(0, +) }
  var copiedAnew: [Int] { Self.numbers.map { beacon[VillageSlot.copiedAnew($0)] } }

  /// Waits until each process has so many more acknowledged writes and reads.
  func waitForProgress(_ writes: Int, reads: Int = 0) throws {
    let (before, readsBefore) = (acknowledged, self.reads)
    try wait("goes on") { number in
      beacon[.acknowledged(number)] >= before[number] + writes
        && beacon[VillageSlot.reads(number)] >= readsBefore[number] + reads
    }
  }

  /// Waits until each process has so many more reads than at some time before.
  func waitForReads(_ count: Int, after before: [Int]) throws {
    try wait("reads on") { beacon[VillageSlot.reads($0)] >= before[$0] + count }
  }

  /// Waits until a condition holds for each process, which must run meanwhile.
  func wait(_ what: String, until isMet: (Int) -> Bool) throws {
    for (number, child) in children.enumerated() { try child.wait(what) { isMet(number) } }
  }

  /// The names of the files that each process has kept aside.
  func keptAside() throws -> [Set<String>] {
    Self.numbers.map { number in
      Set(
        directory.names.filter {
          $0.hasPrefix("copy-\(number)-aside-") && $0.hasSuffix(".larch")
        })
    }
  }

  /// Requires that a file that was kept aside can be read, and is a state that its process had.
  func expectSound(_ name: String) throws {
    var options = Store.Options.quick
    options.isReadOnly = true
    let store = try Store(
      path: directory.path + "/" + name, types: Village.types, options: options, isTemporary: false)
    defer { store.close() }
    let found = try store.read { try VillageModel.differences($0) }
    #expect(found.wrong.isEmpty, "\(name): \(found.wrong.prefix(5))")
    #expect(try store.verify().isClean)
  }

  /// Lets the processes end after their present attempt, and requires that all end well.
  func stop() throws {
    beacon[VillageSlot.mustStop] = 1
    try expectEnd()
  }

  /// Waits for the end of all processes, and requires that all end well.
  func expectEnd() throws {
    for child in children {
      let ending = try child.wait(seconds: 3000)
      #expect(ending == .exit(0), "\(child.output.suffix(2000))")
    }
  }

  /// How the processes ended, and what they said.
  func endings() throws -> [(ending: Child.Ending, output: String)] {
    try children.map { (try $0.wait(seconds: 3000), $0.output) }
  }

  /// The result of a run.
  struct Outcome {
    /// What is wrong; none if everything is right.
    var wrong: [String] = []
    var ledger: VillageLedger
    var deeds: [Deed.Kind: Int] = [:]
    /// The attempts that are in the store.
    var stored: Set<String> = []

    var summary: String {
      let words = VillageLedger.Word.allCases.map { "\($0): \(ledger[$0].count)" }
      let kinds = Deed.Kind.allCases.map { "\($0): \(deeds[$0] ?? 0)" }
      return (words + kinds).joined(separator: ", ")
    }
  }

  /// Compares the four copies with each other, with the log, with a model, and with what the processes were
  /// told.
  ///
  /// - Parameter mayLose: whether the server was allowed to lose acknowledged writes.
  func outcome(mayLose: Bool = false) throws -> Outcome {
    var outcome = Outcome(ledger: try VillageLedger(reading: Self.numbers.map(files.ledger)))
    let expected = try logPairs()
    for number in Self.numbers {
      do {
        try check(number, expected, mayLose: mayLose, &outcome)
      } catch {
        outcome.wrong.append("copy \(number): \(error)")
      }
    }
    return outcome
  }

  private func check(
    _ number: Int, _ expected: StoredPairs, mayLose: Bool, _ outcome: inout Outcome
  ) throws {
    let store = try Village.open(log, copy: files.copy(number), options: .quick)
    defer { store.close() }
    try store.environment.catchUpWithLog()
    if try pairs(of: store) != expected { outcome.wrong.append("copy \(number) is not the log's") }
    let report = try store.verify()
    if report.faultCount > 0 { outcome.wrong.append("copy \(number): \(report)") }
    guard number == 0 else { return }
    let found = try store.read { try VillageModel.differences($0) }
    outcome.wrong += found.wrong
    outcome.wrong += outcome.ledger.contradictions(found.tokens, mayLose: mayLose)
    outcome.deeds = found.model.counts
    outcome.stored = found.tokens
  }

  /// All pairs of the log, as a copy that is made of it now has them.
  private func logPairs() throws -> StoredPairs {
    let store = try Village.open(log, copy: directory.path + "/fresh.larch", options: .quick)
    defer { store.close() }
    return try pairs(of: store)
  }

  private func pairs(of store: Store) throws -> StoredPairs {
    let pairs = StoredPairs()
    try store.environment.withPairs { _, copy in try copy(pairs) }
    return pairs
  }
}

/// A checksum of all pairs of each tree.
final class StoredPairs: LogStateWriter, Equatable {
  private var sums: [String: LogChecksum] = [:]
  private var current = ""

  func begin(_ tree: LogTree) {
    current = "\(tree.name) \(tree.flags)"
    sums[current] = LogChecksum(seed: 1)
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    sums[current]?.add(UInt64(key.count))
    sums[current]?.add(key)
    sums[current]?.add(UInt64(value.count))
    sums[current]?.add(value)
  }

  static func == (a: StoredPairs, b: StoredPairs) -> Bool {
    a.sums.mapValues(\.value) == b.sums.mapValues(\.value)
  }
}
