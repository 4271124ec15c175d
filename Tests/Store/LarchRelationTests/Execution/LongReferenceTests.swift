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

  // MARK: Everything but queries

  struct Home: Record {
    var id: String

    static let guests = HasMany<Home, Guest>(\.homeID, onDelete: .none)
    static let schema = Schema<Home> {
      guests
      HasMany<Home, Guest>(\.formerIDs, onDelete: .none)
    }
  }

  struct Guest: Record, Equatable {
    var id = RecordID<Guest>()
    var homeID: String
    var formerIDs: [String] = []

    static let home = BelongsTo<Guest, Home>(\.homeID, onDelete: .destroyLast)
    static let former = HasMany<Guest, Home>(in: \.formerIDs)
    static let schema = Schema<Guest> { home }
  }

  /// Its key in an index has only the beginning, like that of the long text.
  private static let cut = String(repeating: "x", count: 200)

  private static func homes() throws -> Store {
    let store = try Store.checked(for: Home.self, Guest.self)
    try store.saveAll([Home(id: cut), Home(id: "ada")])
    return store
  }

  @Test("A record with one is deleted by its rules, and the store that has it is sound")
  func deleted() throws {
    let store = try Self.homes()
    var guest = Guest(homeID: Self.long, formerIDs: [Self.long])
    try store.save(&guest)
    let report = try store.verify()
    #expect(report.isClean && report.looseReferenceCount == 2)
    try store.delete(guest)
    #expect(try store.count(Guest.all) == 0)
    #expect(try store.count(Home.all) == 2)
  }

  @Test("The records of another that begins the same are found without it")
  func sameBeginning() throws {
    let store = try Self.homes()
    var known = Guest(homeID: Self.cut)
    var lost = Guest(homeID: Self.long)
    try store.save(&known)
    try store.save(&lost)
    let home = try #require(try store.find(Home.self, Self.cut))
    #expect(try store.fetch(home.related(Home.guests)) == [known])
    #expect(try store.count(home.related(Home.guests)) == 1)
    #expect(try store.fetch(lost.related(Guest.home)).isEmpty)
    #expect(try store.ids(Home.where { !$0.guests.isEmpty }) == [Self.cut])
    try store.delete(known)
    #expect(try store.ids(Home.all) == ["ada"])
  }

  @Test("It stays while others are added and removed, and goes with a replacement")
  func changed() throws {
    let store = try Self.homes()
    var guest = Guest(homeID: Self.long, formerIDs: [Self.long, "ada"])
    try store.save(&guest)
    try store.write { tx in
      try tx.add(Self.cut, to: guest.related(Guest.former))
      try tx.remove("ada", from: guest.related(Guest.former))
      #expect(try tx.find(Guest.self, guest.id)?.formerIDs == [Self.long, Self.cut])
      // A copy from before would undo both.
      #expect(caught { try tx.update(guest) }?.code == .conflict)
      try tx.replace(guest.related(Guest.former), with: [])
      try tx.add("ada", to: guest.related(Guest.home))
    }
    let now = try #require(try store.find(Guest.self, guest.id))
    #expect(now.homeID == "ada" && now.formerIDs.isEmpty)
    let report = try store.verify()
    #expect(report.isClean && report.looseReferenceCount == 0)
  }

  struct Song: Record {
    var id: Code

    static let schema = Schema<Song> { HasMany<Song, Shelf>(\.codes, onDelete: .none) }
  }

  struct Shelf: Record {
    var id = RecordID<Shelf>()
    var codes: [Code]

    static let songs = HasMany<Shelf, Song>(in: \.codes)
    static let schema = Schema<Shelf> { songs }
  }

  @Test("One of a type of the program is stored too where it is not enforced")
  func ownType() throws {
    let store = try Store.checked(for: Song.self, Shelf.self)
    var shelf = Shelf(codes: [Code(rawValue: Self.long)])
    try store.save(&shelf)
    #expect(try store.ids(Shelf.where { $0.songs.isEmpty }) == [shelf.id])
    try store.delete(shelf)
  }

  @Test("An enforced one is refused, and nothing is stored")
  func enforced() throws {
    let store = try Store.checked(for: Track.self, Album.self)
    var album = Album(codes: [Code(rawValue: Self.long)])
    #expect(caught { try store.save(&album) }?.code == .danglingReference)
    #expect(try store.count(Album.all) == 0)
  }
}
