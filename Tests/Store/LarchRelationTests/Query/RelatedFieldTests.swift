import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Filters name related records")
struct RelatedFieldTests {
  struct Firm: Record {
    var id = RecordID<Firm>()
    var name = ""
    var ownerID: Worker.ID?

    static let workers = HasMany<Firm, Worker>(\.firmID, onDelete: .none)
    static let owner = BelongsTo<Firm, Worker>(\.ownerID)
    static let schema = Schema<Firm> {
      workers
      owner
    }
  }

  struct Worker: Record {
    var id = RecordID<Worker>()
    var name = ""
    var nickname: String?
    var firmID: Firm.ID?
    var deskID: UUID?

    static let firm = BelongsTo<Worker, Firm>(\.firmID)
    static let desk = BelongsTo<Worker, Desk>(\.deskID)
    static let friends = ManyToMany<Worker, Worker>(named: "friends")
    static let schema = Schema<Worker>()
  }

  struct Desk: Record {
    var id = UUID()
    var height = 0
  }

  private func text(_ filter: Filter<Worker>) -> String { filter.node.text }

  @Test("Filters read as they would be written")
  func texts() throws {
    let worker = Fields<Worker>()
    #expect(text(worker.firm.name == "A") == #"related(firmID).matches { name == "A" }"#)
    #expect(text(worker.firm.name != "A") == #"!related(firmID).matches { name == "A" }"#)
    #expect(text(worker.firm == nil) == "related(firmID).isEmpty")
    #expect(
      text(worker.firm.owner.nickname == nil)
        == "!related(firmID).matches { related(ownerID).matches { nickname != nil } }")
    #expect(
      text(worker.friends.contains { $0.name == "A" })
        == #"related(friends).contains { name == "A" }"#)
    let workers = Fields<Firm>().workers.contains { $0.name > "A" }
    #expect(workers.node.text == #"related(Worker.firmID).contains { name > "A" }"#)
  }

  @Test("Related records answer filters, and a dangling reference has none")
  func answers() throws {
    let store = try Store.temporary(for: Firm.self, Worker.self, Desk.self)
    try store.write { tx in
      var firm = Firm(name: "A")
      try tx.insert(&firm)
      var other = Firm(name: "B")
      try tx.insert(&other)
      var ada = Worker(name: "Ada", firmID: firm.id)
      try tx.insert(&ada)
      var bo = Worker(name: "Bo", firmID: RecordID(99))
      try tx.insert(&bo)
    }
    #expect(try store.fetch(Worker.where { $0.firm.name == "A" }).map(\.name) == ["Ada"])
    #expect(try store.fetch(Worker.where { $0.firm.name != "A" }).map(\.name) == ["Bo"])
    #expect(try store.fetch(Worker.where { $0.firm == nil }).map(\.name) == ["Bo"])
    #expect(try store.fetch(Firm.where { $0.workers.isEmpty }).map(\.name) == ["B"])
    #expect(try store.fetch(Firm.where { $0.owner == nil }).count == 2)
    #expect(
      try store.fetch(Firm.where { $0.workers.contains { $0.name == "Ada" } }).map(\.name) == ["A"])
  }

  @Test("A request that cannot run throws an error")
  func errors() throws {
    let store = try Store.temporary(for: Firm.self, Worker.self)
    func code(_ query: Query<Worker>) -> LarchError.Code? {
      do {
        _ = try store.fetch(query)
        return nil
      } catch let error as LarchError {
        return error.code
      } catch {
        return nil
      }
    }
    #expect(code(Worker.where { $0.firm.name == $0.name }) == .invalidQuery)
    #expect(code(Worker.where { $0.firm.name == $0.firm.owner.name }) == .invalidQuery)
    #expect(code(Worker.where { $0.firm.name.contains(pattern: "a(") }) == .invalidQuery)
    #expect(
      code(Worker.where { $0.firm.matches { $0.name.contains(pattern: "a(") } }) == .invalidQuery)
    #expect(code(Worker.where { $0.friends.isEmpty }) == .unknownAssociation)
    #expect(code(Worker.where { $0.desk.height > 3 }) == .unknownCollection)
    #expect(code(Worker.where { $0.firm.name == $0.firm.name }) == nil)
  }
}
