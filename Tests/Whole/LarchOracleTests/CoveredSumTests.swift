import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Sums and extremes of fields in the keys of an index come from its pages; selected fields come
/// from its keys. Both equal what the closure gives over an array, to the last bit.
@Suite("Figures and fields from the keys of an index")
struct CoveredSumTests {
  struct Sample: Record, Equatable {
    var id = RecordID<Sample>()
    var place: String
    var day: Date
    var real: Double
    var maybe: Double?
    var small: Float
    var number: Int16?

    static let schema = Schema<Sample> {
      Index(\.place, \.day, \.real)
      Index(\.place, \.maybe, \.number)
      Index(\.small)
      Index(\.number, \.small, \.place)
    }
  }

  private static let places = [
    "", "a", "Oslo", "a\u{0}b", "e\u{301}", String(repeating: "x", count: 200),
    String(repeating: "x", count: 201),
  ]

  private static func sample(_ random: inout SeededGenerator) -> Sample {
    func real() -> Double {
      switch Int.random(in: 0..<40, using: &random) {
      case 0: [.infinity, -.infinity, .nan].randomElement(using: &random)!
      case 1: [0.0, -0.0, .leastNonzeroMagnitude].randomElement(using: &random)!
      case 2: Double(Int.random(in: -3...3, using: &random)) * 1e300
      case 3...10: Double(Int.random(in: -3...3, using: &random)) / 10
      default: Double.random(in: -1e6...1e6, using: &random)
      }
    }
    return Sample(
      place: places.randomElement(using: &random)!,
      day: Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0..<60, using: &random))),
      real: real(), maybe: Bool.random(using: &random) ? nil : real(),
      small: Float(real()),
      number: Int.random(in: 0..<4, using: &random) == 0
        ? nil : Int16.random(in: -500...500, using: &random))
  }

  private typealias Clause = (query: Query<Sample>, matches: (Sample) -> Bool)

  private static func clause(_ random: inout SeededGenerator) -> Clause {
    let place = places.randomElement(using: &random)!
    let from = Date(
      timeIntervalSinceReferenceDate: Double(Int.random(in: -1..<60, using: &random)))
    let to = from + Double(Int.random(in: 0..<40, using: &random))
    let low = Int16.random(in: -500...500, using: &random)
    let real = Double(Int.random(in: -3...3, using: &random)) / 10
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return (Sample.all, { _ in true })
    case 1: return (Sample.where { $0.place == place }, { $0.place == place })
    case 2:
      return (
        Sample.where { $0.place == place && $0.day >= from && $0.day < to },
        { $0.place == place && $0.day >= from && $0.day < to }
      )
    case 3:
      return (
        Sample.where { $0.place == place && $0.real > real },
        { $0.place == place && $0.real > real }
      )
    case 4:
      return (
        Sample.where { ["a", place].contains($0.place) && $0.day > from },
        { ["a", place].contains($0.place) && $0.day > from }
      )
    case 5: return (Sample.where { $0.number >= low }, { $0.number.map { $0 >= low } ?? false })
    case 6:
      return (
        Sample.where { $0.number >= low && $0.place.hasPrefix("x") },
        { $0.number.map { $0 >= low } ?? false && $0.place.hasPrefix("x") }
      )
    case 7:
      return (
        Sample.where { $0.place == place && $0.maybe != nil },
        { $0.place == place && $0.maybe != nil }
      )
    case 8: return (Sample.where { $0.small < Float(real) }, { $0.small < Float(real) })
    default:
      return (
        Sample.where { $0.place > place && $0.number == nil },
        { isBefore(place, $0.place) && $0.number == nil }
      )
    }
  }

  /// The order of text: by the bytes of its normal form.
  private static func isBefore(_ a: String, _ b: String) -> Bool {
    a.precomposedStringWithCanonicalMapping.utf8.lexicographicallyPrecedes(
      b.precomposedStringWithCanonicalMapping.utf8)
  }

  private static func bits(_ value: Double?) -> String {
    value.map { $0.isNaN ? "NaN" : "\($0) \($0.bitPattern)" } ?? "nil"
  }

  private static func figures(
    _ reader: some RecordReading, _ query: Query<Sample>
  ) throws -> [String] {
    [
      "sum real \(bits(try reader.sum(\.real, of: query)))",
      "sum maybe \(bits(try reader.sum(\.maybe, of: query)))",
      "sum small \(bits(Double(try reader.sum(\.small, of: query))))",
      "sum number \(try reader.sum(\.number, of: query))",
      "mean maybe \(bits(try reader.average(\.maybe, of: query)))",
      "min real \(bits(try reader.min(\.real, of: query)))",
      "max real \(bits(try reader.max(\.real, of: query)))",
      "min maybe \(bits(try reader.min(\.maybe, of: query)))",
      "max maybe \(bits(try reader.max(\.maybe, of: query)))",
      "max small \(bits((try reader.max(\.small, of: query)).map(Double.init)))",
      "min number \(String(describing: try reader.min(\.number, of: query)))",
      "max number \(String(describing: try reader.max(\.number, of: query)))",
      "max day \(String(describing: try reader.max(\.day, of: query)))",
    ]
  }

  /// - Parameter rows: in the order of their ids, of which the first of several equal ones counts.
  private static func figures(of rows: [Sample]) -> [String] {
    func first<T: Comparable>(_ values: [T], _ isBefore: (T, T) -> Bool) -> T? {
      var best: T?
      // NaN equals nothing, itself included.
      for value in values where value == value {
        if let known = best, !isBefore(value, known) { continue }
        best = value
      }
      return best
    }
    let reals = rows.map(\.real)
    let maybes = rows.compactMap(\.maybe)
    let numbers = rows.compactMap(\.number)
    let mean = maybes.isEmpty ? nil : maybes.reduce(0, +) / Double(maybes.count)
    return [
      "sum real \(bits(reals.reduce(0, +)))",
      "sum maybe \(bits(maybes.reduce(0, +)))",
      "sum small \(bits(Double(Float(rows.reduce(0.0) { $0 + Double($1.small) }))))",
      "sum number \(numbers.reduce(0) { $0 + Int($1) })",
      "mean maybe \(bits(mean))",
      "min real \(bits(first(reals, <)))",
      "max real \(bits(first(reals, >)))",
      "min maybe \(bits(first(maybes, <)))",
      "max maybe \(bits(first(maybes, >)))",
      "max small \(bits(first(rows.map(\.small), >).map(Double.init)))",
      "min number \(String(describing: numbers.min()))",
      "max number \(String(describing: numbers.max()))",
      "max day \(String(describing: rows.map(\.day).max()))",
    ]
  }

  private static func check(
    _ reader: some RecordReading, _ samples: [Sample], _ random: inout SeededGenerator,
    _ text: String
  ) throws {
    for _ in 0..<10 {
      let (query, matches) = clause(&random)
      let rows = samples.filter(matches).sorted { $0.id < $1.id }
      let known = figures(of: rows)
      let found = try figures(reader, query)
      if found != known {
        let plan = try reader.explain(query.select(\.real))
        for (found, known) in zip(found, known) {
          #expect(found == known, "\(text): \(query.details.filter), \(plan)")
        }
      }
      // A part of the records, in the same order.
      let part = rows.prefix(7).reduce(0.0) { $0 + $1.real }
      #expect(bits(try reader.sum(\.real, of: query.limit(7))) == bits(part), "\(text)")
      try checkFields(reader, query, rows, text)
    }
  }

  private static func checkFields(
    _ reader: some RecordReading, _ query: Query<Sample>, _ rows: [Sample], _ text: String
  ) throws {
    func line(_ row: (String, Double?, Int16?)) -> String {
      "\(Array(row.0.unicodeScalars)) \(bits(row.1)) \(String(describing: row.2))"
    }
    let known = rows.map { line(($0.place, $0.maybe, $0.number)) }
    let some = try reader.fetch(query.select(\.place, \.maybe, \.number)).map(line)
    #expect(some == known, "\(text)")
    let down = query.sorted(by: \.id, .descending)
    let reversed = try reader.fetch(down.select(\.place, \.maybe, \.number)).map(line)
    #expect(reversed == known.reversed(), "\(text)")
    let page = try reader.fetch(query.offset(3).limit(20).select(\.place, \.maybe, \.number))
    #expect(page.map(line) == Array(known.dropFirst(3).prefix(20)), "\(text)")
    let skipped = try reader.fetch(query.offset(3).select(\.place, \.day, \.real))
    let wanted = rows.dropFirst(3)
    #expect(skipped.map(\.1) == wanted.map(\.day), "\(text)")
    #expect(skipped.map { bits($0.2) } == wanted.map { bits($0.real) }, "\(text)")
  }

  @Test(
    "They equal the closure over an array, in reads and in writes", arguments: 0..<4, [false, true])
  func oracle(seed: UInt64, isChecked: Bool) throws {
    var random = SeededGenerator(seed: 7_700 + seed)
    let count = [1, 30, 700, 3_000][Int(seed)]
    let store = try isChecked ? Store.checked(for: Sample.self) : Store.temporary(for: Sample.self)
    var samples: [Sample] = []
    try store.write { tx in
      for _ in 0..<count {
        var sample = Self.sample(&random)
        try tx.insert(&sample)
        samples.append(sample)
      }
    }
    try Self.check(store, samples, &random, "all")
    for round in 0..<2 {
      try store.write { tx in
        for _ in 0..<(count / 5) {
          guard let place = samples.indices.randomElement(using: &random) else { break }
          if Bool.random(using: &random) {
            try tx.delete(samples.remove(at: place))
          } else {
            samples[place].real = Self.sample(&random).real
            try tx.update(samples[place])
          }
        }
        try Self.check(tx, samples, &random, "write \(round)")
      }
      try store.read { try Self.check($0, samples, &random, "read \(round)") }
    }
  }

  /// - Parameter isBackwards: whether the first record has the last day.
  private func store(isBackwards: Bool = false) throws -> Store {
    let store = try Store.temporary(for: Sample.self)
    try store.write { tx in
      for number in 0..<3_000 {
        var sample = Sample(
          place: "p\(number % 3)",
          day: Date(
            timeIntervalSinceReferenceDate: Double(isBackwards ? 999 - number / 3 : number / 3)),
          real: Double(number) / 10, maybe: nil, small: 0, number: Int16(number % 100))
        try tx.insert(&sample)
      }
    }
    return store
  }

  @Test("A sum reads each key once, and no record")
  func work() throws {
    let store = try store()
    let query = Sample.where {
      $0.place == "p1" && $0.day < Date(timeIntervalSinceReferenceDate: 500)
    }
    var sum = 0.0
    for number in 0..<500 { sum += Double(number * 3 + 1) / 10 }
    let mean: Double = sum / 500
    let field = TypedField.of(\Sample.real)
    try store.read { tx in
      try tx.run(query.details, of: Sample.self, for: .fields([field]), selecting: [field]) {
        run, _ in
        let total = try #require(try run.total(of: 0))
        #expect(total.count == 500)
        #expect(total.mean == mean)
        #expect(run.counters == ExecutionCounters(entriesExamined: 500))
      }
    }
    #expect(try store.average(\.real, of: query) == mean)
  }

  @Test("A sum in another order than that of the keys is read row by row, from the keys")
  func backwards() throws {
    let store = try store(isBackwards: true)
    let query = Sample.where {
      $0.place == "p1" && $0.day < Date(timeIntervalSinceReferenceDate: 500)
    }
    let sum = (500..<1_000).reduce(0.0) { $0 + Double($1 * 3 + 1) / 10 }
    #expect(try store.sum(\.real, of: query) == sum)
    let down = (500..<1_000).reversed().reduce(0.0) { $0 + Double($1 * 3 + 1) / 10 }
    #expect(try store.sum(\.real, of: query.sorted(by: \.id, .descending)) == down)
    #expect(try store.sum(\.real, of: query.sorted(by: \.day)) == down)
  }
}
