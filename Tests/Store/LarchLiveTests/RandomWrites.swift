import Foundation
import LarchTestSupport

@testable import Larch

/// Random changes of a store with the types of these tests.
struct RandomWrites {
  struct Undone: Error {}

  var generator: SeededGenerator
  /// How many changes it has made, or tried to.
  private(set) var changes = 0
  private let cities = ["London", "Oslo", "Rome", "Paris"]

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// - Parameter isChecked: whether each answer is compared with another way to find it.
  static func openStore(at path: String, isChecked: Bool = false) throws -> Store {
    var options = Store.Options()
    options.checksQueries = isChecked
    options.durability = .none
    return try Store(
      at: path, for: Owner.self, Pet.self, Note.self, Tag.self, Guarded.self, options: options)
  }

  private mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

  private mutating func some<R: Record>(_ type: R.Type, _ tx: WriteTransaction) throws -> R? {
    let all = try tx.fetch(R.all)
    return all.randomElement(using: &generator)
  }

  /// A few changes, of which a part may be undone.
  mutating func change(_ tx: WriteTransaction, depth: Int = 0) throws {
    for _ in 0...number(5) {
      changes += 1
      switch number(24) {
      case 0 where depth < 3:
        try? tx.savepoint {
          try change(tx, depth: depth + 1)
          if number(2) == 0 { throw Undone() }
        }
      case 1 where depth < 3: try tx.savepoint { try change(tx, depth: depth + 1) }
      case 2: if number(8) == 0 { try tx.erase(Pet.self) }
      case 3: if number(8) == 0 { try tx.erase(Owner.self) }
      case 4: if number(8) == 0 { try tx.erase(Tag.self) }
      default: try? changeOne(tx)
      }
    }
  }

  /// One change, or a thrown error.
  private mutating func changeOne(_ tx: WriteTransaction) throws {
    switch number(17) {
    case 0, 1:
      var owner = Owner(
        name: "o\(number(20))", city: cities[number(4)], age: number(9))
      try tx.save(&owner)
    case 2, 3:
      var pet = Pet(name: "p\(number(60))", weight: number(9))
      pet.ownerID = try some(Owner.self, tx)?.id
      try tx.save(&pet)
    case 4:
      var note = Note(text: String(repeating: "n", count: number(20)))
      note.ownerID = try some(Owner.self, tx)?.id
      try tx.save(&note)
    case 5, 6: try tx.put(Tag(id: "t\(number(9))", color: number(3)))
    case 7:
      guard var owner = try some(Owner.self, tx) else { return }
      owner.age = number(9)
      try tx.put(owner)
    case 8:
      guard var pet = try some(Pet.self, tx) else { return }
      pet.weight = number(9)
      pet.ownerID = number(2) == 0 ? nil : try some(Owner.self, tx)?.id
      try tx.put(pet)
    case 9: if let owner = try some(Owner.self, tx) { try tx.delete(owner) }
    case 10: if let pet = try some(Pet.self, tx) { try tx.delete(pet) }
    case 11: if let tag = try some(Tag.self, tx) { try tx.delete(tag) }
    case 12:
      let (old, step) = (number(9), number(2))
      try tx.update(Owner.where { $0.age == old }) { $0.age += step }
    case 13:
      let weight = number(9)
      try tx.delete(Pet.where { $0.weight == weight })
    case 14:
      guard let pet = try some(Pet.self, tx), let tag = try some(Tag.self, tx) else { return }
      try tx.add(tag.id, to: pet.related(Pet.tags))
    case 15:
      guard let pet = try some(Pet.self, tx), let tag = try some(Tag.self, tx) else { return }
      try tx.remove(tag.id, from: pet.related(Pet.tags))
    default:
      var guarded = Guarded(number: number(9))
      try tx.save(&guarded)
    }
  }

  /// A whole transaction, which may be undone.
  mutating func write(to store: Store) {
    try? store.write { tx throws in
      try change(tx)
      if number(6) == 0 { throw Undone() }
    }
  }
}
