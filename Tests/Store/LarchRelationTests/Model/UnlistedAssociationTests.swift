import Foundation
import Larch
import LarchTestSupport
import Testing

/// Both associations are declared, and no schema lists them.
private struct Studio: Record {
  var id = RecordID<Studio>()
  var name = ""
  static let films = HasMany<Studio, Film>(\.studioID, onDelete: .destroy)
}

private struct Film: Record {
  var id = RecordID<Film>()
  var title = ""
  var studioID: RecordID<Studio>?
  static let studio = BelongsTo<Film, Studio>(\.studioID)
}

/// The reference is listed; the other declaration, which has the delete rule, is not.
private struct Label: Record {
  var id = RecordID<Label>()
  var name = ""
  static let songs = HasMany<Label, Song>(\.labelID, onDelete: .destroy)
  static let plainSongs = HasMany<Label, Song>(\.labelID)
  static let nulling = HasMany<Label, Song>(\.labelID, onDelete: .nullify)
  static let singers = ManyToMany<Label, Song>(named: "singers", onDelete: .destroy)
}

private struct Song: Record {
  var id = RecordID<Song>()
  var title = ""
  var labelID: RecordID<Label>?
  static let label = BelongsTo<Song, Label>(\.labelID)
  static let singers = ManyToMany<Song, Label>(named: "singers")
  static let schema = Schema<Song> {
    label
    singers
  }
}

@Suite("An association that no schema lists is refused")
struct UnlistedAssociationTests {
  private func error(_ body: () throws -> Void) -> LarchError? {
    do { try body() } catch { return error as? LarchError }
    return nil
  }

  private func isRefused(_ body: () throws -> Void) -> Bool {
    let error = error(body)
    return error?.code == .unknownAssociation && "\(error!)".contains("list it in")
  }

  @Test("in a filter, an order, a count, a join and a request for related records")
  func unlisted() throws {
    let store = try Store.temporary(for: Studio.self, Film.self)
    var studio = Studio(name: "A")
    try store.insert(&studio)
    #expect(isRefused { _ = try store.fetch(Film.where { $0.studio.name == "A" }) })
    #expect(isRefused { _ = try store.fetch(Film.where { $0.studio == nil }) })
    #expect(isRefused { _ = try store.count(Studio.where { $0.films.isEmpty }) })
    #expect(isRefused { _ = try store.count(Studio.where { $0.films.count > 1 }) })
    #expect(isRefused { _ = try store.exists(Studio.where { $0.related(\Film.studioID).isEmpty }) })
    #expect(isRefused { _ = try store.first(Film.all.sorted(by: \.studio.name)) })
    #expect(isRefused { _ = try store.explain(Film.where { $0.studio.name == "A" }) })
    #expect(isRefused { _ = try store.fetch(Studio.all.with(Studio.films)) })
    #expect(isRefused { _ = try store.fetch(studio.related(Studio.films)) })
    #expect(isRefused { _ = try store.count(studio.related(\Film.studioID)) })
    #expect(
      isRefused { _ = try store.delete(Film.where { $0.studio.name == "A" }) })
  }

  @Test("if only its delete rule is not listed, which would not be followed")
  func unlistedRule() throws {
    let store = try Store.temporary(for: Label.self, Song.self)
    var label = Label(name: "A")
    try store.insert(&label)
    #expect(isRefused { _ = try store.count(Label.where { $0.songs.isEmpty }) })
    #expect(isRefused { _ = try store.fetch(label.related(Label.songs)) })
    #expect(isRefused { _ = try store.fetch(Label.all.with(Label.songs)) })
    #expect(isRefused { _ = try store.count(Label.where { $0.singers.isEmpty }) })
    #expect(isRefused { _ = try store.fetch(label.related(Label.singers)) })
    #expect(isRefused { _ = try store.fetch(Label.all.with(Label.singers)) })

    // Without a rule of its own, or with the rule that is followed, nothing is lost.
    #expect(try store.count(Label.where { $0.plainSongs.isEmpty }) == 1)
    #expect(try store.count(Label.where { $0.nulling.isEmpty }) == 1)
    #expect(try store.fetch(Label.all.with(Label.nulling)).count == 1)
    #expect(try store.count(Label.where { $0.related(\Song.labelID).isEmpty }) == 1)
    #expect(try store.fetch(label.related(\Song.labelID)).isEmpty)
    #expect(try store.count(Song.where { $0.label == nil }) == 0)
  }

  @Test("but not in a read-only file that does not have it yet")
  func readOnly() throws {
    let scratch = FileManager.default.temporaryDirectory
      .appending(path: "unlisted-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    let url = scratch.appending(path: "songs.larch")
    try Store(at: url, for: PlainLabel.self, PlainSong.self).close()
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store(at: url, for: NewLabel.self, NewSong.self, options: options)
    #expect(try store.count(NewSong.where { $0.label.name == "A" }) == 0)
    #expect(try store.count(NewLabel.where { $0.songs.isEmpty }) == 0)
  }
}

private struct PlainLabel: Record {
  var id = RecordID<PlainLabel>()
  var name = ""
  static let collectionName = "Label"
}

private struct PlainSong: Record {
  var id = RecordID<PlainSong>()
  var labelID: RecordID<PlainLabel>?
  static let collectionName = "Song"
}

private struct NewLabel: Record {
  var id = RecordID<NewLabel>()
  var name = ""
  static let collectionName = "Label"
  static let songs = HasMany<NewLabel, NewSong>(\.labelID, onDelete: .destroy)
  static let schema = Schema<NewLabel> { songs }
}

private struct NewSong: Record {
  var id = RecordID<NewSong>()
  var labelID: RecordID<NewLabel>?
  static let collectionName = "Song"
  static let label = BelongsTo<NewSong, NewLabel>(\.labelID)
}
