import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A query for one value, or one range, whose outline is known is answered without a plan. The answers are
/// those of the array, whatever the ids are and however often the value occurs.
@Suite("Queries that are answered without a plan")
struct DirectAnswerTests {
  struct Tune: Record, Equatable {
    var id: String
    var code: Int
    var label: String?
    var album: Int
    var length: Int16?

    static let schema = Schema<Tune> {
      Unique(\.code)
      Index(\.label)
      Index(\.album, \.length)
    }
  }

  struct Shot: Record, Equatable, MemberwiseCoded {
    var id = UUID()
    var code: Int
    var label: String?
    var album: Int
    var length: Int16?

    static let schema = Schema<Shot> {
      Unique(\.code)
      Index(\.label)
      Index(\.album, \.length)
      Index(\.length)
    }
  }

  private static let labels: [String?] = [
    nil, "", "a", "b", "e\u{301}", "é", String(repeating: "x", count: 200),
    String(repeating: "x", count: 201), "rare",
  ]

  private static func label(_ random: inout SeededGenerator) -> String? {
    // Half of all have one label, so that other plans are better for it.
    random.chance(1, in: 2) ? "a" : random.pick(labels)
  }

  @Test("By ids that are texts", arguments: 0..<4)
  func texts(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 31)
    let store = try Store.temporary(for: Tune.self)
    var tunes: [Tune] = []
    for round in 0..<3 {
      try store.write { tx in
        for number in 0..<[4, 40, 500][round] {
          var tune = Tune(
            id: "\(random.pick(["a", "ab", "é", "b"]))-\(round)-\(number)",
            code: round * 1_000 + number, label: Self.label(&random), album: random.below(6),
            length: random.chance(1, in: 5) ? nil : Int16(random.below(60)))
          try tx.insert(&tune)
          tunes.append(tune)
        }
      }
      tunes = try store.fetch(Tune.all)
      for _ in 0..<60 {
        let (label, code, album) = (random.pick(Self.labels), random.below(2_600), random.below(7))
        let prefix = random.pick(["a", "ab", "a-", "é", "zz", "b-2-1"])
        try check(store, Tune.where { $0.label == label }, tunes.filter { $0.label == label })
        try check(store, Tune.where { $0.code == code }, tunes.filter { $0.code == code })
        try check(store, Tune.where { $0.code >= code }, tunes.filter { $0.code >= code })
        try check(store, Tune.where { $0.album == album }, tunes.filter { $0.album == album })
        let query = Tune.where { $0.id.hasPrefix(prefix) }
        try check(store, query, tunes.filter { $0.id.hasPrefix(prefix) })
        let sum = tunes.filter { $0.album == album }.reduce(0) { $0 + Int($1.length ?? 0) }
        #expect(try store.sum(\.length, of: Tune.where { $0.album == album }) == sum)
      }
    }
  }

  @Test("By ids that are UUIDs", arguments: 0..<4)
  func uuids(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 77)
    let store = try Store.temporary(for: Shot.self)
    var shots: [Shot] = []
    for round in 0..<3 {
      try store.write { tx in
        for number in 0..<[4, 40, 700][round] {
          var shot = Shot(
            code: round * 1_000 + number, label: Self.label(&random), album: random.below(6),
            length: random.chance(1, in: 5) ? nil : Int16(random.below(60)))
          try tx.insert(&shot)
          shots.append(shot)
        }
      }
      shots = try store.fetch(Shot.all)
      for _ in 0..<60 {
        let (label, code, album) = (random.pick(Self.labels), random.below(2_600), random.below(7))
        let length = random.chance(1, in: 6) ? nil : Int16(random.below(60))
        try check(store, Shot.where { $0.label == label }, shots.filter { $0.label == label })
        try check(store, Shot.where { $0.code == code }, shots.filter { $0.code == code })
        try check(store, Shot.where { $0.length == length }, shots.filter { $0.length == length })
        if let length {
          let query = Shot.where { $0.length < length }
          try check(store, query, shots.filter { $0.length.map { $0 < length } ?? false })
        }
        let sum = shots.filter { $0.album == album }.reduce(0) { $0 + Int($1.length ?? 0) }
        #expect(try store.sum(\.length, of: Shot.where { $0.album == album }) == sum)
      }
    }
  }

  @Test("All ids of a value are found, where they fill more than a page")
  func pages() throws {
    let shots = try Store.temporary(for: Shot.self)
    let tunes = try Store.temporary(for: Tune.self)
    let label = { (number: Int) -> String in number % 9 == 0 ? "often" : "\(number)" }
    try shots.write { tx in
      for number in 0..<4_000 {
        var shot = Shot(code: number, label: label(number), album: 0, length: 1)
        try tx.insert(&shot)
      }
    }
    try tunes.write { tx in
      for number in 0..<4_000 {
        var tune = Tune(id: "\(number)", code: number, label: label(number), album: 0, length: 1)
        try tx.insert(&tune)
      }
    }
    let often = Shot.where { $0.label == "often" }
    try check(shots, often, try shots.fetch(Shot.all).filter { $0.label == "often" })
    #expect(try shots.read { try $0.rowsOfKey(often.details, of: Shot.self) }?.count == 445)
    let texts = Tune.where { $0.label == "often" }
    try check(tunes, texts, try tunes.fetch(Tune.all).filter { $0.label == "often" })
    #expect(try tunes.read { try $0.rowsOfKey(texts.details, of: Tune.self) }?.count == 445)
  }

  struct Mark: Record, Equatable {
    var id = RecordID<Mark>()
    var place: String
    var grade: Int
    var share: Double?
    var day: Date
    static let schema = Schema<Mark> {
      Index(\.place, \.grade, \.day)
      Index(\.grade, \.share)
    }
  }

  @Test("Selected fields of ranges of an index, with several records at a key", arguments: 0..<4)
  func selected(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 4_242)
    let store = try Store.temporary(for: Mark.self)
    let places = ["", "a", "ab", "é\u{0}z", String(repeating: "y", count: 600)]
    var marks: [Mark] = []
    var direct = 0
    for round in 0..<3 {
      try store.write { tx in
        for _ in 0..<[4, 40, 900][round] {
          var mark = Mark(
            place: random.pick(places), grade: random.below(12) - 3,
            share: random.chance(1, in: 4) ? nil : Double(random.below(5)) / 4,
            day: Date(timeIntervalSinceReferenceDate: Double(random.below(4))))
          try tx.insert(&mark)
        }
        // So that ids do not have the order of the entries, and are not all there.
        for mark in try tx.all(Mark.self) where random.chance(1, in: 9) {
          try tx.delete(Mark.self, mark.id)
        }
      }
      marks = try store.fetch(Mark.all)
      for _ in 0..<60 {
        let (place, low, high) = (random.pick(places), random.below(14) - 4, random.below(14) - 4)
        let within = Mark.where { $0.place == place && $0.grade >= low && $0.grade < high }
        let found = marks.filter { $0.place == place && $0.grade >= low && $0.grade < high }
        let above = marks.filter { $0.grade > low }
        try store.read { tx throws in
          for _ in 0..<2 {
            let fields = within.select(\.place, \.grade, \.day)
            #expect(
              try tx.fetch(fields).map { "\($0)" }
                == found.map { "\(($0.place, $0.grade, $0.day))" })
            #expect(
              try tx.fetch(within.select(\.place, \.grade)).map { "\($0)" }
                == found.map { "\(($0.place, $0.grade))" })
            #expect(try tx.fetch(within.select(\.grade)) == found.map(\.grade))
            #expect(try tx.fetch(within.select(\.id)) == found.map(\.id))
            let shares = Mark.where { $0.grade > low }.select(\.share, \.grade)
            #expect(try tx.fetch(shares).map { "\($0)" } == above.map { "\(($0.share, $0.grade))" })
            if try tx.valuesOfRange(within.select(\.grade)) != nil { direct += 1 }
            // Dates are not read from their bytes in a key, so that the walk is not begun.
            #expect(try tx.valuesOfRange(fields).map { _ in 0 } == nil)
            #expect(try tx.fetch(fields.limit(2)).count == min(2, found.count))
          }
        }
      }
    }
    #expect(direct > 100)
    let fields = Mark.where { $0.place == "a" && $0.grade > 0 }.select(\.place, \.grade)
    let isPlanned = try store.write { tx in
      _ = try tx.fetch(fields)
      return try tx.valuesOfRange(fields) == nil
    }
    #expect(isPlanned)
  }

  struct Slot: Record, Equatable {
    var id: Int
    var kind: Kind
    var level: UInt
    var code: Int
    var owner: RecordID<Mark>
    static let schema = Schema<Slot> {
      Index(\.kind, \.level, \.owner)
      Unique(\.code, \.level)
    }
    enum Kind: String, Codable, Sendable, IndexKey, CaseIterable { case low, mid, top, none }
  }

  @Test("Selected fields of several ranges, with ids below zero", arguments: 0..<4)
  func severalRanges(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 91)
    let store = try Store.temporary(for: Slot.self)
    try store.write { tx in
      for number in 0..<700 {
        var slot = Slot(
          id: (number * 7_919 % 701 - 350) * (number % 3 == 0 ? Int.max / 400 : 1),
          kind: random.pick(Slot.Kind.allCases), level: UInt(random.below(5)) * (UInt.max / 5),
          code: random.below(20) - 10 + number * 100, owner: RecordID(Int64(random.below(9))))
        try tx.insert(&slot)
      }
    }
    let slots = try store.fetch(Slot.all)
    #expect(slots.map(\.id) == slots.map(\.id).sorted() && slots.contains { $0.id < -400 })
    var direct = 0
    for _ in 0..<40 {
      let kinds = (0..<random.below(4)).map { _ in random.pick(Slot.Kind.allCases) }
      let (one, other) = (random.pick(Slot.Kind.allCases), random.pick(Slot.Kind.allCases))
      let (level, code) = (UInt(random.below(5)) * (UInt.max / 5), random.below(70_000))
      func check(_ query: Query<Slot>, _ test: (Slot) -> Bool) throws {
        let found = slots.filter(test)
        try store.read { tx throws in
          for _ in 0..<2 {
            #expect(
              try tx.fetch(query.select(\.kind, \.level)).map { "\($0)" }
                == found.map { "\(($0.kind, $0.level))" })
            #expect(try tx.fetch(query.select(\.owner)) == found.map(\.owner))
            #expect(try tx.fetch(query.select(\.code)) == found.map(\.code))
          }
          if try tx.valuesOfRange(query.select(\.kind, \.level)) != nil { direct += 1 }
          if try tx.valuesOfRange(query.select(\.code)) != nil { direct += 1 }
        }
      }
      try check(Slot.where { kinds.contains($0.kind) && $0.level >= level }) {
        kinds.contains($0.kind) && $0.level >= level
      }
      try check(Slot.where { $0.kind == one || $0.kind == other }) {
        $0.kind == one || $0.kind == other
      }
      try check(Slot.where { $0.kind == one && $0.level <= level && $0.level > 0 }) {
        $0.kind == one && $0.level <= level && $0.level > 0
      }
      try check(Slot.where { $0.code < code && $0.code >= code - 5_000 }) {
        $0.code < code && $0.code >= code - 5_000
      }
    }
    #expect(direct > 40)
  }

  @Test(
    "After a key without every bit of a value, or with very many ids, fields come from the plan")
  func refused() throws {
    func filled() throws -> (store: Store, marks: [Mark]) {
      let store = try Store.temporary(for: Mark.self)
      try store.write { tx in
        for (place, count, keys) in [
          ("a", 10, 3), ("é", 1, 1), ("many", 2_100, 700), ("few", 2_100, 2),
        ] {
          for number in 0..<count {
            var mark = Mark(
              place: place, grade: number % keys, share: nil,
              day: Date(timeIntervalSinceReferenceDate: Double(number % keys)))
            try tx.insert(&mark)
          }
        }
      }
      return (store, try store.fetch(Mark.all))
    }
    func isDirect(_ place: String, _ filled: (store: Store, marks: [Mark])) throws -> Bool {
      let query = Mark.where { $0.place == place && $0.grade >= 0 }.select(\.place, \.grade)
      return try filled.store.read { tx in
        for _ in 0..<2 {
          #expect(
            try tx.fetch(query).map { "\($0)" }
              == filled.marks.filter { $0.place == place }.map { "\(($0.place, $0.grade))" })
        }
        return try tx.valuesOfRange(query) != nil
      }
    }
    let first = try filled()
    #expect(try isDirect("a", first))
    #expect(try isDirect("many", first))
    #expect(try !isDirect("few", first))
    #expect(try !isDirect("a", first))
    let second = try filled()
    #expect(try isDirect("a", second))
    #expect(try !isDirect("é", second))
    #expect(try !isDirect("many", second))
  }

  @Test("An error of a filter names the collection, in a selection too")
  func refusedFilter() throws {
    let store = try filled()
    let query = Shot.where { $0.label.notCompared }
    for _ in 0..<2 {
      let error = #expect(throws: LarchError.self) { try store.fetch(query.select(\.code)) }
      #expect(error?.context.collection == "Shot")
    }
  }

  /// Twice: the first time the outline may be new.
  private func check<R: Record & Equatable>(
    _ store: Store, _ query: Query<R>, _ found: [R]
  ) throws {
    for limit in [nil, 1, 3, 17, 3_000] {
      let query = limit.map(query.limit) ?? query
      let wanted = limit.map { Array(found.prefix($0)) } ?? found
      try store.read { tx throws in
        for _ in 0..<2 {
          #expect(try tx.fetch(query) == wanted, "\(query.details.filter.text)")
          #expect(try tx.first(query) == wanted.first, "\(query.details.filter.text)")
          #expect(try tx.count(query) == wanted.count, "\(query.details.filter.text)")
          #expect(try tx.exists(query) == !wanted.isEmpty, "\(query.details.filter.text)")
          #expect(try tx.ids(query) == wanted.map(\.id), "\(query.details.filter.text)")
        }
      }
    }
  }

  private func filled() throws -> Store {
    let store = try Store.temporary(for: Shot.self)
    try store.write { tx in
      for number in 0..<100 {
        var shot = Shot(code: number, label: "\(number % 50)", album: number % 4, length: 1)
        try tx.insert(&shot)
      }
    }
    return store
  }

  @Test("A known outline has no plan in a read, and one in a write")
  func direct() throws {
    let store = try filled()
    let query = Shot.where { $0.label == "7" }
    let album = Shot.where { $0.album == 1 }
    let length = TypedField.of(\Shot.length)
    func isDirect(_ tx: ReadTransaction) throws -> [Bool] {
      _ = (try tx.fetch(query), try tx.count(query), try tx.count(Shot.where { $0.length < 3 }))
      _ = try tx.sum(\.length, of: album)
      return [
        try tx.rowsOfKey(query.details, of: Shot.self) != nil,
        try tx.countOfKey(query.details, of: Shot.self) != nil,
        try tx.countOfRange(Shot.where { $0.length < 3 }.details, of: Shot.self) != nil,
        try tx.totalOfKey(length, album.details, of: Shot.self) != nil,
      ]
    }
    #expect(try store.read(isDirect) == [true, true, true, true])
    #expect(try store.write { try isDirect($0) } == [false, false, false, false])
    // A value that a quarter of all records have is found sooner in all of them.
    try store.write { tx in
      for shot in try tx.fetch(Shot.where { $0.code < 50 }) {
        var shot = shot
        shot.label = "7"
        try tx.update(shot)
      }
    }
    #expect(try store.read { try $0.rowsOfKey(query.details, of: Shot.self) == nil })
    #expect(try store.read { try $0.rowsOfKey(query.limit(9).details, of: Shot.self) } == nil)
    _ = try store.fetch(query.limit(9))
    #expect(try store.read { try $0.rowsOfKey(query.limit(9).details, of: Shot.self) }?.count == 9)
  }

  @Test("An entry without its record, and a damaged record, are errors that name the id")
  func damaged() throws {
    for isDeleted in [true, false] {
      let store = try filled()
      let query = Shot.where { $0.label == "7" }
      let shot = try #require(try store.fetch(query).last)
      #expect(try store.fetch(query).count == 2)
      try store.write { tx in
        try tx.storage { transaction in
          let records = try tx.context.collection(of: Shot.self).records
          let key = [UInt8](try tx.context.key(of: shot.id))
          try key.withUnsafeBytes { key in
            var bytes = [UInt8](try #require(try records.get(key, in: transaction)))
            bytes[bytes.count / 2] ^= 1
            if isDeleted {
              #expect(try records.delete(key, in: transaction))
            } else {
              _ = try bytes.withUnsafeBytes { try records.put(key, $0, in: transaction) }
            }
          }
        }
      }
      let error = #expect(throws: LarchError.self) { try store.fetch(query) }
      #expect(error?.code == (isDeleted ? .corrupted : .checksumMismatch))
      #expect(error?.context.id == "\(shot.id)")
      #expect(error?.context.collection == "Shot")
    }
  }
}
