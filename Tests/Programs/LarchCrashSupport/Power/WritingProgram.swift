internal import Foundation
internal import Larch

/// One writer that creates a store and changes it, transaction by transaction.
struct WritingProgram: PowerProgram {
  private let durability: Store.Options.Durability
  /// The number of the newest acknowledged transactions that may be missing.
  private let slack: Int
  private let count: Int
  /// The number of transactions before the file is compacted; 0 for never.
  private let compacting: Int
  /// Whether some writes have another durability than the store, and some are flushed later.
  private let isMixed: Bool
  /// Whether the store is the copy of one that was in use, so that its log is followed first.
  private let isRecovered: Bool
  /// The mistakes of the store's commit log.
  private let faults: CommitLogFaults
  private var states: WriterStates
  private var checks = 0

  init(
    seed: UInt64, durability: Store.Options.Durability, slack: Int = 0, count: Int = 48,
    compacting: Int = 0, isMixed: Bool = false, isRecovered: Bool = false,
    faults: CommitLogFaults = []
  ) {
    self.durability = durability
    self.slack = slack
    self.count = count
    self.compacting = compacting
    self.isMixed = isMixed
    self.isRecovered = isRecovered
    self.faults = faults
    states = WriterStates(seed: seed)
  }

  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws {
    let first = isRecovered ? try copyInUse(to: directory) : 0
    var store = try openStore(directory)
    defer { store.close() }
    mark(PowerMark(kind: PowerMark.acknowledged, number: first))
    for number in first + 1...first + count {
      if number == first + count / 2 {
        store.close()
        store = try openStore(directory)
      }
      let isDurable = isMixed && number % 5 == 0
      try next(
        store, in: directory, isDurable ? .durable : isMixed ? .relaxed : .storeDefault, mark)
      mark(PowerMark(kind: PowerMark.acknowledged, number: number))
      if isMixed, number % 7 == 0 { try store.sync() }
      // This one must exist, whatever may be missing.
      if isDurable || isMixed && number % 7 == 0 {
        mark(PowerMark(kind: PowerMark.durable, number: number))
      }
      if compacting > 0, number % compacting == 0 { try store.compact() }
    }
  }

  private func openStore(_ directory: String) throws -> Store {
    try WriterStates.open(storePath(directory), durability: durability, faults: faults)
  }

  /// Writes the next transaction; one that fails is not in the store until it is written again.
  private mutating func next(
    _ store: Store, in directory: String, _ durability: Store.WriteDurability,
    _ mark: (PowerMark) -> Void
  ) throws {
    guard faults.contains(.failedCommits) else {
      _ = try states.write(to: store, durability: durability)
      return
    }
    while true {
      var next = states
      do {
        _ = try next.write(to: store, durability: durability)
        states = next
        return
      } catch let error as LarchError where error.code == .ioFailure {
        mark(PowerMark(kind: PowerMark.refused, number: 0))
        // A call in which the power may fail.
        let log = open(storePath(directory) + "-log", O_RDWR)
        guard log >= 0, fsync(log) == 0, close(log) == 0 else {
          throw Mismatch("cannot flush the log: \(errno)")
        }
        mark(PowerMark(kind: PowerMark.attempted, number: 0))
      }
    }
  }

  /// Writes in a directory that is not recorded, and copies the files of the store while it is open: as
  /// a power failure might leave them. Returns the number of transactions.
  private mutating func copyInUse(to directory: String) throws -> Int {
    let hidden = directory + "/hidden"
    try FileManager.default.createDirectory(atPath: hidden, withIntermediateDirectories: true)
    let store = try WriterStates.open(storePath(hidden), durability: durability)
    defer { store.close() }
    var number = 0
    for _ in 0..<count { number = try states.write(to: store) }
    // The log first: a store in use is never without it.
    for suffix in ["-log", ""] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: storePath(hidden) + suffix))
      let copy = open(storePath(directory) + suffix, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      guard copy >= 0,
        bytes.withUnsafeBytes({ write(copy, $0.baseAddress, $0.count) }) == bytes.count,
        fsync(copy) == 0, close(copy) == 0
      else { throw Mismatch("cannot copy a store in use: \(errno)") }
    }
    let folder = open(directory, O_RDONLY | O_DIRECTORY)
    guard folder >= 0, fsync(folder) == 0, close(folder) == 0 else {
      throw Mismatch("cannot flush \(directory): \(errno)")
    }
    return number
  }

  mutating func check(_ directory: String, after marks: [PowerMark]) throws {
    let path = storePath(directory)
    let acknowledged = marks.acknowledged
    // Until the copy is complete there is no store.
    if isRecovered, acknowledged == nil { return }
    if acknowledged != nil, !isThere(path) { throw Mismatch("the store is gone") }
    // Following a log is a part of the check.
    let store = try WriterStates.open(
      path, durability: durability, isVerified: true, faults: faults.intersection(.oneMetaPage))
    defer { store.close() }
    let found = try states.number(in: store)
    // Nothing can be written before the store exists.
    let isRefused =
      marks.last { [PowerMark.refused, PowerMark.attempted].contains($0.kind) }?.kind
      == PowerMark.refused
    let newest = acknowledged.map { $0 + (isRefused ? 0 : 1) } ?? 0
    let oldest = max(
      (acknowledged ?? 0) - slack, marks.last { $0.kind == PowerMark.durable }?.number ?? 0)
    guard found >= oldest, found <= newest else {
      let text = acknowledged.map { "\($0)" } ?? "not even the store"
      throw Mismatch("\(found) transactions, \(text) acknowledged, \(oldest) for sure")
    }
    try store.expectClean()
    // Existing data must not be used as free space.
    try store.write { tx throws in
      var volume = Volume(id: 100, shelfID: 100, body: String(repeating: "later ", count: 1500))
      var shelf = Shelf(id: 100, room: "later")
      try tx.save(&shelf)
      try tx.save(&volume)
      try tx.delete(Shelf.self, 100)
      var entry = Entry(id: "later", owner: 1, text: "later")
      try tx.save(&entry)
    }
    checks += 1
    if checks % 4 == 0, try states.number(in: store) != found {
      throw Mismatch("a write after the failure changed what was there")
    }
    guard try store.find(Entry.self, "later")?.text == "later" else {
      throw Mismatch("a write after the failure is not there")
    }
  }
}
