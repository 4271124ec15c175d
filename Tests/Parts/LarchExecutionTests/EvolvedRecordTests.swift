import LarchTestSupport
import Testing

@testable import Larch

private struct OldPlant: Record {
  var id: Int
  var name: String
  static let collectionName = "Plant"
}

private struct Plant: Record {
  var id: Int
  var name: String
  var height = 5
  var color: String?
  static let collectionName = "Plant"
  static let schema = Schema<Plant> {
    Default(\.height, 7)
    Index(\.height)
  }
}

/// Records that are older than a field.
@Suite struct EvolvedRecordTests {
  @Test func `A field that older records lack has its default in conditions and orders`() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    do {
      let store = try Store(
        path: path, types: [OldPlant.self], options: options, isTemporary: false)
      defer { store.close() }
      try store.write { tx throws in
        for id in 1...4 {
          var plant = OldPlant(id: id, name: "old \(id)")
          try tx.save(&plant)
        }
      }
    }
    let store = try Store(path: path, types: [Plant.self], options: options, isTemporary: false)
    defer { store.close() }
    try store.write { tx throws in
      for id in 5...8 {
        var plant = Plant(id: id, name: "new \(id)", height: id, color: id == 6 ? "green" : nil)
        try tx.save(&plant)
      }
    }
    let height = TypedField.of(\Plant.height)
    let color = TypedField.of(\Plant.color)
    func ids(_ residue: [FilterNode], _ order: Plan.RowOrder) throws -> [Int] {
      let plan = Plan(
        source: .records([.everything]), residue: residue, order: order, isCovering: false,
        after: nil, offset: 0, limit: nil)
      return try store.run(plan, of: Plant.self) { run, access in
        var ids: [Int] = []
        while let row = try run.next() { ids.append(try access.id(of: row, run)) }
        return ids
      }
    }
    let seven = FilterNode.field(FieldFilter(height, .equal([.signed(7)])))
    #expect(try ids([seven], .byID(descends: false)) == [1, 2, 3, 4, 7])
    #expect(try ids([.not(seven)], .byID(descends: false)) == [5, 6, 8])
    let none = FilterNode.field(FieldFilter(color, .equal([.null])))
    #expect(try ids([none, seven], .byID(descends: true)) == [7, 4, 3, 2, 1])
    let byHeight = OrderTerm(field: height, descends: false)
    #expect(try ids([], .sorted([byHeight], idsDescend: false)) == [5, 6, 1, 2, 3, 4, 7, 8])
    let byColor = OrderTerm(field: color, descends: true)
    #expect(
      try ids([], .sorted([byColor, byHeight], idsDescend: true)) == [6, 5, 7, 4, 3, 2, 1, 8])
  }
}
