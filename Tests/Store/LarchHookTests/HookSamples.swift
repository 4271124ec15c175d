import Foundation
import LarchTestSupport

@testable import Larch

/// Companies with people with notes, and their related records.
enum Office {
  struct Company: Scripted, Hashable {
    var id = RecordID<Company>()
    var name: String
    var peopleCount = 0

    static let schema = Schema<Company> {
      HasMany(\Person.company, onDelete: .destroy)
      HasMany(\Visit.company, onDelete: .nullify)
      HasMany(\Contract.company, onDelete: .deny)
      WillSave { try $0.willSave(in: $1) }
      WillInsert { try $0.willInsert(in: $1) }
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
      DidInsert { try $0.didInsert(in: $1) }
      DidUpdate { try $0.didUpdate(from: $1, in: $2) }
      DidSave { try $0.didSave(in: $1) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
      DidCommit { $0.didCommit($1) }
    }
  }

  struct Person: Scripted, Hashable {
    var id = RecordID<Person>()
    var name: String
    var company: RecordID<Company>?
    var email: String?

    static let clubs = ManyToMany<Person, Club>(named: "members")

    static let schema = Schema<Person> {
      Unique(\.email)
      BelongsTo(\.company, to: Company.self)
      HasMany(\Note.person, onDelete: .destroy)
      ManyToMany(Club.self, named: "members")
      WillSave { try $0.willSave(in: $1) }
      WillInsert { try $0.willInsert(in: $1) }
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
      DidInsert { try $0.didInsert(in: $1) }
      DidUpdate { try $0.didUpdate(from: $1, in: $2) }
      DidSave { try $0.didSave(in: $1) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
      DidCommit { $0.didCommit($1) }
    }
  }

  /// Is deleted with its person, without hooks.
  struct Note: Record, Hashable {
    var id = RecordID<Note>()
    var text: String
    var person: RecordID<Person>?

    static let schema = Schema<Note> { BelongsTo(\.person, to: Person.self) }
  }

  /// Stays when its company is deleted.
  struct Visit: Scripted, Hashable {
    var id = RecordID<Visit>()
    var name: String
    var company: RecordID<Company>?

    static let schema = Schema<Visit> {
      BelongsTo(\.company, to: Company.self)
      WillSave { try $0.willSave(in: $1) }
      WillInsert { try $0.willInsert(in: $1) }
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
      DidInsert { try $0.didInsert(in: $1) }
      DidUpdate { try $0.didUpdate(from: $1, in: $2) }
      DidSave { try $0.didSave(in: $1) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
      DidCommit { $0.didCommit($1) }
    }
  }

  /// Keeps its company.
  struct Contract: Record, Hashable {
    var id = RecordID<Contract>()
    var company: RecordID<Company>?

    static let schema = Schema<Contract> { BelongsTo(\.company, to: Company.self) }
  }

  struct Club: Record, Hashable {
    var id = RecordID<Club>()
    var name: String

    static let schema = Schema<Club> { ManyToMany(Person.self, named: "members") }
  }

  static func store(_ options: Store.Options = .init()) throws -> Store {
    try Store.temporary(
      for: Company.self, Person.self, Note.self, Visit.self, Contract.self, Club.self,
      options: options)
  }
}

extension Store {
  /// The number of the last commit.
  func lastTransaction() throws -> UInt64 { try environment.info().lastTransactionID }
}
