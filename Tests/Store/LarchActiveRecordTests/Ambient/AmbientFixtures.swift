import Foundation
import Larch
import Testing

/// The records of the tests of calls that name no store.
enum Ambient {
  struct Company: Record, Equatable {
    var id = RecordID<Company>()
    var name: String

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> {
      Unique(\.name)
      Company.people
    }
    var people: Related<Company, Person> { related(\Person.companyID) }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var age = 0
    var companyID: Company.ID?

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let schema = Schema<Person> {
      Unique(\.email)
      Index(\.age)
      company
    }
  }

  /// Its hook changes it at each save.
  struct Note: Record, Timestamped, Equatable {
    var id = RecordID<Note>()
    var text: String
    var saves = 0
    var createdAt: Date?
    var updatedAt: Date?

    static let schema = Schema<Note> {
      WillSave { try $0.willSave(in: $1) }
    }

    mutating func willSave(in tx: WriteTransaction) throws { saves += 1 }
  }

  static func store(_ options: Store.Options = .init()) throws -> Store {
    try .temporary(for: Person.self, Company.self, Note.self, options: options)
  }

  /// Runs the closure with a new store for the calls that name none.
  static func withStore(
    _ options: Store.Options = .init(), _ body: (Store) throws -> Void
  ) throws {
    let store = try store(options)
    defer { store.close() }
    try Store.with(store) { try body(store) }
  }

  struct Failure: Error {}

  /// The code of the error that the closure throws; nil if it throws none.
  static func code(_ body: () throws -> Void) throws -> LarchError.Code? {
    do { try body() } catch let error as LarchError { return error.code }
    return nil
  }

  /// The code of the error that the closure throws; nil if it throws none.
  static func code(_ body: () async throws -> Void) async throws -> LarchError.Code? {
    do { try await body() } catch let error as LarchError { return error.code }
    return nil
  }
}
