internal import Larch

/// A store of books that a new version of the program opens, which builds indexes over existing
/// records or migrates them first.
struct BookProgram: PowerProgram {
  private static let count = 24

  private let seed: UInt64
  private let migrates: Bool
  private let durability: Store.Options.Durability

  init(seed: UInt64, migrates: Bool, durability: Store.Options.Durability = .durable) {
    self.seed = seed
    self.migrates = migrates
    self.durability = durability
  }

  private func open(_ path: String, isVerified: Bool = false) throws -> Store {
    var options = Store.Options()
    options.durability = durability
    options.logLimits = .forPowerFailures
    // Several steps, and several transactions of a migration.
    options.indexBatchSize = 7
    options.isVerified = isVerified
    return try Store(
      at: path, for: IndexedBook.self, migrations: migrates ? BookMigrations.all : [],
      options: options)
  }

  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws {
    try Books.make(at: storePath(directory), count: Self.count, seed: seed)
    mark(PowerMark(kind: PowerMark.acknowledged, number: 0))
    try open(storePath(directory)).close()
    mark(PowerMark(kind: PowerMark.acknowledged, number: 1))
  }

  mutating func check(_ directory: String, after marks: [PowerMark]) throws {
    let path = storePath(directory)
    guard isThere(path) else {
      guard marks.isEmpty else { throw Mismatch("the store is gone") }
      return
    }
    let before = try steps(path)
    if marks.acknowledged == 1, before != (migrates ? 3 : 0) {
      throw Mismatch(
        "\(before.map { "\($0) migrations" } ?? "no books"), but all were acknowledged")
    }
    if marks.acknowledged != nil, before == nil { throw Mismatch("the books are gone") }
    let store = try open(path, isVerified: true)
    defer { store.close() }
    // In a store without books, the migrations have added their book.
    let expected =
      before == nil
      ? []
      : BookMigrations.books(
        migrates ? 3 : 0, count: Self.count, seed: seed
      ).map { "\($0)" }
    let books = try store.fetch(IndexedBook.all.sorted(by: \.id))
    let found = books.map {
      "\(PlainBook(id: .init($0.id.rawValue), title: $0.title, shelf: $0.shelf, topics: $0.topics, isbn: $0.isbn))"
    }
    if before == nil {
      guard found.count == (migrates ? 1 : 0) else {
        throw Mismatch("\(found.count) books of none")
      }
    } else if found != expected {
      throw Mismatch("the books are not what the new version makes of them")
    }
    try store.expectClean()
    try store.write { tx throws in
      var book = IndexedBook(title: "later", shelf: 1, topics: [], isbn: "later")
      try tx.save(&book)
    }
  }

  /// The number of migrations that have run, as every book shows; nil if there are no books yet.
  private func steps(_ path: String) throws -> Int? {
    var options = Store.Options()
    options.isReadOnly = true
    options.isVerified = true
    options.evolution = .off
    let store = try Store(at: path, for: PlainBook.self, options: options)
    defer { store.close() }
    let books: [String]
    do {
      books = try store.read { tx throws in try tx.all(PlainBook.self).map { "\($0)" } }
    } catch let error as LarchError where error.code == .unknownCollection {
      // The store was created, but no type was opened in it yet.
      return nil
    }
    if books.isEmpty { return nil }
    for steps in 0...3 {
      let expected = BookMigrations.books(steps, count: Self.count, seed: seed)
      if books == expected.map({ "\($0)" }) { return steps }
    }
    throw Mismatch("\(books.count) books, which are those of no step")
  }
}
