import Foundation
import LarchTestSupport

@testable import Larch

/// The records of these tests, and a store for them.
enum Fixtures {
  struct Address: Codable, Equatable, Sendable {
    var street = ""
    var city = ""
  }

  enum Role: String, Codable, IndexKey, CaseIterable { case guest, member, owner }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var age = 0
    var tags: [String] = []
    var address = Address()
    var role = Role.guest

    enum CodingKeys: String, CodingKey {
      case id, email, age, tags, address, role
      case name = "full_name"
    }

    static let schema = Schema<Person> {
      Unique(\.email)
      Index(\.age)
      Index(\.address.city)
      Index(\.tags)
    }
  }

  /// An id of the program's own.
  struct Page: Record, Equatable {
    var id: String
    var text = ""
  }

  /// The store keeps its times.
  struct Note: Record, Timestamped, Equatable {
    var id = RecordID<Note>()
    var text: String
    var createdAt: Date?
    var updatedAt: Date?
  }

  /// Its hooks change it, and refuse some.
  struct Article: Record, Equatable {
    var id = RecordID<Article>()
    var title: String
    var version = 0

    struct Refused: Error {}

    static let schema = Schema<Article> {
      WillSave { try $0.willSave(in: $1) }
      WillInsert { try $0.willInsert(in: $1) }
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      title = title.trimmingCharacters(in: .whitespaces)
      if title.isEmpty { throw Refused() }
    }
    mutating func willInsert(in tx: WriteTransaction) throws { version = 1 }
    mutating func willUpdate(from stored: Article, in tx: WriteTransaction) throws {
      version = stored.version + 1
    }
  }

  static func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    change(&options)
    return try Store.temporary(
      for: Person.self, Page.self, Note.self, Article.self, options: options)
  }
}

typealias Person = Fixtures.Person
typealias Page = Fixtures.Page
typealias Note = Fixtures.Note
typealias Article = Fixtures.Article

struct Stop: Error {}

extension Store {
  /// The number of the last transaction that changed the file.
  var lastTransactionID: UInt64 {
    get throws { try environment.info().lastTransactionID }
  }

  /// How many shapes the file holds.
  var shapeCount: Int {
    get throws {
      try read { tx throws in
        try tx.context.catalog.storage.shapeCount(in: try tx.live())
      }
    }
  }
}
