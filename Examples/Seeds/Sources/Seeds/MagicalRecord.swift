import Foundation
import Larch

/// MagicalRecord: set-up in a line, finders, aggregates, saves in the background, imports.
enum MagicalRecordSeed {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var age = 0
    var city = ""

    var born: Date?
    var companyID: Company.ID?

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let schema = Schema<Person> {
      company
      Unique(\.email)
      Index(\.city, \.age)
      Default(\.age, 0)  // for elements without one
      Default(\.city, "")
    }
  }

  struct Company: Record {
    var id = RecordID<Company>()
    var name: String
    var town = ""

    static let people = HasMany<Company, Person>(\.companyID)
    static let schema = Schema<Company> {
      people
      Unique(\.name)
    }
  }

  /// The same collection with another type of a property, as a later version of the program has it.
  enum Later {
    struct Person: Record {
      var id = RecordID<Person>()
      var name: Int
    }
  }

  static func run() async throws {
    // [MagicalRecord setupAutoMigratingCoreDataStack], and the log of MagicalRecord
    let lines = Lines()
    var options = Store.Options()
    options.logLevel = .trace
    options.log = { lines.add("\($0)") }
    let store = try Store.standard(
      for: Person.self, Company.self, program: "larch-seeds-\(UUID())", options: options)
    let folder = URL(filePath: store.path).deletingLastPathComponent()
    defer {
      store.close()
      try? FileManager.default.removeItem(at: folder)
    }
    try await Store.with(store) {
      try batches()
      try await saving()
      try finding()
      try await importing()
      try await following(store)
    }
    store.close()
    try await mismatch(store.path)
    Check.that(lines.all.contains { $0.contains("verb: fetch") }, "each fetch is in the log")
    Check.that(lines.all.allSatisfy { !$0.contains("larch.example") }, "and no value")
  }

  private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }
    func add(_ line: String) { lock.withLock { lines.append(line) } }
  }

  private static func batches() throws {
    // [Person MR_importFromArray:] of objects, MR_deleteAllMatchingPredicate:
    let people = (1...3).map { Person(name: "P\($0)", email: "p\($0)@larch.example", age: $0) }
    let saved = try Person.save(contentsOf: people)
    Check.equal(saved.inserted, 3, "saved together")
    let again = try Person.save(contentsOf: people + [Person(name: "P4")], matching: \.email)
    Check.equal(
      again.changes.map { "\($0)" }.joined(separator: " "),
      "unchanged unchanged unchanged inserted", "known by their address")
    let gone = try Person.delete(ids: again.records.map(\.id))
    Check.equal(gone.deleted, 4, "deleted together")
  }

  private static func mismatch(_ path: String) async throws {
    // A debug build of MagicalRecord deletes a store whose model has changed. Here it is moved aside.
    try Check.refuses(.schemaMismatch, "another type of a property") {
      _ = try Store(at: path, for: Later.Person.self)
    }
    var options = Store.Options()
    options.onMismatch = .moveAside
    let store = try Store(at: path, for: Later.Person.self, options: options)
    defer { store.close() }
    Check.that(
      store.movedAside.map { FileManager.default.fileExists(atPath: $0) } ?? false,
      "the old file is kept")
  }

  private static func saving() async throws {
    // [MagicalRecord saveWithBlock:^(NSManagedObjectContext *local) { … } completion:…]
    try await Store.transaction {
      for (name, age, city) in [("Ada", 36, "Oslo"), ("Bo", 41, "Oslo"), ("Cy", 17, "Rome")] {
        _ = try Person(name: name, email: "\(name)@larch.example", age: age, city: city).saved()
      }
    }
    Check.equal(try Person.all.count(), 3, "saved in the background")
  }

  private static func finding() throws {
    // [Person MR_findAll], MR_findFirstByAttribute:withValue:, MR_countOfEntities
    Check.equal(try Person.all.fetch().count, 3, "all")
    Check.equal(try Person.find(by: \.email, equals: "Bo@larch.example")?.name, "Bo", "by a value")
    Check.equal(try Person.where { $0.city == "Oslo" }.count(), 2, "a count with a predicate")

    // [Person MR_findAllSortedBy:@"city,age" ascending:YES]
    Check.equal(
      try Person.all.sorted(by: \.city, \.age).fetch().map(\.name), ["Ada", "Bo", "Cy"],
      "sorted by several")

    // MR_aggregateOperation:@"sum:" onAttribute:@"age" withPredicate:
    Check.equal(try Person.where { $0.city == "Oslo" }.sum(\.age), 77, "sum")
    // MR_aggregateOperation:… groupBy:@"city"
    let cities = try Person.all.grouped(by: \.city).select(.count, .max(\.age)).fetch()
    Check.equal(
      cities.map { "\($0.0) \($0.1) \($0.2 ?? 0)" }, ["Oslo 2 41", "Rome 1 17"], "by group")

    // [Person MR_findFirstOrCreateByAttribute:withValue:]
    let di = try Person.findOrCreate(by: \.email, equals: "Di@larch.example") {
      Person(name: "Di", email: "Di@larch.example")
    }
    // [di MR_deleteEntity]
    try di.delete()
  }

  private static func importing() async throws {
    // [Person MR_importFromArray:]
    let lines = """
      {"name": "Ada", "email": "Ada@larch.example", "age": 37, "city": "Oslo"}
      {"name": "Eva", "email": "Eva@larch.example", "age": 20, "city": "Rome"}
      """
    let report = try await Person.importJSON(from: .text(lines), matching: \.email)
    Check.equal(report.updated, 1, "a person that is known by the address")
    Check.equal(report.inserted, 1, "a new one")
    Check.equal(try Person.find(by: \.email, equals: "Ada@larch.example")?.age, 37, "updated")

    // mappedKeyName, dateFormat, relatedByAttribute, shouldImport:, in the user info of the model
    let companies = ImportMap<Company> { Mapped(\.town, from: "address.town", "city") }
    let map = ImportMap<Person> {
      Mapped(\.name, from: "full_name")
      Mapped(\.age, from: "age", coercing: true)
      Mapped(\.born, from: "birthday", date: .format("yyyy-MM-dd"))
      Linked(Person.company, from: "employer", by: \.name, map: companies)
      WillImport { element in
        if element["retired"] == true { throw ImportSkip("retired") }
      }
    }
    let foreign = """
      [{"full_name": "Gil", "email": "g@larch.example", "age": "50", "birthday": "1976-02-29",
        "employer": {"name": "Acme", "address": {"town": "Bergen"}}},
       {"full_name": "Hal", "email": "h@larch.example", "employer": "Acme"},
       {"full_name": "Ida", "email": "i@larch.example", "retired": true}]
      """
    let mapped = try await Person.importJSON(from: .text(foreign), map: map, matching: \.email)
    Check.equal(mapped.inserted, 2, "two are imported")
    Check.equal(mapped.omissions.map(\.reason), ["retired"], "one is left out, and told")
    let gil = try Person.find(by: \.email, equals: "g@larch.example")
    Check.equal(gil?.age, 50, "a text that stands for a number, where that is asked for")
    Check.equal(gil?.born, Date(timeIntervalSince1970: 194_400_000), "a date of a form")
    Check.equal(try Company.all.fetch().map(\.town), ["Bergen"], "a nested object, once")
    let acme = try Company.find(by: \.name, equals: "Acme")
    Check.equal(
      try acme?.related(Company.people).fetch().map(\.name), ["Gil", "Hal"], "linked both ways")
    try await Person.where { $0.companyID != nil }.delete()
  }

  private static func following(_ store: Store) async throws {
    // [Person MR_fetchAllSortedBy:… delegate:self]: rows that follow changes, in sections
    var seen: [[String]] = []
    for try await sections in store.observe(
      Person.all.sorted(by: \.name).sectioned(by: \.city))
    {
      seen.append(sections.rows.map { "\($0.value): \($0.map(\.name).joined(separator: " "))" })
      if seen.count == 2 { break }
      _ = try await Person(name: "Flo", age: 3, city: "Rome").saved(in: store)
    }
    Check.equal(
      seen,
      [
        ["Oslo: Ada Bo", "Rome: Cy Eva"],
        ["Oslo: Ada Bo", "Rome: Cy Eva Flo"],
      ], "sections that follow")

    // [Person MR_truncateAll]
    try await Person.erase()
    Check.equal(try Person.all.count(), 0, "truncated")
    _ = try await Person(name: "Gus").saved(in: store)
  }
}
