import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Timestamped records")
struct TimestampedTests {
  fileprivate struct Article: Timestamped, Hashable {
    var id = RecordID<Article>()
    var title: String
    var author: RecordID<Author>?
    var createdAt: Date?
    var updatedAt: Date?

    static let schema = Schema<Article> {
      Index(\.updatedAt)
      BelongsTo(\.author, to: Author.self)
    }
  }

  fileprivate struct Author: Record {
    var id = RecordID<Author>()
    static let schema = Schema<Author> { HasMany(\Article.author, onDelete: .nullify) }
  }

  /// Names of its own, ids of its own, and hooks.
  fileprivate struct Letter: Timestamped, Hashable {
    var id: String
    var text: String
    var sent: Date?
    var createdAt: Date?
    var updatedAt: Date?

    enum CodingKeys: String, CodingKey {
      case id, text, sent
      case createdAt = "c"
      case updatedAt = "u"
    }

    static let schema = Schema<Letter> {
      WillSave { try $0.willSave(in: $1) }
      DidSave { try $0.didSave(in: $1) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      text = text.trimmingCharacters(in: .whitespaces)
      sent = tx.now
      createdAt = nil
      updatedAt = nil
    }

    func didSave(in tx: WriteTransaction) throws {
      #expect(updatedAt == tx.now)
    }
  }

  /// A clock that advances by a second at each reading.
  private final class Clock: Sendable {
    private let seconds = Locked(0)
    var looks: Int { seconds.withLock { $0 } }

    func options() -> Store.Options {
      var options = Store.Options()
      options.clock = {
        self.seconds.withLock {
          $0 += 1
          return Date(timeIntervalSinceReferenceDate: Double($0))
        }
      }
      return options
    }
  }

  private func time(_ seconds: Int) -> Date {
    Date(timeIntervalSinceReferenceDate: Double(seconds))
  }

  @Test("An insert sets both times, an update one, and a transaction has one time")
  func times() throws {
    let clock = Clock()
    let store = try Store.temporary(for: Article.self, Author.self, options: clock.options())
    var first = Article(title: "one")
    var second = Article(title: "two")
    try store.write { tx in
      try tx.save(&first)
      try tx.save(&second)
    }
    #expect(clock.looks == 1)
    for article in [first, second] {
      #expect(article.createdAt == time(1) && article.updatedAt == time(1))
    }
    first.title = "uno"
    try store.save(&first)
    #expect(first.createdAt == time(1) && first.updatedAt == time(2))
    #expect(try store.find(Article.self, first.id) == first)
    #expect(try store.fetch(Article.where { $0.updatedAt > time(1) }) == [first])
  }

  @Test("An unchanged record keeps its times and writes nothing, even from a stale copy")
  func unchanged() throws {
    let clock = Clock()
    let store = try Store.temporary(for: Article.self, Author.self, options: clock.options())
    var article = Article(title: "one")
    try store.save(&article)
    let stale = article
    article.title = "two"
    try store.save(&article)
    article.title = "one"
    try store.save(&article)
    let last = try store.lastTransaction()
    for _ in 0..<50 { try store.save(&article) }
    var copy = stale
    try store.save(&copy)
    #expect(copy == article && copy != stale)
    var bare = Article(id: article.id, title: "one")
    try store.save(&bare)
    #expect(bare == article)
    #expect(try store.lastTransaction() == last)
    #expect(clock.looks == 3)
  }

  @Test("Times that the program sets are kept: both at an insert, the first at an update")
  func explicitTimes() throws {
    let clock = Clock()
    let store = try Store.temporary(for: Article.self, Author.self, options: clock.options())
    var old = Article(title: "imported", createdAt: time(-100), updatedAt: time(-50))
    try store.insert(&old)
    #expect(old.createdAt == time(-100) && old.updatedAt == time(-50))
    old.createdAt = nil
    old.title = "changed"
    try store.save(&old)
    #expect(old.createdAt == time(-100))
    old.createdAt = time(-200)
    let updated = old.updatedAt
    try store.save(&old)
    #expect(old.createdAt == time(-200) && old.updatedAt != updated)
    #expect(try store.find(Article.self, old.id) == old)
  }

  @Test("Updates by a query and by a rule that removes a reference set the time")
  func otherPaths() throws {
    let clock = Clock()
    let store = try Store.temporary(for: Article.self, Author.self, options: clock.options())
    var author = Author()
    try store.save(&author)
    var article = Article(title: "one", author: author.id)
    var other = Article(title: "other")
    try store.write { tx in
      try tx.save(&article)
      try tx.save(&other)
    }
    try store.update(Article.where { $0.title == "one" }) { $0.title = "two" }
    #expect(try store.find(Article.self, article.id)?.updatedAt == time(2))
    try store.update(Article.where { $0.title == "two" }) { $0.title = "two" }
    #expect(try store.find(Article.self, article.id)?.updatedAt == time(2))
    try store.delete(author)
    let left = try #require(try store.find(Article.self, article.id))
    #expect(left.author == nil && left.updatedAt == time(3) && left.createdAt == time(1))
    #expect(try store.find(Article.self, other.id) == other)
  }

  @Test("A save that fails leaves the times of the record in memory as they were")
  func failed() throws {
    let store = try Store.temporary(for: Article.self, Author.self)
    var article = Article(title: "one", author: 77)
    let original = article
    #expect(throws: LarchError.self) { try store.save(&article) }
    #expect(article == original)
  }

  @Test("Times and hooks work together, whatever the hooks do with the times")
  func withHooks() throws {
    let clock = Clock()
    let store = try Store.temporary(for: Letter.self, options: clock.options())
    var letter = Letter(id: "a", text: " dear ")
    try store.save(&letter)
    #expect(letter.text == "dear" && letter.createdAt == time(1))
    #expect(letter.sent == time(1))
    letter.text = "dearest"
    try store.save(&letter)
    #expect(letter.createdAt == time(1) && letter.updatedAt == time(2) && letter.sent == time(2))
    #expect(try store.find(Letter.self, "a") == letter)
  }

  // MARK: Files that know nothing of times yet

  fileprivate enum Before {
    struct Memo: Record {
      var id = RecordID<Memo>()
      var text: String
    }
  }

  fileprivate struct Memo: Timestamped, Hashable {
    var id = RecordID<Memo>()
    var text: String
    var createdAt: Date?
    var updatedAt: Date?
  }

  @Test("A record that is older than the times of its type has none until it changes")
  func olderRecords() throws {
    let clock = Clock()
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "larch-times-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "memos.larch").path
    do {
      let store = try Store(at: path, for: Before.Memo.self)
      try store.write { tx in
        for text in ["one", "two"] {
          var memo = Before.Memo(text: text)
          try tx.save(&memo)
        }
      }
      store.close()
    }
    let store = try Store(at: path, for: Memo.self, options: clock.options())
    var memos = try store.fetch(Memo.all)
    #expect(memos.allSatisfy { $0.createdAt == nil && $0.updatedAt == nil })
    let last = try store.lastTransaction()
    try store.save(&memos[0])
    #expect(memos[0].createdAt == nil && memos[0].updatedAt == nil)
    #expect(try store.lastTransaction() == last)
    memos[0].text = "changed"
    try store.save(&memos[0])
    #expect(memos[0].createdAt == nil && memos[0].updatedAt == time(1))
    #expect(try store.fetch(Memo.all) == memos)
    store.close()
  }
}
