import Foundation
import Testing

@testable import Workload

@Suite("The shapes are what their benchmark says")
struct ShapeTests {
  static let size = 5_000

  @Test("a record depends on nothing but its index and the size")
  func determinism() {
    let events = Events(size: Self.size)
    #expect(events.record(77) == events.all[76])
    #expect(events.further(3, from: 2) == (2...4).map { events.record(Self.size + $0) })
    #expect(Orders(size: Self.size).record(7) == Orders(size: Self.size).all[6])
    #expect(events.ids(events.indexes(50, 1)) == events.ids(events.indexes(50, 1)))
    #expect(events.indexes(50, 1) != events.indexes(50, 2))
  }

  /// The first 100 records of each shape; a change here makes all older figures incomparable.
  @Test("the records are those of older runs")
  func golden() {
    func sum<S: Shape>(_ shape: S) -> UInt64 where S.Element: HashedRow {
      var result = QueryResult()
      for index in 1...100 { shape.record(index).add(to: &result, .bytes) }
      return result.checksum
    }
    #expect(sum(Events(size: 1_000)) == 15_052_103_714_777_632_983)
    #expect(sum(Orders(size: 1_000)) == 18_412_121_387_383_582_894)
    #expect(sum(Documents(size: 1_000)) == 351_290_138_855_467_338)
    #expect(sum(WideRecords(size: 1_000)) == 8_826_103_895_135_224_362)
    #expect(sum(Scores(size: 1_000)) == 1_858_659_745_950_166_886)
    #expect(sum(TaggedItems(size: 1_000)) == 463_580_860_336_441_984)
    #expect(sum(Graph(size: 1_000)) == 11_871_170_823_510_952_496)
    #expect(sum(Readings(size: 1_000)) == 8_161_900_295_344_355_826)
  }

  @Test("events have unique random UUIDs, dates that ascend, every kind, and notes in a quarter")
  func events() {
    let shape = Events(size: Self.size)
    let events = shape.all
    #expect(events.count == Self.size)
    #expect(Set(events.map(\.id)).count == Self.size)
    #expect(events.allSatisfy { $0.id.uuid.6 >> 4 == 4 && $0.id.uuid.8 >> 6 == 2 })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.at < $1.at })
    #expect(Set(events.map(\.kind)) == Set(Events.kinds))
    #expect(Set(events.map(\.device)) == Set(Events.devices))
    #expect((1_150...1_350).contains(events.count { $0.note != nil }))
    for span in shape.spans(20, events: 500, 4) {
      let held = events.count { $0.at >= span.from && $0.at < span.to }
      #expect((499...501).contains(held))
    }
  }

  @Test("orders have one to seven lines of different products, and their total")
  func orders() {
    let orders = Orders(size: Self.size).all
    #expect(orders.count == Self.size / 5)
    #expect(Set(orders.map(\.lines.count)) == Set(1...7))
    #expect(orders.allSatisfy { Set($0.lines.map(\.product)).count == $0.lines.count })
    #expect(orders.allSatisfy { $0.total == $0.lines.reduce(0) { $0 + $1.quantity * $1.price } })
    #expect(zip(orders, orders.dropFirst()).allSatisfy { $0.placed < $1.placed })
  }

  @Test("documents have 4,096 bytes and unique ids that begin with their area")
  func documents() {
    let shape = Documents(size: Self.size)
    let documents = shape.all
    #expect(documents.allSatisfy { $0.body.utf8.count == 4_096 })
    #expect(Set(documents.map(\.id)).count == Self.size / 5)
    #expect(documents.allSatisfy { $0.id.hasPrefix($0.area + "/") })
    let folders = shape.folders(20, 3)
    #expect(folders.allSatisfy { folder in folder.hasSuffix("/") })
    #expect(folders.allSatisfy { folder in documents.contains { $0.id.hasPrefix(folder) } })
  }

  @Test("wide records have forty fields, and their queries find some of them")
  func wide() {
    let shape = WideRecords(size: Self.size)
    let records = shape.all
    #expect(records.allSatisfy { $0.numbers.count + $0.reals.count + $0.texts.count == 40 })
    #expect(records.allSatisfy { (0..<100).contains($0.numbers[0]) })
    let found = shape.places(50, 2).filter { place in
      records.contains { $0.texts[0] == place.region && $0.numbers[0] >= place.grade }
    }
    #expect(found.count > 40)
  }

  @Test("no two scores have the same points, and ranges hold about as many as they say")
  func scores() {
    let shape = Scores(size: Self.size)
    let scores = shape.all
    #expect(Set(scores.map(\.points)).count == Self.size)
    let held = shape.ranges(50, scores: 200, 3).map { range in
      scores.count { range.contains($0.points) }
    }
    let mean = Double(held.reduce(0, +)) / 50
    #expect((185...215).contains(mean))
  }

  @Test("items have twenty different tags, and a changed one is new to its item")
  func tags() {
    let shape = TaggedItems(size: Self.size)
    let items = shape.all
    #expect(Set(TaggedItems.tags).count == 1_000)
    #expect(items.allSatisfy { Set($0.tags).count == 20 && $0.tags.count == 20 })
    for change in shape.changes(100, 6) {
      let tags = items[Int(change.id) - 1].tags
      #expect(tags[change.position] == change.old)
      #expect(!tags.contains(change.new))
    }
    #expect(shape.pairs(100, 3).allSatisfy { Set($0).count == 2 })
  }

  @Test("places are a tree, links are different, and leaves have nothing below them")
  func graph() {
    let shape = Graph(size: Self.size)
    let places = shape.all
    #expect(places[0].parent == nil)
    #expect(places.dropFirst().allSatisfy { place in place.parent.map { $0 < place.id } ?? false })
    let links = shape.allLinks
    #expect(Set(links).count == links.count)
    #expect(links.count > shape.links * 9 / 10)
    let new = shape.newLinks(50, from: 1) + shape.newLinks(50, from: 51)
    #expect(Set(new).count == 100)
    #expect(Set(new).isDisjoint(with: links))
    let parents = Set(places.compactMap(\.parent))
    let leaves = shape.leaves(200, 10)
    #expect(Set(leaves).count == leaves.count)
    #expect(parents.isDisjoint(with: leaves))
    // A leaf must not be deleted that another one was moved below before.
    #expect(Set(shape.moves(200, 10).map(\.parent)).isDisjoint(with: leaves))
  }

  @Test("readings are ten times as many, in turn, and sums of them are exact in any order")
  func readings() {
    let shape = Readings(size: 1_000)
    let readings = shape.all
    #expect(readings.count == 10_000)
    #expect(readings.allSatisfy { $0.value > 0 && $0.value * 16 == ($0.value * 16).rounded() })
    for span in shape.spans(20, readings: 40, 3) {
      let held = readings.count {
        $0.sensor == span.sensor && $0.at >= span.from && $0.at < span.to
      }
      #expect(held == 40)
    }
  }

  @Test("what is changed was different before, and nothing is changed or deleted twice")
  func changes() {
    let events = Events(size: Self.size)
    let byID = Dictionary(uniqueKeysWithValues: events.all.map { ($0.id, $0) })
    let changes = events.changes(500, 7)
    #expect(changes.allSatisfy { byID[$0.id]?.kind != $0.kind })
    #expect(Set(changes.map(\.id)).count == 500)
    #expect(Set(events.distinctIndexes(500, 8)).count == 500)
    #expect(events.distinctIndexes(1_000_000, 8).count == Self.size / 3)
    let scores = Scores(size: Self.size)
    let points = Set(scores.all.map(\.points))
    #expect(scores.changes(500, 6).allSatisfy { !points.contains($0.points) })
  }
}

@Suite("Checksums of rows")
struct RowHashTests {
  func sum(_ record: some HashedRow, _ depth: HashDepth = .lengths) -> UInt64 {
    var result = QueryResult()
    record.add(to: &result, depth)
    return result.checksum
  }

  @Test("every field of an event counts, and a text that is not there is not an empty one")
  func fields() throws {
    let base = try #require(Events(size: 100).all.first { $0.note == nil })
    let changes: [(inout WorkloadEvent) -> Void] = [
      { $0.id = Events(size: 1_000).record(999).id }, { $0.at = $0.at.nextUp }, { $0.kind += "x" },
      { $0.device += "x" }, { $0.amount += 1 }, { $0.note = "" }, { $0.note = nil },
      { $0.note = "x" },
    ]
    let sums = changes.map { change in
      var changed = base
      change(&changed)
      return sum(changed)
    }
    // All but the one that takes away the note, which is not there.
    #expect(Set(sums).count == changes.count)
    #expect(sums.count { $0 == sum(base) } == 1)
  }

  @Test("the places of values count, and so do those of rows in a list")
  func places() {
    var first = RowHash()
    first.add(1)
    first.add(2)
    var second = RowHash()
    second.add(2)
    second.add(1)
    #expect(first.value != second.value)
    var order = Orders(size: 100).record(3)
    order.lines = Array(repeating: order.lines[0], count: 2)
    order.lines[1].quantity += 1
    var turned = order
    turned.lines.swapAt(0, 1)
    #expect(sum(order) != sum(turned))
  }

  @Test("only a checksum to the last byte tells texts of one length apart")
  func depth() {
    let base = WorkloadPlace(id: 1, name: "Ashford", parent: nil)
    let other = WorkloadPlace(id: 1, name: "Belford", parent: nil)
    #expect(sum(base) == sum(other))
    #expect(sum(base, .bytes) != sum(other, .bytes))
  }

  @Test("rows add up in any order, and every row counts")
  func rows() {
    let places = Graph(size: 200).all
    func total(_ places: [WorkloadPlace]) -> QueryResult {
      var result = QueryResult()
      for place in places { place.add(to: &result, .bytes) }
      return result
    }
    #expect(total(places) == total(places.reversed()))
    #expect(total(places) != total(Array(places.dropLast())))
    #expect(total(places).rows == 100)
  }

  @Test("a link is another one when it is read from its other end")
  func links() {
    var forth = QueryResult()
    forth.add(link: 3, 7)
    var back = QueryResult()
    back.add(link: 7, 3)
    #expect(forth != back)
  }
}
