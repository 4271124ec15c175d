import LarchTestSupport
import Testing

@testable import Larch

private struct Place: Record {
  var id: String
  var city: String
}

/// A scan with an alternative ends when it has read too much. The rows that ids refused were
/// counted anew after each row that passed, so that a scan with a row now and then never ended.
@Suite("The limit of what a scan may read")
struct CostLimitTests {
  @Test("Rows that pass in between do not begin the limit anew")
  func passing() throws {
    let store = try Store.temporary(for: Place.self)
    try store.write { tx in
      for number in 0..<400 {
        let end = number % 20 == 19 ? "eu" : "us"
        var place = Place(id: "\(1000 + number)-\(end)", city: "Oslo")
        try tx.insert(&place)
      }
    }
    let fields = Fields<Place>()
    let residue = [fields.id.hasSuffix("-eu").node, (fields.city == "Oslo").node]
    try store.read { tx in
      let collection = try tx.context.collection(of: Place.self)
      let reader = try RowReader(
        collection, residue: residue, context: tx.context,
        typed: RecordAccess<Place>(tx.context, collection))
      #expect(reader.hasIDFilter)
      let rows = try RecordRows([.everything], descends: false, reader)
      defer { rows.close() }
      var count = 0
      for (most, found) in [(100, 5), (150, 7), (379, 19)] {
        reader.mostRecords = most
        #expect(throws: CostLimitReached.self) { while try rows.next() { count += 1 } }
        #expect(count == found)
      }
      reader.mostRecords = .max
      while try rows.next() { count += 1 }
      #expect(count == 20)
      // Of the others, only the ids were read.
      #expect(reader.recordsExamined == 20)
    }
  }
}
