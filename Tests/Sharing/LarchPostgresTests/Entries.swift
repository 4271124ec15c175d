import Foundation
import Larch
import LarchTestSupport

@testable import LarchPostgres

let records = LogTree(name: "records.1", flags: 0)
let index = LogTree(name: "index.1", flags: 0x04)

/// An entry that puts one value.
func entry(after place: LogPlace, size: Int = 20) -> LogEntry {
  var record = ChangeRecordBytes()
  let number = UInt64.random(in: 0 ... .max)
  record.add(.put, records, [UInt8](bigEndian: number), [UInt8](repeating: 5, count: size))
  return LogEntry(after: place, random: number, changes: record.bytes)
}

/// Entries, of which each follows the one before.
func entries(_ count: Int, after place: LogPlace) -> [LogEntry] {
  var entries: [LogEntry] = []
  for _ in 0..<count { entries.append(entry(after: entries.last?.place ?? place)) }
  return entries
}

extension SharedLog {
  /// A state with some pairs of two trees.
  func beginSome(
    at place: LogPlace = .start, expecting expected: LogPlace? = nil, pairs: Int = 30,
    seed: UInt8 = 1
  ) throws -> Bool {
    try begin(at: place, expecting: expected) { writer in
      for tree in [index, records] {
        try writer.begin(tree)
        for number in 0..<pairs {
          try [UInt8](bigEndian: Int64(number)).withUnsafeBytes { key in
            try [seed, UInt8(truncatingIfNeeded: number)].withUnsafeBytes {
              try writer.add(key, $0)
            }
          }
        }
      }
    }
  }

  /// All pairs of the state, as text.
  func stateText() throws -> [String] {
    var lines: [String] = []
    let place = try state { lines.append("\($0.name) \(Array($1)) \(Array($2))") }
    return ["at \(place)"] + lines
  }

  /// All entries after a place.
  func allEntries(after place: LogPlace = .start) throws -> [LogEntry] {
    var found: [LogEntry] = []
    while case .entries(let more) = try tail(after: found.last?.place ?? place, limit: 1 << 20),
      !more.isEmpty
    { found += more }
    return found
  }
}

/// Runs closures on threads of their own, and waits for all.
func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) -> Void) {
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    Thread {
      body(number)
      group.leave()
    }.start()
  }
  group.wait()
}
