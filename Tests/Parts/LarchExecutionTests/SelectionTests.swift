import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct SelectionTests {
  /// The values to the last bit.
  private func bits(_ values: [KeyValue]) -> String {
    values.map { value in
      switch value {
      case .double(let value), .date(let value): "\(value.bitPattern)"
      case .float(let value): "\(value.bitPattern)"
      case .string(let text), .url(let text): "\(Array(text.utf8))"
      default: "\(value)"
      }
    }.joined(separator: " ")
  }

  @Test(arguments: [41, 42, 43] as [UInt64])
  func `Selected values are those of the record to the last bit`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let samples = try SampleStore(count: 100, &random)
    let byID = Dictionary(uniqueKeysWithValues: samples.records.map { ($0.id.rawValue, $0) })
    for round in 0..<150 {
      let source = random.source(depth: 1)
      let (order, _, _) = random.order(of: source)
      let fields = (0..<3).map { _ in random.pick(SampleField.single) }
      let plan = Plan(
        source: source.source, residue: [], order: random.chance(4) ? .any : order,
        isCovering: random.chance(2), after: nil, offset: 0, limit: nil)
      try samples.run(plan, selecting: fields) { run, access in
        while let row = try run.next() {
          let record = byID[try access.id(of: row, run).rawValue]!
          for (place, field) in fields.enumerated() {
            guard let values = try run.values(of: place) else {
              #expect(!field.isStandard || field.storedPath == nil)
              continue
            }
            let own = unsafeDowncast(field, to: TypedField<Sample>.self).value(of: record)
            #expect(bits(values) == bits(own), "seed \(seed) \(round) \(field.name)")
          }
        }
      }
    }
  }

  @Test func `A covering plan reads no record if the key has the value`() throws {
    var random = SeededGenerator(seed: 44)
    let samples = try SampleStore(count: 80, &random)
    let scan = Plan.IndexScan(
      index: Sample.Place.cityAge, ranges: [.everything], bounds: [], keyFilter: [],
      mayRepeat: false, isPoints: false)
    let age = OrderTerm(field: SampleField.age, descends: true)
    let orders: [Plan.RowOrder] = [
      .any, .byID(descends: true), .sorted([age], idsDescend: false),
      .byIndex(components: 2, descends: true, idsDescend: false),
      .byIndex(components: 1, descends: false, idsDescend: true),
    ]
    for order in orders {
      let plan = Plan(
        source: .index(scan), residue: [], order: order, isCovering: true, after: nil, offset: 3,
        limit: 50)
      try samples.run(plan, selecting: [SampleField.age, SampleField.id]) { run, _ in
        var rows = 0
        while try run.next() != nil {
          #expect(try run.values(of: 0) != nil)
          #expect(try run.values(of: 1) != nil)
          rows += 1
        }
        #expect(rows == 50)
        #expect(run.counters.recordsExamined == 0, "\(order)")
        #expect(run.counters.rowsReturned == 50)
      }
    }
  }
}
