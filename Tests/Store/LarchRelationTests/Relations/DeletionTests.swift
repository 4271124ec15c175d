import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Deleting applies the rules of associations")
struct DeletionTests {
  struct Company: Record {
    var id = RecordID<Company>()
    var name = ""

    static let schema = Schema<Company> {
      HasMany(\Employee.companyID, onDelete: .destroy)
      HasMany(\Employee.formerID, onDelete: .nullify)
      HasMany(\Employee.auditedIDs, onDelete: .nullify)
      HasMany(\Contract.companyID, onDelete: .deny)
    }
  }

  struct Employee: Record, Equatable {
    var id = RecordID<Employee>()
    var companyID: Company.ID?
    var formerID: Company.ID?
    var auditedIDs: [Company.ID] = []

    static let schema = Schema<Employee> {
      HasMany(\Contract.employeeID, onDelete: .destroy)
      ManyToMany(Team.self, named: "members", onDelete: .destroyLast)
    }
  }

  struct Contract: Record {
    var id = UUID()
    var companyID: Company.ID
    var employeeID: Employee.ID?
  }

  struct Team: Record {
    var id: String

    static let members = ManyToMany<Team, Employee>(named: "members")
    static let schema = Schema<Team> { members }

    var members: Related<Team, Employee> { related(Team.members) }
  }

  private func store() throws -> Store {
    try Store.temporary(for: Company.self, Employee.self, Contract.self, Team.self)
  }

  private func expectClean(_ store: Store) throws {
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  // MARK: What happens

  @Test("Children and their children are deleted, and teams with their last member")
  func cascade() throws {
    let store = try store()
    var company = Company()
    var other = Company()
    var left = Team(id: "left")
    var empty = Team(id: "empty")
    var stays = Employee()
    try store.write { tx in
      try tx.save(&company)
      try tx.save(&other)
      try tx.save(&left)
      try tx.save(&empty)
      stays.companyID = other.id
      try tx.save(&stays)
      try tx.add(stays.id, to: left.members)
      for _ in 0..<3 {
        var employee = Employee(companyID: company.id)
        try tx.save(&employee)
        try tx.add(employee.id, to: left.members)
        try tx.add(employee.id, to: empty.members)
        var contract = Contract(companyID: company.id, employeeID: employee.id)
        try tx.save(&contract)
      }
    }
    let plan = try store.deletionPlan(for: company)
    #expect(plan.isAllowed)
    #expect(plan.ids(Team.self) == ["empty"])
    #expect(plan.ids(Employee.self).count == 3)
    #expect(try store.write { try $0.delete(company) })
    try store.read { tx throws in
      #expect(try tx.count(Company.all) == 1)
      #expect(try tx.count(Employee.all) == 1)
      #expect(try tx.count(Contract.all) == 0)
      #expect(try tx.all(Team.self).map(\.id) == ["left"])
      #expect(try tx.ids(left.members) == [stays.id])
    }
    try expectClean(store)
  }

  @Test("A record that loses several references is saved once, and its list keeps its order")
  func nullified() throws {
    let store = try store()
    var companies = (0..<5).map { _ in Company() }
    var employee = Employee()
    try store.write { tx in
      for place in companies.indices { try tx.save(&companies[place]) }
      employee.formerID = companies[1].id
      employee.auditedIDs = [3, 1, 4, 0, 2].map { companies[$0].id }
      try tx.save(&employee)
    }
    let ids = [companies[1].id, companies[4].id]
    let plan = try store.deletionPlan(for: Company.where { ids.contains($0.id) })
    #expect(plan.nullified.count == 3)
    try store.write { tx in
      let before = tx.changeCount
      let count = try tx.delete(Company.where { ids.contains($0.id) })
      #expect(count == 2)
      // The employee and the two companies.
      #expect(tx.changeCount - before == 3)
    }
    let found = try #require(try store.read { try $0.find(Employee.self, employee.id) })
    #expect(found.formerID == nil)
    #expect(found.auditedIDs == [3, 0, 2].map { companies[$0].id })
    try expectClean(store)
  }

  @Test("A rule that refuses names the record that prevents the deletion, and changes nothing")
  func denied() throws {
    let store = try store()
    var company = Company()
    var contract = Contract(companyID: 0)
    try store.write { tx in
      try tx.save(&company)
      var employee = Employee(companyID: company.id, auditedIDs: [company.id])
      try tx.save(&employee)
      contract.companyID = company.id
      try tx.save(&contract)
    }
    let error = #expect(throws: LarchError.self) {
      try store.write { try $0.delete(company) }
    }
    #expect(error?.code == .deleteDenied)
    #expect(error?.context.collection == "Company")
    #expect(error?.context.id == company.id.description)
    #expect(error?.context.otherID == contract.id.uuidString)
    #expect(error?.context.field == "Contract.companyID")
    #expect(try store.count(Employee.all) == 1)
    // The record that prevents it is deleted with it.
    try store.write { tx in
      try tx.delete(contract)
      try tx.delete(company)
    }
    #expect(try store.count(Employee.all) == 0)
    try expectClean(store)
  }

  @Test("A query is checked against the state after all its deletions")
  func queryTogether() throws {
    struct Part: Record {
      var id: Int
      var wholeID: Int?

      static let schema = Schema<Part> { HasMany(\Part.wholeID, onDelete: .deny) }
    }
    let store = try Store.temporary(for: Part.self)
    try store.write { tx in
      for id in 1...10 {
        var part = Part(id: id, wholeID: id > 1 ? id / 2 : nil)
        try tx.save(&part)
      }
    }
    let error = #expect(throws: LarchError.self) { try store.delete(Part.where { $0.id < 3 }) }
    #expect(error?.code == .deleteDenied)
    #expect(try store.delete(Part.where { $0.id > 5 }) == 5)
    #expect(try store.delete(Part.all) == 5)
    try expectClean(store)
  }

  @Test("An error in the middle of a transaction keeps the earlier changes")
  func afterOther() throws {
    let store = try store()
    var company = Company()
    try store.write { tx in
      try tx.save(&company)
      var contract = Contract(companyID: company.id)
      try tx.save(&contract)
      #expect(throws: LarchError.self) { try tx.delete(Company.self, company.id) }
    }
    #expect(try store.count(Contract.all) == 1)
    try expectClean(store)
  }

  // MARK: Plans

  @Test("The text of a plan has the counts first, then each record")
  func text() throws {
    let store = try store()
    var company = Company()
    try store.write { tx in
      try tx.save(&company)
      for _ in 0..<2 {
        var employee = Employee(companyID: company.id)
        try tx.save(&employee)
      }
      var former = Employee(formerID: company.id)
      try tx.save(&former)
      var contract = Contract(
        id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)), companyID: company.id)
      try tx.save(&contract)
    }
    let plan = try store.deletionPlan(for: company)
    #expect(!plan.isAllowed)
    #expect(
      plan.description == """
        Company: delete 1, refuse 1
        Employee: delete 2, nullify 1
        delete Company 1
        delete Employee 1: Employee.companyID, because of Company 1
        delete Employee 2: Employee.companyID, because of Company 1
        nullify Employee 3: Employee.formerID, because of Company 1
        refuse Company 1: Contract.companyID, while there is Contract \
        00000000-0000-0000-0000-000000000007
        """)
  }

  @Test("The plan for a missing record is empty, and deleting it is not an error")
  func absent() throws {
    let store = try store()
    let plan = try store.deletionPlan(for: Company(id: 7))
    #expect(plan.isAllowed && plan.deleted.isEmpty && plan.counts.isEmpty)
    #expect(plan.description == "nothing to delete")
    #expect(try !store.write { try $0.delete(Company.self, 7) })
  }

  // MARK: Damage

  @Test("A damaged record in the middle of a cascade leaves everything as it was")
  func damaged() throws {
    let store = try store()
    var company = Company()
    var other = Company()
    try store.write { tx in
      try tx.save(&company)
      try tx.save(&other)
      for _ in 0..<20 {
        var employee = Employee(companyID: company.id, auditedIDs: [other.id])
        try tx.save(&employee)
        var former = Employee(formerID: company.id)
        try tx.save(&former)
      }
    }
    try store.write { tx in
      let collection = try tx.context.collection(of: Employee.self)
      let transaction = try tx.context.transaction()
      let key = [UInt8](try tx.context.key(of: Employee.ID(21)))
      try key.withUnsafeBytes { key in
        var bytes = [UInt8](try #require(try collection.records.get(key, in: transaction)))
        bytes[bytes.count / 2] ^= 1
        try bytes.withUnsafeBytes {
          _ = try collection.records.put(key, $0, in: transaction)
        }
      }
    }
    let before = try store.verify()
    for number in 1...2 {
      let count = try store.count(Company.all)
      try store.write { tx in
        // Where no record loses a reference, there is no savepoint either.
        if number == 2 { try tx.delete(Employee.where { $0.formerID == company.id }) }
        var new = Company(name: "new")
        try tx.save(&new)
        var employee = Employee(companyID: new.id)
        try tx.save(&employee)
        let error = #expect(throws: LarchError.self) { try tx.delete(Company.self, company.id) }
        #expect(error?.code == .checksumMismatch)
        #expect(error?.context.id == "21")
        // Earlier changes exist, and can be deleted too.
        if number == 2 { try tx.delete(new) }
      }
      #expect(try store.count(Company.all) == count + 2 - number)
      #expect(try store.count(Employee.where { $0.auditedIDs.contains(other.id) }) == 20)
    }
    let after = try store.verify()
    // Twenty former employees less; a company and its employee more.
    #expect(after.recordCount == before.recordCount - 20 + 2)
  }

  // MARK: Erasing

  @Test("Erasing empties lists in both directions, and obeys rules where they act")
  func erase() throws {
    let store = try store()
    var team = Team(id: "team")
    var company = Company()
    try store.write { tx in
      try tx.save(&team)
      try tx.save(&company)
      for _ in 0..<5 {
        var employee = Employee(companyID: company.id)
        try tx.save(&employee)
        try tx.add(employee.id, to: team.members)
      }
    }
    // Teams have no rule of their own.
    #expect(try store.write { try $0.erase(Team.self) } == 1)
    try store.read { tx throws in
      #expect(try tx.ids(team.members).isEmpty)
      #expect(try tx.count(Employee.all) == 5)
    }
    try expectClean(store)
    try store.write { tx in
      try tx.save(&team)
      for employee in try tx.all(Employee.self) { try tx.add(employee.id, to: team.members) }
    }
    #expect(try store.write { try $0.erase(Employee.self) } == 5)
    #expect(try store.count(Team.all) == 0)
    try store.write { tx in
      var employee = Employee(companyID: company.id)
      try tx.save(&employee)
      #expect(employee.id == 6)
      let count = try tx.erase(Company.self)
      #expect(count == 1)
    }
    #expect(try store.count(Employee.all) == 0)
    try expectClean(store)
  }
}
