import LarchTestSupport
import Testing

@testable import Larch

/// A record with such a reference could be saved, and then each query across the association threw
/// `idTooLong`: the text was written as an id, which it cannot be.
@Suite("References with a text that is too long for an id")
struct LongReferenceTests {
  struct Owner: Record {
    var id: String
    var name = ""

    static let schema = Schema<Owner> {
      HasMany<Owner, Pet>(\.ownerID, onDelete: .none)
      HasMany<Owner, Pet>(\.friendIDs, onDelete: .none)
    }
  }

  struct Pet: Record, Equatable {
    var id = RecordID<Pet>()
    var ownerID: String
    var friendIDs: [String] = []

    static let owner = BelongsTo<Pet, Owner>(\.ownerID)
    static let friends = HasMany<Pet, Owner>(in: \.friendIDs)
    static let schema = Schema<Pet> {}
  }

  private static let long = String(repeating: "x", count: 600)

  @Test("They lead nowhere, like those to a record that does not exist")
  func stored() throws {
    let store = try Store.checked(for: Owner.self, Pet.self)
    let ids = [Self.long, "ada", Self.long + "y"]
    var known = Pet(ownerID: "ada", friendIDs: ids)
    var lost = Pet(ownerID: Self.long, friendIDs: [Self.long])
    try store.write { tx in
      var owner = Owner(id: "ada", name: "Ada")
      try tx.save(&owner)
      try tx.save(&known)
      try tx.save(&lost)
    }
    #expect(try store.fetch(Pet.where { $0.owner == nil }) == [lost])
    #expect(try store.fetch(Pet.where { $0.owner.name == "Ada" }) == [known])
    #expect(try store.fetch(Pet.all.sorted(by: \.owner.name)) == [lost, known])
    #expect(try store.fetch(Pet.where { !$0.friends.isEmpty }) == [known])
    #expect(try store.fetch(Pet.where { $0.friends.count == 1 }) == [known])
    #expect(try store.fetch(Pet.where { $0.friends.contains { $0.name == "Ada" } }) == [known])
    #expect(try store.fetch(Pet.all.with(Pet.owner)).map(\.1?.name) == ["Ada", nil])
  }

  // MARK: Ids of a type of the program

  /// Only a decoded record tells what such an id is.
  struct Code: RawRepresentable, RecordIdentifier { var rawValue: String }

  /// The declarations before the association.
  private enum Before {
    struct Album: Record {
      var id = RecordID<Album>()
      var codes: [Code]
      static let collectionName = "Album"
    }
  }

  struct Track: Record {
    var id: Code
    var name = ""
  }

  struct Album: Record {
    var id = RecordID<Album>()
    var codes: [Code]

    static let collectionName = "Album"
    static let tracks = HasMany<Album, Track>(in: \.codes)
    static let schema = Schema<Album> { tracks }
  }

  @Test("They lead nowhere in decoded records either, and those after them are followed")
  func decoded() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let old = try Store(at: path, for: Before.Album.self)
    let codes = [Code(rawValue: Self.long), Code(rawValue: "a"), Code(rawValue: Self.long + "y")]
    try old.saveAll([Before.Album(codes: codes), Before.Album(codes: [codes[0]])])
    old.close()
    var options = Store.Options()
    options.checksQueries = true
    let store = try Store(at: path, for: Track.self, Album.self, options: options)
    try store.write { tx in
      var track = Track(id: codes[1], name: "first")
      try tx.save(&track)
    }
    #expect(try store.ids(Album.where { !$0.tracks.isEmpty }) == [1])
    #expect(try store.ids(Album.where { $0.tracks.isEmpty }) == [2])
    #expect(try store.ids(Album.where { $0.tracks.contains { $0.name == "first" } }) == [1])
    #expect(try store.ids(Album.where { $0.tracks.count == 1 }) == [1])
    store.close()
  }
}
