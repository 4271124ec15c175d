import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random saves and deletions of records whose hooks save and delete others, against the model;
/// some hooks throw, and then everything must be as it was before the call.
@Suite("Random graphs of records with hooks")
struct RandomHookTests {
  private typealias Company = Ledger.Company
  private typealias Person = Ledger.Person
  private typealias Note = Ledger.Note
  private typealias Visit = Ledger.Visit

  private struct Undone: Error {}

  /// The number of actions, so that a test that does nothing cannot pass.
  private struct Tally {
    var operations = 0
    var thrown = 0
    var denied = 0
    var hooks = 0
    var cascades = 0
  }

  private struct Run {
    let store: Store
    var model = LedgerModel()
    var random: SeededGenerator
    var tally = Tally()
    let comment: Comment

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func any<ID: Comparable & Hashable>(_ ids: some Collection<ID>) -> ID? {
      let ids = ids.sorted()
      return ids.isEmpty ? nil : ids[number(0..<ids.count)]
    }
    mutating func some<ID: Comparable & Hashable>(_ ids: some Collection<ID>) -> Set<ID> {
      Set((0..<number(1..<4)).compactMap { _ in any(ids) })
    }
  }

  @Test("Saves and deletions with hooks agree with the model")
  func random() throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["LARCH_SEED"].flatMap(Int.init) ?? 5_005)
    let operations = environment["LARCH_HOOKS"].flatMap(Int.init) ?? 4_000
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    while tally.operations < operations {
      let comment: Comment = "seed \(seed), after \(tally.operations) operations"
      var run = Run(store: try Ledger.store(), random: random, tally: tally, comment: comment)
      try live(&run, until: tally.operations + 250)
      random = run.random
      tally = run.tally
    }
    if operations >= 4_000 {
      #expect(tally.thrown > 300, "\(tally)")
      #expect(tally.denied > 5, "\(tally)")
      #expect(tally.cascades > 100, "\(tally)")
      #expect(tally.hooks > 5_000, "\(tally)")
    }
  }

  private func live(_ run: inout Run, until end: Int) throws {
    while run.tally.operations < end {
      let before = run.model
      do {
        try run.store.write { tx in
          for _ in 0..<run.number(1..<8) { try operate(&run, tx) }
          if run.number(0..<8) == 0 { throw Undone() }
        }
      } catch is Undone {
        run.model = before
      }
      let report = try run.store.verify()
      try #require(report.isClean, "\(run.comment): \(report)")
    }
    let contents = try run.store.read { try LedgerModel($0) }
    #expect(contents == run.model, run.comment)
  }

  /// Does one action, sometimes with a hook that throws, and compares.
  private func operate(_ run: inout Run, _ tx: WriteTransaction) throws {
    run.tally.operations += 1
    let before = run.model
    let bomb = Ledger.Bomb(run.number(0..<2) == 0 ? run.number(1..<10) : 0)
    try Ledger.Bomb.$current.withValue(bomb) {
      do { try change(&run, tx) } catch is Refused {
        run.tally.thrown += 1
        run.model = before
      }
    }
    run.tally.hooks += bomb.hooks
    let contents = try LedgerModel(tx)
    try #require(contents == run.model, "\(run.comment), operation \(run.tally.operations)")
  }

  private func change(_ run: inout Run, _ tx: WriteTransaction) throws {
    switch run.number(0..<100) {
    case 0..<45: try save(&run, tx)
    case 45..<55: try update(&run, tx)
    case 55..<62: try link(&run, tx)
    case 62..<80: try deleteOne(&run, tx)
    case 80..<92: try deleteByQuery(&run, tx)
    case 92..<93: try erase(&run, tx)
    default:
      if let id = run.any(run.model.contracts.keys) {
        try tx.delete(Ledger.Contract.self, id)
        run.model.contracts[id] = nil
      }
    }
  }

  // MARK: Saves

  /// Saves a record. If that throws, the record in memory must be as it was.
  private func save<R: Record & Equatable>(_ record: R, _ tx: WriteTransaction) throws -> R {
    var saved = record
    do { try tx.save(&saved) } catch {
      #expect(saved == record)
      throw error
    }
    return saved
  }

  private func save(_ run: inout Run, _ tx: WriteTransaction) throws {
    let isNew = run.number(0..<3) > 0
    switch run.number(0..<6) {
    case 0:
      var company = run.any(run.model.companies.keys).flatMap { run.model.companies[$0] }
      if isNew { company = nil }
      var changed = company ?? Company()
      changed.name = run.number(0..<3)
      run.model.save(try save(changed, tx))
    case 1:
      var person = run.any(run.model.people.keys).flatMap { run.model.people[$0] }
      if isNew { person = nil }
      var changed = person ?? Person()
      changed.name = run.number(0..<3)
      changed.company = run.number(0..<4) == 0 ? nil : run.any(run.model.companies.keys)
      changed.givesNotesAway = run.number(0..<3) == 0
      run.model.save(try save(changed, tx))
    case 2, 3:
      var note = run.any(run.model.notes.keys).flatMap { run.model.notes[$0] }
      if isNew { note = nil }
      var changed = note ?? Note()
      changed.text = run.number(0..<3)
      changed.person = run.number(0..<6) == 0 ? nil : run.any(run.model.people.keys)
      changed.takesSibling = run.number(0..<3) == 0
      run.model.save(try save(changed, tx))
    case 4:
      var visit = run.any(run.model.visits.keys).flatMap { run.model.visits[$0] }
      if isNew { visit = nil }
      var changed = visit ?? Visit()
      let changes = changed.changes
      changed.company = run.any(run.model.companies.keys)
      var saved = try save(changed, tx)
      // The model counts by itself.
      saved.changes = changes
      run.model.save(saved)
    default:
      guard run.number(0..<4) == 0 else { return }
      let contract = try save(
        Ledger.Contract(person: run.any(run.model.people.keys)), tx)
      run.model.contracts[contract.id] = contract
      let club = try save(Ledger.Club(), tx)
      run.model.clubs[club.id] = club
    }
  }

  private func update(_ run: inout Run, _ tx: WriteTransaction) throws {
    let ids = run.some(run.model.notes.keys)
    let person = run.any(run.model.people.keys)
    let text = run.number(0..<3)
    let count = try tx.update(Note.where { Array(ids).contains($0.id) }) {
      $0.person = person
      $0.text = text
    }
    #expect(count == ids.count, run.comment)
    for id in ids.sorted() {
      guard var note = run.model.notes[id] else { continue }
      note.person = person
      note.text = text
      run.model.save(note)
    }
  }

  private func link(_ run: inout Run, _ tx: WriteTransaction) throws {
    guard let id = run.any(run.model.people.keys), let person = run.model.people[id],
      let club = run.any(run.model.clubs.keys)
    else { return }
    try tx.add(club, to: person.related(Person.clubs))
    run.model.links.insert(.init(person: id, club: club))
  }

  // MARK: Deletions

  /// Deletes in the model and in the store, which must agree on whether it is denied.
  private func delete(
    _ run: inout Run, _ model: (inout LedgerModel) -> Bool, _ store: () throws -> Bool
  ) throws {
    let before = run.model
    let isAllowed = model(&run.model)
    if before.notes.count + before.people.count > run.model.notes.count + run.model.people.count + 1
    {
      run.tally.cascades += 1
    }
    do {
      let isExpected = try store()
      #expect(isExpected && isAllowed, run.comment)
    } catch let error as LarchError where error.code == .deleteDenied {
      #expect(!isAllowed, run.comment)
      run.tally.denied += 1
    }
  }

  private func deleteOne(_ run: inout Run, _ tx: WriteTransaction) throws {
    switch run.number(0..<4) {
    case 0:
      guard let id = run.any(run.model.companies.keys) else { return }
      try delete(&run, { $0.delete(companies: [id]) }) {
        try tx.delete(Company.self, id)
      }
    case 1:
      guard let id = run.any(run.model.people.keys) else { return }
      try delete(&run, { $0.delete(people: [id]) }) { try tx.delete(Person.self, id) }
    case 2:
      guard let id = run.any(run.model.notes.keys) else { return }
      try delete(&run, { $0.delete(notes: [id]) }) { try tx.delete(Note.self, id) }
    default:
      guard let id = run.any(run.model.visits.keys) else { return }
      try tx.delete(Visit.self, id)
      run.model.visits[id] = nil
    }
  }

  private func deleteByQuery(_ run: inout Run, _ tx: WriteTransaction) throws {
    switch run.number(0..<3) {
    case 0:
      let ids = run.some(run.model.companies.keys)
      try delete(&run, { $0.delete(companies: ids) }) {
        try tx.delete(Company.where { Array(ids).contains($0.id) }) == ids.count
      }
    case 1:
      let ids = run.some(run.model.people.keys)
      try delete(&run, { $0.delete(people: ids) }) {
        try tx.delete(Person.where { Array(ids).contains($0.id) }) == ids.count
      }
    default:
      let ids = run.some(run.model.notes.keys)
      try delete(&run, { $0.delete(notes: ids) }) {
        try tx.delete(Note.where { Array(ids).contains($0.id) }) == ids.count
      }
    }
  }

  private func erase(_ run: inout Run, _ tx: WriteTransaction) throws {
    switch run.number(0..<3) {
    case 0:
      let all = Set(run.model.companies.keys)
      try delete(&run, { $0.delete(companies: all, erasing: .companies) }) {
        try tx.erase(Company.self) == all.count
      }
    case 1:
      let all = Set(run.model.people.keys)
      try delete(&run, { $0.delete(people: all, erasing: .people) }) {
        try tx.erase(Person.self) == all.count
      }
    default:
      let all = Set(run.model.notes.keys)
      try delete(&run, { $0.delete(notes: all, erasing: .notes) }) {
        try tx.erase(Note.self) == all.count
      }
    }
  }
}
