import Foundation
import LarchTestSupport
import Synchronization

@testable import Larch

/// Messages from any thread.
final class Messages: Sendable {
  private let list = Mutex<[LogMessage]>([])

  func add(_ message: LogMessage) { list.withLock { $0.append(message) } }
  var all: [LogMessage] { list.withLock { $0 } }
  var events: [LogMessage.Event] { all.map(\.event) }

  func all(_ event: LogMessage.Event) -> [LogMessage] { all.filter { $0.event == event } }

  /// What came since the last call.
  func take() -> [LogMessage] {
    list.withLock { list in
      defer { list = [] }
      return list
    }
  }
}

/// Records with indexes of each kind, large values and lists.
struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var email: String
  var city: String
  var notes = ""

  static let clubs = ManyToMany<Person, Club>(named: "membership")
  static let schema = Schema<Person> {
    Unique(\.email)
    Index(\.city)
    clubs
  }
}

struct Club: Record {
  var id = RecordID<Club>()
  var name: String

  static let people = ManyToMany<Club, Person>(named: "membership")
  static let schema = Schema<Club> { people }
}

extension SeededGenerator {
  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
