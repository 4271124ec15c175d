import Foundation
import LarchTestSupport

@testable import Larch

/// Whether the records of a graph have further indexes.
protocol FilterGraphKind: Sendable {
  static var isIndexed: Bool { get }
}

enum PlainGraph: FilterGraphKind { static let isIndexed = false }
enum IndexedGraph: FilterGraphKind { static let isIndexed = true }

/// Records with associations of every kind, and the arrays that filters over them are compared with.
final class FilterGraph<K: FilterGraphKind> {
  struct Company: Record, Equatable {
    var id = RecordID<Company>()
    var name = ""
    var size = 0
    var parentID: Company.ID?

    static var collectionName: String { "Company" }
    static var people: HasMany<Company, Person> { HasMany(\.companyID, onDelete: .none) }
    static var branches: HasMany<Company, Company> { HasMany(\.parentID, onDelete: .none) }
    static var parent: BelongsTo<Company, Company> { BelongsTo(\.parentID) }
    static var schema: Schema<Company> {
      if K.isIndexed {
        Schema {
          people
          branches
          Index(\.name)
          Index(\.size, \.name)
        }
      } else {
        Schema {
          people
          branches
        }
      }
    }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name = ""
    var age = 0
    var nickname: String?
    var companyID: Company.ID?
    var tagIDs: [String] = []

    static var collectionName: String { "Person" }
    static var company: BelongsTo<Person, Company> { BelongsTo(\.companyID) }
    static var tags: HasMany<Person, Tag> { HasMany(in: \.tagIDs) }
    static var projects: ManyToMany<Person, Project> { ManyToMany(named: "members") }
    static var profile: HasOne<Person, Profile> { HasOne(\.personID, onDelete: .none) }
    static var categories: HasMany<Person, Category> {
      HasMany(through: \Rating.personID, \Rating.categoryID)
    }
    static var schema: Schema<Person> {
      if K.isIndexed {
        Schema {
          company
          tags
          profile
          categories
          Index(\.age)
          Index(\.name)
          Index(\.companyID, \.age)
        }
      } else {
        Schema {
          tags
          profile
          categories
        }
      }
    }
  }

  struct Project: Record, Equatable {
    var id = UUID()
    var title = ""
    var budget: Int32?

    static var collectionName: String { "Project" }
    static var members: ManyToMany<Project, Person> { ManyToMany(named: "members") }
    static var schema: Schema<Project> {
      if K.isIndexed {
        Schema {
          members
          Index(\.budget)
        }
      } else {
        Schema { members }
      }
    }
  }

  struct Tag: Record, Equatable {
    var id: String
    var weight = 0

    static var collectionName: String { "Tag" }
    static var people: HasMany<Tag, Person> { HasMany(\.tagIDs, onDelete: .none) }
    static var schema: Schema<Tag> {
      if K.isIndexed {
        Schema {
          people
          Index(\.weight)
        }
      } else {
        Schema { people }
      }
    }
  }

  struct Category: Record, Equatable {
    var id: Int16
    var label = ""
    var parentID: Int16?

    static var collectionName: String { "Category" }
    static var people: HasMany<Category, Person> {
      HasMany(through: \Rating.categoryID, \Rating.personID)
    }
    static var children: HasMany<Category, Category> { HasMany(\.parentID, onDelete: .none) }
    static var parent: BelongsTo<Category, Category> { BelongsTo(\.parentID) }
    static var ratings: HasMany<Category, Rating> { HasMany(\.categoryID) }
    static var schema: Schema<Category> {
      if K.isIndexed {
        Schema {
          children
          Index(\.label, options: .caseInsensitive)
        }
      } else {
        Schema { children }
      }
    }
  }

  struct Rating: Record, Equatable {
    var id = RecordID<Rating>()
    var personID = Person.ID()
    var categoryID: Int16 = 0
    var stars = 0

    static var collectionName: String { "Rating" }
    static var schema: Schema<Rating> {
      K.isIndexed ? Schema { Index(\.stars) } : Schema {}
    }
  }

  struct Profile: Record, Equatable {
    var id = RecordID<Profile>()
    var personID: Person.ID?
    var score = 0.0

    static var collectionName: String { "Profile" }
    static var person: BelongsTo<Profile, Person> { BelongsTo(\.personID) }
  }

  /// What the store should hold.
  struct World {
    var companies: [Company] = []
    var people: [Person] = []
    var projects: [Project] = []
    var tags: [Tag] = []
    var categories: [Category] = []
    var ratings: [Rating] = []
    var profiles: [Profile] = []
    /// The people of projects.
    var members: [UUID: Set<Person.ID>] = [:]
  }

  let store: Store
  var world = World()

  init(seed: UInt64, size: Int, isChecked: Bool) throws {
    var options = Store.Options()
    options.checksQueries = isChecked
    store = try Store.temporary(
      for: Company.self, Person.self, Project.self, Tag.self, Category.self, Rating.self,
      Profile.self, options: options)
    var random = SeededGenerator(seed: seed)
    try store.write { try fill(&random, size, $0) }
  }

  private static var names: [String] { ["Acme", "Bolt", "Cobra", "acme", "", "Zoë"] }

  private func fill(
    _ random: inout SeededGenerator, _ size: Int, _ tx: WriteTransaction
  ) throws {
    let names = Self.names
    for number in 0..<size / 3 + 1 {
      var company = Company(
        name: names.randomElement(using: &random) ?? "", size: Int.random(in: 0..<5, using: &random)
      )
      if number > 0, Bool.random(using: &random) {
        company.parentID = world.companies.randomElement(using: &random)?.id
      }
      try tx.insert(&company)
      world.companies.append(company)
    }
    for number in 0..<size / 4 {
      var tag = Tag(id: number == 0 ? String(repeating: "é", count: 200) : "tag\(number)")
      if number == 1 { tag.id = String(repeating: "é", count: 200) + "b" }
      tag.weight = Int.random(in: 0..<4, using: &random)
      try tx.insert(&tag)
      world.tags.append(tag)
    }
    for number in 0..<size / 4 {
      var category = Category(id: Int16(number * 5 - 10))
      category.label = names.randomElement(using: &random) ?? ""
      category.parentID = world.categories.randomElement(using: &random)?.id
      try tx.insert(&category)
      world.categories.append(category)
    }
    for _ in 0..<size {
      var person = Person(
        name: names.randomElement(using: &random) ?? "", age: Int.random(in: 0..<8, using: &random))
      person.nickname = Bool.random(using: &random) ? names.randomElement(using: &random) : nil
      switch Int.random(in: 0..<6, using: &random) {
      case 0: break
      // Leads nowhere.
      case 1: person.companyID = RecordID(777)
      default: person.companyID = world.companies.randomElement(using: &random)?.id
      }
      for tag in world.tags where Int.random(in: 0..<5, using: &random) == 0 {
        person.tagIDs.append(tag.id)
      }
      if Int.random(in: 0..<8, using: &random) == 0 { person.tagIDs.append("gone") }
      try tx.insert(&person)
      world.people.append(person)
    }
    for _ in 0..<size / 4 {
      var project = Project(title: names.randomElement(using: &random) ?? "")
      project.id = UUID(
        uuid: (
          UInt8.random(in: 0...255, using: &random), UInt8.random(in: 0...255, using: &random),
          2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        ))
      project.budget = Bool.random(using: &random) ? Int32.random(in: 0..<4, using: &random) : nil
      if world.projects.contains(where: { $0.id == project.id }) { continue }
      try tx.insert(&project)
      world.projects.append(project)
      for person in world.people where Int.random(in: 0..<4, using: &random) == 0 {
        try link(project, person, tx)
      }
    }
    for _ in 0..<size {
      guard let person = world.people.randomElement(using: &random),
        let category = world.categories.randomElement(using: &random)
      else { continue }
      var rating = Rating(personID: person.id, categoryID: category.id)
      rating.stars = Int.random(in: 0..<5, using: &random)
      try tx.insert(&rating)
      world.ratings.append(rating)
    }
    for person in world.people where Bool.random(using: &random) {
      var profile = Profile(personID: person.id)
      profile.score = [0.0, 1.5, -0.0, .nan, 9].randomElement(using: &random) ?? 0
      try tx.insert(&profile)
      world.profiles.append(profile)
    }
  }

  private func link(_ project: Project, _ person: Person, _ tx: WriteTransaction) throws {
    let key = LinksDeclaration(Project.self, Person.self, name: "members", isInverse: false).key
    guard let lists = tx.context.catalog.association(key)?.lists else { return }
    var first = KeyWriter()
    var second = KeyWriter()
    // Person comes before Project.
    try person.id._writeID(to: &first)
    try project.id._writeID(to: &second)
    try tx.writer.maintainer.add(second.bytes, toList: first.bytes, in: lists.forward)
    try tx.writer.maintainer.add(first.bytes, toList: second.bytes, in: lists.inverse)
    world.members[project.id, default: []].insert(person.id)
  }
}
