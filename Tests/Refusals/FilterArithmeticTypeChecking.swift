import Foundation
import Larch

// The control for arithmetic, values that may be nil, counts and selections, as
// FilterTypeChecking.swift is for all else.
// swiftc: -warnings-as-errors -Xfrontend -solver-scope-threshold=2000

struct Owner: Record {
  var id = RecordID<Owner>()
  var name: String
  var size: Int

  static let things = HasMany<Owner, Thing>(\.ownerID)
  static let schema = Schema<Owner> { things }
}

struct Thing: Record {
  var id = RecordID<Thing>()
  var name: String
  var a: Int
  var b: Int
  var small: Int8
  var rank: Int?
  var height: Double
  var isActive: Bool
  var tags: [String]
  var ownerID: Owner.ID?

  static let owner = BelongsTo<Thing, Owner>(\.ownerID)
  static let schema = Schema<Thing>()
}

func arithmetic(n: Int?, limit: Int) {
  _ = Thing.where {
    $0.a + 0 == 1 && $0.b == 2 && $0.a > 3 && $0.height < 2 && $0.name == "x" && $0.isActive
      && $0.a >= 3 && $0.rank == 4 && $0.small > 3
  }
  _ = Thing.where {
    $0.a * 2 > $0.b + 1 && ($0.a - 1) % 2 == 0 && $0.height * 2 < 3.5 && -$0.a < limit
      && (1...3).contains($0.a + 1) && (1..<5).contains($0.a * 2) && 2 * $0.a == $0.b
      && $0.small / 2 != 3
  }
  _ = Thing.where { $0.a + 1 == $0.rank && -1 < $0.a - limit || 100 - $0.a / 2 + 1 == 10 }
  _ = Thing.where { $0.a == n && $0.rank == n && n != $0.b && $0.a + 1 == n && $0.isActive }
}

func counts() {
  _ = Owner.where {
    $0.things.count > 2 && $0.things.count == 0 && (1..<3).contains($0.things.count)
      && (2...).contains($0.things.count) && 3 >= $0.things.count && $0.name == "x" && $0.size > 3
  }
  _ = Thing.where {
    $0.tags.count > 2 && $0.owner.things.count <= 5 && $0.owner.name == "x" && $0.a > 3
  }
  _ = Thing.where { $0.owner == nil && $0.ownerID == nil }
  _ = Thing.where { $0.owner != nil && $0.a > 3 }
}

func selections(store: Store) throws {
  _ = try store.fetch(Thing.select(\.name)) == ["a"]
  _ = try store.fetch(Thing.select(\.a)).contains(3)
  _ = try Thing.select(\.a).fetch().contains(3)
  for (a, b) in try store.fetch(Thing.select(\.a, \.b)) { print(a + b) }
  let first: Int = try store.first(Thing.select(\.a)) ?? 0
  let (a, b) = try store.first(Thing.where { $0.a > 3 }.select(\.a, \.b)) ?? (first, 2)
  let rows = try store.fetch(Thing.select(\.a, \.name, \.rank).distinct())
  print(a, b, rows.map { $0.2 })
  for group in try store.counts(by: \Thing.a) { print(group.value, group.count) }
  let least: Int? = try store.min(\Thing.rank)
  print(try store.max(\Thing.a) ?? 3, least as Any)
}
