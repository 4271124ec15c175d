import LarchTestSupport
import Testing

@testable import Larch

private struct Place: Record {
  var id: String
  var city: String
}

/// A scan ends when it has read too much and another plan is left. The count of refused ids went back
/// to zero at each row that passed, so a scan that found a row now and then never ended.
@Suite("The limit of what a scan may read")
struct CostLimitTests {
  @Test("A row that passes does not set the count back to zero")
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
