import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Records can be checked before they are saved")
struct AmbientRuleTests {
  struct Simple: Record {
    var id = RecordID<Simple>()
    var name = ""
    var age = 0
    static let schema = Schema<Simple> {
      Validate(\.name, .presence)
      Validate(\.age, .range(1...))
    }
  }

  struct Login: Record {
    var id = RecordID<Login>()
    var name = ""
    static let schema = Schema<Login> { Validate(\.name, .presence, .uniqueness) }
  }

  struct Free: Record {
    var id = RecordID<Free>()
  }

  @Test("Rules that need no store need none")
  func withoutStore() throws {
    #expect(try told(Simple().validationErrors) == ["name cant_be_blank", "age too_small 1"])
    #expect(try !Simple(name: "n").isValid)
    #expect(try Simple(name: "n", age: 1).isValid)
    #expect(try Free().isValid)
    #expect(refused { try Simple(name: "n").validate() } == ["age too_small 1"])
    try Simple(name: "n", age: 1).validate()
  }

  @Test("Uniqueness asks the ambient store, and the running transaction")
  func withStore() throws {
    try Store.scratch(Login.self) { store in
      try Store.with(store) {
        var login = Login(name: "ada")
        #expect(try login.isValid)
        try store.save(&login)
        #expect(try login.isValid)
        #expect(try !Login(name: "ada").isValid)
        #expect(refused { try Login(name: "ada").validate() } == ["name already_exists"])
        try store.write { tx in
          var other = Login(name: "bo")
          try tx.save(&other)
          #expect(try !Login(name: "bo").isValid)
          try tx.delete(login)
          #expect(try Login(name: "ada").isValid)
        }
      }
      #expect(try told(store.validationErrors(of: Login(name: "bo"))) == ["name already_exists"])
      #expect(try store.isValid(Login(name: "ada")))
      try store.read { tx in
        #expect(refused { try tx.validate(Login(name: "bo")) } == ["name already_exists"])
      }
    }
  }

  @Test("All rules are checked, also for a stored record")
  func complete() throws {
    struct Before: Record {
      static let collectionName = "Simple"
      var id = RecordID<Before>()
      var name = ""
      var age = 0
    }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var store = try Store(at: path, for: Before.self)
    try store.save(Before())
    store.close()
    store = try Store(at: path, for: Simple.self)
    defer { store.close() }
    guard let simple = try store.find(Simple.self, 1) else { throw CancellationError() }
    #expect(
      try told(store.validationErrors(of: simple)) == ["name cant_be_blank", "age too_small 1"])
    try store.update(simple)
  }

  @Test("The error says everything once more on one line")
  func text() throws {
    do {
      try Simple(id: 7).validate()
    } catch let error as LarchError {
      #expect(error.context.id == "7")
      #expect(error.context.collection == "Simple")
      #expect(error.description.contains("Simple.name cant_be_blank; Simple.age too_small"))
    }
  }
}
