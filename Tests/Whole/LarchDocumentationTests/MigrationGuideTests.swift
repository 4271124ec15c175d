import Foundation
import Larch
import Testing

/// The examples of docs/migrations.md, over one file that each version of a program opens.
@Suite("docs/migrations.md")
struct MigrationGuideTests {
  // snippet: migration-old-types
  enum V1 {
    struct Person: Record {
      var id = RecordID<Person>()
      var name: String
      var companyName: String
    }
    struct Invoice: Record {
      var id = RecordID<Invoice>()
      var price: Double
    }
  }
  // end snippet

  // snippet: migration-types
  struct Person: Record {
    var id = RecordID<Person>()
    var first: String
    var last: String
    var companyID: Company.ID?

    static let schema = Schema<Person> {
      Index(\.last, \.first)
      BelongsTo(\.companyID, to: Company.self)
    }
  }

  struct Company: Record {
    var id = RecordID<Company>()
    var name: String

    static let schema = Schema<Company> { Unique(\.name) }
  }

  struct Invoice: Record {
    var id = RecordID<Invoice>()
    var cents: Int
  }
  // end snippet

  // snippet: migration-list
  static let migrations = [
    Migration("companies from names") { tx in
      var ids: [String: Company.ID] = [:]
      for old in try tx.records(of: V1.Person.self, in: "Person") where ids[old.companyName] == nil
      {
        var company = Company(name: old.companyName)
        try tx.save(&company)
        ids[old.companyName] = company.id
      }
      try tx.rewrite(Person.self, from: V1.Person.self) { old in
        let names = old.name.split(separator: " ", maxSplits: 1).map(String.init)
        return Person(
          id: .init(old.id.rawValue), first: names.first ?? "", last: names.dropFirst().joined(),
          companyID: ids[old.companyName])
      }
    },
    Migration("prices in cents") { tx in
      try tx.rewrite(Invoice.self) { fields in
        fields["cents"] = .int(Int64((100 * (fields["price"]?.double ?? 0)).rounded()))
        fields["price"] = nil
      }
    },
  ]
  // end snippet

  @Test("Records of the first version are read as the second")
  func migrate() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("office.larch")
    let first = try Store(at: path, for: V1.Person.self, V1.Invoice.self)
    var ada = V1.Person(name: "Ada Lovelace", companyName: "Engines")
    var grace = V1.Person(name: "Grace Hopper", companyName: "Engines")
    var invoice = V1.Invoice(price: 19.99)
    try first.write { tx in
      try tx.save(&ada)
      try tx.save(&grace)
      try tx.save(&invoice)
    }
    first.close()

    let migrations = Self.migrations
    // snippet: migration-open
    let store = try Store(
      at: path, for: Person.self, Company.self, Invoice.self, migrations: migrations)
    // end snippet
    #expect(try store.fetch(Person.where { $0.last == "Hopper" }).map(\.companyID) == [1])
    #expect(try store.count(Company.all) == 1)
    #expect(try store.find(Invoice.self, 1)?.cents == 1999)
    #expect(try store.verify().isClean)
    store.close()
  }

  // snippet: migration-chain-types
  enum V2 {
    struct Invoice: Record {
      var id = RecordID<Invoice>()
      var cents: Int
    }
  }

  struct Bill: Record {
    var id = RecordID<Bill>()
    var amount: Decimal
    static let collectionName = "Invoice"
  }
  // end snippet

  // snippet: migration-chain
  static let later = [
    Migration("prices in cents") { tx in
      try tx.rewrite("Invoice", from: V1.Invoice.self, to: V2.Invoice.self) { old in
        V2.Invoice(id: .init(old.id.rawValue), cents: Int((100 * old.price).rounded()))
      }
    },
    Migration("decimal amounts") { tx in
      try tx.rewrite(Bill.self, from: V2.Invoice.self) { old in
        Bill(id: .init(old.id.rawValue), amount: Decimal(old.cents) / 100)
      }
    },
  ]
  // end snippet

  @Test("A later version still opens files of the first one")
  func chain() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("office.larch")
    let first = try Store(at: path, for: V1.Invoice.self)
    var invoice = V1.Invoice(price: 19.99)
    try first.write { tx in try tx.save(&invoice) }
    first.close()
    let store = try Store(at: path, for: Bill.self, migrations: Self.later)
    #expect(try store.find(Bill.self, 1)?.amount == Decimal(string: "19.99"))
    store.close()
  }

  struct Client: Record {
    var id: String
    var name: String
  }

  @Test("A collection is merged into another and dropped")
  func merge() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("office.larch")
    let first = try Store(at: path, for: Client.self)
    var client = Client(id: "c1", name: "Engines")
    try first.write { tx in try tx.save(&client) }
    first.close()
    // snippet: migration-merge
    let merge = Migration("clients are companies") { tx in
      for fields in try tx.fields(in: "Client") {
        var company = Company(name: fields["name"]?.string ?? "")
        try tx.save(&company)
      }
      try tx.drop("Client")
    }
    // end snippet
    let store = try Store(at: path, for: Company.self, migrations: [merge])
    #expect(try store.find(Company.self, 1)?.name == "Engines")
    store.close()
    // The migration also runs on new files, which have no clients.
    let new = try Store(at: folder.path("new.larch"), for: Company.self, migrations: [merge])
    #expect(try new.count(Company.all) == 0)
    new.close()
  }
}
