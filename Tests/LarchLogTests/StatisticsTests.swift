import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Statistics")
struct StatisticsTests {
  @Test("The statistics have all collections, indexes and lists, with their sizes")
  func content() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 3_000)
    let statistics = try store.statistics()
    #expect(statistics.collections.map(\.name) == ["Club", "Person"])
    let people = statistics.collections[1]
    #expect(people.records == 3_000)
    #expect(people.indexes.map(\.name) == ["city", "email"])
    #expect(people.indexes.map(\.isUnique) == [false, true])
    #expect(people.indexes.allSatisfy { $0.isReady && $0.tree.entries == 3_000 })
    #expect(people.indexes.map(\.keys) == [2, 3_000])
    // A thousand ids and more of one key are a tree of their own.
    #expect(people.indexes[0].tree.listPages > 0 && people.indexes[1].tree.listPages == 0)
    #expect(people.tree.overflowPages > 0 && people.tree.depth >= 2)
    let mean = try #require(people.meanRecordBytes)
    #expect(mean == Double(people.tree.pages * statistics.pageSize) / 3_000)
    let lists = try #require(statistics.associations.first)
    #expect(statistics.associations.count == 1 && lists.name.contains("membership"))
    #expect(lists.links == 3_000 && lists.inverse.entries == 3_000)
    #expect(lists.inverse.listPages > 0 || lists.forward.listPages > 0)
    expectAddsUp(statistics, store)
  }

  @Test("A look that is not exact has the same figures, and the long lists as one")
  func quick() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 3_000)
    let exact = try store.statistics()
    let quick = try store.statistics(exact: false)
    #expect(exact.isExact && !quick.isExact)
    #expect(quick.collections[1].indexes.allSatisfy { $0.keys == nil && $0.tree.listPages == 0 })
    #expect(quick.collections[1].tree == exact.collections[1].tree)
    #expect(quick.pages == exact.pages && quick.freePages == exact.freePages)
    let lists =
      exact.collections.flatMap(\.indexes).map(\.tree.listPages).reduce(0, +)
      + exact.associations.map { $0.forward.listPages + $0.inverse.listPages }.reduce(0, +)
    #expect(lists > 0 && quick.otherPages == lists && exact.otherPages == 0)
    #expect(quick.description.contains("long lists"))
  }

  @Test("Every page is counted once, after random work", arguments: 1...UInt64(6))
  func addsUp(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try withScratchPath { path in
      var options = Store.Options.quick
      if seed % 2 == 0 { options.initialMapSize = 256 << 10 }
      var store = try Store(at: path, for: Person.self, Club.self, options: options)
      var live = 0
      for round in 0..<40 {
        let start = random
        let before = live
        let result: Int? = try? store.write { tx throws in
          // A write may run again: then everything begins where it began.
          random = start
          live = before
          try work(tx, &random, &live)
          if random.below(5) == 0 { throw CancellationError() }
          return live
        }
        live = result ?? before
        if random.below(8) == 0 {
          store.close()
          store = try Store(at: path, for: Person.self, Club.self, options: options)
        }
        let statistics = try store.statistics()
        expectAddsUp(statistics, store, "seed \(seed), round \(round)")
        #expect(statistics.collections[1].records == live, "seed \(seed), round \(round)")
        if round % 10 == 9 {
          #expect(
            statistics.collections[1].indexes[0].keys == (try keys(of: store)),
            "seed \(seed), round \(round)")
        }
      }
      store.close()
    }
  }

  @Test("What the store was not opened for is counted as well, also where nothing may be written")
  func otherTypes() throws {
    try withScratchPath { path in
      let store = try Store(at: path, for: Person.self, Club.self, options: .quick)
      try fill(store, people: 400)
      let own = try store.statistics()
      store.close()
      let other = try Store(at: path, options: .quick.with { $0.isReadOnly = true })
      defer { other.close() }
      let found = try other.statistics()
      #expect(found.collections == own.collections && found.associations == own.associations)
      #expect(found.parts == own.parts && found.pages == own.pages)
      expectAddsUp(found, other)
    }
  }

  @Test("Space that an old read keeps is reported as long as the read is open")
  func pinned() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 200)
    try store.read { tx throws in
      let number = try #require(try tx.first(Person.all)).id
      for round in 0..<20 {
        try store.write { tx throws in
          var person = try #require(try tx.find(Person.self, number))
          person.notes = String(repeating: "\(round % 10)", count: 20_000)
          try tx.save(&person)
        }
      }
      let statistics = try store.statistics()
      #expect(statistics.pinnedPages > 20 * 5 / 2)
      #expect(statistics.openReads == 1)
      #expect(try #require(statistics.oldestRead) == statistics.lastTransaction - 20)
      #expect(statistics.description.contains("kept by old reads"))
      expectAddsUp(statistics, store)
    }
    let later = try store.statistics()
    #expect(later.pinnedPages == 0 && later.openReads == 0 && later.oldestRead == nil)
    // It keeps its slot for the next read.
    #expect(later.readerSlots >= 1 && later.maximumReaders == 1024)
    #expect(!later.description.contains("kept by old reads"))
  }

  @Test("Inside a write, the figures are those before it")
  func insideWrite() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 10)
    try store.write { tx throws in
      _ = try tx.erase(Person.self)
      #expect(try store.statistics().collections[1].records == 10)
    }
    #expect(try store.statistics().collections[1].records == 0)
  }

  @Test("While others write, each look is of one snapshot")
  func whileWriting() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 50)
    let writer = Thread {
      for number in 0..<300 {
        try? store.write { tx throws in
          for _ in 0..<3 {
            var club = Club(name: "\(number)")
            try tx.save(&club)
          }
        }
      }
      try? store.write { tx throws in
        var club = Club(name: "last")
        try tx.save(&club)
      }
    }
    writer.start()
    var looks = 0
    while true {
      let statistics = try store.statistics(exact: looks % 2 == 0)
      let clubs = statistics.collections[0].records
      #expect(statistics.isExact ? statistics.otherPages == 0 : statistics.otherPages >= 0)
      looks += 1
      // The ten of `fill`, and three with each commit but the last.
      if clubs == 911 { break }
      #expect((clubs - 10) % 3 == 0)
    }
    #expect(looks > 0)
  }

  @Test("The table has a line for everything, and its columns are in line")
  func table() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    try fill(store, people: 30)
    let lines = try store.statistics().description.split(separator: "\n").map(String.init)
    for beginning in [
      "file ", "pages ", "map ", "reads ", "collection Club ", "collection Person ",
      "  index city ", "  unique email ", "lists ", "  inverse ", "catalog ", "shapes ",
      "list of trees ", "free list ", "header ", "free  ",
    ] {
      #expect(lines.filter { $0.hasPrefix(beginning) }.count == 1, "\(beginning) in \(lines)")
    }
    let heading = try #require(lines.first { $0.hasPrefix(" ") })
    let end = try #require(heading.range(of: "pages")).upperBound
    let column = heading.distance(from: heading.startIndex, to: end)
    for line in lines.drop(while: { $0 != heading }).dropFirst() {
      #expect(line.prefix(column).last?.isNumber == true, "\(line)")
    }
  }

  @Test("A closed store has none")
  func closed() throws {
    let store = try Store.temporary(for: Person.self, Club.self)
    store.close()
    #expect(throws: LarchError.self) { _ = try store.statistics() }
  }
}

// MARK: - Work

extension StatisticsTests {
  /// That the parts are the whole, and what the walk over the file's own pages says.
  private func expectAddsUp(
    _ statistics: StoreStatistics, _ store: Store, _ comment: String = ""
  ) {
    let sum = statistics.headerPages + statistics.treePages + statistics.freePages
    #expect(sum == statistics.pages && statistics.otherPages == 0, "\(comment): \(statistics)")
    guard let report = try? FileCheck.verify(path: store.path) else {
      Issue.record("\(comment): the file cannot be verified")
      return
    }
    #expect(report.transaction == statistics.lastTransaction, "\(comment)")
    #expect(report.pages == UInt64(statistics.pages), "\(comment)")
    #expect(report.freePages == UInt64(statistics.freePages), "\(comment)")
    #expect(report.usedPages == UInt64(statistics.treePages), "\(comment)")
    #expect(report.lostPages == 0, "\(comment)")
  }

  /// People of two cities, each third with a large value, all in one of ten clubs or in the first.
  private func fill(_ store: Store, people: Int) throws {
    try store.write { tx throws in
      var clubs: [Club] = []
      for number in 0..<10 {
        var club = Club(name: "Club \(number)")
        try tx.save(&club)
        clubs.append(club)
      }
      for number in 0..<people {
        var person = Person(
          name: "Person \(number)", email: "\(number)@example.org",
          city: ["Kyoto", "Bern"][number % 2],
          notes: number % 3 == 0 ? String(repeating: "x", count: 5_000) : "")
        try tx.save(&person)
        try tx.add(clubs[number % 4 == 0 ? number % 10 : 0], to: person.related(Person.clubs))
      }
    }
  }

  private func keys(of store: Store) throws -> Int {
    try store.read { tx throws in Set(try tx.all(Person.self).map(\.city)).count }
  }

  private func work(
    _ tx: WriteTransaction, _ random: inout SeededGenerator, _ live: inout Int
  ) throws {
    if random.below(12) == 0 {
      live -= try tx.erase(Person.self)
    }
    var club = Club(name: "\(random.next())")
    try tx.save(&club)
    for _ in 0..<[3, 40, 400][random.below(3)] {
      switch random.below(10) {
      case 0..<6:
        var person = Person(
          name: "\(random.next())", email: "\(random.next())",
          city: random.below(3) == 0 ? "\(random.below(50))" : "Rome",
          notes: String(repeating: "n", count: [0, 10, 900, 9_000][random.below(4)]))
        try tx.save(&person)
        live += 1
        try tx.add(club, to: person.related(Person.clubs))
      case 6..<8:
        let ids = try tx.ids(Person.all.limit(30))
        if let id = ids.randomElement(using: &random), try tx.delete(Person.self, id) { live -= 1 }
      default:
        if var person = try tx.first(Person.where { $0.city == "Rome" }) {
          person.notes = String(repeating: "m", count: random.below(6_000))
          try tx.save(&person)
        }
      }
    }
  }
}
