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

/// A place for a store that is removed after `body`.
func withPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  return try body(path)
}

extension Store.Options {
  /// Nothing is flushed, as befits a file that is thrown away.
  static var quick: Self {
    var options = Self()
    options.durability = .none
    return options
  }

  func with(_ change: (inout Self) -> Void) -> Self {
    var options = self
    change(&options)
    return options
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
