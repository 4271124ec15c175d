import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Uniqueness is a rule and a guarantee")
struct UniquenessTests {
  struct User: Record, Equatable {
    var id = RecordID<User>()
    var name = "x"
    var email: String?
    var team: Int = 0
    var number: Double?
    var nick = ""
    var aliases: [String] = []
    var isActive = true

    static let schema = Schema<User> {
      Validate(\.email, .uniqueness(options: .caseInsensitive))
      Validate(\.name, .presence)
      Validate(\.number, .uniqueness(scope: \.team))
      Validate(\.nick, .uniqueness, .length(1...)).when { $0.isActive && !$0.nick.isEmpty }
      Validate(\.aliases, .uniqueness)
    }
  }

  @Test("It is reported with all other failures, in the order of the declarations")
  func together() throws {
    try Store.scratch(User.self) { store in
      var first = User(email: "a@b", number: 1, aliases: ["p", "q"])
      try store.save(&first)
      var second = User(name: " ", email: "A@B", number: 1, aliases: ["r", "q"])
      #expect(
        refused { try store.save(&second) } == [
          "email already_exists", "name cant_be_blank", "number already_exists",
          "aliases already_exists",
        ])
      #expect(second.id == RecordID())
      #expect(try store.count(User.all) == 1)
      second = User(email: "c@d", number: 1)
      second.team = 1
      try store.save(&second)
      try store.expectSound()
    }
  }

  @Test("Any number of records may have nil or NaN")
  func nils() throws {
    try Store.scratch(User.self) { store in
      try store.write { tx in
        for number in [nil, nil, Double.nan, .nan] {
          var user = User(number: number)
          try tx.save(&user)
          #expect(try tx.isValid(user))
        }
      }
      try store.expectSound()
    }
  }

  @Test("Equal texts with other bytes are duplicates, and long texts are distinguished")
  func texts() throws {
    try Store.scratch(User.self) { store in
      var first = User(email: "r\u{E9}mi@x")
      try store.save(&first)
      var second = User(email: "RE\u{301}MI@X")
      #expect(refused { try store.save(&second) } == ["email already_exists"])
      let long = String(repeating: "l", count: 700)
      var third = User(email: long + "1", aliases: [long])
      try store.save(&third)
      var fourth = User(email: long + "2", aliases: [long + "x"])
      try store.save(&fourth)
      fourth.email = long.uppercased() + "1"
      #expect(refused { try store.save(&fourth) } == ["email already_exists"])
      #expect(try told(store.validationErrors(of: fourth)) == ["email already_exists"])
      fourth.email = nil
      fourth.aliases = ["n", long]
      #expect(refused { try store.save(&fourth) } == ["aliases already_exists"])
      try store.expectSound()
    }
  }

  @Test("What a transaction did counts: swaps, deletions, savepoints that are undone")
  func transactions() throws {
    struct Stop: Error {}
    try Store.scratch(User.self) { store in
      try store.write { tx in
        var a = User(email: "a")
        var b = User(email: "b")
        try tx.save(&a)
        try tx.save(&b)
        a.email = "b"
        #expect(refused { try tx.update(a) } == ["email already_exists"])
        // Through a third value.
        a.email = "c"
        try tx.update(a)
        b.email = "a"
        try tx.update(b)
        a.email = "b"
        try tx.update(a)
        #expect(try tx.isValid(a))
        var c = User(email: "B")
        #expect(refused { try tx.insert(&c) } == ["email already_exists"])
        try tx.delete(a)
        #expect(try tx.isValid(c))
        try tx.insert(&c)
        #expect(throws: Stop.self) {
          try tx.savepoint {
            try tx.delete(c)
            var d = User(email: "b")
            try tx.save(&d)
            throw Stop()
          }
        }
        var d = User(email: "b")
        #expect(refused { try tx.save(&d) } == ["email already_exists"])
      }
      try store.write { tx in
        try tx.delete(User.all)
        var again = User(email: "a")
        try tx.save(&again)
      }
      #expect(try store.count(User.all) == 1)
      try store.expectSound()
    }
  }

  @Test("With a condition it holds among the records that the condition picks")
  func conditions() throws {
    try Store.scratch(User.self) { store in
      var a = User(nick: "n")
      var b = User(nick: "n", isActive: false)
      try store.save(&a)
      try store.save(&b)
      // The field of the rule is as it was, its condition is not.
      b.isActive = true
      #expect(refused { try store.save(&b) } == ["nick already_exists"])
      a.isActive = false
      try store.update(a)
      try store.update(b)
      try store.expectSound()
    }
  }

  @Test("A scope that changes asks the rule")
  func scopes() throws {
    try Store.scratch(User.self) { store in
      var a = User(team: 1, number: 7)
      var b = User(team: 2, number: 7)
      try store.save(&a)
      try store.save(&b)
      b.team = 1
      #expect(refused { try store.update(b) } == ["number already_exists"])
      b.number = 8
      try store.update(b)
      try store.expectSound()
    }
  }

  struct Shared: Record {
    var id = 0
    var email = ""
    var city = ""
    var zip = 0
    var name = ""
    static let schema = Schema<Shared> {
      Unique(\.email)
      Index(\.zip, \.city)
      Index(\.name, options: .caseInsensitive)
      Unique(\.city)
      Validate(\.email, .uniqueness)
      Validate(\.city, .uniqueness(scope: \.zip))
      Validate(\.name, .uniqueness)
    }
  }

  @Test("It uses a declared index over the same fields, and makes one only where there is none")
  func indexes() throws {
    let schema = try SchemaCompiler.compile(Shared.self)
    #expect(schema.indexes.map(\.name) == ["email", "zip_city", "name", "city", "name_unique"])
    #expect(schema.indexes.map(\.isUnique) == [true, true, false, true, true])
    try Store.scratch(Shared.self) { store in
      try store.save(Shared(id: 1, email: "e", city: "c", zip: 1, name: "n"))
      #expect(
        refused { try store.save(Shared(id: 2, email: "e", city: "c", zip: 1, name: "n")) } == [
          "email already_exists", "city already_exists", "name already_exists",
        ])
      // No rule is about the city alone.
      #expect(
        code { try store.save(Shared(id: 2, email: "f", city: "c", zip: 2)) } == .uniqueConflict)
      try store.save(Shared(id: 2, email: "f", city: "d", zip: 1, name: "N"))
      try store.expectSound()
    }
  }

  @Test("Declaring it for records that break it is refused at open")
  func existing() throws {
    struct Old: Record {
      static let collectionName = "Thing"
      var id = 0
      var name = ""
    }
    struct New: Record {
      static let collectionName = "Thing"
      var id = 0
      var name = ""
      static let schema = Schema<New> { Validate(\.name, .uniqueness) }
    }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var store = try Store(at: path, for: Old.self)
    try store.save(Old(id: 1, name: "n"))
    try store.save(Old(id: 2, name: "n"))
    store.close()
    #expect(code { _ = try Store(at: path, for: New.self) } == .uniqueConflict)
    store = try Store(at: path, for: Old.self)
    try store.save(Old(id: 2, name: "m"))
    store.close()
    store = try Store(at: path, for: New.self)
    #expect(refused { try store.save(New(id: 3, name: "m")) } == ["name already_exists"])
    try store.expectSound()
    store.close()
  }
}

extension RecordWriting {
  /// Saves a record whose id the program gives.
  func save<R: Record>(_ record: R) throws {
    var record = record
    try save(&record)
  }
}
