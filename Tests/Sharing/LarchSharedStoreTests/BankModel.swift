import Foundation
import LarchTestSupport

@testable import Larch

/// What a committed write has done, and what it has read before: saved by the write itself.
struct Deed: Record, Equatable {
  enum Kind: String, Codable {
    case open, close, transfer, shift, found, dissolve, join, part
  }

  var id = RecordID<Deed>()
  /// Names the step: no two deeds may have the same.
  var token: String
  /// The position of the log on which the write ran.
  var base: UInt64
  var kind: Kind
  var ids: [Int64]
  /// The numbers that the write has read.
  var read: [Int]
  var amount = 0
  var name = ""

  static let schema = Schema<Deed> { Unique(\.token) }
}

/// A plain copy of what a store should have, to which deeds are done one by one in the order of the log.
struct BankModel {
  struct Wrong: Error { let text: String }

  private(set) var accounts: [Int64: (owner: String, balance: Int, isOn: Bool)] = [:]
  private(set) var teams: [Int64: String] = [:]
  private(set) var players: [Int64: Int64] = [:]

  mutating func apply(_ deed: Deed) throws {
    func require(_ isRight: Bool, _ what: String) throws {
      if !isRight { throw Wrong(text: "\(what): \(deed)") }
    }
    switch deed.kind {
    case .open:
      try require(!accounts.values.contains { $0.owner == deed.name }, "an owner twice")
      try require(accounts[deed.ids[0]] == nil, "an id twice")
      accounts[deed.ids[0]] = (deed.name, deed.amount, false)
    case .close:
      try require(accounts[deed.ids[0]]?.balance == 0, "closed with money")
      accounts[deed.ids[0]] = nil
    case .transfer:
      let (from, to) = (deed.ids[0], deed.ids[1])
      try require(
        accounts[from]?.balance == deed.read[0] && accounts[to]?.balance == deed.read[1],
        "stale balances")
      accounts[from]?.balance -= deed.amount
      accounts[to]?.balance += deed.amount
      try require((accounts[from]?.balance ?? -1) >= 0, "overdrawn")
    case .shift:
      // Write skew: two leave, each while it sees the other.
      let on = accounts.values.count { $0.isOn }
      try require(on == deed.read[0], "stale count of those on duty")
      accounts[deed.ids[0]]?.isOn = deed.amount == 1
      try require(on == 0 || accounts.values.contains { $0.isOn }, "nobody on duty")
    case .found:
      try require(teams[deed.ids[0]] == nil, "an id twice")
      teams[deed.ids[0]] = deed.name
    case .dissolve:
      try require(!players.values.contains(deed.ids[0]), "a team with players deleted")
      teams[deed.ids[0]] = nil
    case .join:
      try require(teams[deed.ids[1]] != nil, "a player of a deleted team")
      try require(players[deed.ids[0]] == nil, "an id twice")
      players[deed.ids[0]] = deed.ids[1]
    case .part:
      try require(players[deed.ids[0]] != nil, "deleted twice")
      players[deed.ids[0]] = nil
    }
  }
}

/// One server's random work.
struct BankWork {
  let name: String
  var random: SeededGenerator
  var number = 0

  init(_ name: String, seed: UInt64) {
    self.name = name
    random = SeededGenerator(seed: seed)
  }

  static let types: [any Record.Type] = [Account.self, Team.self, Player.self, Deed.self]

  /// Does a random step in a write, and returns its token; nil if the step does nothing.
  mutating func step(in tx: WriteTransaction, token: String) throws -> String? {
    let header = try tx.context.environment.outboxHeader(in: try tx.live())
    var deed = Deed(
      token: token, base: header?.place.position ?? 0, kind: .open, ids: [], read: [])
    guard try act(&deed, tx) else { return nil }
    try tx.save(&deed)
    return token
  }

  private mutating func act(_ deed: inout Deed, _ tx: WriteTransaction) throws -> Bool {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<9: return try transfer(&deed, tx)
    case 9, 10:
      deed.kind = .open
      deed.name = "owner \(Int.random(in: 0..<24, using: &random))"
      var account = Account(owner: deed.name, balance: 0)
      do { try tx.save(&account) } catch let error as LarchError
        where error.code == .uniqueConflict
      { return false }
      deed.ids = [account.id.rawValue]
    case 11:
      deed.kind = .close
      let poor = try tx.fetch(Account.where { $0.balance == 0 })
      guard let account = poor.randomElement(using: &random), account.note == nil else {
        return false
      }
      try tx.delete(account)
      deed.ids = [account.id.rawValue]
    case 12, 13:
      deed.kind = .shift
      let accounts = try tx.fetch(Account.all)
      let on = accounts.count { $0.note != nil }
      guard var account = accounts.randomElement(using: &random) else { return false }
      if account.note != nil, on == 1 { return false }
      account.note = account.note == nil ? "on" : nil
      try tx.update(account)
      (deed.ids, deed.read) = ([account.id.rawValue], [on])
      deed.amount = account.note == nil ? 0 : 1
    case 14:
      deed.kind = .found
      deed.name = "team \(token(&random))"
      var team = Team(name: deed.name)
      try tx.save(&team)
      deed.ids = [team.id.rawValue]
    case 15:
      deed.kind = .dissolve
      guard let team = try tx.fetch(Team.all).randomElement(using: &random) else { return false }
      do { try tx.delete(team) } catch let error as LarchError where error.code == .deleteDenied {
        return false
      }
      deed.ids = [team.id.rawValue]
    case 16, 17:
      deed.kind = .join
      guard let team = try tx.fetch(Team.all).randomElement(using: &random) else { return false }
      var player = Player(name: "player", teamID: team.id)
      try tx.save(&player)
      deed.ids = [player.id.rawValue, team.id.rawValue]
    default:
      deed.kind = .part
      guard let player = try tx.fetch(Player.all).randomElement(using: &random) else {
        return false
      }
      try tx.delete(player)
      deed.ids = [player.id.rawValue]
    }
    return true
  }

  private mutating func transfer(_ deed: inout Deed, _ tx: WriteTransaction) throws -> Bool {
    deed.kind = .transfer
    let accounts = try tx.fetch(Account.all)
    guard var from = accounts.randomElement(using: &random),
      var to = accounts.randomElement(using: &random), from.id != to.id, from.balance > 0
    else { return false }
    deed.ids = [from.id.rawValue, to.id.rawValue]
    deed.read = [from.balance, to.balance]
    deed.amount = Int.random(in: 1...from.balance, using: &random)
    from.balance -= deed.amount
    to.balance += deed.amount
    try tx.update(from)
    try tx.update(to)
    return true
  }

  private func token(_ random: inout SeededGenerator) -> UInt64 {
    .random(in: 0..<99, using: &random)
  }
}
