import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random batches on a store, and on dictionaries.
@Suite("Random batches against a model")
struct BatchModelTests {
  typealias Team = League.Team
  typealias Player = League.Player

  /// What a store should have.
  private struct Model: Equatable {
    var teams: [Team.ID: Team] = [:]
    var players: [Player.ID: Player] = [:]

    /// The error that a player would cause.
    func refusal(of player: Player) -> LarchError.Code? {
      if player.name.isEmpty { return .invalid }
      let holder = player.email.flatMap { email in players.values.first { $0.email == email } }
      return holder.map { $0.id != player.id } == true ? .uniqueConflict : nil
    }
  }

  private struct Expected {
    var model: Model
    var changes: [SavedChange] = []
    var failure: (code: LarchError.Code, position: Int)?
  }

  private func code(of error: (any Error)?) -> LarchError.Code? { (error as? LarchError)?.code }

  /// What a save of the batch should do. New records get ids that no store assigns so soon.
  private func expected(
    _ batch: [Player], byEmail: Bool, _ model: Model
  ) -> Expected {
    var result = Expected(model: model)
    var nextID: Int64 = 1_000_000
    for (place, player) in batch.enumerated() {
      var player = player
      if byEmail, let email = player.email,
        let found = result.model.players.values.first(where: { $0.email == email })
      {
        player.id = found.id
      } else if byEmail, result.model.players[player.id] != nil {
        result.failure = (.idExists, place)
        return result
      }
      if player.id == RecordID() {
        player.id = RecordID(nextID)
        nextID += 1
      }
      let stored = result.model.players[player.id]
      if stored != player, let refusal = result.model.refusal(of: player) {
        result.failure = (refusal, place)
        return result
      }
      result.changes.append(stored == nil ? .inserted : stored == player ? .unchanged : .updated)
      result.model.players[player.id] = player
    }
    return result
  }

  private func stored(_ reader: some RecordReading) throws -> Model {
    Model(
      teams: Dictionary(uniqueKeysWithValues: try reader.fetch(Team.all).map { ($0.id, $0) }),
      players: Dictionary(uniqueKeysWithValues: try reader.fetch(Player.all).map { ($0.id, $0) }))
  }

  private func randomPlayers(
    _ model: Model, _ random: inout SeededGenerator
  ) -> [Player] {
    let known = model.players.values.sorted { $0.id < $1.id }
    return (0..<Int.random(in: 0...12, using: &random)).map { _ in
      let email = Bool.random(using: &random) ? "m\(Int.random(in: 0..<25, using: &random))" : nil
      let name =
        Int.random(in: 0..<60, using: &random) == 0
        ? "" : "N\(Int.random(in: 0..<9, using: &random))"
      let team = model.teams.keys.sorted().randomElement(using: &random)
      var player = Player(
        name: name, email: email, score: Int.random(in: 0..<20, using: &random),
        teamID: Bool.random(using: &random) ? team : nil)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        guard let one = known.randomElement(using: &random) else { break }
        player.id = one.id
        // Often a stored one as it is, or with one field changed.
        if Bool.random(using: &random) {
          player = one
          if Bool.random(using: &random) { player.score += 1 }
        }
      // Not one that the store may assign to another record of the batch.
      case 4:
        guard let last = known.last?.id.rawValue else { break }
        player.id = RecordID(Int64.random(in: 1...last, using: &random))
      default: break
      }
      return player
    }
  }

  private func save(
    _ writer: some RecordWriting, _ model: inout Model, _ random: inout SeededGenerator
  ) throws {
    let batch = randomPlayers(model, &random)
    let byEmail = Bool.random(using: &random)
    let expected = expected(batch, byEmail: byEmail, model)
    do {
      let saved =
        byEmail
        ? try writer.save(contentsOf: batch, matching: \.email) : try writer.save(contentsOf: batch)
      #expect(expected.failure == nil, "should fail: \(String(describing: expected.failure))")
      #expect(saved.changes == expected.changes)
      // The same but for the ids of new records.
      for (place, record) in saved.records.enumerated() {
        if saved.changes[place] == .inserted { #expect(model.players[record.id] == nil) }
        model.players[record.id] = record
        var original = batch[place]
        original.id = record.id
        #expect(original == record)
      }
      #expect(model.players.count == expected.model.players.count)
    } catch let error as LarchError {
      #expect(error.code == expected.failure?.code, "\(error)")
      #expect(error.context.position == expected.failure?.position, "\(error)")
    }
  }

  private func step(
    _ writer: some RecordWriting, _ model: inout Model, _ random: inout SeededGenerator
  ) throws {
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<4: try save(writer, &model, &random)
    case 4:
      let ids = (0..<Int.random(in: 0...8, using: &random)).map { _ in
        model.players.keys.sorted().randomElement(using: &random)
          .flatMap { Bool.random(using: &random) ? $0 : nil }
          ?? RecordID<Player>(Int64.random(in: 1...400, using: &random))
      }
      let result = try writer.delete(Player.self, ids: ids)
      let known = Set(ids).filter { model.players[$0] != nil }
      #expect(result.deleted == known.count)
      #expect(Set(result.missing) == Set(ids).subtracting(known))
      #expect(result.missing.count == Set(result.missing).count)
      for id in known { model.players[id] = nil }
    case 5:
      let saved = try writer.save(
        contentsOf: (0..<3).map { _ in
          Team(name: "T\(UInt32.random(in: 0 ... .max, using: &random))")
        })
      for team in saved.records { model.teams[team.id] = team }
    case 6:
      // Sorted, so that a seed gives the same steps in every process.
      let ids = model.teams.keys.sorted().filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      let result = try writer.delete(Team.self, ids: ids + [RecordID(9999)])
      #expect(result.deleted == ids.count && result.missing == [9999])
      for id in ids { model.teams[id] = nil }
      model.players = model.players.filter { $0.value.teamID.map { !ids.contains($0) } ?? true }
    default:
      let limit = Int.random(in: 0..<20, using: &random)
      let result = try writer.update(Player.where { $0.score >= limit }, progress: nil) {
        $0.score = $0.score / 2 * 2
      }
      let matching = model.players.values.filter { $0.score >= limit }
      let odd = matching.filter { $0.score % 2 != 0 }
      #expect(result.updated == odd.count && result.unchanged == matching.count - odd.count)
      for player in odd { model.players[player.id]?.score -= 1 }
    }
  }

  @Test("Each batch does what single steps on a dictionary do, or nothing", arguments: 0..<6)
  func random(number: Int) throws {
    let seed = UInt64(number) &* 0x9E37 &+ 11
    var random = SeededGenerator(seed: seed)
    let store = try League.store()
    var model = Model()
    var most = 0
    for round in 0..<150 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        // Several batches in a transaction.
        try store.write { tx throws in
          for _ in 0..<3 {
            try step(tx, &model, &random)
            #expect(try stored(tx) == model, "seed \(seed), round \(round)")
          }
        }
      case 1:
        // Nothing of a transaction that is undone stays.
        let before = model
        try? store.write { tx throws in
          try step(tx, &model, &random)
          throw CancellationError()
        }
        model = before
      default: try step(store, &model, &random)
      }
      #expect(try stored(store) == model, "seed \(seed), round \(round)")
      most = max(most, model.players.count)
    }
    #expect(try store.verify().isClean)
    #expect(most > 5)
  }
}
