import Foundation
import Larch

// The records of the walk through the table of features.

enum Product {
  enum Role: String, Codable, Sendable { case guest, member, admin }

  /// A type of the application's own that can be indexed.
  struct Postcode: Codable, Hashable, Sendable, IndexKey {
    var area: String
    var number: Int

    var indexValue: CompositeKey<String, Int> { CompositeKey(area, number) }
  }

  struct Address: Record {
    var id = UUID()
    var postcode: Postcode

    static let schema = Schema<Address> { Index(\.postcode) }
  }

  struct Company: Record {
    var id = RecordID<Company>()
    var name: String

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let projects = ManyToMany<Company, Project>(Project.self, named: "projects")
    static let schema = Schema<Company> {
      Unique(\.name)
      people
      projects
    }
  }

  struct Person: Record, Timestamped {
    var id = RecordID<Person>()
    var name: String
    var number: Int
    var email: String?
    var age = 30
    var city = "London"
    var role = Role.guest
    var tags: [String] = []
    var companyID: Company.ID?
    var createdAt: Date?
    var updatedAt: Date?
    /// Not stored: it is not among the coding keys.
    var isSelected = false

    enum CodingKeys: String, CodingKey {
      case id, name, number, email, age, city, role, tags, companyID, createdAt, updatedAt
    }

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let schema = Schema<Person> {
      company
      Unique(\.number)
      Unique(\.email)
      Index(\.city, \.age)
      Index(\.tags)
      Validate(\.name, .presence)
    }
  }

  struct Project: Record {
    var id = RecordID<Project>()
    var title: String
  }

  static func store() throws -> Store {
    try Store.checked(for: Company.self, Person.self, Project.self)
  }

  /// Five people in two cities, saved.
  static func people(in store: Store) throws -> [Person] {
    var people = [
      Person(name: "Ada", number: 1, email: "ada@acme.example", age: 36, tags: ["maths"]),
      Person(name: "Bo", number: 2, age: 41, city: "Oslo", role: .member),
      Person(name: "Cy", number: 3, age: 17, tags: ["maths", "swift"]),
      Person(name: "Di", number: 4, email: "di@acme.example", age: 29, city: "Oslo"),
      Person(name: "Ed", number: 5, age: 36, role: .admin),
    ]
    try store.write { tx in
      for place in people.indices { try tx.save(&people[place]) }
    }
    return people
  }
}
