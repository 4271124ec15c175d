import Foundation
import Larch
import LarchTestSupport
import Testing

@Suite("The log hook")
struct LogTests {
  struct Note: Record {
    static let collectionName = "Note"
    var id = RecordID<Note>()
    var text: String
  }

  struct IndexedNote: Record {
    static let collectionName = "Note"
    var id = RecordID<IndexedNote>()
    var text: String
    static let schema = Schema<IndexedNote> { Index(\.text) }
  }

  /// Messages from any thread.
  final class Messages: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [LogMessage] = []

    func add(_ message: LogMessage) { lock.withLock { list.append(message) } }
    var all: [LogMessage] { lock.withLock { list } }
  }

  private let messages = Messages()

  private var options: Store.Options {
    var options = Store.Options()
    options.log = { [messages] in messages.add($0) }
    // On a busy machine any operation may be slow.
    (options.slowRead, options.slowWrite) = (nil, nil)
    return options
  }

  @Test("Opening, a new collection, an index build and closing are logged with their place")
  func schemaChanges() throws {
    let file = FileManager.default.temporaryDirectory
      .appending(path: "log-\(UUID().uuidString).larch").path
    defer { for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: file + end) } }
    let store = try Store(at: file, for: Note.self, options: options)
    try store.write { tx in
      for number in 0..<3 {
        var note = Note(text: "\(number)")
        try tx.save(&note)
      }
    }
    store.close()
    #expect(messages.all.map(\.event) == [.schemaChanged, .opened, .closed])

    try Store(at: file, for: IndexedNote.self, options: options).close()
    let later = messages.all.dropFirst(3)
    #expect(later.map(\.event) == [.schemaChanged, .indexBuilt, .opened, .closed])
    let built = try #require(later.first { $0.event == .indexBuilt })
    #expect(built.level == .notice)
    #expect(built.context.collection == "Note" && built.context.index == "text")
    #expect(built.context.detail == "3 records")
    #expect(built.description.hasPrefix("index_built: An index was built"))
  }

  @Test("The growth of the map is logged")
  func growth() throws {
    var options = options
    options.initialMapSize = 1 << 20
    let store = try Store.temporary(for: Note.self, options: options)
    try store.write { tx in
      for _ in 0..<40 {
        var note = Note(text: String(repeating: "x", count: 100_000))
        try tx.save(&note)
      }
    }
    let grown = messages.all.filter { $0.event == .mapGrown }
    #expect(!grown.isEmpty)
    #expect(grown.allSatisfy { $0.level == .notice && $0.context.detail != nil })
  }

  @Test("Levels are ordered, so that a program can leave out what it does not want")
  func levels() {
    #expect(LogMessage.Level.debug < .notice && LogMessage.Level.notice < .warning)
  }
}
