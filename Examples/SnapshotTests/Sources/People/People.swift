import Foundation
import Larch

/// What is tested: records with ids that are others in each run.
struct Person: Record {
  var id = UUID()
  var name: String
  var born: Date
  var teamID: Team.ID?

  static let team = BelongsTo<Person, Team>(\.teamID)
  static let schema = Schema<Person> {
    team
    Index(\.born)
  }

  init(name: String, born: Date, teamID: Team.ID? = nil) {
    self.name = name
    self.born = born
    self.teamID = teamID
  }
}

struct Team: Record {
  var id = RecordID<Team>()
  var name: String

  static let people = HasMany<Team, Person>(\.teamID, onDelete: .nullify)
  static let schema = Schema<Team> { people }

  init(name: String) { self.name = name }
}

extension Store {
  /// Makes a team of people, all or nothing.
  func found(_ name: String, with people: [Person]) throws {
    try write { tx in
      var team = Team(name: name)
      try tx.save(&team)
      for var person in people {
        person.teamID = team.id
        try tx.save(&person)
      }
    }
  }
}
