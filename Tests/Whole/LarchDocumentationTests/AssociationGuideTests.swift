import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/associations.md, in its order; those of its second half are in
// AssociationGuideTests+Rules.swift.

/// The records of the guide.
enum AssociationGuide {
  // snippet: association-books
  struct Author: Record {
    var id = RecordID<Author>()
    var name: String

    static let books = HasMany<Author, Book>(\.authorID, onDelete: .destroy)
    static let schema = Schema<Author> { books }
  }

  struct Book: Record {
    var id = RecordID<Book>()
    var title: String
    var year: Int
    var authorID: Author.ID

    static let author = BelongsTo<Book, Author>(\.authorID)
    static let schema = Schema<Book> { author }
  }
  // end snippet

  // snippet: association-courses
  struct Student: Record {
    var id = RecordID<Student>()
    var name: String

    static let courses = ManyToMany<Student, Course>(named: "enrolment")
    static let schema = Schema<Student> { courses }
  }

  struct Course: Record {
    var id = RecordID<Course>()
    var title: String

    static let students = ManyToMany<Course, Student>(named: "enrolment")
    static let schema = Schema<Course> { students }
  }
  // end snippet

  // snippet: association-tree
  struct Category: Record {
    var id = RecordID<Category>()
    var name: String
    var parentID: Category.ID?

    static let parent = BelongsTo<Category, Category>(\.parentID)
    static let children = HasMany<Category, Category>(\.parentID, onDelete: .destroy)
    static let schema = Schema<Category> {
      parent
      children
    }
  }
  // end snippet

  // snippet: association-tags
  struct Post: Record {
    var id = RecordID<Post>()
    var text: String
    var tagIDs: [Tag.ID] = []

    static let tags = HasMany<Post, Tag>(in: \.tagIDs)
    static let schema = Schema<Post> { tags }
  }

  struct Tag: Record {
    var id: String  // the tag itself

    static let posts = HasMany<Tag, Post>(\.tagIDs, onDelete: .nullify)
    static let schema = Schema<Tag> { posts }
  }
  // end snippet

  static func store() throws -> Store {
    try Store.checked(
      for: Author.self, Book.self, Student.self, Course.self, Category.self, Post.self, Tag.self)
  }

  /// Two authors with two books each, and one without.
  static func library() throws -> Store {
    let store = try store()
    try store.write { tx in
      var mary = Author(name: "Mary")
      var jules = Author(name: "Jules")
      var silent = Author(name: "Silent")
      try tx.save(&mary)
      try tx.save(&jules)
      try tx.save(&silent)
      for (title, year, author) in [
        ("Frankenstein", 1818, mary), ("The Last Man", 1826, mary),
        ("From the Earth to the Moon", 1865, jules), ("The Mysterious Island", 1875, jules),
      ] {
        var book = Book(title: title, year: year, authorID: author.id)
        try tx.save(&book)
      }
    }
    return store
  }
}

@Suite("The guide to associations")
struct AssociationGuideTests {
  typealias Author = AssociationGuide.Author
  typealias Book = AssociationGuide.Book
  typealias Student = AssociationGuide.Student
  typealias Course = AssociationGuide.Course
  typealias Category = AssociationGuide.Category
  typealias Post = AssociationGuide.Post
  typealias Tag = AssociationGuide.Tag

  @Test("A tour of authors and books")
  func books() throws {
    let store = try AssociationGuide.store()
    // snippet: association-first
    var mary = Author(name: "Mary")
    try store.write { tx in
      try tx.save(&mary)  // now it has an id
      var book = Book(title: "Frankenstein", year: 1818, authorID: mary.id)
      try tx.save(&book)
    }

    let books = try store.fetch(mary.related(Author.books))  // [Book]
    let early = try store.fetch(mary.related(Author.books).where { $0.year < 1820 })
    let count = try store.count(mary.related(Author.books))  // one look-up
    // end snippet
    #expect(books.map(\.title) == ["Frankenstein"])
    // snippet: association-one
    let author = try store.first(books[0].related(Book.author))  // Author?
    // end snippet
    #expect(author?.name == "Mary")
    #expect(try books[0].related(Book.author).first(in: store)?.id == mary.id)
    try store.write { tx in
      #expect(try tx.first(mary.related(Author.books))?.title == "Frankenstein")
      _ = try tx.delete(Author.self, mary.id)
    }
    #expect(try store.first(books[0].related(Book.author)) == nil)
    #expect(early.count == 1)
    #expect(count == 1)
  }

  @Test("Students and courses, in lists that the store keeps")
  func courses() throws {
    let store = try AssociationGuide.store()
    // snippet: association-lists
    var ada = Student(name: "Ada")
    var bo = Student(name: "Bo")
    var logic = Course(title: "Logic")
    try store.write { tx in
      try tx.save(&ada)
      try tx.save(&bo)
      try tx.save(&logic)
      try tx.add(ada, to: logic.related(Course.students))
      try tx.add(logic, to: bo.related(Student.courses))  // the same lists, from the other end
      try tx.add(logic, to: bo.related(Student.courses))  // twice is once
    }

    let names = try store.fetch(logic.related(Course.students).sorted(by: \.name)).map(\.name)
    let isEnrolled = try store.contains(bo, in: logic.related(Course.students))
    try store.write { tx in
      try tx.remove(ada, from: logic.related(Course.students))
      try tx.replace(bo.related(Student.courses), with: [logic.id])
    }
    // end snippet
    #expect(names == ["Ada", "Bo"])
    #expect(isEnrolled)
    #expect(try store.count(logic.related(Course.students)) == 1)
    #expect(try store.verify().isClean)
  }

  @Test("A tree of categories")
  func tree() throws {
    let store = try AssociationGuide.store()
    // snippet: association-tree-use
    var animals = Category(name: "Animals")
    try store.write { tx in
      try tx.save(&animals)
      var birds = Category(name: "Birds", parentID: animals.id)
      try tx.save(&birds)
      var owls = Category(name: "Owls", parentID: birds.id)
      try tx.save(&owls)
    }

    let below = try store.fetch(animals.related(Category.children))
    let roots = try store.fetch(Category.where { $0.parentID == nil })
    let leaves = try store.fetch(Category.where { $0.children.isEmpty })
    try store.write { tx in
      try tx.delete(animals)  // and everything below it
    }
    // end snippet
    #expect(below.map(\.name) == ["Birds"])
    #expect(roots.map(\.name) == ["Animals"])
    #expect(leaves.map(\.name) == ["Owls"])
    #expect(try store.read { try $0.count(Category.all) } == 0)
  }

  @Test("Tags in a list of ids")
  func tags() throws {
    let store = try AssociationGuide.store()
    // snippet: association-tags-use
    var swift = Tag(id: "swift")
    var birds = Tag(id: "birds")
    var post = Post(text: "Swifts are fast", tagIDs: ["swift", "birds"])
    try store.write { tx in  // in any order: it must fit when the transaction ends
      try tx.save(&post)
      try tx.save(&swift)
      try tx.save(&birds)
    }

    let tags = try store.find(Tag.self, post.tagIDs)  // in the order of the list
    let posts = try store.fetch(swift.related(Tag.posts))
    try store.write { tx in
      try tx.remove(birds, from: post.related(Post.tags))  // changes the stored post
      try tx.delete(swift)  // takes it out of each list
    }
    // end snippet
    #expect(tags.map(\.id) == ["swift", "birds"])
    #expect(posts.map(\.text) == ["Swifts are fast"])
    #expect(try store.read { try $0.find(Post.self, post.id) }?.tagIDs == [])
    #expect(try store.verify().isClean)
  }

  @Test("Filters across associations")
  func filters() throws {
    let store = try AssociationGuide.library()
    // snippet: association-filters
    let books = try store.fetch(Book.where { $0.author.name == "Jules" && $0.year > 1870 })
    let early = try store.fetch(Author.where { $0.books.contains { $0.year < 1820 } })
    let idle = try store.fetch(Author.where { $0.books.isEmpty })
    let busy = try store.fetch(Author.where { $0.books.count > 1 })
    let orphaned = try store.fetch(Book.where { $0.author == nil })
    // end snippet
    #expect(books.map(\.title) == ["The Mysterious Island"])
    #expect(early.map(\.name) == ["Mary"])
    #expect(idle.map(\.name) == ["Silent"])
    let allBooks = try store.fetch(Book.all)
    let authors = try store.fetch(Author.all)
    let wanted = authors.filter { author in allBooks.count { $0.authorID == author.id } > 1 }
    #expect(busy.map(\.id) == wanted.map(\.id))
    #expect(orphaned.isEmpty)
  }

  @Test("Orders across associations")
  func orders() throws {
    let store = try AssociationGuide.library()
    // snippet: association-orders
    let byAuthor = Book.all.sorted(by: \.author.name).then(by: \.year, .descending)
    let page = try store.page(byAuthor.limit(3))
    // end snippet
    #expect(page.records.map(\.year) == [1875, 1865, 1826])
    let rest = try store.fetch(byAuthor.after(try #require(page.next)))
    #expect(rest.map(\.year) == [1818])
  }

  @Test("Records with their related ones")
  func together() throws {
    let store = try AssociationGuide.library()
    // snippet: association-with
    for (author, books) in try store.fetch(Author.all.with(Author.books)) {
      print(author.name, books.map(\.title))
    }
    for (book, author) in try store.fetch(Book.where { $0.year < 1850 }.with(Book.author)) {
      print(book.title, author?.name ?? "nobody")
    }
    // end snippet
    #expect(try store.fetch(Author.all.with(Author.books)).map(\.1.count) == [2, 2, 0])
  }

  @Test("Joins")
  func joins() throws {
    let store = try AssociationGuide.library()
    // snippet: association-joins
    let join = Author.where { $0.name != "Jules" }
      .joined(with: Book.where { $0.year > 1820 }, on: \.id, equals: \.authorID, kind: .left)
    for (author, book) in try store.fetch(join) {
      print(author.name, book?.title ?? "nothing")
    }
    // end snippet
    #expect(try store.fetch(join).map { $0.1?.title } == ["The Last Man", nil])
  }
}
