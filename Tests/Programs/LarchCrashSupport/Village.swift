package import Larch

// What several processes do at once to one shared store. Every kind of work needs that its closure ran on
// exactly the state before its commit: two that run on the same state, and are both kept, leave a trace.

/// Money, of which none is made or lost.
package struct Pot: Record, Equatable {
  package var id: Int
  package var amount: Int
}

/// Of two watches one must stay on: each goes off while it sees the other (write skew).
package struct Watch: Record, Equatable {
  package var id: Int
  package var isOn: Bool
}

/// All processes want the same next name.
package struct Member: Record, Equatable {
  package var id = RecordID<Member>()
  package var name: String

  package static let schema = Schema<Member> { Unique(\.name) }
}

/// A parent that one process deletes while another gives it children, with one rule for each kind of child.
package struct House: Record, Equatable {
  package var id = RecordID<House>()
  package var name: String

  package static let rooms = HasMany<House, Room>(\.houseID, onDelete: .destroy)
  package static let guests = HasMany<House, Guest>(\.houseID, onDelete: .nullify)
  package static let leases = HasMany<House, Lease>(\.houseID, onDelete: .deny)
  package static let schema = Schema<House> {
    rooms
    guests
    leases
  }
}

/// A child that goes with its parent.
package struct Room: Record, Equatable {
  package var id = RecordID<Room>()
  package var houseID: House.ID

  package static let schema = Schema<Room> { BelongsTo<Room, House>(\.houseID) }
}

/// A child that stays without its parent.
package struct Guest: Record, Equatable {
  package var id = RecordID<Guest>()
  package var houseID: House.ID?

  package static let schema = Schema<Guest> { BelongsTo<Guest, House>(\.houseID) }
}

/// A child that keeps its parent.
package struct Lease: Record, Equatable {
  package var id = RecordID<Lease>()
  package var houseID: House.ID

  package static let schema = Schema<Lease> { BelongsTo<Lease, House>(\.houseID) }
}

/// What a committed write has read and done, saved by the write itself.
package struct Deed: Record, Equatable {
  package enum Kind: String, Codable, Sendable, CaseIterable {
    case transfer, shift, enrol, build, demolish, addRoom, addGuest, addLease, endLease
  }

  /// Its place among all deeds, one more than the newest that the write has read.
  package var id: Int
  /// Names the attempt: no two deeds may have the same.
  package var token: String
  package var kind: Kind
  package var ids: [Int64] = []
  /// The numbers that the write has read.
  package var read: [Int] = []
  package var amount = 0
  package var name = ""

  package static let schema = Schema<Deed> { Unique(\.token) }
}

/// The store as a whole.
package enum Village {
  package static let potCount = 8
  package static let total = potCount * 1000
  package static let types: [any Record.Type] = [
    Pot.self, Watch.self, Member.self, House.self, Room.self, Guest.self, Lease.self, Deed.self,
  ]

  /// Opens a copy.
  package static func open(
    _ log: ServerLog, copy: String, options: Store.Options = Store.Options()
  ) throws -> Store {
    try Store(sharing: log, copy: copy, types: types, options: options, isTemporary: false)
  }

  /// Saves what the work begins with.
  package static func found(in store: Store) throws {
    try store.write { tx throws in
      for id in 0..<potCount {
        var pot = Pot(id: id, amount: total / potCount)
        try tx.insert(&pot)
      }
      for id in 0..<2 {
        var watch = Watch(id: id, isOn: true)
        try tx.insert(&watch)
      }
    }
    // One record of each type, so that what a first record adds to the catalog is there.
    var number = 0
    func act(_ intention: Intention) throws {
      number += 1
      let token = "\(founder)-\(number)"
      guard try store.write({ try intention.act(in: $0, token: token) }) else {
        throw Mismatch("\(intention) did nothing")
      }
    }
    for name in ["first", "second", "third"] { try act(.build(name: name)) }
    try act(.enrol(name: founder))
    guard let house = try store.read({ try $0.first(House.all) }) else {
      throw Mismatch("no house")
    }
    for child in [Intention.addRoom(house.id), .addGuest(house.id), .addLease(house.id)] {
      try act(child)
    }
  }

  /// How the tokens of the first deeds begin; no process acknowledged these.
  package static let founder = "founder"

  /// Throws unless a snapshot keeps the promises that any commit keeps.
  package static func check(_ tx: ReadTransaction) throws {
    let sum = try tx.fetch(Pot.all).reduce(0) { $0 + $1.amount }
    guard sum == total else { throw Mismatch("the sum of the money is \(sum), not \(total)") }
    guard try tx.fetch(Watch.all).contains(where: \.isOn) else { throw Mismatch("no watch is on") }
    for lease in try tx.fetch(Lease.all.limit(20)) {
      guard try tx.find(House.self, lease.houseID) != nil else {
        throw Mismatch("lease \(lease.id) has no house")
      }
    }
  }
}

/// What a process is about to do. It is chosen before the write, by a look at a state that may be old by then,
/// as a user of a program does.
package enum Intention: Sendable {
  case transfer(from: Int, to: Int, percent: Int)
  case shift(watch: Int)
  case enrol(name: String)
  case build(name: String)
  case demolish(House.ID)
  case addRoom(House.ID)
  case addGuest(House.ID)
  case addLease(House.ID)
  case endLease(Lease.ID)

  package static func choose(
    in store: Store, using random: inout some RandomNumberGenerator
  ) throws -> Self {
    let dice = Int.random(in: 0..<20, using: &random)
    switch dice {
    case 0..<6:
      return .transfer(
        from: .random(in: 0..<Village.potCount, using: &random),
        to: .random(in: 0..<Village.potCount, using: &random),
        percent: .random(in: 1...100, using: &random))
    case 6..<9: return .shift(watch: .random(in: 0..<2, using: &random))
    case 9..<11:
      return .enrol(name: "member \(try store.read { try $0.count(Member.all) })")
    default: break
    }
    let (houses, leases) = try store.read { tx throws in
      (try tx.fetch(House.all), try tx.fetch(Lease.all.limit(50)))
    }
    guard let house = houses.randomElement(using: &random), houses.count > 2 else {
      return .build(name: "house")
    }
    switch dice {
    case 11: return houses.count < 12 ? .build(name: "house") : .demolish(house.id)
    case 12..<15: return .demolish(house.id)
    case 15: return .addRoom(house.id)
    case 16: return .addGuest(house.id)
    case 17: return .addLease(house.id)
    case 18: return .build(name: "house")
    default:
      guard let lease = leases.randomElement(using: &random) else { return .addLease(house.id) }
      return .endLease(lease.id)
    }
  }

  /// Does it, and saves the deed.
  ///
  /// - Returns: whether there was something to do.
  /// - Throws: `.uniqueConflict`, `.danglingReference`, `.deleteDenied` where others were faster.
  package func act(in tx: WriteTransaction, token: String) throws -> Bool {
    let newest = try tx.first(Deed.all.sorted(by: \.id, .descending))?.id ?? 0
    var deed = Deed(id: newest + 1, token: token, kind: .transfer)
    switch self {
    case .transfer(let source, let target, let percent):
      guard source != target, var from = try tx.find(Pot.self, source),
        var to = try tx.find(Pot.self, target), from.amount > 0
      else { return false }
      deed.ids = [Int64(source), Int64(target)]
      deed.read = [from.amount, to.amount]
      deed.amount = max(1, from.amount * percent / 100)
      from.amount -= deed.amount
      to.amount += deed.amount
      try tx.update(from)
      try tx.update(to)
    case .shift(let number):
      deed.kind = .shift
      guard var watch = try tx.find(Watch.self, number),
        let other = try tx.find(Watch.self, 1 - number)
      else { throw Mismatch("a watch is missing") }
      if watch.isOn, !other.isOn { return false }
      deed.ids = [Int64(number)]
      deed.read = [watch.isOn ? 1 : 0, other.isOn ? 1 : 0]
      watch.isOn.toggle()
      try tx.update(watch)
    case .enrol(let name):
      (deed.kind, deed.name) = (.enrol, name)
      var member = Member(name: name)
      try tx.save(&member)
      deed.ids = [member.id.rawValue]
    case .build(let name):
      (deed.kind, deed.name) = (.build, name)
      var house = House(name: name)
      try tx.save(&house)
      deed.ids = [house.id.rawValue]
    case .demolish(let id):
      deed.kind = .demolish
      guard let house = try tx.find(House.self, id) else { return false }
      try tx.delete(house)
      deed.ids = [id.rawValue]
    case .addRoom(let id):
      deed.kind = .addRoom
      var room = Room(houseID: id)
      try tx.save(&room)
      deed.ids = [room.id.rawValue, id.rawValue]
    case .addGuest(let id):
      deed.kind = .addGuest
      var guest = Guest(houseID: id)
      try tx.save(&guest)
      deed.ids = [guest.id.rawValue, id.rawValue]
    case .addLease(let id):
      deed.kind = .addLease
      var lease = Lease(houseID: id)
      try tx.save(&lease)
      deed.ids = [lease.id.rawValue, id.rawValue]
    case .endLease(let id):
      deed.kind = .endLease
      guard let lease = try tx.find(Lease.self, id) else { return false }
      try tx.delete(lease)
      deed.ids = [id.rawValue]
    }
    try tx.insert(&deed)
    return true
  }
}
