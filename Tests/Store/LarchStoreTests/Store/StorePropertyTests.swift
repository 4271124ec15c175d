import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random changes of a store and of its reference, which must always agree.
@Suite("Store against its reference")
struct StorePropertyTests {
  struct Stop: Error {}

  /// The state of both sides.
  struct Pair {
    var people = ReferenceStore<Person> { $0.email.map { ["email:" + $0] } ?? [] }
    var documents = ReferenceStore<Document> { ["text:" + $0.text] }

    func equals(_ tx: ReadTransaction) throws -> Bool {
      let people = try tx.all(Person.self).reduce(into: [Person.ID: String]()) {
        $0[$1.id] = $1.exact
      }
      let documents = try tx.all(Document.self).reduce(into: [Document.ID: String]()) {
        $0[$1.id] = $1.exact
      }
      return people == self.people.records.mapValues(\.exact)
        && documents == self.documents.records.mapValues(\.exact)
    }
  }

  /// One random change on both sides.
  private func step(
    _ tx: WriteTransaction, _ pair: inout Pair, _ random: inout SeededGenerator
  ) throws {
    switch random.below(20) {
    case 0..<8:
      var person = random.person()
      if random.below(3) > 0,
        let id = pair.people.records.keys.sorted().randomElement(using: &random)
      {
        person.id = id
      }
      let isFree = pair.people.conflict(of: person) == nil
      do {
        try tx.save(&person)
        #expect(isFree)
        let isSaved = pair.people.save(person)
        #expect(isSaved)
      } catch let error as LarchError where error.code == .uniqueConflict {
        #expect(!isFree)
      }
    case 8..<14:
      var document = random.document()
      let isFree = pair.documents.conflict(of: document) == nil
      do {
        try tx.save(&document)
        #expect(isFree)
        let isSaved = pair.documents.save(document)
        #expect(isSaved)
      } catch let error as LarchError where error.code == .uniqueConflict {
        #expect(!isFree)
      }
    case 14..<17:
      if let id = pair.people.records.keys.sorted().randomElement(using: &random) {
        #expect(try tx.delete(Person.self, id))
        pair.people.delete(id)
      }
    case 17..<19:
      if let id = pair.documents.records.keys.sorted().randomElement(using: &random) {
        let stored = try tx.find(Document.self, id)
        #expect(stored?.exact == pair.documents.records[id]?.exact)
        #expect(try tx.delete(Document.self, id))
        pair.documents.delete(id)
      }
    default:
      if random.below(60) == 0 {
        try tx.erase(Person.self)
        pair.people.erase()
      }
    }
  }

  private func steps(
    _ count: Int, _ tx: WriteTransaction, _ pair: inout Pair, _ random: inout SeededGenerator,
    depth: Int = 0
  ) throws {
    for _ in 0..<count {
      if depth < 3, random.below(30) == 0 {
        let before = pair
        do {
          try tx.savepoint {
            try steps(random.below(12), tx, &pair, &random, depth: depth + 1)
            if random.below(2) == 0 { throw Stop() }
          }
        } catch is Stop {
          pair = before
        }
      } else {
        try step(tx, &pair, &random)
      }
    }
  }

  @Test(
    "Random saves, deletes, savepoints and rollbacks agree with the reference",
    arguments: 1...UInt64(isSoak ? 200 : 10))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    if seed % 3 == 0 { options.initialMapSize = 256 << 10 }
    var store = try Store(at: path, for: Person.self, Document.self, options: options)
    var pair = Pair()
    var done = 0
    while done < 10_000 {
      let count = [1, 3, 20, 200][random.below(4)]
      done += count
      let before = pair
      let start = random
      let fails = random.below(4) == 0
      do {
        try store.write { tx throws in
          // A write may run again, so everything starts from the same state.
          pair = before
          random = start
          try steps(count, tx, &pair, &random)
          if fails { throw Stop() }
        }
      } catch is Stop {
        pair = before
      }
      let mustReopen = self.mustReopen(&random)
      if mustReopen {
        store.close()
        store = try Store(at: path, for: Person.self, Document.self, options: options)
      }
      if mustReopen || random.below(40) == 0 {
        #expect(try store.read { try pair.equals($0) }, "seed \(seed), after \(done)")
        let report = try store.verify()
        #expect(report.isClean, "seed \(seed), after \(done): \(report)")
        if !report.isClean { return }
      }
    }
    #expect(try store.read { try pair.equals($0) }, "seed \(seed)")
    #expect(try store.verify().isClean, "seed \(seed)")
    store.close()
  }

  private func mustReopen(_ random: inout SeededGenerator) -> Bool { random.below(60) == 0 }
}
