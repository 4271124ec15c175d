import LarchTestSupport
import Testing

@testable import Larch

@Suite("Associations through join records are changed by making and deleting these")
struct JoinRecordTests {
  struct Post: Record {
    var id = RecordID<Post>()
    var text = ""

    static let tags = HasMany<Post, Tag>(through: \Tagging.postID, \Tagging.tagID)
    static let readers = HasMany<Post, Reader>(through: \Reading.postID, \Reading.readerID)
    static let links = ManyToMany<Post, Tag>(named: "links")
    static let schema = Schema<Post> {
      tags
      readers
      links
    }
  }

  struct Tag: Record {
    var id = RecordID<Tag>()
    var name: String
    static let posts = HasMany<Tag, Post>(through: \Tagging.tagID, \Tagging.postID)
    static let schema = Schema<Tag> { posts }
  }

  /// With a unique pair, rules and hooks.
  struct Tagging: Record {
    var id = RecordID<Tagging>()
    var postID: Post.ID
    var tagID: Tag.ID
    var addedBy: String
    var note = ""

    static let schema = Schema<Tagging> {
      Unique(\.postID, \.tagID)
      Validate(\.addedBy, .presence)
      WillSave { tagging, _ in tagging.note = "saved" }
      DidDelete { tagging, tx in
        _ = try tx.update(Post.where { $0.id == tagging.postID }) { $0.text += "-" }
      }
    }
  }

  struct Reader: Record {
    var id = RecordID<Reader>()
  }

  /// Several of one pair are allowed.
  struct Reading: Record {
    var id = RecordID<Reading>()
    var postID: Post.ID
    var readerID: Reader.ID?
    var day: Int
  }

  private struct Stop: Error {}

  private static func store() throws -> (Store, Post, [Tag]) {
    let store = try Store.checked(
      for: Post.self, Tag.self, Tagging.self, Reader.self, Reading.self)
    return try store.write { tx in
      var post = Post()
      try tx.save(&post)
      let tags = try (0..<6).map { number in
        var tag = Tag(name: "t\(number)")
        try tx.save(&tag)
        return tag
      }
      return (store, post, tags)
    }
  }

  @Test("add makes one with its other fields, by its hooks and rules")
  func add() throws {
    let (store, post, tags) = try Self.store()
    let tagging = try store.add(tags[0], to: post.related(Post.tags)) {
      Tagging(postID: $0, tagID: $1, addedBy: "ada")
    }
    #expect(tagging.note == "saved" && !tagging.id._isUnassigned)
    let stored = try #require(try store.find(Tagging.self, tagging.id))
    #expect(stored.addedBy == "ada" && stored.note == "saved")
    #expect(try store.ids(post.related(Post.tags)) == [tags[0].id])
    // From the other end, with the ids in its order.
    try store.add(post.id, to: tags[1].related(Tag.posts)) {
      Tagging(postID: $1, tagID: $0, addedBy: "bo")
    }
    #expect(try store.ids(post.related(Post.tags)) == [tags[0].id, tags[1].id])
    let error = #expect(throws: LarchError.self) {
      try store.add(tags[2], to: post.related(Post.tags)) {
        Tagging(postID: $0, tagID: $1, addedBy: "")
      }
    }
    #expect(error?.code == .invalid)
    #expect(try store.count(Tagging.all) == 2)
  }

  @Test("A second one of a pair is refused by a unique index, and is one more without")
  func again() throws {
    let (store, post, tags) = try Self.store()
    for round in 0..<2 {
      let add = {
        _ = try store.add(tags[0], to: post.related(Post.tags)) {
          Tagging(postID: $0, tagID: $1, addedBy: "round \(round)")
        }
      }
      if round == 0 {
        try add()
      } else {
        let error = #expect(throws: LarchError.self) { try add() }
        #expect(error?.code == .uniqueConflict)
      }
    }
    #expect(try store.fetch(Tagging.all).map(\.addedBy) == ["round 0"])
    var reader = Reader()
    try store.save(&reader)
    for day in 0..<2 {
      try store.add(reader, to: post.related(Post.readers)) {
        Reading(postID: $0, readerID: $1, day: day)
      }
    }
    #expect(try store.count(Reading.all) == 2)
    #expect(try store.ids(post.related(Post.readers)) == [reader.id])
    try store.remove(reader, from: post.related(Post.readers))
    #expect(try store.count(Reading.all) == 0)
  }

  @Test("A new record is saved with its join record, or neither is")
  func addNew() throws {
    let (store, post, tags) = try Self.store()
    var tag = Tag(name: "new")
    try store.add(&tag, to: post.related(Post.tags)) {
      Tagging(postID: $0, tagID: $1, addedBy: "ada")
    }
    #expect(try store.ids(post.related(Post.tags)) == [tag.id])
    var other = Tag(name: "other")
    #expect(throws: Stop.self) {
      try store.add(&other, to: post.related(Post.tags)) { _, _ -> Tagging in throw Stop() }
    }
    #expect(other.id._isUnassigned)
    #expect(try store.count(Tag.all) == tags.count + 1)
  }

  @Test("replace changes only what differs, as sets say", arguments: 0..<10)
  func replace(number: UInt64) throws {
    var random = SeededGenerator(seed: 33_400 + number)
    let (store, post, tags) = try Self.store()
    var current: [Tag.ID: RecordID<Tagging>] = [:]
    for round in 0..<12 {
      let wanted = (0..<Int.random(in: 0..<8, using: &random)).map { _ in
        tags.randomElement(using: &random)!.id
      }
      var made: [Tag.ID] = []
      try store.replace(post.related(Post.tags), with: wanted) {
        made.append($1)
        return Tagging(postID: $0, tagID: $1, addedBy: "r\(round)")
      }
      var expected: [Tag.ID] = []
      for id in wanted where current[id] == nil && !expected.contains(id) { expected.append(id) }
      #expect(made == expected, "seed \(33_400 + number), round \(round)")
      let taggings = try store.fetch(Tagging.all)
      #expect(Set(taggings.map(\.tagID)) == Set(wanted) && taggings.count == Set(wanted).count)
      for tagging in taggings where current[tagging.tagID] != nil {
        #expect(
          current[tagging.tagID] == tagging.id, "join records that stay are not created again")
      }
      let text = try #require(try store.find(Post.self, post.id)).text
      let gone = current.keys.filter { !wanted.contains($0) }.count
      #expect(text.filter { $0 == "-" }.count == gone, "hooks of deleted join records run")
      _ = try store.update(Post.all) { $0.text = "" }
      current = Dictionary(uniqueKeysWithValues: taggings.map { ($0.tagID, $0.id) })
    }
    #expect(try store.verify().isClean)
  }

  @Test("An error in the middle changes nothing")
  func errors() throws {
    let (store, post, tags) = try Self.store()
    try store.add(contentsOf: tags.prefix(2).map(\.id), to: post.related(Post.tags)) {
      Tagging(postID: $0, tagID: $1, addedBy: "ada")
    }
    let before = try store.fetch(Tagging.all).map(\.id)
    try store.write { tx in
      #expect(throws: Stop.self) {
        try tx.replace(post.related(Post.tags), with: tags.suffix(3).map(\.id)) {
          if $1 == tags[5].id { throw Stop() }
          return Tagging(postID: $0, tagID: $1, addedBy: "bo")
        }
      }
      #expect(throws: Stop.self) {
        try tx.add(contentsOf: tags.suffix(3).map(\.id), to: post.related(Post.tags)) {
          if $1 == tags[5].id { throw Stop() }
          return Tagging(postID: $0, tagID: $1, addedBy: "bo")
        }
      }
    }
    #expect(try store.fetch(Tagging.all).map(\.id) == before)
  }

  @Test("Join records of other ids, types or associations are refused")
  func refusals() throws {
    let (store, post, tags) = try Self.store()
    var other = Post()
    try store.save(&other)
    func code(_ body: () throws -> Void) -> LarchError.Code? {
      #expect(throws: LarchError.self) { try body() }?.code
    }
    let related = post.related(Post.tags)
    #expect(
      code {
        try store.add(tags[0], to: related) { [other] _, tag in
          Tagging(postID: other.id, tagID: tag, addedBy: "ada")
        }
      } == .unsuitableAssociation)
    #expect(
      code {
        try store.add(tags[0], to: related) { post, _ in
          Tagging(postID: post, tagID: tags[1].id, addedBy: "ada")
        }
      } == .unsuitableAssociation)
    #expect(
      code {
        try store.add(tags[0], to: related) { post, _ in
          Reading(postID: post, readerID: nil, day: 1)
        }
      } == .unsuitableAssociation)
    #expect(
      code {
        try store.replace(related, with: [tags[0].id]) { post, _ in
          Reading(postID: post, readerID: nil, day: 1)
        }
      } == .unsuitableAssociation)
    #expect(
      code {
        try store.add(tags[0], to: post.related(Post.links)) {
          Tagging(postID: $0, tagID: $1, addedBy: "ada")
        }
      } == .unsuitableAssociation)
    #expect(
      code {
        try store.add(Tag(name: "unsaved"), to: related) {
          Tagging(postID: $0, tagID: $1, addedBy: "ada")
        }
      } == .unsavedReference)
    #expect(
      code {
        try store.add(tags[0], to: Post().related(Post.tags)) {
          Tagging(postID: $0, tagID: $1, addedBy: "ada")
        }
      } == .unsavedReference)
    #expect(
      code {
        try store.add(RecordID(99), to: related) {
          Tagging(postID: $0, tagID: $1, addedBy: "ada")
        }
      } == .danglingReference)
    #expect(code { try store.add(tags[0].id, to: related) } == .unsuitableAssociation)
    #expect(try store.count(Tagging.all) == 0)
  }

  @Test("replace finds the join records whose other record is not saved yet")
  func replaceUnsaved() throws {
    let (store, post, tags) = try Self.store()
    var new = Tag(id: .init(50), name: "new")
    func tagging(_ post: Post.ID, _ tag: Tag.ID) -> Tagging {
      Tagging(postID: post, tagID: tag, addedBy: "ada")
    }
    try store.write { tx in
      _ = try tx.add(new.id, to: post.related(Post.tags), through: tagging)
      try tx.replace(post.related(Post.tags), with: [new.id, tags[0].id], through: tagging)
      try tx.replace(post.related(Post.tags), with: [new.id])
      try tx.save(&new)
    }
    #expect(try store.fetch(Tagging.all).map(\.tagID) == [new.id])
    try store.write { tx in
      var late = Tag(id: .init(51), name: "late")
      _ = try tx.add(late.id, to: post.related(Post.tags), through: tagging)
      try tx.replace(post.related(Post.tags), with: [], through: tagging)
      try tx.save(&late)
    }
    #expect(try store.count(Tagging.all) == 0)
  }
}
