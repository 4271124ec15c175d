import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/active-record.md.

/// The records of the examples.
enum ActiveGuide {
  // snippet: active-records
  struct Artist: Record {
    var id = RecordID<Artist>()
    var name: String
    var email: String?
    var country = "NO"
    var albumCount = 0

    static let albums = HasMany<Artist, Album>(\.artistID, onDelete: .destroy)
    static let schema = Schema<Artist> {
      albums
      Index(\.country)
      Validate(\.name, .presence, .length(...40))
      Validate(\.email, .format(/[^@ ]+@[^@ ]+/), .uniqueness)
      Validate(\.country, .inclusion(["DK", "NO", "SE"]))
    }
  }

  struct Album: Record, Timestamped {
    var id = RecordID<Album>()
    var title: String
    var year: Int
    var artistID: Artist.ID
    var createdAt: Date?  // kept by the store
    var updatedAt: Date?

    static let artist = BelongsTo<Album, Artist>(\.artistID)
    static let schema = Schema<Album> {
      artist
      Index(\.year)
      Validate(\.title, .presence, .uniqueness(scope: \.artistID))
      Validate(\.year, .range(1900...))
    }
  }
  // end snippet

  // snippet: active-hooks
  struct Track: Record {
    var id = RecordID<Track>()
    var title: String
    var albumID: Album.ID
    var saves = 0

    static let schema = Schema<Track> {
      WillSave { track, tx in
        track.title = track.title.trimmingCharacters(in: .whitespaces)
      }
      WillInsert { track, tx in
        guard try tx.exists(Album.self, track.albumID) else { throw TrackError.hasNoAlbum }
      }
      WillUpdate { track, stored, tx in
        if track.albumID != stored.albumID { throw TrackError.isKept }
        track.saves += 1
      }
      DidInsert { track, tx in
        var log = Event(text: "new track: \(track.title)")
        try tx.save(&log)
      }
      DidUpdate { track, previous, tx in
        var log = Event(text: "\(previous.title) is \(track.title) now")
        try tx.save(&log)
      }
      DidSave { track, tx in
        tx.afterCommit { announce("saved \(track.title)") }
      }
      WillDelete { track, tx in
        if track.title == "Untitled" { throw TrackError.isKept }
      }
      DidDelete { track, tx in
        var log = Event(text: "gone: \(track.title)")
        try tx.save(&log)
      }
      DidCommit { track, change in
        announce("\(track.title) was \(change)")  // on disk now, and never undone
      }
    }
  }
  // end snippet

  // snippet: active-versioned
  struct Page: Record {
    var id = RecordID<Page>()
    var text: String
    var version = 0  // kept by the store

    static let schema = Schema<Page> { Versioned(\.version) }
  }
  // end snippet

  enum TrackError: Error { case isKept, hasNoAlbum }

  struct Event: Record {
    var id = RecordID<Event>()
    var text: String
  }

  static let announcements = Announcements()
  static func announce(_ text: String) { announcements.add(text) }

  final class Announcements: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [String] = []
    func add(_ text: String) { lock.withLock { list.append(text) } }
    var all: [String] { lock.withLock { list } }
  }
}

@Suite("active-record.md")
struct ActiveRecordGuideTests {
  typealias Artist = ActiveGuide.Artist
  typealias Album = ActiveGuide.Album
  typealias Track = ActiveGuide.Track
  typealias Event = ActiveGuide.Event
  typealias Page = ActiveGuide.Page

  private func store() throws -> Store {
    try Store.checked(for: Artist.self, Album.self, Track.self, Event.self, Page.self)
  }

  @Test("Records save, find and delete themselves")
  func records() throws {
    try Store.with(store()) {
      // snippet: active-save
      var ola = Artist(name: "Ola", email: "ola@music.example")
      try ola.save()  // inserted; its id is assigned
      ola.country = "SE"
      try ola.save()  // updated
      try ola.save()  // nothing differs, so nothing is written

      var eva = Artist(name: "Eva")
      try eva.insert()  // an error if its id is taken
      eva.name = "Eva Berg"
      try eva.update()  // an error if it was never saved
      // end snippet
      let id = ola.id
      // snippet: active-find
      let known = try Artist.find(id)  // Artist?
      let same = try Artist.find(by: \.email, equals: "ola@music.example")
      let first = try Artist.all.first()  // by id
      let everyone = try Artist.all.fetch()
      let swedes = try Artist.where { $0.country == "SE" }.sorted(by: \.name).limit(10).fetch()
      let howMany = try Artist.all.count()
      let names = try Artist.all.sorted(by: \.name).select(\.name).fetch()
      // end snippet
      #expect(known?.country == "SE" && same?.id == id && first?.id == id)
      #expect(everyone.count == 2 && swedes.map(\.name) == ["Ola"] && howMany == 2)
      #expect(names == ["Eva Berg", "Ola"])
      // snippet: active-delete
      try ola.delete()  // and its albums, as the rule of the association says
      try Artist.where { $0.country == "DK" }.delete()
      try Artist.all.delete()  // one by one, by all rules, with hooks
      try Album.erase()  // at once, without looking at the records
      // end snippet
      #expect(try Artist.all.count() == 0)
    }
  }

  @Test("A task has a store of its own")
  func scopes() async throws {
    let archive = try store()
    // snippet: active-with
    try await Store.with(archive) {
      var ola = Artist(name: "Ola")
      try await ola.save()  // into the archive, without blocking the thread of the task
    }
    // end snippet
    #expect(try archive.count(Artist.all) == 1)
    // snippet: active-explicit
    let people = try Artist.all.fetch(in: archive)
    let count = try archive.count(Artist.where { $0.country == "NO" })
    // end snippet
    #expect(people.count == 1 && count == 1)
  }

  @Test("Calls find the running transaction")
  func transactions() throws {
    let store = try store()
    try Store.with(store) { () throws in
      // snippet: active-transaction
      try Store.transaction {
        var eva = Artist(name: "Eva")
        try eva.save()
        var debut = Album(title: "Debut", year: 1993, artistID: eva.id)
        try debut.save()  // both, or none
      }

      try Store.transaction {
        try Artist.all.delete()
        throw Rollback()  // undone, and no error
      }
      // end snippet
      #expect(try Artist.all.count() == 1 && Album.all.count() == 1)
    }
    // snippet: active-joined
    try store.write { tx in
      var bo = Artist(name: "Bo")
      try bo.save()  // in tx, which is the transaction that is running
      try? Store.transaction {  // inside another one: a part that can be undone by itself
        try bo.delete()
        throw Rollback()
      }
    }
    // end snippet
    #expect(try store.count(Artist.all) == 2)
  }

  @Test("Records know their state")
  func state() throws {
    try Store.with(store()) {
      // snippet: active-state
      var eva = Artist(name: "Eva")
      #expect(try eva.state() == .new)
      try eva.save()
      #expect(try eva.state() == .unchanged)
      eva.name = "Eva Berg"
      #expect(try eva.state() == .changed)
      for change in try eva.changes() { print(change) }  // name: "Eva" -> "Eva Berg"
      try eva.reload()  // as it is stored
      // end snippet
      #expect(eva.name == "Eva")
      // snippet: active-tracked
      var form = try eva.tracked()
      form.name = "Eva Holm"
      form.country = "DK"
      form.revert(\.country)
      #expect(form.state == .changed && form.country == "NO")
      try form.persist()  // inserts, updates, deletes, or does nothing

      form.markDeleted()
      try form.persist()
      // end snippet
      #expect(try Artist.all.count() == 0)
    }
  }

  @Test("A save that is based on an older record is refused")
  func conflicts() throws {
    try Store.with(store()) {
      // snippet: active-conflict
      var mine = try Page(text: "draft").saved()
      var theirs = mine
      theirs.text = "theirs"
      try theirs.save()  // version 2

      mine.text = "mine"
      do {
        try mine.save()
      } catch let error as LarchError where error.code == .conflict {
        // collection: Page, id: 1, detail: version 1, stored 2
        try mine.reload()  // and make the change once more
      }
      // end snippet
      #expect(mine.text == "theirs" && mine.version == 2)
      var eva = try Artist(name: "Eva").saved()
      // snippet: active-unchanged
      let original = eva
      eva.name = "Eva Lund"
      try eva.save(ifUnchanged: original)  // .conflict where something else is stored now
      // end snippet
      eva.name = "Eva Berg"
      do {
        try eva.save(ifUnchanged: original)
        Issue.record("a stale record was saved")
      } catch let error as LarchError { #expect(error.code == .conflict) }
    }
  }

  @Test("Rules are checked, and all broken rules are reported at once")
  func validation() throws {
    try Store.with(store()) {
      // snippet: active-validation
      var nobody = Artist(name: " ", email: "nowhere", country: "XX")
      #expect(try !nobody.isValid)
      do {
        try nobody.save()
      } catch let error as LarchError where error.code == .invalid {
        for broken in error.validationErrors {
          // Artist.name cant_be_blank, Artist.email invalid_format, Artist.country not_included
          print(broken.model, broken.field ?? "", broken.keyword, broken.message)
        }
      }
      // end snippet
      let keywords = try nobody.validationErrors.map(\.keyword.rawValue)
      #expect(keywords == ["cant_be_blank", "invalid_format", "not_included"])
      #expect(try Artist.all.count() == 0)
    }
  }

  @Test("Hooks run, and times are set")
  func hooks() throws {
    try Store.with(store()) {
      var eva = Artist(name: "Eva")
      try eva.save()
      // snippet: active-times
      var debut = Album(title: "Debut", year: 1993, artistID: eva.id)
      try debut.save()
      let born = debut.createdAt  // the time of the transaction
      debut.year = 1994
      try debut.save()  // updatedAt changes, createdAt stays
      // end snippet
      #expect(born != nil && debut.createdAt == born && debut.updatedAt != nil)
      var track = Track(title: " Crying ", albumID: debut.id)
      try track.save()
      #expect(track.title == "Crying")
      #expect(try Event.all.fetch().map(\.text) == ["new track: Crying"])
      #expect(ActiveGuide.announcements.all == ["Crying was inserted", "saved Crying"])
      track.title = "Cry"
      try track.save()
      #expect(track.saves == 1)
      try track.delete()
      let texts = try Event.all.fetch().map(\.text)
      #expect(texts == ["new track: Crying", "Crying is Cry now", "gone: Cry"])
    }
  }

  @Test("Records are imported from JSON and exported")
  func json() throws {
    let folder = try TemporaryFolder()
    try Store.with(store()) {
      var eva = Artist(name: "Eva", email: "eva@music.example")
      try eva.save()
      let file = folder.path("artists.json")
      try Data(
        """
        [{"name": "Eva Berg", "email": "eva@music.example", "country": "SE", "albumCount": 0},
         {"name": "", "country": "NO", "albumCount": 0}]
        """.utf8
      ).write(to: URL(filePath: file))
      // snippet: active-import
      let report = try Artist.importJSON(
        from: .file(file), matching: \.email, onError: .skip
      ) { progress in
        print("\(Int(progress.fraction * 100)) %")
      }
      print(report.inserted, report.updated)
      for failure in report.failures {
        print("line \(failure.line): \(failure.reason)")  // line 2: … Artist.name cant_be_blank
      }
      // end snippet
      #expect(report.inserted == 0 && report.updated == 1)
      #expect(report.failures.map(\.line) == [2])
      let copy = folder.path("copy.json")
      // snippet: active-export
      try Artist.where { $0.country == "SE" }.exportJSON(to: .file(copy))
      // end snippet
      let text = try String(contentsOfFile: copy, encoding: .utf8)
      #expect(text.contains("Eva Berg"))
    }
  }
}
