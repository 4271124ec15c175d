internal import Foundation
package import Larch

/// A plain copy of what the store should have, to which deeds are done one by one in their order.
package struct VillageModel {
  private var pots = [Int](
    repeating: Village.total / Village.potCount, count: Village.potCount)
  private var isOn = [true, true]
  private var members: [Int64: String] = [:]
  private var houses: Set<Int64> = []
  private var rooms: [Int64: Int64] = [:]
  private var guests: [Int64: Int64?] = [:]
  private var leases: [Int64: Int64] = [:]
  /// How many deeds of each kind there were.
  package private(set) var counts: [Deed.Kind: Int] = [:]

  /// Does all deeds of a snapshot, each on the state that it has read, and compares the result with what the
  /// snapshot has.
  ///
  /// - Returns: what is wrong, none if all is right; and the tokens of the processes.
  package static func differences(
    _ tx: ReadTransaction
  ) throws -> (wrong: [String], model: VillageModel, tokens: Set<String>) {
    var model = VillageModel()
    var wrong: [String] = []
    let deeds = try tx.fetch(Deed.all.sorted(by: \.id))
    for (place, deed) in deeds.enumerated() {
      if deed.id != place + 1 { wrong.append("deed \(deed.id) is number \(place + 1)") }
      do { try model.apply(deed) } catch let error as Mismatch { wrong.append("\(error)") }
      // What follows a wrong deed is wrong too.
      if wrong.count > 10 { break }
    }
    wrong += try model.differences(from: tx)
    do { try Village.check(tx) } catch let error as Mismatch { wrong.append("\(error)") }
    let tokens = deeds.map(\.token).filter { !$0.hasPrefix(Village.founder) }
    return (wrong, model, Set(tokens))
  }

  private mutating func apply(_ deed: Deed) throws {
    func require(_ isRight: Bool, _ what: String) throws {
      if !isRight { throw Mismatch("\(what): \(deed)") }
    }
    counts[deed.kind, default: 0] += 1
    let id = deed.ids[0]
    switch deed.kind {
    case .transfer:
      let (from, to) = (Int(id), Int(deed.ids[1]))
      try require([pots[from], pots[to]] == deed.read, "stale amounts")
      pots[from] -= deed.amount
      pots[to] += deed.amount
      try require(pots[from] >= 0, "overdrawn")
    case .shift:
      let number = Int(id)
      try require(
        [isOn[number], isOn[1 - number]].map { $0 ? 1 : 0 } == deed.read, "stale watches")
      isOn[number].toggle()
      try require(isOn[0] || isOn[1], "no watch is on")
    case .enrol:
      try require(!members.values.contains(deed.name), "a name twice")
      try require(members.updateValue(deed.name, forKey: id) == nil, "an id twice")
    case .build: try require(houses.insert(id).inserted, "an id twice")
    case .demolish:
      try require(!leases.values.contains(id), "a house with leases deleted")
      try require(houses.remove(id) != nil, "a house deleted twice")
      rooms = rooms.filter { $0.value != id }
      for (guest, house) in guests where house == id { guests[guest] = .some(nil) }
    case .addRoom:
      try require(houses.contains(deed.ids[1]), "a room without a house")
      try require(rooms.updateValue(deed.ids[1], forKey: id) == nil, "an id twice")
    case .addGuest:
      try require(houses.contains(deed.ids[1]), "a guest of a house that is gone")
      try require(guests.updateValue(deed.ids[1], forKey: id) == nil, "an id twice")
    case .addLease:
      try require(houses.contains(deed.ids[1]), "a lease of a house that is gone")
      try require(leases.updateValue(deed.ids[1], forKey: id) == nil, "an id twice")
    case .endLease: try require(leases.removeValue(forKey: id) != nil, "a lease ended twice")
    }
  }

  private func differences(from tx: ReadTransaction) throws -> [String] {
    var wrong: [String] = []
    func compare<T: Equatable>(_ found: T, _ expected: T, _ what: String) {
      if found != expected { wrong.append("\(what) are not those of the deeds") }
    }
    compare(try tx.fetch(Pot.all).map(\.amount), pots, "amounts")
    compare(try tx.fetch(Watch.all).map(\.isOn), isOn, "watches")
    compare(try table(tx.fetch(Member.all)) { $0.name }, members, "members")
    compare(Set(try tx.fetch(House.all).map(\.id.rawValue)), houses, "houses")
    compare(try table(tx.fetch(Room.all)) { $0.houseID.rawValue }, rooms, "rooms")
    compare(try table(tx.fetch(Guest.all)) { $0.houseID?.rawValue }, guests, "guests")
    compare(try table(tx.fetch(Lease.all)) { $0.houseID.rawValue }, leases, "leases")
    return wrong
  }

  private func table<R: Record, Value>(
    _ records: [R], _ value: (R) -> Value
  ) -> [Int64: Value] where R.ID == RecordID<R> {
    Dictionary(records.map { ($0.id.rawValue, value($0)) }) { first, _ in first }
  }
}

/// What the processes were told of each attempt, one line each, in a file that outlives them.
package struct VillageLedger {
  package enum Word: String, CaseIterable {
    /// The write was acknowledged.
    case did
    /// An error said that nothing has happened.
    case not
    /// Nobody knew at first; a line with another word follows.
    case unknown
    /// The server has lost what came before the write, and the write.
    case gone
  }

  package private(set) var tokens: [Word: Set<String>] = [:]

  package init(reading paths: [String]) throws {
    for path in paths {
      for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
        let parts = line.split(separator: " ")
        guard parts.count == 2, let word = Word(rawValue: String(parts[0])) else {
          throw Mismatch("a line of the ledger: \(line)")
        }
        tokens[word, default: []].insert(String(parts[1]))
      }
    }
  }

  package subscript(word: Word) -> Set<String> { tokens[word] ?? [] }

  /// Unknown outcomes that nobody has decided.
  package var undecided: Set<String> {
    self[.unknown].subtracting(self[.did]).subtracting(self[.not]).subtracting(self[.gone])
  }

  /// What contradicts the attempts that are in a store.
  package func contradictions(_ stored: Set<String>, mayLose: Bool = false) -> [String] {
    var wrong: [String] = []
    func expectNone(_ tokens: Set<String>, _ what: String) {
      if !tokens.isEmpty { wrong.append("\(what): \(tokens.count), as \(tokens.first ?? "")") }
    }
    if !mayLose { expectNone(self[.did].subtracting(stored), "acknowledged and lost") }
    expectNone(stored.subtracting(self[.did]), "there, and not acknowledged")
    expectNone(stored.intersection(self[.not]), "there, though it was refused")
    expectNone(stored.intersection(self[.gone]), "there, though it was lost")
    expectNone(undecided, "never decided")
    return wrong
  }
}
