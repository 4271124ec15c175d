import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Catalog entries with correct checksums and impossible contents.
@Suite("Associations in a hostile catalog")
struct HostileAssociationTests {
  struct Song: Record {
    var id = RecordID<Song>()
    var albumID: String?
    static let schema = Schema<Song> {
      BelongsTo(\.albumID, to: Album.self)
      ManyToMany(Album.self, named: "bonus")
    }
  }
  struct Album: Record { var id: String }

  private static let reference = "Song.albumID"
  private static let lists = "Album/Song/bonus"

  private func withStore(_ body: (String, Store) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, for: Song.self, Album.self)
    defer { store.close() }
    try store.saveAll([Album(id: "a")])
    try store.saveAll([Song(albumID: "a")])
    try DamagedLinks(store: store, key: Self.lists).add(
      try bytes(of: "a"), try bytes(of: RecordID<Song>(1)))
    try body(path, store)
  }

  private func entry(_ key: String, _ store: Store) throws -> [UInt8] {
    try store.environment.openDatabases { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(
        in: transaction)
      return try #require(try storage.value(.association(key), in: transaction))
    }
  }

  private func set(_ key: String, _ value: [UInt8]?, _ store: Store) throws {
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(
        in: transaction)
      if let value {
        try storage.set(.association(key), to: value, in: transaction)
      } else {
        try storage.remove(.association(key), in: transaction)
      }
      let generation = try storage.generation(in: transaction)
      try storage.setGeneration(generation + 1, in: transaction)
    }
  }

  /// Every way to use the file gives the same typed error.
  private func expectCorrupted(_ path: String, _ store: Store, _ comment: String) {
    var errors: [LarchError?] = []
    // First the open store notices the new generation, then stores that are opened.
    errors.append(caught { try store.read { tx throws in _ = try tx.count(Song.all) } })
    errors.append(caught { _ = try store.verify() })
    errors.append(caught { _ = try store.dump() })
    store.close()
    for types in [[Song.self, Album.self], [Album.self], []] as [[any Record.Type]] {
      for isReadOnly in [false, true] {
        var options = Store.Options()
        options.isReadOnly = isReadOnly
        errors.append(
          caught {
            let store = try Store(path: path, types: types, options: options, isTemporary: false)
            defer { store.close() }
            _ = try store.verify()
          })
      }
    }
    for error in errors { #expect(error?.code == .corrupted, "\(comment): \(errors)") }
  }

  @Test("An entry that contradicts itself is refused wherever it is read")
  func contradictions() throws {
    let changes: [(String, String, (inout [UInt8]) -> Void)] = [
      ("kind 0", Self.reference, { $0[0] = 0 }), ("kind 3", Self.lists, { $0[0] = 3 }),
      ("lists as a reference", Self.lists, { $0[0] = 1 }),
      ("a reference as lists", Self.reference, { $0[0] = 2 }),
      ("another first end", Self.reference, { $0[2] = UInt8(ascii: "s") }),
      ("another first end of lists", Self.lists, { $0[2] = UInt8(ascii: "a") }),
      ("another second end of lists", Self.lists, { $0[8] = UInt8(ascii: "s") }),
      ("an open rule", Self.reference, { $0[12] = 0 }),
      ("an unknown rule", Self.reference, { $0[12] = 6 }),
      ("an open second rule", Self.reference, { $0[13] = 0 }),
      ("an unknown trait", Self.reference, { $0[$0.count - 5] |= 8 }),
      ("a trait of lists", Self.lists, { $0[$0.count - 5] |= 1 }),
      ("a number of a reference", Self.reference, { $0[$0.count - 4] = 1 }),
      ("no number", Self.lists, { $0[$0.count - 4] = 0 }),
      ("a number without databases", Self.lists, { $0[$0.count - 4] = 99 }),
      ("a text that is none", Self.reference, { $0[3] = 0xFF }),
      ("a text too long", Self.reference, { $0[1] = 0xFF }),
      ("too many names", Self.reference, { $0[14] = 0x7F }),
      ("too short", Self.reference, { $0.removeLast() }),
      ("too long", Self.reference, { $0.append(0) }), ("empty", Self.lists, { $0 = [] }),
    ]
    for (name, key, change) in changes {
      try withStore { path, store throws in
        var value = try entry(key, store)
        let before = value
        change(&value)
        #expect(value != before)
        try set(key, value, store)
        if name == "a number without databases" {
          // A different kind of fault: the entry is correct, but its database is missing.
          expectMissingLists(path, store)
        } else {
          expectCorrupted(path, store, name)
        }
      }
    }
  }

  private func expectMissingLists(_ path: String, _ store: Store) {
    store.close()
    let opened = caught { try Store(at: path, for: Song.self, Album.self).close() }
    #expect(opened?.code == .corrupted)
    #expect(opened?.context.detail == "links.99")
    let other = caught {
      let store = try Store(at: path, options: .init())
      defer { store.close() }
      #expect(try store.verify().faults.map(\.kind) == [.page])
      #expect(try store.dump().contains("lists Album/Song/bonus: Album with Song, 0 links"))
      try store.rebuild()
    }
    #expect(other == nil)
  }

  @Test("Two entries for the same lists, and entries under impossible keys, are refused")
  func keys() throws {
    try withStore { path, store throws in
      try set("Album/Song/other", try entry(Self.lists, store), store)
      expectCorrupted(path, store, "two of one number")
    }
    for key in ["Album/Song/", "Song.other", "Song.", "", "Album/Song", "Song/Album/bonus"] {
      try withStore { path, store throws in
        let isLists = key.contains("/") || key.isEmpty
        try set(key, try entry(isLists ? Self.lists : Self.reference, store), store)
        if isLists { try set(Self.lists, nil, store) }
        expectCorrupted(path, store, key)
      }
    }
  }

  @Test("Invalid lists give a fault or an error, never a trap")
  func otherForm() throws {
    for flags in [[], .duplicates] as [LMDBDatabase.Flags] {
      try withStore { path, store throws in
        let number = try entry(Self.lists, store).withUnsafeBytes {
          try StoredAssociation(key: Self.lists, decoding: $0).number
        }
        store.close()
        // Without anyone noticing: a database of another kind with the name.
        let environment = try LMDBEnvironment.open(path: path, options: .init())
        try environment.write { transaction in
          let name = CatalogStorage.linksName(number)
          try LMDBDatabase.open(name, in: transaction)?.drop(in: transaction)
        }
        try environment.write { transaction in
          let name = CatalogStorage.linksName(number)
          let made = try #require(
            try LMDBDatabase.open(name, flags.union(.create), in: transaction))
          let junk: [UInt8] = [1, 2, 3]
          _ = try junk.withUnsafeBytes { try made.put($0, $0, in: transaction) }
        }
        environment.close()
        let again = try Store(at: path, for: Song.self, Album.self)
        defer { again.close() }
        #expect(try again.verify().faults.map(\.kind) == [.page])
        try again.rebuild()
      }
    }
  }

  @Test("Entries are read as they were stored, whatever the names")
  func roundTrip() throws {
    let store = try Store.temporary(for: Song.self, Album.self)
    for key in [Self.reference, Self.lists] {
      let stored = try entry(key, store)
      let association = try stored.withUnsafeBytes {
        try StoredAssociation(key: key, decoding: $0)
      }
      #expect(association.encoded() == stored)
      #expect(association.key == key)
    }
  }
}
