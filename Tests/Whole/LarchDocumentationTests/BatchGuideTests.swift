import Foundation
import Larch
import LarchTestSupport
import Synchronization
import Testing

/// The examples of the guide about several records at once, and about where a store is.
@Suite("Examples of batches and of places")
struct BatchGuideTests {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var age: Int

    static let schema = Schema<Person> { Unique(\.email) }
  }

  struct Company: Record {
    var id = RecordID<Company>()
    var name: String
  }

  @Test("Several records at once")
  func batches() throws {
    let store = try Store.temporary(for: Person.self)
    var people = [
      Person(name: "Ada", email: "a", age: 36), Person(name: "Bo", age: 41),
      Person(name: "Cy", age: 17),
    ]
    let fromElsewhere = [
      Person(name: "Ada L", email: "a", age: 36), Person(name: "Di", email: "d", age: 50),
    ]
    // snippet: guide-batches
    let saved = try store.save(contentsOf: people) { print($0.fraction) }  // progress, if you like
    people = saved.records  // with their ids
    print(saved)  // 3 inserted, 0 updated, 0 unchanged

    // Each takes the place of the record with the same e-mail, or is inserted.
    let synced = try store.save(contentsOf: fromElsewhere, matching: \.email)
    print(synced.changes)  // [updated, inserted]

    let gone = try store.delete(Person.self, ids: people.map(\.id) + [99])
    print(gone.deleted, gone.missing)  // 3 [99]

    let grown = try store.update(Person.all, progress: nil) { if $0.age > 40 { $0.age += 1 } }
    print(grown.updated, grown.unchanged)
    // end snippet
    #expect(saved.description == "3 inserted, 0 updated, 0 unchanged")
    #expect(synced.changes == [.updated, .inserted])
    #expect("\(synced.changes)" == "[updated, inserted]")
    #expect(gone.deleted == 3 && gone.missing == [99])
    #expect(grown.updated == 1 && grown.unchanged == 0)
  }

  /// It would open a store in the home of whoever runs the tests.
  private func standard() throws {
    // snippet: guide-standard
    let store = try Store.standard(for: Person.self, Company.self)
    print(store.path)
    // end snippet
  }

  @Test("The standard place has a path before there is a store")
  func place() throws {
    #expect(try Store.standardPath().hasSuffix("/store.larch"))
  }

  @Test("A file that does not fit is moved aside")
  func aside() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")
    struct Old: Record {
      static let collectionName = "Person"
      var id = RecordID<Old>()
      var name: [Int]
      var age: Int
    }
    let old = try Store(at: path, for: Old.self)
    var first = Old(name: [1], age: 2)
    try old.save(&first)
    old.close()
    // snippet: evolution-aside
    var options = Store.Options()
    options.onMismatch = .moveAside
    let store = try Store(at: path, for: Person.self, options: options)
    if let old = store.movedAside { print("The old store is now \(old).") }
    // end snippet
    #expect(store.movedAside != nil)
    #expect(try store.count(Person.all) == 0)
    store.close()
  }

  @Test("A store that is excluded from backups")
  func excluded() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")
    // snippet: operations-excluded
    var options = Store.Options()
    options.isExcludedFromBackup = true
    let store = try Store(at: path, for: Person.self, options: options)
    print(store.isExcludedFromBackup)  // true on Apple platforms
    // end snippet
    #if canImport(Darwin)
      #expect(store.isExcludedFromBackup)
    #else
      #expect(!store.isExcludedFromBackup)
    #endif
    store.close()
  }

  /// What the example uses of swift-log, which the tests of this package do not depend on.
  struct Logger: Sendable {
    enum Level: String, Sendable { case trace, debug, info, notice, warning, error, critical }
    let lines: Lines

    final class Lines: Sendable {
      let all = Mutex<[String]>([])
    }

    func log(
      level: Level, _ message: @autoclosure () -> String,
      metadata: @autoclosure () -> [String: String]?, source: @autoclosure () -> String?
    ) {
      let line = "\(level) \(source() ?? "") \(metadata()?["event"] ?? "") \(message())"
      lines.all.withLock { $0.append(line) }
    }
  }

  // snippet: operations-log-adapter
  func larchLog(to logger: Logger) -> @Sendable (LogMessage) -> Void {
    { message in
      let level: Logger.Level =
        switch message.level {
        case .trace: .trace
        case .debug: .debug
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
      logger.log(
        level: level, "\(message)", metadata: ["event": "\(message.event)"], source: "Larch")
    }
  }
  // end snippet

  @Test("A log that names each verb, and one of another library")
  func trace() throws {
    var options = Store.Options()
    // snippet: operations-log-trace
    options.logLevel = .trace
    options.log = LogMessage.standardError(.trace)
    // end snippet
    let lines = Logger.Lines()
    options.log = larchLog(to: Logger(lines: lines))
    let store = try Store.temporary(for: Person.self, options: options)
    var ada = Person(name: "Ada", age: 36)
    try store.save(&ada)
    _ = try store.fetch(Person.all)
    let told = lines.all.withLock { $0 }
    #expect(told.contains { $0.hasPrefix("trace Larch verb verb: A verb ran.") })
    #expect(told.contains { $0.contains("verb: fetch") && $0.contains("returned 1") })
    #expect(told.contains { $0.hasPrefix("trace Larch write write: A write was committed.") })
    #expect(!told.contains { $0.contains("Ada") })
  }
}
