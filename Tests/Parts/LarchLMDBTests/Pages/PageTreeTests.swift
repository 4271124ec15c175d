import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct PageTreeTests {
  private func read(_ path: String, scan: Bool = false) throws -> (
    entries: [[UInt8]: [[UInt8]]], order: [[UInt8]], damage: Int
  ) {
    var entries: [[UInt8]: [[UInt8]]] = [:]
    var order: [[UInt8]] = []
    var damage = 0
    let tree = try PageTree(path: path)
    let take: PageTree.Entry = { key, value in
      entries[Array(key), default: []].append(Array(value))
      order.append(Array(key))
    }
    if scan {
      try tree.forEachLeafEntry(onDamage: { _, _ in damage += 1 }, take)
    } else if let database = tree.database(named: "records", onDamage: { _, _ in damage += 1 }) {
      try tree.forEachEntry(of: database, onDamage: { _, _ in damage += 1 }, take)
    }
    return (entries, order, damage)
  }

  @Test func aWholeFileGivesEveryEntryInOrderOfKeys() throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      let sample = try SampleFile(path: path)
      let (entries, order, damage) = try read(path)
      let expected = sample.entries.merging(sample.newest) { $1 }
      #expect(damage == 0)
      #expect(entries == expected.mapValues { [$0] })
      #expect(order == expected.keys.sorted { $0.lexicographicallyPrecedes($1) })
      let tree = try PageTree(path: path)
      #expect(tree.states.count == 2)
      let names = tree.databases(in: tree.states[0]) { _, _ in }
      #expect(names.map(\.name) == ["index", "records"])
      #expect(names.map(\.isPlain) == [false, true])
    }
  }

  @Test func aDestroyedPageLosesItsEntriesOnlyAndIsReported() throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      let sample = try SampleFile(path: path)
      let expected = sample.entries.merging(sample.newest) { $1 }
      let whole = try SampleFile.bytes(path)
      var reported = 0
      for page in 2..<(whole.count / 4_096) {
        var bytes = whole
        for offset in 0..<4_096 { bytes[page * 4_096 + offset] = 0xA5 }
        try SampleFile.write(bytes, path)
        let (entries, _, damage) = try read(path)
        // A page inside a value's run only changes that value; its checksum tells.
        let wrong = entries.filter { key, values in values != [expected[key] ?? []] }
        #expect(wrong.count <= 1, "page \(page)")
        if damage > 0 {
          reported += 1
        } else if wrong.isEmpty {
          #expect(entries.count == expected.count, "page \(page)")
        }
      }
      #expect(reported >= 15)
    }
  }

  @Test(arguments: [0, 1])
  func theOtherStateIsReadWhereAMetaPageIsDestroyed(slot: Int) throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      let sample = try SampleFile(path: path)
      var bytes = try SampleFile.bytes(path)
      let newest = bytes[number: 4_096 + 144] > bytes[number: 144] ? 1 : 0
      for offset in 0..<4_096 { bytes[slot * 4_096 + offset] = 0 }
      try SampleFile.write(bytes, path)
      let expected =
        slot == newest ? sample.entries : sample.entries.merging(sample.newest) { $1 }
      #expect(try read(path).entries == expected.mapValues { [$0] })
    }
  }

  @Test func theScanFindsEveryEntryWhereBothMetaPagesAreDestroyed() throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      let sample = try SampleFile(path: path)
      var bytes = try SampleFile.bytes(path)
      for offset in 0..<8_192 { bytes[offset] = 0 }
      try SampleFile.write(bytes, path)
      #expect(try PageTree(path: path).states.isEmpty)
      let (entries, _, _) = try read(path, scan: true)
      for (key, value) in sample.entries.merging(sample.newest, uniquingKeysWith: { $1 }) {
        #expect(entries[key]?.contains(value) == true)
      }
    }
  }

  @Test func noDamageMakesTheReaderTrapOrGiveWhatIsNotThere() throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      let whole = try SampleFile.bytes(path)
      let seed: UInt64 = 5
      for number in 0..<UInt64(ChildProgram.count("LARCH_DAMAGED_READS", default: 600)) {
        var random = SeededGenerator(seed: seed &+ number)
        var bytes = whole
        let kinds = FileDamage.allCases
        for round in 0...(number % 3) {
          kinds[Int((number + round) % UInt64(kinds.count))]
            .apply(to: &bytes, pageSize: 4_096, using: &random)
        }
        try SampleFile.write(bytes, path)
        for scan in [false, true] {
          do {
            _ = try read(path, scan: scan)
          } catch let error as LarchError {
            #expect(error.code == .notAStore, "number \(number), seed \(seed)")
          }
        }
      }
    }
  }
}
