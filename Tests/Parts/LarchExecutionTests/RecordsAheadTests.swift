import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Parcel: Record {
  var id: UUID
  var weight: Int
  var label: String

  static let schema = Schema<Parcel> { Index(\.weight) }
}

private struct Letter: Record {
  var id: Int
  var weight: Int
  var label: String

  static let schema = Schema<Letter> { Index(\.weight) }
}

/// Rows whose records are found several at once are those of an array, whatever is wanted of them.
@Suite("Records that are found ahead")
struct RecordsAheadTests {
  private static let count = 700

  private func uuid(_ random: inout SeededGenerator) -> UUID {
    var id = UUID().uuid
    withUnsafeMutableBytes(of: &id) { bytes in
      for place in bytes.indices { bytes[place] = UInt8.random(in: 0...255, using: &random) }
    }
    return UUID(uuid: id)
  }

  /// A long label has pages of its own.
  private func label(_ number: Int) -> String {
    String(repeating: "\(number) ", count: number % 90 == 0 ? 2_000 : number % 7)
  }

  @Test("Pages, ranges and orders have the rows of an array", arguments: 0..<4)
  func rows(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let store = try Store.temporary(for: Parcel.self, Letter.self)
    let parcels = (0..<Self.count).map { number in
      Parcel(
        id: uuid(&random), weight: Int.random(in: 0..<300, using: &random), label: label(number))
    }
    let letters = (0..<Self.count).map { number in
      Letter(
        id: Int.random(in: -9_000...9_000, using: &random) * Self.count + number,
        weight: Int.random(in: 0..<300, using: &random), label: label(number))
    }
    try store.write { tx in
      for var parcel in parcels { try tx.save(&parcel) }
      for var letter in letters { try tx.save(&letter) }
    }
    for _ in 0..<40 {
      let low = Int.random(in: 0..<300, using: &random)
      let high = low + Int.random(in: 0..<120, using: &random)
      let limit = [nil, 1, 4, 5, 32, 33, 90].randomElement(using: &random) ?? nil
      let offset = [0, 0, 1, 20, 900].randomElement(using: &random) ?? 0
      let taken = Int.random(in: 0..<40, using: &random)
      try check(
        store, parcels, Parcel.where { $0.weight >= low && $0.weight < high }, low..<high, limit,
        offset, taken, \.weight, \.label
      ) { withUnsafeBytes(of: $0.id.uuid) { Array($0) } }
      try check(
        store, letters, Letter.where { $0.weight >= low && $0.weight < high }, low..<high, limit,
        offset, taken, \.weight, \.label
      ) {
        withUnsafeBytes(of: (UInt64(bitPattern: Int64($0.id)) ^ 1 << 63).bigEndian) { Array($0) }
      }
    }
  }

  private func check<R: Record>(
    _ store: Store, _ records: [R], _ query: Query<R>, _ weights: Range<Int>, _ limit: Int?,
    _ offset: Int, _ taken: Int, _ weight: any KeyPath<R, Int> & Sendable,
    _ label: KeyPath<R, String>, _ bytes: (R) -> [UInt8]
  ) throws {
    let byID = records.filter { weights.contains($0[keyPath: weight]) }
      .sorted { bytes($0).lexicographicallyPrecedes(bytes($1)) }
    let descending = byID.sorted { $0[keyPath: weight] > $1[keyPath: weight] }
    func part(_ all: [R]) -> [R] {
      let rest = all.dropFirst(offset)
      return limit.map { Array(rest.prefix($0)) } ?? Array(rest)
    }
    func isSame(_ found: [R], _ wanted: [R]) -> Bool {
      found.map(bytes) == wanted.map(bytes)
        && found.map { $0[keyPath: label] } == wanted.map { $0[keyPath: label] }
    }
    var query = query.offset(offset)
    if let limit { query = query.limit(limit) }
    #expect(isSame(try store.fetch(query), part(byID)))
    let ordered = query.sorted(by: weight, .descending)
    #expect(isSame(try store.fetch(ordered), part(descending)))
    #expect(
      try store.sum(weight, of: ordered)
        == part(descending).map { $0[keyPath: weight] }.reduce(0, +))
    // The caller stops before the end.
    let first = try store.read { tx throws in
      let cursor = try tx.cursor(query)
      defer { cursor.close() }
      var rows: [R] = []
      while rows.count < taken, let record = try cursor.next() { rows.append(record) }
      return rows
    }
    #expect(isSame(first, Array(part(byID).prefix(taken))))
  }

  /// An entry of an index without its record must not hide the rows before it.
  @Test("An error comes after the rows before it")
  func error() throws {
    let store = try Store.temporary(for: Letter.self)
    try store.write { tx throws in
      for number in 0..<100 {
        var letter = Letter(id: number, weight: number, label: "")
        try tx.save(&letter)
      }
    }
    try store.write { tx throws in
      let collection = try tx.context.collection(of: Letter.self)
      let transaction = try tx.context.transaction()
      let key = withUnsafeBytes(of: (UInt64(37) ^ 1 << 63).bigEndian) { Array($0) }
      _ = try key.withUnsafeBytes { try collection.records.delete($0, in: transaction) }
    }
    for _ in 0..<2 {
      try store.read { tx throws in
        let cursor = try tx.cursor(Letter.where { $0.weight < 90 }.sorted(by: \.weight))
        defer { cursor.close() }
        for number in 0..<37 { #expect(try cursor.next()?.id == number) }
        do {
          _ = try cursor.next()
          Issue.record("the missing record was given")
        } catch let error as LarchError {
          #expect(error.code == .corrupted && error.context.id == "37")
        }
      }
    }
  }
}
