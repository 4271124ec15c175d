import Foundation
import Larch
import Synchronization
import Testing

/// The examples of docs/operations.md about the log and the statistics.
@Suite("Examples of the log and of statistics")
struct LogGuideTests {
  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
  }

  final class Monitor: Sendable {
    let counts = Mutex<[String: Int]>([:])
    func count(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }
  }

  @Test("A log on standard error, and a log of the program")
  func log() throws {
    let monitor = Monitor()
    // snippet: operations-log
    var options = Store.Options()
    options.log = LogMessage.standardError(.notice)
    options.slowWrite = .milliseconds(200)
    // end snippet

    // snippet: operations-log-own
    options.log = { message in
      guard message.level >= .warning else { return }
      monitor.count(message.event.rawValue)
    }
    // end snippet
    options.slowRead = .zero
    let store = try Store.temporary(for: Person.self, options: options)
    _ = try store.count(Person.all)
    #expect(monitor.counts.withLock { $0 } == ["slow_read": 1])
  }

  @Test("The statistics of a store")
  func statistics() throws {
    let store = try Store.temporary(for: Person.self)
    // snippet: operations-statistics
    let statistics = try store.statistics()
    print(statistics)
    // end snippet
    #expect(statistics.description.contains("\ncollection Person  "))
    #expect(statistics.otherPages == 0)
  }
}
