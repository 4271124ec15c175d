import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Custom rules that use the store")
struct OwnRuleTests {
  struct Failure: Error {}

  /// A record whose rule runs the action in its text.
  struct Busy: Record, Equatable {
    var id = RecordID<Busy>()
    var text = ""
    var number = 0

    static let schema = Schema<Busy> {
      Index(\.text)
      Validate(\.number, .range(0...9))
      Validate("busy") { busy in
        switch busy.text {
        case "count": return try Busy.all.count() < 2
        case "throw": throw Failure()
        case "read":
          return try Busy.where { $0.text == "read" }.fetch().isEmpty
        case "save":
          var other = Busy(text: "other", number: busy.number)
          try other.save()
          return busy.number < 5
        case "self":
          var same = busy
          same.text = "same"
          try same.save()
          return true
        case "delete":
          try Busy.delete(busy.id)
          return true
        case "valid": return try Busy(text: "count").isValid
        default: return true
        }
      }
    }
  }

  @Test("They may read in the transaction of the save")
  func reading() throws {
    try Store.scratch(Busy.self) { store in
      try store.write { tx in
        for _ in 0..<2 {
          var busy = Busy(text: "count")
          try tx.save(&busy)
        }
        var third = Busy(text: "count", number: 10)
        #expect(refused { try tx.save(&third) } == ["number too_large 9", "- busy"])
        var read = Busy(text: "read")
        try tx.save(&read)
        read.number = 2
        #expect(refused { try tx.update(read) } == ["- busy"])
        var valid = Busy(text: "valid")
        #expect(refused { try tx.save(&valid) } == ["- busy"])
      }
      try store.expectSound()
    }
  }

  @Test("The save throws their errors and changes nothing")
  func throwing() throws {
    try Store.scratch(Busy.self) { store in
      var busy = Busy(text: "throw", number: 10)
      #expect(throws: Failure.self) { try store.save(&busy) }
      try store.write { tx in
        var busy = Busy(text: "throw")
        do {
          try tx.save(&busy)
          Issue.record("did not throw")
        } catch is Failure {}
        #expect(busy.id == RecordID())
        busy.text = "fine"
        try tx.save(&busy)
      }
      #expect(try store.fetch(Busy.all).map(\.text) == ["fine"])
      try store.expectSound()
    }
  }

  @Test("A rule that writes does no damage")
  func writing() throws {
    try Store.scratch(Busy.self) { store in
      var busy = Busy(text: "save", number: 1)
      try store.save(&busy)
      #expect(try store.fetch(Busy.all).map(\.text) == ["save", "other"])
      busy.number = 2
      try store.update(busy)
      #expect(try store.fetch(Busy.all).map(\.text) == ["save", "other", "other"])
      busy.number = 6
      #expect(refused { try store.update(busy) } == ["- busy"])
      #expect(try store.fetch(Busy.all).map(\.number) == [2, 1, 2])
      // It saves or deletes the record that is being saved: the outer save decides.
      for text in ["self", "delete"] {
        var busy = Busy(text: text)
        try store.save(&busy)
        #expect(try store.find(Busy.self, busy.id) == busy)
        busy.number = 3
        try store.update(busy)
        #expect(try store.find(Busy.self, busy.id) == busy)
      }
      try store.expectSound()
    }
  }

  /// A computed property with a uniqueness rule makes keys, and must not read.
  struct Keyed: Record {
    var id = 0
    var name = ""
    var key: String {
      (try? Keyed.all.count()).map(String.init) ?? name.lowercased()
    }
    static let schema = Schema<Keyed> {
      Validate(\.key, .uniqueness, .length(1...), name: "key")
    }
  }

  @Test("A computed key cannot read from the store, and is still unique")
  func keys() throws {
    try Store.scratch(Keyed.self) { store in
      try store.save(Keyed(id: 1, name: "A"))
      #expect(refused { try store.save(Keyed(id: 2, name: "a")) } == ["key already_exists"])
      try store.save(Keyed(id: 2, name: "b"))
    }
  }
}
