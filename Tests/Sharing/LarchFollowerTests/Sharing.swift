import Foundation
import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch

struct Note: Record, Equatable {
  var id = RecordID<Note>()
  var title: String
  var stars: Int
  var tags: [String] = []
  var shelfID: Shelf.ID?

  static let shelf = BelongsTo<Note, Shelf>(\.shelfID)
  static let schema = Schema<Note> {
    shelf
    Index(\.title)
    Index(\.stars, \.title)
    Index(\.tags)
  }
}

struct Shelf: Record, Equatable {
  var id = RecordID<Shelf>()
  var name: String

  static let notes = HasMany<Shelf, Note>(\.shelfID, onDelete: .nullify)
  static let schema = Schema<Shelf> {
    notes
    Unique(\.name)
  }
}

/// A writer, its log on a server in memory, and copies that follow it, in one directory.
///
/// The writer ships when a test says so.
final class Sharing {
  let directory: String
  let server: MemoryServer
  let writer: Store
  private let log: any SharedLog

  init(
    _ types: [any Record.Type] = [Note.self, Shelf.self], seed: UInt64 = 1,
    faults: MemoryServer.Faults = MemoryServer.Faults(), begins: Bool = true
  ) throws {
    directory =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-follower-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    server = MemoryServer(seed: seed)
    writer = try Store(
      path: directory + "/writer.larch", types: types, options: .quick, isTemporary: false)
    log = try server.serverLog.open()
    try writer.mirror()
    if begins { try begin() }
    server.set(faults)
  }

  deinit {
    writer.close()
    try? FileManager.default.removeItem(atPath: directory)
  }

  var copyPath: String { directory + "/copy.larch" }

  /// Sends all pairs.
  func begin() throws { try Sharing.begin(writer, log) }

  /// Ships everything that waits.
  func ship() throws { try Sharing.ship(writer, log) }

  /// Repeats what a server refuses for the moment.
  static func persist<T>(_ work: () throws -> T) throws -> T {
    while true {
      do { return try work() } catch let error as LarchError where error.code == .unavailable {}
    }
  }

  static func begin(_ store: Store, _ log: any SharedLog) throws {
    let expected = try persist { try log.head()?.newest }
    let place = try persist {
      try store.environment.withPairs { header, copy in
        let place = try #require(header).place
        #expect(try log.begin(at: place, expecting: expected, copy))
        return place
      }
    }
    try store.environment.trimOutbox(through: place, isFirstCopy: true)
  }

  @discardableResult
  static func ship(_ store: Store, _ log: any SharedLog) throws -> Bool {
    let header = try #require(try store.environment.outboxHeader())
    guard
      case .entries(let entries) = try store.environment.outboxEntries(
        after: header.shipped.position, limit: .max)
    else { throw LarchError(.corrupted, "Entries are missing in the outbox.") }
    guard let last = entries.last else { return true }
    guard try persist({ try log.append(entries) }) else { return false }
    try store.environment.trimOutbox(through: last.place)
    return true
  }

  func follow(
    _ types: [any Record.Type] = [Note.self, Shelf.self], at path: String? = nil,
    options: Store.Options = .quick
  ) throws -> Store {
    try Sharing.persist {
      try Store(
        following: server.serverLog, copy: path ?? copyPath, types: types, options: options)
    }
  }

  /// Waits until a copy has all that the writer has, and compares them.
  func expectEqual(
    _ follower: Store, _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation
  ) throws {
    try follower.wait(for: try writer.version, within: .seconds(20))
    let difference = TextDifference.between(
      expected: try writer.dump(), actual: try follower.dump())
    #expect(difference == nil, comment, sourceLocation: location)
  }
}

extension Sharing {
  /// `expectEqual` in an asynchronous test: observers need the threads of tasks.
  func expectEqualSoon(
    _ follower: Store, location: SourceLocation = #_sourceLocation
  ) async throws {
    let version = try writer.version
    try await follower.read(.atLeast(version), within: .seconds(20)) { _ in }
    let difference = TextDifference.between(
      expected: try writer.dump(), actual: try follower.dump())
    #expect(difference == nil, sourceLocation: location)
  }
}

/// Waits for something that a thread or a task does.
func eventually(
  _ condition: () throws -> Bool, location: SourceLocation = #_sourceLocation
) async rethrows {
  // By attempts and not by time: on a busy machine a test may not get its turn for long.
  for _ in 0..<20_000 {
    if try condition() { return }
    try? await Task.sleep(for: .milliseconds(1))
  }
  Issue.record("it did not happen", sourceLocation: location)
}

extension Store {
  /// Begins to record commits for a log.
  func mirror() throws {
    let first = LogEntry(after: .start, random: 1, changes: []).place
    try environment.beginOutbox(role: .writer, place: first)
  }
}

/// Random writes on a store of notes and shelves.
struct RandomWrites {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let words = ["ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine", "yew"]

  private mutating func word() -> String { Self.words.randomElement(using: &random) ?? "" }

  mutating func note(shelves: [Shelf.ID]) -> Note {
    Note(
      title: "\(word()) \(Int.random(in: 0..<50, using: &random))",
      stars: .random(in: 0..<6, using: &random),
      tags: (0..<Int.random(in: 0..<4, using: &random)).map { _ in word() },
      shelfID: shelves.randomElement(using: &random))
  }

  /// One write with a few changes.
  mutating func write(to store: Store, _ count: Int = 3) throws {
    let before = self
    // The closure may run again, and must do the same then.
    self = try store.write { tx in
      var run = before
      for _ in 0..<Int.random(in: 1...count, using: &run.random) { try run.change(tx) }
      return run
    }
  }

  private mutating func change(_ tx: WriteTransaction) throws {
    let shelves = try tx.ids(Shelf.all)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<45:
      var note = note(shelves: shelves)
      try tx.save(&note)
    case 45..<70:
      guard let id = try tx.ids(Note.all).randomElement(using: &random) else { return }
      var note = note(shelves: shelves)
      note.id = id
      try tx.save(&note)
    case 70..<85:
      guard let id = try tx.ids(Note.all).randomElement(using: &random),
        let note = try tx.find(Note.self, id)
      else { return }
      try tx.delete(note)
    case 85..<92:
      var shelf = Shelf(name: "shelf \(UInt32.random(in: 0 ... .max, using: &random))")
      try tx.save(&shelf)
    case 92..<96:
      guard let id = shelves.randomElement(using: &random),
        let shelf = try tx.find(Shelf.self, id)
      else { return }
      try tx.delete(shelf)
    case 96..<98:
      // A savepoint that is undone leaves nothing.
      try? tx.savepoint {
        var note = note(shelves: shelves)
        try tx.save(&note)
        throw Undo()
      }
    default:
      for _ in 0..<40 {
        var note = note(shelves: shelves)
        try tx.save(&note)
      }
    }
  }

  struct Undo: Error {}
}
