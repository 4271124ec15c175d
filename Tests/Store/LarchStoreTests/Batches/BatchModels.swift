import Foundation
import Larch
import LarchTestSupport
import Synchronization

/// Teams with players, who go with their team; and members, whose hooks act on a log.
enum League {
  struct Team: Record, Hashable {
    var id = RecordID<Team>()
    var name: String

    static let players = HasMany<Team, Player>(\.teamID, onDelete: .destroy)
    static let schema = Schema<Team> {
      Unique(\.name)
      players
    }
  }

  struct Player: Record, Hashable {
    var id = RecordID<Player>()
    var name: String
    var email: String?
    var score = 0
    var teamID: Team.ID?

    static let team = BelongsTo<Player, Team>(\.teamID)
    static let schema = Schema<Player> {
      team
      Unique(\.email)
      Index(\.score)
      Validate(\.name, .presence)
    }
  }

  /// A city under an id of its own, without rules.
  struct City: Record, Hashable {
    var id: String
    var people: Int

    static let schema = Schema<City> { Index(\.people) }
  }

  /// Each save counts, in a record of another type.
  struct Member: Record, Hashable {
    var id = RecordID<Member>()
    var name: String

    struct Refused: Error {}

    static let schema = Schema<Member> {
      WillSave { member, tx in
        // Also for a record that is stored as it is.
        var count = try tx.find(Count.self, 1) ?? Count(id: 1)
        count.looks += 1
        try tx.save(&count)
        if member.name == "refused" { throw Refused() }
        member.name = member.name.trimmingCharacters(in: .whitespaces)
      }
      DidSave { _, tx in
        var count = try tx.find(Count.self, 1) ?? Count(id: 1)
        count.saves += 1
        try tx.save(&count)
      }
    }
  }

  struct Count: Record, Hashable {
    var id: Int
    var looks = 0
    var saves = 0
  }

  /// Its saves compare versions.
  struct Page: Record, Hashable {
    var id = RecordID<Page>()
    var slug: String
    var text: String
    var version = 0

    static let schema = Schema<Page> {
      Unique(\.slug)
      Versioned(\.version)
    }
  }

  static func store() throws -> Store {
    try Store.temporary(
      for: Team.self, Player.self, City.self, Member.self, Count.self, Page.self, options: .quick)
  }
}

/// The steps that a batch told.
final class BatchSteps: Sendable {
  private let list = Mutex<[BatchProgress]>([])
  var all: [BatchProgress] { list.withLock { $0 } }
  func add(_ step: BatchProgress) { list.withLock { $0.append(step) } }
}
