import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct SortKeyTests {
  /// The sort keys of the executor, against the comparison of values.
  @Test(arguments: [61, 62, 63, 64] as [UInt64])
  func `Sort keys are in the order of the values`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let samples = try SampleStore(count: 1, &random)
    try samples.store.read { tx throws in
      let access = RecordAccess<Sample>(
        tx.context, try tx.context.collection(of: Sample.self))
      for round in 0..<300 {
        let terms = random.terms()
        let idsDescend = random.chance(2)
        let key = SortKey(
          terms, idsDescend: idsDescend, idKind: .assigned, index: nil, context: tx.context,
          typed: access)
        var rows: [(token: PageToken, key: [UInt8])] = []
        for number in 0..<30 {
          let record = random.sample()
          var values = terms.map { term in
            unsafeDowncast(term.field, to: TypedField<Sample>.self).value(of: record)
          }
          for (place, term) in terms.enumerated() where term.textForm.isFolded {
            values[place] = values[place].map {
              if case .string(let text) = $0 { .string(NFC.foldedForIndex(text)) } else { $0 }
            }
          }
          let token = PageToken(
            order: "", values: values, id: [0x80, 0, 0, 0, 0, 0, 0, UInt8(number)])
          #expect(key.write(token))
          rows.append((token, [UInt8](key.bytes)))
        }
        for (a, b) in zip(rows, rows.dropFirst()) {
          var order = 0
          for (place, term) in terms.enumerated() where order == 0 {
            order = KeyValue.compare(a.token.values[place], b.token.values[place])
            if term.descends { order = -order }
          }
          if order == 0 { order = idsDescend ? 1 : -1 }
          #expect(
            a.key.lexicographicallyPrecedes(b.key) == (order < 0), "seed \(seed) round \(round)")
        }
      }
    }
  }

  @Test func `A token of another order is refused`() throws {
    var random = SeededGenerator(seed: 65)
    let samples = try SampleStore(count: 5, &random)
    let age = OrderTerm(field: SampleField.age, descends: false)
    let name = OrderTerm(field: SampleField.name, descends: false)
    let id: [UInt8] = [0x80, 0, 0, 0, 0, 0, 0, 1]
    let tokens = [
      PageToken(order: "", values: [], id: id),
      PageToken(order: "", values: [[.string("a")], [.null]], id: id),
      PageToken(order: "", values: [[.double(1)]], id: id),
      PageToken(order: "", values: [[.null]], id: id),
      PageToken(order: "", values: [[]], id: id),
      PageToken(order: "", values: [[.signed(1), .signed(1)]], id: id),
      PageToken(order: "", values: [[.signed(1)]], id: [1]),
    ]
    for (place, token) in tokens.enumerated() {
      for terms in [[age], [name]] {
        let plan = Plan(
          source: .records([.everything]), residue: [], order: .sorted(terms, idsDescend: false),
          isCovering: false, after: token, offset: 0, limit: nil)
        let error = #expect(throws: LarchError.self, "\(place)") { try samples.ids(plan) }
        #expect(error?.code == .invalidQuery)
      }
    }
  }

  @Test(arguments: [66, 67] as [UInt64])
  func `Rows that went through a file are the same, with their payload`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for budget in [1, 100, 5000, 1 << 20] {
      let sorter = RowSorter(budget: budget, makeSpillFile: SpillFile.temporary)
      var rows: [(key: [UInt8], payload: [UInt8])] = []
      for number in 0..<500 {
        let size = random.chance(20) ? 3000 : random.below(12)
        let key =
          (0..<size).map { _ in UInt8(random.below(3)) }
          + withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) }
        let payload = (0..<random.below(5)).map { _ in UInt8(random.below(256)) }
        rows.append((key, payload))
        try key.withUnsafeBytes { key in
          try payload.withUnsafeBytes { try sorter.add(key: key, idStart: size, payload: $0) }
        }
      }
      try sorter.finish()
      #expect((sorter.spilledBytes > 0) == (budget < 1 << 20))
      for row in rows.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        let found = try #require(try sorter.next())
        #expect([UInt8](found.key) == row.key)
        #expect([UInt8](found.payload) == row.payload)
        #expect(found.idStart == row.key.count - 8)
      }
      let end = try sorter.next()
      #expect(end == nil)
    }
  }
}
