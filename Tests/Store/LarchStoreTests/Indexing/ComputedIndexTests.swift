import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A save makes the entries of computed properties from the record in memory, if decoding gives every bit of
/// it; otherwise from the decoded record.
@Suite("Indexes over computed properties")
struct ComputedIndexTests {
  struct Basket: Record, MemberwiseCoded {
    var id = RecordID<Basket>()
    var owner: String
    var kind: Kind
    var lines: [Line]
    var note: String?

    var labels: [String] { lines.map(\.label) }
    var total: Int { lines.reduce(0) { $0 + $1.count } }
    var ownerOfNote: String? { note.map { "\(owner) \($0)" } }

    static let schema = Schema<Basket> {
      Index(\.owner)
      Index(\.labels, name: "labels")
      Index(\.kind, \.total, name: "total")
      Unique(\.ownerOfNote, name: "note")
      Index(\.owner, name: "rich", where: { $0.total > 40 })
    }

    enum Kind: String, Codable, Sendable, IndexKey { case small, large }
    struct Line: Codable, Sendable, MemberwiseCoded {
      var label: String
      var count: Int
    }
  }

  /// Its entries come from the decoded record: its number is one of a library.
  struct Price: Record, MemberwiseCoded {
    var id = RecordID<Price>()
    var amount: Decimal
    var exponent: Int { amount.exponent }
    static let schema = Schema<Price> { Index(\.exponent, name: "exponent") }
  }

  /// No record is stored with a note, so the default is that of all.
  struct Noted: Record, MemberwiseCoded {
    var id = RecordID<Noted>()
    var name: String
    var note: String?
    var shown: String { "\(name): \(note ?? "nothing")" }
    static let schema = Schema<Noted> {
      Index(\.shown, name: "shown")
      Default(\.note, "none")
    }
  }

  private func basket(_ random: inout SeededGenerator, _ number: Int) -> Basket {
    let lines = (0..<random.below(6)).map { _ in
      Basket.Line(label: "label \(random.below(12))", count: random.below(20))
    }
    return Basket(
      owner: "owner \(random.below(9))", kind: random.below(2) == 0 ? .small : .large, lines: lines,
      note: random.below(3) == 0 ? "note \(number)" : nil)
  }

  private func check(_ store: Store, _ baskets: [Basket]) throws {
    #expect(try store.verify().isClean)
    func same(_ query: Query<Basket>, _ test: (Basket) -> Bool) throws {
      #expect(try store.ids(query) == baskets.filter(test).map(\.id))
    }
    for number in 0..<12 {
      let label = "label \(number)"
      try same(Basket.where { $0.labels.contains(label) }) { $0.labels.contains(label) }
      let most = number * 8
      try same(Basket.where { $0.kind == .small && $0.total <= most }) {
        $0.kind == .small && $0.total <= most
      }
    }
    for basket in baskets where basket.note != nil {
      let note = basket.ownerOfNote
      #expect(try store.ids(Basket.where { $0.ownerOfNote == note }) == [basket.id])
    }
  }

  @Test("Inserts, updates and saves keep the entries of an array", arguments: 0..<4)
  func entries(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 77)
    let store = try Store.temporary(for: Basket.self)
    var baskets: [Basket] = []
    for round in 0..<6 {
      try store.write { tx in
        for number in 0..<30 {
          var basket = basket(&random, round * 100 + number)
          try tx.insert(&basket)
          baskets.append(basket)
        }
        for number in 0..<30 {
          let place = random.below(baskets.count)
          var changed = basket(&random, round * 100 + 50 + number)
          if random.below(2) == 0 { changed.lines = baskets[place].lines }
          changed.id = baskets[place].id
          try tx.update(changed)
          baskets[place] = changed
        }
      }
      try check(store, baskets)
    }
    // A conflict is found by the same entries, and changes nothing.
    let noted = try #require(baskets.first { $0.note != nil })
    var other = try #require(baskets.first { $0.note == nil })
    other.owner = noted.owner
    other.note = noted.note
    let error = #expect(throws: LarchError.self) { try store.write { tx in try tx.update(other) } }
    #expect(error?.code == .uniqueConflict)
    try check(store, baskets)
  }

  /// One property changes at a time: the old entries are those of the new record with that property read back.
  @Test("An update of one property replaces the entries of the record", arguments: 0..<4)
  func oneProperty(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 770)
    let store = try Store.temporary(for: Basket.self)
    var baskets: [Basket] = []
    let long = String(repeating: "a long text, which is not kept in the string itself ", count: 3)
    try store.write { tx in
      for number in 0..<40 {
        var basket = basket(&random, number)
        basket.owner += long
        try tx.insert(&basket)
        baskets.append(basket)
      }
    }
    for round in 0..<6 {
      try store.write { tx in
        for number in 0..<60 {
          let place = random.below(baskets.count)
          var changed = baskets[place]
          switch random.below(4) {
          case 0: changed.owner = "owner \(random.below(9))\(random.below(2) == 0 ? long : "")"
          case 1: changed.kind = changed.kind == .small ? .large : .small
          case 2: changed.lines = basket(&random, 0).lines
          default:
            changed.note = changed.note == nil ? "note \(round * 100 + number) \(long)" : nil
          }
          try tx.update(changed)
          baskets[place] = changed
        }
      }
      try check(store, baskets)
      #expect(try store.fetch(Basket.all).map { "\($0)" } == baskets.map { "\($0)" })
    }
  }

  @Test("Entries of numbers in other forms are those of the decoded record")
  func forms() throws {
    let store = try Store.temporary(for: Price.self)
    let amounts = [
      Decimal(sign: .plus, exponent: 0, significand: 100),
      Decimal(sign: .plus, exponent: 2, significand: 1),
      Decimal(sign: .plus, exponent: -3, significand: 12_000),
    ]
    try store.write { tx in
      for amount in amounts {
        var price = Price(amount: amount)
        try tx.insert(&price)
        price.amount += 10
        try tx.update(price)
      }
    }
    #expect(try store.verify().isClean)
    let prices = try store.fetch(Price.all)
    for exponent in -3...3 {
      let found = try store.ids(Price.where { $0.exponent == exponent })
      #expect(found == prices.filter { $0.exponent == exponent }.map(\.id))
    }
  }

  @Test("Entries have the default of a field that no record was stored with")
  func defaults() throws {
    let store = try Store.temporary(for: Noted.self)
    try store.write { tx in
      for number in 0..<5 {
        var noted = Noted(name: "name \(number)")
        try tx.insert(&noted)
        noted.name += "!"
        try tx.update(noted)
      }
    }
    #expect(try store.verify().isClean)
    for noted in try store.fetch(Noted.all) {
      let shown = noted.shown
      #expect(try store.ids(Noted.where { $0.shown == shown }) == [noted.id])
    }
  }
}
