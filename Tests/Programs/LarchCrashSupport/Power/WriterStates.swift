internal import Larch

/// The states of a store whose single writer changes everything that a store can contain.
struct WriterStates {
  private let seed: UInt64
  private var writer: WriterModel
  private var shelves: ShelfModel
  private var ids: [Int: RecordID<Item>] = [:]
  /// The contents after each number of transactions, as far as they were computed.
  private var contents: [[String]]

  init(seed: UInt64) {
    self.seed = seed
    writer = WriterModel(seed: seed, writer: 0)
    shelves = ShelfModel(seed: seed)
    contents = [writer.contents + shelves.contents]
  }

  static func open(
    _ path: String, durability: Store.Options.Durability = .durable, isVerified: Bool = false,
    faults: CommitLogFaults = []
  ) throws -> Store {
    var options = Store.Options()
    options.durability = durability
    options.logLimits = .forPowerFailures
    options.logLimits.faults = faults
    options.isVerified = isVerified
    return try Store(
      at: path, for: Item.self, Entry.self, Progress.self, Shelf.self, Volume.self,
      options: options)
  }

  /// Makes the next transaction, and returns its number.
  mutating func write(
    to store: Store, durability: Store.WriteDurability = .storeDefault
  ) throws -> Int {
    try writer.write(to: store, ids: &ids, durability: durability, and: shelves.next())
    return writer.progress.transactions
  }

  /// The number of the transaction whose state the store has; throws if there is none.
  mutating func number(in store: Store) throws -> Int {
    let seed = seed
    let (number, found) = try store.read { tx throws in
      let model = try WriterModel.read(0, seed: seed, in: tx)
      return (model.progress.transactions, try model.contents + ShelfModel.contents(in: tx))
    }
    while contents.count <= number {
      _ = writer.next()
      _ = shelves.next()
      contents.append(writer.contents + shelves.contents)
    }
    guard found == contents[number] else {
      throw Mismatch("the records are not those of transaction \(number)")
    }
    return number
  }

  /// The number of the state of the store at the path; nil if there is no store. Throws if the
  /// store is not valid.
  mutating func number(at path: String) throws -> Int? {
    guard isThere(path) else { return nil }
    let store = try Self.open(path, isVerified: true)
    defer { store.close() }
    try store.expectClean()
    return try number(in: store)
  }
}
