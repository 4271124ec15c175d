import Foundation
import Larch

/// What cars and trucks have in common.
protocol Vehicle: Record {
  var wheels: Int { get }
  static var wheelsField: any KeyPath<Self, Int> & Sendable { get }
}

extension Vehicle {
  static func withWheels(_ least: Int) -> Query<Self> {
    Self.where { $0[wheelsField] >= least }.sorted(by: wheelsField)
  }
}

/// iActiveRecord: the class is the schema; validations, associations with rules, lazy requests.
enum IActiveRecordSeed {
  struct User: Record {
    var id = RecordID<User>()
    var name: String
    var email: String?
    var age = 0
    var city = ""
    var photo = Data()

    static let projects = HasMany<User, Project>(
      through: \Membership.userID, \Membership.projectID)
    static let animals = HasMany<User, Animal>(\.ownerID, onDelete: .destroy)
    static let schema = Schema<User> {
      projects
      animals
      Index(\.city, \.age)
      Validate(\.name, .presence)
      Validate(\.email, .uniqueness)
      Validate(\.age, .range(0...150))
    }
  }

  struct Project: Record {
    var id = RecordID<Project>()
    var title: String

    static let users = HasMany<Project, User>(through: \Membership.projectID, \Membership.userID)
    static let schema = Schema<Project> { users }
  }

  struct Membership: Record {
    var id = RecordID<Membership>()
    var userID: User.ID
    var projectID: Project.ID
    var role = "member"

    static let user = BelongsTo<Membership, User>(\.userID)
    static let schema = Schema<Membership> {
      user
      Unique(\.userID, \.projectID)
    }
  }

  struct Animal: Record {
    var id = RecordID<Animal>()
    var name: String
    var ownerID: User.ID?

    static let owner = BelongsTo<Animal, User>(\.ownerID)
    static let schema = Schema<Animal> { owner }
  }

  // @interface Car : Vehicle, @interface Truck : Vehicle
  struct Car: Vehicle {
    var id = RecordID<Car>()
    var wheels = 4

    static var wheelsField: any KeyPath<Car, Int> & Sendable { \.wheels }
    static let schema = Schema<Car> { Index(\.wheels) }
  }

  struct Truck: Vehicle {
    var id = RecordID<Truck>()
    var wheels: Int
    var load: Double

    static var wheelsField: any KeyPath<Truck, Int> & Sendable { \.wheels }
    static let schema = Schema<Truck> { Index(\.wheels) }
  }

  static func run() throws {
    let store = try Store.temporary(
      for: User.self, Project.self, Membership.self, Animal.self, Car.self, Truck.self)
    defer { store.close() }
    try Store.with(store) {
      try inheritance()
      try validations()
      try requests()
      try associations(store)
      try transactions()
    }
  }

  private static func inheritance() throws {
    _ = try Car(wheels: 3).saved()
    _ = try Truck(wheels: 6, load: 7.5).saved()
    _ = try Car().saved()
    // [Vehicle allRecords], ordered by what they share
    let vehicles = Family<any Vehicle>(Car.withWheels(4), Truck.withWheels(4))
    Check.equal(try vehicles.fetch().map(\.wheels), [4, 6], "vehicles of both types")
    Check.that(try vehicles.fetch().last is Truck, "each of its own type")
  }

  private static func validations() throws {
    // User *user = [User newRecord]; [user isValid]; [user errors]
    let nobody = User(name: " ", age: 200)
    Check.that(try !nobody.isValid, "a user needs a name")
    // [error modelName], [error propertyName], [error errorName]
    let errors = try nobody.validationErrors
    Check.equal(
      errors.map { "\($0.model).\($0.field ?? "") \($0.keyword)" },
      ["User.name cant_be_blank", "User.age too_large"], "each error at once")

    // [user save]
    try Check.refuses(.invalid, "an invalid user") { _ = try nobody.saved() }
    for (name, age, city) in [("Ada", 36, "Oslo"), ("Bo", 41, "Oslo"), ("Cy", 17, "Rome")] {
      _ = try User(name: name, email: "\(name)@larch.example", age: age, city: city).saved()
    }
    try Check.refuses(.invalid, "an address that is taken") {
      _ = try User(name: "Eva", email: "Ada@larch.example").saved()
    }
  }

  private static func requests() throws {
    // [[User lazyFetcher] where:@"age > %@", @18, nil], fetchRecords
    let adults = User.where { $0.age > 18 }
    Check.equal(try adults.fetch().map(\.name), ["Ada", "Bo"], "adults")

    // [fetcher orderBy:@"age" ascending:NO], limit:, offset:, count
    Check.equal(try adults.sorted(by: \.age, .descending).first()?.name, "Bo", "the oldest")
    Check.equal(try adults.limit(1).offset(1).fetch().map(\.name), ["Bo"], "the second one")
    Check.equal(try adults.count(), 2, "their number")

    // whereField:in:, whereField:like:, whereField:between:and:
    Check.equal(try User.where { ["Ada", "Cy"].contains($0.name) }.count(), 2, "in a list")
    Check.equal(try User.where { $0.email.like("%@larch.example") }.count(), 3, "like")
    Check.equal(try User.where { (30...40).contains($0.age) }.count(), 1, "between")

    // where:@"city = %@ and age > %@", whereField: with a dictionary
    let text = try User.query(
      text: "city = ? and age > :min order by name", "Oslo", named: ["min": 18])
    Check.equal(try text.fetch().map(\.name), ["Ada", "Bo"], "criteria as text")
    Check.equal(try User.where(matching: ["city": "Oslo", "age": 41]).count(), 1, "a dictionary")

    // [fetcher where:[NSPredicate predicateWithFormat:@"age > 18 AND city == %@", city]]
    let city = "Oslo"
    let predicate = #Predicate<User> { $0.age > 18 && $0.city == city }
    Check.equal(try User.where(predicate).count(), 2, "a predicate")

    // [fetcher only:@"name", @"age", nil]
    let parts = try User.all.sorted(by: \.age).select(\.name, \.age).limit(1).fetch()
    Check.equal(parts.first?.0, "Cy", "only some fields")
    Check.equal(parts.first?.1, 17, "only some fields")

    // [fetcher except:@"photo", nil]
    let light = try User.all.leavingOut(\.photo, as: Data()).limit(1).fetch()
    Check.equal(light.first?.name, "Ada", "all fields but one")
  }

  private static func associations(_ store: Store) throws {
    let ada = try User.find(by: \.name, equals: "Ada")!
    let larch = try Project(title: "Larch").saved()
    let rex = try Animal(name: "Rex").saved()

    // [user addAnimal:rex]; [user animals]
    try store.add(rex, to: ada.related(User.animals))
    Check.equal(try ada.related(User.animals).fetch().map(\.name), ["Rex"], "has many")
    // [rex owner]
    Check.equal(try Animal.find(rex.id)?.related(Animal.owner).first()?.name, "Ada", "belongs to")

    // [user addProject:larch]; [user removeProject:larch]: the join record is made and deleted
    try store.add(larch, to: ada.related(User.projects)) {
      Membership(userID: $0, projectID: $1, role: "founder")
    }
    Check.equal(try ada.related(User.projects).fetch().map(\.title), ["Larch"], "through")
    Check.equal(try Membership.all.fetch().map(\.role), ["founder"], "its own field")
    try store.remove(larch, from: ada.related(User.projects))
    Check.equal(try Membership.all.count(), 0, "the join record is gone")

    // [fetcher join:[Animal class]]
    let pairs = try User.all.joined(with: Animal.all, on: \.id, equals: \.ownerID).fetch()
    Check.equal(pairs.map { "\($0.0.name) \($0.1.name)" }, ["Ada Rex"], "joined")

    // dependent: destroy
    try ada.delete()
    Check.equal(try Animal.all.count(), 0, "her animals went too")
  }

  private static func transactions() throws {
    // [ActiveRecord transaction:^{ … ar_rollback }]
    try Store.transaction {
      _ = try User(name: "Nobody").saved()
      throw Rollback()
    }
    Check.equal(try User.where { $0.name == "Nobody" }.count(), 0, "rolled back")

    // [User dropAllRecords]
    try User.erase()
    Check.equal(try User.all.count(), 0, "none is left")
  }
}
