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
  private var states: WriterStates
  private var checks = 0

  init(
    seed: UInt64, durability: Store.Options.Durability, slack: Int = 0, count: Int = 48,
    compacting: Int = 0, isMixed: Bool = false
  ) {
    self.durability = durability
    self.slack = slack
    self.count = count
    self.compacting = compacting
    self.isMixed = isMixed
    states = WriterStates(seed: seed)
  }

  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws {
    var store = try WriterStates.open(storePath(directory), durability: durability)
    defer { store.close() }
    mark(PowerMark(kind: PowerMark.acknowledged, number: 0))
    for number in 1...count {
      if number == count / 2 {
        store.close()
        store = try WriterStates.open(storePath(directory), durability: durability)
      }
      let isDurable = isMixed && number % 5 == 0
      _ = try states.write(to: store, durability: isDurable ? .durable : .storeDefault)
      mark(PowerMark(kind: PowerMark.acknowledged, number: number))
      if isMixed, number % 7 == 0 { try store.sync() }
      // This one must exist, whatever may be missing.
      if isDurable || isMixed && number % 7 == 0 {
        mark(PowerMark(kind: PowerMark.durable, number: number))
      }
      if compacting > 0, number % compacting == 0 { try store.compact() }
    }
  }

  mutating func check(_ directory: String, after marks: [PowerMark]) throws {
    let path = storePath(directory)
    let acknowledged = marks.acknowledged
    if acknowledged != nil, !isThere(path) { throw Mismatch("the store is gone") }
    let store = try WriterStates.open(path, durability: durability, isVerified: true)
    defer { store.close() }
    let found = try states.number(in: store)
    // Nothing can be written before the store exists.
    let newest = acknowledged.map { $0 + 1 } ?? 0
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
