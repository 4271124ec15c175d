import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/concurrency.md that are about reading.

/// The record of the examples.
private struct Sale: Record {
  var id = RecordID<Sale>()
  var amount: Int
  var region: String

  static let schema = Schema<Sale> { Index(\.region) }
}

@Suite("The examples of the guide to concurrency: reading")
struct SnapshotGuideTests {
  private func filled(_ options: Store.Options = Store.Options()) throws -> Store {
    let store = try Store.temporary(for: Sale.self, options: options)
    try store.write { tx throws in
      for number in 1...100 {
        var sale = Sale(amount: number, region: number % 2 == 0 ? "north" : "south")
        try tx.save(&sale)
      }
    }
    return store
  }

  @Test("a report that adds up, over several calls")
  func report() throws {
    let store = try filled()
    // snippet: snapshot-report
    let snapshot = try store.snapshot()
    defer { snapshot.end() }

    let total = try snapshot.sum(\.amount, of: Sale.all)
    try store.erase(Sale.self)  // whatever is written meanwhile
    let north = try Sale.where { $0.region == "north" }.sum(\.amount, in: snapshot)
    let south = try Sale.where { $0.region == "south" }.sum(\.amount, in: snapshot)
    // end snippet
    #expect(total == 5050 && north + south == total)
    #expect(try store.count(Sale.all) == 0)
  }

  @Test("reads through the store inside a write")
  func insideWrite() throws {
    let store = try filled()
    // snippet: read-inside-write
    try store.write { tx in
      var sale = Sale(amount: 5, region: "north")
      try tx.save(&sale)
      let count = try store.count(Sale.all)  // counts it, as tx.count does
      try print(count == tx.count(Sale.all))  // true
    }
    // end snippet
    #expect(try store.count(Sale.all) == 101)
  }

  @Test("one snapshot in several calls that belong together")
  func closure() throws {
    let store = try filled()
    let snapshot = try store.snapshot()
    // snippet: snapshot-read
    let (count, first) = try snapshot.read { tx in
      (try tx.count(Sale.all), try tx.first(Sale.all.sorted(by: \.amount)))
    }
    // end snippet
    #expect(count == 100 && first?.amount == 1)
  }

  @Test("a snapshot that was ended, and how a program continues")
  func ended() throws {
    let store = try filled()
    var snapshot = try store.snapshot()
    snapshot.end()
    // snippet: snapshot-ended
    func north() throws -> Int {
      do {
        return try snapshot.count(Sale.where { $0.region == "north" })
      } catch let error as LarchError where error.code == .snapshotEnded {
        snapshot = try store.snapshot()
        return try snapshot.count(Sale.where { $0.region == "north" })
      }
    }
    // end snippet
    #expect(try north() == 50)
  }

  @Test("which reads keep space")
  func openReads() throws {
    let store = try filled()
    let snapshot = try store.snapshot()
    try store.erase(Sale.self)
    var lines: [String] = []
    // snippet: open-reads
    for read in try store.openReads() {
      let place = read.place?.description ?? "process \(read.process)"
      lines.append("\(place): \(read.pinnedBytes ?? 0) bytes")
    }
    // end snippet
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("LarchDocumentationTests/SnapshotGuideTests.swift:"))
    #expect(snapshot.isOpen)
  }
}
