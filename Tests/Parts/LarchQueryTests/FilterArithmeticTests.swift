import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A filter with one unsupported arithmetic took the compiler eleven seconds and ended in "unable to
/// type-check"; now filters calculate, on the stored bytes.
@Suite("Filters calculate")
struct FilterArithmeticTests {
  struct Numbers: Record {
    var id = 0
    var group = 0
    var int = 0
    var otherInt = 0
    var maybeInt: Int?
    var int8 = Int8(0)
    var otherInt8 = Int8(0)
    var int16 = Int16(0)
    var otherInt16 = Int16(0)
    var int32 = Int32(0)
    var otherInt32 = Int32(0)
    var uint = UInt(0)
    var otherUInt = UInt(0)
    var uint8 = UInt8(0)
    var otherUInt8 = UInt8(0)
    var uint16 = UInt16(0)
    var otherUInt16 = UInt16(0)
    var uint32 = UInt32(0)
    var otherUInt32 = UInt32(0)
    var float = Float(0)
    var otherFloat = Float(0)
    var double = 0.0
    var otherDouble = 0.0
    var marks: [Int] = []

    static let schema = Schema<Numbers> {
      Index(\.group, \.int)
      Index(\.uint8)
    }
  }

  private static func records(_ count: Int, seed: UInt64) -> [Numbers] {
    var random = SeededGenerator(seed: seed)
    func number<T: FixedWidthInteger>(_: T.Type) -> T {
      let edges: [T] = [.min, .max, 0, 1, .max - 1, .min + 1, 2, 3, 7]
      return Bool.random(using: &random)
        ? edges.randomElement(using: &random) ?? 0 : T.random(in: .min ... .max, using: &random)
    }
    func real() -> Double {
      let edges = [
        0, -0.0, 1, -1, 0.1, .infinity, -.infinity, .nan, 1e308, 3, 2.5, .leastNonzeroMagnitude,
      ]
      return edges.randomElement(using: &random) ?? 0
    }
    // Swift stops for these remainders, as for the quotients.
    let last = Numbers(
      id: count + 1, int: .min, otherInt: -1, int8: .min, otherInt8: -1, int16: .min,
      otherInt16: -1, int32: .min, otherInt32: -1)
    return (1...count).map { id in
      Numbers(
        id: id, group: id % 5, int: number(Int.self), otherInt: number(Int.self),
        maybeInt: id % 3 == 0 ? nil : number(Int.self), int8: number(Int8.self),
        otherInt8: number(Int8.self), int16: number(Int16.self), otherInt16: number(Int16.self),
        int32: number(Int32.self), otherInt32: number(Int32.self), uint: number(UInt.self),
        otherUInt: number(UInt.self), uint8: number(UInt8.self), otherUInt8: number(UInt8.self),
        uint16: number(UInt16.self), otherUInt16: number(UInt16.self), uint32: number(UInt32.self),
        otherUInt32: number(UInt32.self), float: Float(real()), otherFloat: Float(real()),
        double: real(), otherDouble: real(), marks: [id % 4, id % 7])
    } + [last]
  }

  private let store: Store
  private let all: [Numbers]

  init() throws {
    store = try Store.temporary(for: Numbers.self)
    let records = Self.records(200, seed: 14)
    all = records
    try store.write { tx in for var record in records { try tx.insert(&record) } }
  }

  /// The same answer as the closure over an array: on bytes, on decoded records, after an index
  /// scan, counted, and negated.
  private func check(
    _ filter: Filter<Numbers>, _ matches: (Numbers) -> Bool,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let wanted = all.filter(matches).map(\.id)
    let query = Numbers.where { _ in filter }
    #expect(try store.fetch(query).map(\.id) == wanted, sourceLocation: location)
    #expect(try store.count(query) == wanted.count, sourceLocation: location)
    #expect(try store.exists(query) == !wanted.isEmpty, sourceLocation: location)
    let decoded = Numbers.where { filter || $0.satisfies { _ in false } }
    #expect(try store.fetch(decoded).map(\.id) == wanted, sourceLocation: location)
    let indexed = try store.fetch(query.where { $0.group == 2 }).map(\.id)
    #expect(
      indexed == all.filter { $0.group == 2 && matches($0) }.map(\.id), sourceLocation: location)
    let negated = try store.fetch(Numbers.where { _ in !filter }).map(\.id)
    #expect(negated == all.filter { !matches($0) }.map(\.id), sourceLocation: location)
  }

  private static func some<T>(_ result: (partialValue: T, overflow: Bool)) -> T? {
    result.overflow ? nil : result.partialValue
  }

  private func checkIntegers<T: FieldNumber & FixedWidthInteger>(
    _ left: any KeyPath<Numbers, T> & Sendable, _ right: any KeyPath<Numbers, T> & Sendable
  ) throws {
    let fields = Fields<Numbers>()
    let a = fields[left]
    let b = fields[right]
    for bound in [T.min, 0, 1, 3, T.max] {
      func check(_ field: Field<Numbers, T>, _ value: (T, T) -> T?) throws {
        func of(_ record: Numbers) -> T? { value(record[keyPath: left], record[keyPath: right]) }
        try self.check(field == bound) { of($0) == bound }
        try self.check(field != bound) { of($0) != bound }
        try self.check(field < bound) { record in of(record).map { $0 < bound } ?? false }
        try self.check(field >= bound) { record in of(record).map { $0 >= bound } ?? false }
        try self.check((0...bound.magnitudeOrMax).contains(field)) { record in
          of(record).map { (0...bound.magnitudeOrMax).contains($0) } ?? false
        }
        try self.check([1, bound].contains(field)) { record in
          of(record).map { [1, bound].contains($0) } ?? false
        }
        try self.check(field <= b) { record in
          of(record).map { $0 <= record[keyPath: right] } ?? false
        }
        try self.check(field == a * b) { record in
          of(record)
            == Self.some(
              record[keyPath: left].multipliedReportingOverflow(by: record[keyPath: right]))
        }
      }
      try check(a + b) { Self.some($0.addingReportingOverflow($1)) }
      try check(a - bound) { a, _ in Self.some(a.subtractingReportingOverflow(bound)) }
      try check(bound * b) { Self.some(bound.multipliedReportingOverflow(by: $1)) }
      try check(a / b) { Self.some($0.dividedReportingOverflow(by: $1)) }
      try check(a % b) { Self.some($0.remainderReportingOverflow(dividingBy: $1)) }
      try check((a + 1) % b - 1) { a, b in
        Self.some(a.addingReportingOverflow(1))
          .flatMap { Self.some($0.remainderReportingOverflow(dividingBy: b)) }
          .flatMap { Self.some($0.subtractingReportingOverflow(1)) }
      }
    }
  }

  @Test("Integers of every width calculate as Swift does, and are nil where Swift stops")
  func integers() throws {
    try checkIntegers(\.int, \.otherInt)
    try checkIntegers(\.int8, \.otherInt8)
    try checkIntegers(\.int16, \.otherInt16)
    try checkIntegers(\.int32, \.otherInt32)
    try checkIntegers(\.uint, \.otherUInt)
    try checkIntegers(\.uint8, \.otherUInt8)
    try checkIntegers(\.uint16, \.otherUInt16)
    try checkIntegers(\.uint32, \.otherUInt32)
  }

  private func checkReals<T: FieldNumber & BinaryFloatingPoint>(
    _ left: any KeyPath<Numbers, T> & Sendable, _ right: any KeyPath<Numbers, T> & Sendable
  ) throws {
    let fields = Fields<Numbers>()
    let a = fields[left]
    let b = fields[right]
    for bound in [T(0), 0.3, 1, .infinity, .nan] {
      func check(_ field: Field<Numbers, T>, _ value: (T, T) -> T) throws {
        func of(_ record: Numbers) -> T { value(record[keyPath: left], record[keyPath: right]) }
        try self.check(field == bound) { of($0) == bound }
        try self.check(field != bound) { of($0) != bound }
        try self.check(field < bound) { of($0) < bound }
        try self.check(bound <= field) { bound <= of($0) }
        try self.check(field > b) { of($0) > $0[keyPath: right] }
        try self.check(field == a - b) { of($0) == $0[keyPath: left] - $0[keyPath: right] }
      }
      try check(a + b) { $0 + $1 }
      try check(a - bound) { a, _ in a - bound }
      try check(bound * b) { bound * $1 }
      try check(a / b) { $0 / $1 }
    }
  }

  @Test("Floating point rounds, overflows and divides by zero as Swift does")
  func reals() throws {
    try checkReals(\.double, \.otherDouble)
    try checkReals(\.float, \.otherFloat)
  }

  @Test("Numbers are negated")
  func signs() throws {
    try check(-Fields<Numbers>().int8 > 100) { $0.int8 != .min && -$0.int8 > 100 }
    try check(1 / -Fields<Numbers>().double > 5) { 1 / -$0.double > 5 }
  }

  @Test("Ids, optionals beside a result, elements and ranges are supported")
  func places() throws {
    try check(Fields<Numbers>().id % 3 == 1) { $0.id % 3 == 1 }
    try check(Fields<Numbers>().id * 2 - 1 > 150) { $0.id * 2 - 1 > 150 }
    try check(Fields<Numbers>().id + 1 == Fields<Numbers>().maybeInt) { $0.id + 1 == $0.maybeInt }
    try check(Fields<Numbers>().id < Fields<Numbers>().maybeInt) { record in
      record.maybeInt.map { record.id < $0 } ?? false
    }
    try check(Fields<Numbers>().marks.contains { $0 * 2 > 11 }) {
      $0.marks.contains { $0 * 2 > 11 }
    }
    try check((3...5).contains(Fields<Numbers>().id / 10)) { (3...5).contains($0.id / 10) }
  }

  @Test("A test that guards a division works, whichever is evaluated first")
  func guarded() throws {
    try check(
      Fields<Numbers>().otherInt8 != 0 && Fields<Numbers>().int8 / Fields<Numbers>().otherInt8 > 2
    ) {
      $0.otherInt8 != 0 && !($0.int8 == .min && $0.otherInt8 == -1) && $0.int8 / $0.otherInt8 > 2
    }
    try check(Fields<Numbers>().otherInt8 == 0 || Fields<Numbers>().id / 7 == 3) {
      $0.otherInt8 == 0 || $0.id / 7 == 3
    }
  }

  @Test("No record is decoded, and plans show the calculation")
  func plans() throws {
    let query = Numbers.where { $0.int8 % 2 == 0 && ($0.id + 1) * 2 <= $0.id }
    let text = try store.explain(query, running: true)
    #expect(text.contains("int8 % 2 == 0"))
    #expect(text.contains("(id + 1) * 2 <= id"))
    #expect(try store.explain(Numbers.where { $0.int + 0 == 1 }).hasPrefix("all records"))
  }

  @Test("A property of a calculated number is refused when the query runs")
  func members() throws {
    for query in [
      Numbers.where { ($0.int * 2).magnitude > 3 },
      Numbers.where { ($0.int * 2).magnitude + 1 == 3 },
      Numbers.where { $0.marks.contains { ($0 * 2).magnitude > 3 } },
      Numbers.where { ($0.int * 2).magnitude == $0.uint },
    ] {
      let error = #expect(throws: LarchError.self) { try store.fetch(query) }
      #expect(error?.code == .invalidQuery)
    }
  }

  @Test("A value that may be nil is compared as Swift compares it")
  func optionalValues() throws {
    for value in [nil, 3, 100] as [Int?] {
      try check(Fields<Numbers>().id == value) { $0.id == value }
      try check(Fields<Numbers>().id != value) { $0.id != value }
      try check(value == Fields<Numbers>().group) { value == $0.group }
      try check(Fields<Numbers>().maybeInt == value) { $0.maybeInt == value }
      try check(value != Fields<Numbers>().maybeInt) { value != $0.maybeInt }
      try check(Fields<Numbers>().id + 1 == value) { $0.id + 1 == value }
      try check(Fields<Numbers>().int8 + 100 != value.map { Int8($0) }) { record in
        Self.some(record.int8.addingReportingOverflow(100)) != value.map { Int8($0) }
          || value == nil
      }
    }
  }
}

extension FixedWidthInteger {
  fileprivate var magnitudeOrMax: Self { self < 0 ? .max : self }
}
