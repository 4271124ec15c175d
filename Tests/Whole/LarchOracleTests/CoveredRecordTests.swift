import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Whole records made of the keys of an index equal the stored ones, to the last bit, and queries
/// that are answered so equal the closure over an array.
@Suite("Records from the keys of an index")
struct CoveredRecordTests {
  private static let seeds = UInt64(1)...12

  /// The records, in the order of their ids.
  private func fill<R: CoveredRecord>(
    _ store: Store, _ random: inout SeededGenerator, count: Int
  ) throws -> [R] {
    var records: [R] = []
    var ids: Set<[UInt8]> = []
    try store.write { tx throws in
      while records.count < count {
        var record = R.random(&random)
        try tx.save(&record)
        guard ids.insert(record.idBytes).inserted else {
          records.removeAll { $0.idBytes == record.idBytes }
          records.append(record)
          continue
        }
        records.append(record)
      }
    }
    return sorted(records)
  }

  private func sorted<R: CoveredRecord>(_ records: [R]) -> [R] {
    records.sorted { $0.idBytes.lexicographicallyPrecedes($1.idBytes) }
  }

  private func expected<R>(
    _ records: [R], _ matches: (R) -> Bool, _ isBefore: (R, R) -> Bool, idsDescend: Bool
  ) -> [R] {
    var rows = records.filter(matches)
    if idsDescend { rows.reverse() }
    // `sort` is stable.
    return rows.enumerated().sorted {
      isBefore($0.element, $1.element)
        || (!isBefore($1.element, $0.element) && $0.offset < $1.offset)
    }.map(\.element)
  }

  private func compare<R: CoveredRecord>(
    _ reader: some RecordReading, _ records: [R], _ random: inout SeededGenerator, _ seed: UInt64
  ) throws {
    let (clause, matches) = R.clause(&random)
    let (query, isBefore, idsDescend) = R.order(&random, clause)
    let all = expected(records, matches, isBefore, idsDescend: idsDescend).map(\.bits)
    let text = Comment(rawValue: "seed \(seed): \(try reader.explain(query))")
    #expect(try reader.fetch(query).map(\.bits) == all, text)
    #expect(try reader.first(query)?.bits == all.first, text)
    let offset = random.below(4)
    let limit = random.below(12)
    #expect(
      try reader.fetch(query.offset(offset).limit(limit)).map(\.bits)
        == Array(all.dropFirst(offset).prefix(limit)), text)
    var visited: [String] = []
    try reader.forEach(query) { visited.append($0.bits) }
    #expect(visited == all, text)
    var pages: [String] = []
    var next = query.limit(1 + random.below(9))
    while true {
      let page = try reader.page(next)
      pages += page.records.map(\.bits)
      guard let token = page.next else { break }
      next = next.after(token)
    }
    #expect(pages == all, text)
  }

  private func run<R: CoveredRecord>(_: R.Type, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var options = Store.Options.quick
    options.checksQueries = seed.isMultiple(of: 2)
    let store = try Store.temporary(for: R.self, options: options)
    var records: [R] = try fill(store, &random, count: 60 + random.below(120))
    for _ in 0..<20 {
      try store.read { tx throws in try compare(tx, records, &random, seed) }
    }
    try store.write { tx throws in
      for _ in 0..<8 {
        for _ in 0..<5 {
          let place = random.below(records.count)
          records[place].change(&random)
          var record = records[place]
          try tx.save(&record)
        }
        try tx.delete(records.remove(at: random.below(records.count)))
        try compare(tx, records, &random, seed)
      }
    }
    for _ in 0..<10 { try compare(store, records, &random, seed) }
    #expect(try store.verify().isClean)
  }

  @Test("Queries equal closures over an array", arguments: seeds)
  func oracle(seed: UInt64) throws {
    try run(CoveredNumbers<CoveredPlain>.self, seed)
    try run(CoveredNumbers<CoveredMemberwise>.self, seed)
    try run(CoveredNumbers<CoveredUnindexed>.self, seed)
    try run(CoveredTexts<CoveredPlain>.self, seed)
    try run(CoveredTexts<CoveredMemberwise>.self, seed)
    try run(CoveredTexts<CoveredUnindexed>.self, seed)
  }

  /// The number of rows whose records were made of keys; each of them has the stored bytes.
  private func made<R: CoveredRecord>(
    _ query: Query<R>, _ store: Store
  ) throws -> (made: Int, read: Int) {
    try store.read { tx throws in
      try tx.run(query.details, of: R.self, for: .recordValues) { run, _ in
        var made = 0
        var read = 0
        while true {
          let before = run.counters.recordsExamined
          guard let row = try run.next() else { return (made, read) }
          let bytes = [UInt8](try #require(row.record))
          if run.counters.recordsExamined > before {
            read += 1
          } else {
            made += 1
            #expect([UInt8](try run.record()) == bytes)
          }
        }
      }
    }
  }

  @Test("The bytes that are made of a key are those that the save wrote")
  func bytes() throws {
    var random = SeededGenerator(seed: 77)
    let store = try Store.temporary(
      for: CoveredNumbers<CoveredPlain>.self, CoveredNumbers<CoveredMemberwise>.self,
      CoveredTexts<CoveredPlain>.self, CoveredTexts<CoveredMemberwise>.self)
    func check<R: CoveredRecord>(
      _ query: Query<R>, _ isExact: (R) -> Bool
    ) throws {
      let records: [R] = try fill(store, &random, count: 700)
      let (made, read) = try made(query, store)
      // Beside what keys do not determine, a key of 500 bytes would be cut.
      #expect(made == records.filter(isExact).count, "\(made) made, \(read) read")
      #expect(made + read == records.count && made > 100 && read > 100)
    }
    func isExact(_ value: Double?) -> Bool { value.map { $0 != 0 && !$0.isNaN } ?? true }
    func isExact<Kind>(_ record: CoveredNumbers<Kind>) -> Bool {
      isExact(record.value) && isExact(record.at.timeIntervalSinceReferenceDate)
        && isExact(Double(record.ratio))
    }
    func isExact<Kind>(_ record: CoveredTexts<Kind>) -> Bool {
      func isWhole(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 < 0x80 } && text.utf8.count < 128
      }
      return isExact(record.real) && isWhole(record.text) && record.note.map(isWhole) ?? true
        && record.blob?.count != 130 && record.id.utf8.allSatisfy { $0 < 0x80 }
    }
    try check(CoveredNumbers<CoveredPlain>.where { $0.sensor >= Int.min }) { isExact($0) }
    try check(CoveredNumbers<CoveredMemberwise>.where { $0.sensor >= Int.min }) { isExact($0) }
    try check(CoveredTexts<CoveredPlain>.all.sorted(by: \.flag).limit(900)) { isExact($0) }
    try check(CoveredTexts<CoveredMemberwise>.all.sorted(by: \.flag).limit(900)) { isExact($0) }
  }

  @Test("Keys that do not fit into memory are sorted through a file", arguments: [false, true])
  func spilled(descends: Bool) throws {
    typealias Numbers = CoveredNumbers<CoveredPlain>
    var random = SeededGenerator(seed: 5)
    let store = try Store.temporary(for: Numbers.self)
    let records: [Numbers] = try fill(store, &random, count: 400)
    var query = Numbers.where { $0.sensor >= 0 }
    if descends { query = query.reversed() }
    let wanted = records.filter { $0.sensor >= 0 }.map(\.bits)
    try store.read { tx throws in
      let token = try #require(try tx.page(query.limit(20)).next)
      for (query, skipped) in [(query, 0), (query.after(token), 20)] {
        try tx.run(query.details, of: Numbers.self, for: .recordValues) { run, access in
          run.settings.budget = 3_000
          var rows: [String] = []
          while let row = try run.next() { rows.append(try access.decode(row, of: run).bits) }
          #expect(rows == Array((descends ? wanted.reversed() : wanted).dropFirst(skipped)))
          #expect(run.counters.spilledBytes > 0 && run.plan.isCovering)
        }
      }
    }
  }

  @Test("The plan tells it, no record is read, and a write reads the records")
  func plans() throws {
    typealias Numbers = CoveredNumbers<CoveredPlain>
    let store = try Store.temporary(for: Numbers.self)
    try store.write { tx throws in
      for number in 0..<200 {
        var record = Numbers(
          sensor: number % 5, at: Date(timeIntervalSinceReferenceDate: Double(number + 1)),
          value: 1.5, level: 1, isOpen: true, ratio: 2, key: UUID(), count: 9)
        try tx.insert(&record)
      }
    }
    let day = Date(timeIntervalSinceReferenceDate: 101)
    let range = Numbers.where { $0.sensor == 3 && $0.at >= day }
    let name = "sensor_at_value_level_isOpen_ratio_key_count"
    let text = try store.explain(range, running: true)
    #expect(
      text == """
        index \(name) [3, 2001-01-01T00:01:41Z] ... [3]
          sort by id
          answered from the index alone
        examined 20 index entries, 0 records; returned 20
        """)
    let page = range.sorted(by: \.at, .descending).limit(7)
    let steps = try store.explain(page, running: true)
    #expect(steps.hasSuffix("0 records; returned 7"), "\(steps)")
    try store.write { tx throws in
      let text = try tx.explain(range, running: true)
      #expect(text.hasSuffix("20 records; returned 20") && !text.contains("alone"), "\(text)")
    }
  }
}
