import Foundation
import Larch
import LarchTestSupport
import Testing

// The last examples of docs/guide.md: errors, files and tests.

// MARK: - Errors

@Suite("guide.md: errors")
struct ErrorGuideTests {
  @Test("A unique conflict names the index and the record in the way")
  func conflict() throws {
    let store = try Store.temporary(for: ReadmeTests.Person.self, ReadmeTests.Company.self)
    typealias Person = ReadmeTests.Person
    var ada = Person(name: "Ada", email: "ada@larch.example", age: 36, city: "London")
    try store.write { tx in try tx.save(&ada) }
    var told = ""
    func show(_ text: String) { told = text }
    // snippet: guide-conflict
    var other = Person(name: "Adele", email: "ada@larch.example", age: 20, city: "Oslo")
    do {
      try store.write { tx in try tx.save(&other) }
    } catch let error as LarchError where error.code == .uniqueConflict {
      show("\(error.context.index ?? "") is taken by \(error.context.otherID ?? "")")
    }
    // end snippet
    #expect(told == "email is taken by 1")
    #expect(other.id.isAssigned == false)
  }
}

// MARK: - Files

@Suite("guide.md: files")
struct FileGuideTests {
  @Test("A store is opened by its path, with options")
  func open() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("books.larch")
    // snippet: guide-open
    var options = Store.Options()
    options.durability = .relaxed
    options.indexProgress = { print("\($0.index): \($0.done) of \($0.total)") }
    let store = try Store(at: path, for: Book.self, Member.self, options: options)
    // end snippet
    store.close()

    // snippet: guide-read-only
    var readOnly = Store.Options()
    readOnly.isReadOnly = true
    let archive = try Store(at: path, for: Book.self, options: readOnly)
    // end snippet
    #expect(throws: LarchError.self) { try archive.write { _ in } }
  }

  @Test("A sound store verifies; a damaged one is refused, and salvaged")
  func damage() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("books.larch")
    let copyPath = folder.path("copy.larch")
    let store = try Store(at: path, for: Book.self)
    try store.write { tx in
      for number in 1...2000 {
        var book = Book(title: "Book \(number)", pages: number)
        try tx.save(&book)
      }
    }
    var problems: [String] = []
    func report(_ fault: VerificationReport.Fault) { problems.append(fault.description) }
    // snippet: guide-verify
    let result = try store.verify()
    if !result.isClean {
      for fault in result.faults { report(fault) }
      try store.rebuild()  // builds every index again from the records
    }
    // end snippet
    #expect(problems == [])
    #expect(result.recordCount == 2000)
    store.close()

    try damagePages(of: path)
    // snippet: guide-verified
    var careful = Store.Options()
    careful.isVerified = true
    do {
      _ = try Store(at: path, for: Book.self, options: careful)
    } catch let error as LarchError where error.code == .corrupted {
      let saved = try Store.salvage(path, to: copyPath)
      print(
        "\(saved.recordCount) records were saved, \(saved.damage.count) places could not be read")
    }
    // end snippet
    let copy = try Store(at: copyPath, for: Book.self)
    let count = try copy.read { tx in try tx.count(Book.all) }
    #expect(count > 1500 && count < 2000)
    #expect(try copy.verify().isClean)
  }

  /// Overwrites a page in the middle of the file.
  private func damagePages(of path: String) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    defer { try? file.close() }
    let middle = try file.seekToEnd() / 4096 / 2
    try file.seek(toOffset: middle * 4096)
    try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
  }
}

// MARK: - Tests

@Suite("guide.md: testing")
struct TestingGuideTests {
  @Test("A dump shows what a store holds")
  func dump() throws {
    struct Note: Record {
      var id = RecordID<Note>()
      var text: String
      static let schema = Schema<Note> { Index(\.text) }
    }
    // snippet: guide-dump
    let store = try Store.temporary(for: Note.self)
    var note = Note(text: "Water the larch")
    try store.write { tx in try tx.save(&note) }

    try store.requireDump(
      equals: """
        collection Note: 1 record
          1 {"id":1,"text":"Water the larch"}
          index text: 1 entry
            ["Water the larch"] -> 1
        """)
    // end snippet

    // snippet: guide-dump-file
    try store.requireDump(ids: .named, matches: "notes.dump")
    // end snippet
  }
}
