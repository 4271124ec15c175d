import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// Prints times, for docs/servers.md; it asserts none of them. On a server that flushes.
@Suite(
  "Times",
  .enabled(if: ProcessInfo.processInfo.environment["LARCH_POSTGRES_MEASURE"] != nil), needsServer)
struct MeasuringTests {
  @Test("Of a first copy, appends, a fold and a state")
  func times() throws {
    let server = try PostgresServer(isQuick: false)
    let log = try server.log("main")
    defer { log.close() }
    func seconds(_ body: () throws -> Void) rethrows -> Double {
      let start = ContinuousClock.now
      try body()
      return Double((ContinuousClock.now - start) / .nanoseconds(1)) / 1e9
    }
    let records = LogTree(name: "records.1", flags: 0)
    let index = LogTree(name: "index.1", flags: 0x04)
    let value = [UInt8](repeating: 7, count: 250)
    func key(_ number: Int) -> [UInt8] { [UInt8](bigEndian: Int64(number)) }
    let count = 200_000
    let copied = try seconds {
      let isDone = try log.begin(at: .start, expecting: nil) { writer in
        for (tree, value) in [(records, value), (index, key(1))] {
          try writer.begin(tree)
          for number in 0..<count {
            try key(number).withUnsafeBytes { key in
              try value.withUnsafeBytes { try writer.add(key, $0) }
            }
          }
        }
      }
      #expect(isDone)
    }
    print("first copy: \(Int(Double(2 * count) / copied)) pairs/s")
    var bytes = 0
    let read = try seconds {
      _ = try log.state { _, key, value in bytes += key.count + value.count }
    }
    print("state: \(Double(bytes) / read / 1e6) MB/s, \(Int(Double(2 * count) / read)) pairs/s")

    var place = LogPlace.start
    func entry(_ number: Int) -> LogEntry {
      var record = ChangeRecordBytes()
      record.add(.put, records, key(number * 7919 % (2 * count)), [UInt8](repeating: 9, count: 400))
      record.add(.put, index, key(number), key(number))
      let entry = LogEntry(after: place, random: UInt64(number), changes: record.bytes)
      place = entry.place
      return entry
    }
    var times: [Double] = []
    for number in 0..<5000 {
      let entry = entry(number)
      times.append(
        try seconds {
          let isDone = try log.append([entry])
          #expect(isDone)
        })
    }
    times.sort()
    print("append of one entry: p50 \(times[2500] * 1000) ms, p99 \(times[4950] * 1000) ms")
    let batches = try seconds {
      for batch in 0..<500 {
        let entries = (0..<64).map { entry(5000 + batch * 64 + $0) }
        let isDone = try log.append(entries)
        #expect(isDone)
      }
    }
    print("appends of 64 entries: \(Int(500 * 64 / batches)) entries/s")
    var found = LogPlace.start
    let tail = try seconds {
      while case .entries(let entries) = try log.tail(after: found, limit: 1 << 20),
        let last = entries.last
      { found = last.place }
    }
    #expect(found == place)
    print("tail: \(Int(37000 / tail)) entries/s")
    let fold = try seconds { _ = try log.fold(through: .max) }
    print("fold: \(Int(37000 / fold)) entries/s")
    let looks = try seconds {
      for _ in 0..<2000 { try log.wait(after: place.position, seconds: 0) }
    }
    print("look: \(looks / 2000 * 1000) ms")
  }
}
