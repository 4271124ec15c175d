@testable import Larch

/// An owner of pets. Deleting it deletes its pets and keeps its notes.
struct Owner: Record, Equatable {
  var id = RecordID<Owner>()
  var name: String
  var city: String
  var age: Int

  static let pets = HasMany<Owner, Pet>(\.ownerID, onDelete: .destroy)
  static let notes = HasMany<Owner, Note>(\.ownerID, onDelete: .nullify)
  static let schema = Schema<Owner> {
    pets
    notes
    Index(\.city, \.age)
  }
}

struct Pet: Record, Equatable {
  var id = RecordID<Pet>()
  var name: String
  var weight: Int
  var ownerID: Owner.ID?

  static let owner = BelongsTo<Pet, Owner>(\.ownerID)
  static let tags = ManyToMany<Pet, Tag>(named: "pet_tags")
  static let schema = Schema<Pet> {
    owner
    tags
    Unique(\.name)
  }
}

struct Note: Record, Equatable {
  var id = RecordID<Note>()
  var text: String
  var ownerID: Owner.ID?

  static let owner = BelongsTo<Note, Owner>(\.ownerID)
  static let schema = Schema<Note> { owner }
}

/// A record whose id the program chooses, and that nothing indexes.
struct Tag: Record, Equatable {
  var id: String
  var color: Int

  static let pets = ManyToMany<Tag, Pet>(named: "pet_tags")
  static let schema = Schema<Tag> { pets }
}

/// A record with hooks, which write to another collection, and then throw for some values.
struct Guarded: Record, Equatable {
  var id = RecordID<Guarded>()
  var number: Int

  struct Refused: Error {}

  static let schema = Schema<Guarded> {
    Index(\.number)
    DidSave { record, tx in
      try tx.put(Tag(id: "guarded", color: record.number))
      if record.number % 3 == 0 { throw Refused() }
    }
  }
}

extension WriteTransaction {
  /// Saves a copy, for records whose new id is of no interest.
  func put<R: Record>(_ record: R) throws {
    var copy = record
    try save(&copy)
  }
}

extension Store {
  /// Saves a copy, and waits on this thread.
  func put<R: Record>(_ record: R) throws { try write { try $0.put(record) } }

  /// Whether somebody listens to the changes of writes.
  func writesAreLogged() throws -> Bool { try write { try $0.live().watcher != nil } }
}
