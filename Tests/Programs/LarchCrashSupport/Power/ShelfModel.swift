package import Larch
internal import LarchTestSupport

/// A record with associations and lists.
package struct Shelf: Record {
  package var id: Int
  package var room: String

  package init(id: Int, room: String) {
    self.id = id
    self.room = room
  }

  package static let volumes = HasMany<Shelf, Volume>(\.shelfID, onDelete: .destroy)
  package static let shown = ManyToMany<Shelf, Volume>(named: "shown")
  package static let schema = Schema<Shelf> {
    Index(\.room)
    volumes
    shown
  }
}

/// A record that belongs to another one; some are too large for a page.
package struct Volume: Record {
  package var id: Int
  package var shelfID: Shelf.ID
  package var body: String

  package init(id: Int, shelfID: Shelf.ID, body: String) {
    self.id = id
    self.shelfID = shelfID
    self.body = body
  }

  static let shelf = BelongsTo<Volume, Shelf>(\.shelfID)
  package static let schema = Schema<Volume> { shelf }
}

/// The shelves and volumes after a number of transactions, computed from the seed.
package struct ShelfModel {
  private enum Step {
    case saveShelf(Shelf)
    case deleteShelf(Int)
    case saveVolume(Volume)
    case deleteVolume(Int)
    case show(volume: Int, on: Int)
    case hide(volume: Int, on: Int)
  }

  private let seed: UInt64
  private var transactions = 0
  private var shelves: [Int: Shelf] = [:]
  private var volumes: [Int: Volume] = [:]
  /// For each shelf the volumes in its list.
  private var shown: [Int: Set<Int>] = [:]

  package init(seed: UInt64) { self.seed = seed }

  /// Everything as text, in a fixed order.
  package var contents: [String] {
    shelves.values.sorted { $0.id < $1.id }.map {
      "shelf \($0.id) \($0.room) shows \((shown[$0.id] ?? []).sorted())"
    }
      + volumes.values.sorted { $0.id < $1.id }.map {
        "volume \($0.id) on \($0.shelfID) \($0.body)"
      }
  }

  /// The same of what is stored.
  package static func contents(in transaction: ReadTransaction) throws -> [String] {
    let shelves = try transaction.all(Shelf.self).map { shelf in
      let shown = try transaction.ids(shelf.related(Shelf.shown))
      return "shelf \(shelf.id) \(shelf.room) shows \(shown)"
    }
    let volumes = try transaction.all(Volume.self).map {
      "volume \($0.id) on \($0.shelfID) \($0.body)"
    }
    return shelves + volumes
  }

  /// Creates the next steps and applies them to the model; they are then applied to a transaction.
  package mutating func next() -> (WriteTransaction) throws -> Void {
    transactions += 1
    var random = SeededGenerator(seed: seed &+ UInt64(transactions) &* 0xA24B_AED4_963E_E407)
    var steps: [Step] = []
    for _ in 0..<(1 + random.below(3)) {
      if let step = step(&random) { steps.append(step) }
    }
    return { tx in for step in steps { try Self.apply(step, to: tx) } }
  }

  private mutating func step(_ random: inout SeededGenerator) -> Step? {
    let shelf = random.below(5)
    let volume = random.below(16)
    switch random.below(12) {
    case 0..<2:
      let record = Shelf(id: shelf, room: ["hall", "cellar", "attic"][random.below(3)])
      shelves[shelf] = record
      return .saveShelf(record)
    case 2 where shelves[shelf] != nil:
      shelves[shelf] = nil
      shown[shelf] = nil
      for volume in volumes.values where volume.shelfID == shelf { drop(volume.id) }
      return .deleteShelf(shelf)
    case 3..<7 where shelves[shelf] != nil:
      // A record of more than half a page has overflow pages.
      let length = random.below(3) == 0 ? 2500 + random.below(9000) : random.below(60)
      let record = Volume(
        id: volume, shelfID: shelf,
        body: "\(transactions)." + String(repeating: "abcdefgh", count: length / 8))
      volumes[volume] = record
      return .saveVolume(record)
    case 7 where volumes[volume] != nil:
      drop(volume)
      return .deleteVolume(volume)
    case 8..<11 where shelves[shelf] != nil && volumes[volume] != nil:
      shown[shelf, default: []].insert(volume)
      return .show(volume: volume, on: shelf)
    case 11 where shelves[shelf] != nil:
      shown[shelf]?.remove(volume)
      return .hide(volume: volume, on: shelf)
    default: return nil
    }
  }

  private mutating func drop(_ volume: Int) {
    volumes[volume] = nil
    for shelf in shown.keys { shown[shelf]?.remove(volume) }
  }

  private static func apply(_ step: Step, to tx: WriteTransaction) throws {
    switch step {
    case .saveShelf(var shelf): try tx.save(&shelf)
    case .deleteShelf(let id): try tx.delete(Shelf.self, id)
    case .saveVolume(var volume): try tx.save(&volume)
    case .deleteVolume(let id): try tx.delete(Volume.self, id)
    case .show(let volume, let shelf):
      guard let shelf = try tx.find(Shelf.self, shelf) else { throw Mismatch("no shelf \(shelf)") }
      try tx.add(volume, to: shelf.related(Shelf.shown))
    case .hide(let volume, let shelf):
      guard let shelf = try tx.find(Shelf.self, shelf) else { throw Mismatch("no shelf \(shelf)") }
      try tx.remove(volume, from: shelf.related(Shelf.shown))
    }
  }
}
