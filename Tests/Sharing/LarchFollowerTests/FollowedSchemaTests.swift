import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A book as the first version of a program knows it.
private struct Book: Record, Equatable {
  static let collectionName = "Book"
  var id = RecordID<Book>()
  var title: String
  var year: Int

  static let schema = Schema<Book> { Index(\.title) }
}

/// The next version: one index is gone, two are new, and there is a field more.
private struct NextBook: Record, Equatable {
  static let collectionName = "Book"
  var id = RecordID<NextBook>()
  var title: String
  var year: Int
  var pages: Int? = nil

  static let schema = Schema<NextBook> {
    Index(\.year)
    Index(\.year, \.title)
  }
}

/// A version that the first one cannot read.
private struct OtherBook: Record {
  static let collectionName = "Book"
  var id = RecordID<OtherBook>()
  var title: [String]
  var year: Int
}

private struct Author: Record {
  var id = RecordID<Author>()
  var name: String
  static let schema = Schema<Author> { Unique(\.name) }
}

/// Changes of the schema that arrive in the log while a follower is open.
@Suite struct FollowedSchemaTests {
  private final class Program {
    let sharing: Sharing
    let path: String
    private(set) var writer: Store
    let log: any SharedLog

    init() throws {
      // It brings the directory and the server; its own writer is not used.
      sharing = try Sharing(begins: false)
      path = sharing.directory + "/books.larch"
      writer = try Store(path: path, types: [Book.self], options: .quick, isTemporary: false)
      try writer.mirror()
      log = try sharing.server.serverLog.open()
      try Sharing.begin(writer, log)
    }

    func reopen(_ types: [any Record.Type], migrations: [Migration] = []) throws {
      writer.close()
      writer = try Store(
        path: path, types: types, options: .quick.with { $0.migrations = migrations },
        isTemporary: false)
    }

    func ship() throws { #expect(try Sharing.ship(writer, log)) }
    deinit { writer.close() }
  }

  private func settle(_ follower: Store, _ program: Program) async throws {
    try program.ship()
    try await follower.read(.atLeast(program.writer.version), within: .seconds(20)) { _ in }
  }

  @Test func `indexes and collections that the writer changes reach an open follower`() async throws
  {
    let program = try Program()
    var random = SeededGenerator(seed: 2)
    try program.writer.saveAllBlocking(
      (0..<300).map { Book(title: "b\($0 % 40)", year: 1900 + $0 % 50) })
    try program.ship()
    let follower = try program.sharing.follow(
      [Book.self], options: .quick.with { $0.checksQueries = true })
    defer { follower.close() }
    try await settle(follower, program)
    let query = Book.where { $0.title == "b7" }.sorted(by: \.year)
    let seen = Locked<[Book]>([])
    let failures = Locked(0)
    let token = follower.observe(query) { _ in
      failures.withLock { $0 += 1 }
    } onChange: { value in
      seen.withLock { $0 = value.rows }
    }
    defer { token.cancel() }
    for round in 0..<6 {
      // Each opening drops indexes and builds others, whose handles may be those of the dropped ones.
      if round % 2 == 0 {
        try program.reopen([NextBook.self, Author.self])
        for _ in 0..<5 {
          try program.writer.saveAllBlocking([
            NextBook(title: "b7", year: .random(in: 1900..<2000, using: &random), pages: 3)
          ])
          try program.writer.saveAllBlocking([Author(name: "a\(UInt64.random(in: 0 ... .max))")])
        }
      } else {
        try program.reopen([Book.self])
        try program.writer.saveAllBlocking([Book(title: "b7", year: 1999)])
      }
      try await settle(follower, program)
      let all = try follower.fetch(Book.all)
      #expect(all.count == 300 + (round + 2) / 2 * 5 + (round + 1) / 2)
      let expected = all.filter { $0.title == "b7" }.sorted { ($0.year, $0.id) < ($1.year, $1.id) }
      #expect(try follower.fetch(query) == expected)
      await eventually { seen.withLock { $0 } == expected }
      // A program of the new version finds its index in the same copy's file.
      if round % 2 == 0 {
        let path = program.sharing.directory + "/new\(round).larch"
        let new = try program.sharing.follow([NextBook.self, Author.self], at: path)
        defer { new.close() }
        try await new.read(.atLeast(program.writer.version), within: .seconds(20)) { _ in }
        #expect(
          try new.explain(NextBook.where { $0.year == 1910 }).contains("index year"))
        #expect(try new.dump() == program.writer.dump())
        #expect(try new.verifyAll().isClean)
      }
    }
    #expect(failures.withLock { $0 } == 0)
  }

  @Test func `a migration that a follower's types cannot read is an error there, and no crash`()
    async throws
  {
    let program = try Program()
    try program.writer.saveAllBlocking([Book(title: "one", year: 1), Book(title: "two", year: 2)])
    try program.ship()
    let follower = try program.sharing.follow([Book.self])
    defer { follower.close() }
    try await settle(follower, program)
    let failures = Locked<[LarchError.Code]>([])
    let token = follower.observe(Book.all) { error in
      failures.withLock { $0.append((error as? LarchError)?.code ?? .storage) }
    } onChange: { _ in
    }
    defer { token.cancel() }
    try program.reopen(
      [OtherBook.self],
      migrations: [
        Migration("titles") { migration in
          try migration.rewrite(OtherBook.self, from: Book.self) { old in
            OtherBook(id: .init(old.id.rawValue), title: [old.title], year: old.year)
          }
        }
      ])
    try program.ship()
    await eventually {
      follower.follower?.status.position == (try? program.writer.version.position)
    }
    #expect(
      follower.follower?.status.error == nil,
      "\(String(describing: follower.follower?.status)) \(String(describing: try? program.writer.version))"
    )
    let error = caughtAny { _ = try follower.fetch(Book.all) }
    #expect(error?.code == .schemaMismatch, "\(String(describing: error))")
    await eventually { failures.withLock { !$0.isEmpty } }
    #expect(failures.withLock { $0.allSatisfy { $0 == .schemaMismatch } })
    // It follows on, and whoever knows the new version reads it.
    try program.writer.saveAllBlocking([OtherBook(title: ["three"], year: 3)])
    try program.ship()
    await eventually {
      follower.follower?.status.position == (try? program.writer.version.position)
    }
    #expect(follower.follower?.status.error == nil)
    let new = try program.sharing.follow(
      [OtherBook.self], at: program.sharing.directory + "/new.larch")
    defer { new.close() }
    try await new.read(.atLeast(program.writer.version), within: .seconds(20)) { _ in }
    #expect(try new.fetch(OtherBook.all).map(\.title) == [["one"], ["two"], ["three"]])
  }
}

extension Store {
  fileprivate func verifyAll() throws -> VerificationReport { try verify() }
}

private func caughtAny(_ work: () throws -> Void) -> LarchError? { caught(work) }
