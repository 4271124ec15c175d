import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Whatever bytes the outbox has, there is a typed error, and the data stays readable.
@Suite("Hostile bytes in the outbox")
struct OutboxDamageTests {
  private let files: OutboxDirectory
  private let writer: LMDBEnvironment

  init() throws {
    files = try OutboxDirectory()
    writer = try files.open(files.writer)
    try writer.put("first", "1")
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    for number in 0..<3 { try writer.put("k\(number)", String(repeating: "v", count: 70_000)) }
  }

  @Test(
    "Each byte of the header is checked, and a write does not pass over damage",
    arguments: [nil, "postgres://db/larch, store main"], [false, true])
  func header(log: String?, hasLeft: Bool) throws {
    defer { writer.close() }
    try writer.changeOutbox { header, _, _, _ in header?.log = log }
    let first = try #require(try writer.outboxHeader()?.place)
    if hasLeft {
      try writer.trimOutbox(through: first, isFirstCopy: true)
      try writer.restartOutbox()
      try writer.put("after", "1")
    }
    #expect(try writer.outboxHeader()?.log == log)
    #expect(try writer.outboxHeader()?.left == (hasLeft ? first : nil))
    let key = [UInt8](repeating: 0, count: 12)
    let whole = try value(of: key)
    #expect(whole.count == OutboxHeader.size + (log?.utf8.count ?? 0) + (hasLeft ? 24 : 0))
    for place in whole.indices {
      var bytes = whole
      bytes[place] ^= place % 2 == 0 ? 0x80 : 0x01
      try replace(key, with: bytes)
      #expect(code { try writer.put("more", "1") } == .corrupted, "byte \(place)")
      #expect(code { _ = try writer.outboxHeader() } == .corrupted, "byte \(place)")
    }
    for count in [0, 1, 2, whole.count - 1] {
      try replace(key, with: Array(whole.prefix(count)))
      #expect(code { try writer.put("more", "1") } == .corrupted)
    }
    // The data is not touched by that.
    try writer.read { transaction in
      let names = try LMDBEnvironment.treeNames(in: transaction)
      #expect(names == ["a", OutboxTree.name])
    }
    try replace(key, with: nil)
    #expect(code { try writer.put("more", "1") } == .corrupted)
    // Work on the file as a whole passes, and does not hide the damage from the next write.
    try writer.upkeep { _ = try LMDBDatabase.open("b", .create, in: $0) }
    #expect(code { try writer.put("more", "1") } == .corrupted)
    // What the error advises.
    try writer.removeOutbox()
    try writer.put("more", "1")
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    try writer.put("more", "2")
    #expect(try writer.waiting().count == 1)
    // Nobody but a newer Larch changes what that has made.
    var newer: [UInt8] = [UInt8(OutboxHeader.version) + 1, 0] + [UInt8](repeating: 7, count: 100)
    var sum = Checksum()
    newer.withUnsafeBytes { sum.add($0) }
    withUnsafeBytes(of: sum.value.littleEndian) { newer += $0 }
    try replace(key, with: newer)
    for change in [
      { _ = try self.writer.put("more", "1") }, { try self.writer.removeOutbox() },
      { try self.writer.restartOutbox() },
    ] as [() throws -> Void] {
      #expect(code(change) == .newerFormat)
    }
  }

  @Test("Entries that are cut, altered, doubled or missing are refused")
  func entries() throws {
    defer { writer.close() }
    func key(_ position: UInt64, _ part: UInt32) -> [UInt8] {
      withUnsafeBytes(of: position.bigEndian) { [UInt8]($0) }
        + withUnsafeBytes(of: part.bigEndian) { [UInt8]($0) }
    }
    func refused(_ key: [UInt8], _ bytes: [UInt8]?, line: Int = #line) throws {
      let before = try? value(of: key)
      try replace(key, with: bytes)
      #expect(code { _ = try writer.waiting() } == .corrupted, "line \(line)")
      #expect(
        code { try writer.read { try writer.checkOutbox(in: $0) } } == .corrupted, "line \(line)")
      try replace(key, with: before)
      #expect(try writer.waiting().count == 3)
    }
    for (position, part) in [(UInt64(1), UInt32(0)), (2, 0), (2, 1), (3, 1)] {
      let whole = try value(of: key(position, part))
      for place in [0, 8, 16, 24, 31, 32, 36, 39, 40, whole.count / 2, whole.count - 1] {
        var bytes = whole
        bytes[place] ^= 0x40
        try refused(key(position, part), bytes)
      }
      try refused(key(position, part), Array(whole.dropLast()))
      try refused(key(position, part), Array(whole.prefix(20)))
      try refused(key(position, part), whole + [0])
      try refused(key(position, part), nil)
    }
    try refused(key(2, 2), [1])
    try refused(key(2, 1) + [0], [1])
    try refused([1], [1])
    // The first entry with the number of bytes of a very long one.
    var head = try value(of: key(1, 0))
    head.replaceSubrange(32..<40, with: [UInt8](repeating: 0xFF, count: 8))
    try refused(key(1, 0), head)
  }

  private func value(of key: [UInt8]) throws -> [UInt8] {
    try writer.read { transaction in
      let tree = try #require(try writer.outboxTree(in: transaction))
      let found = try key.withUnsafeBytes { try tree.database.get($0, in: transaction) }
      guard let found else { throw Mismatch("no value") }
      return [UInt8](found)
    }
  }

  /// Changes the tree as damage would.
  private func replace(_ key: [UInt8], with value: [UInt8]?) throws {
    try writer.upkeep { transaction in
      let database = try #require(try LMDBDatabase.open(OutboxTree.name, in: transaction))
      if let value {
        try database.put(key, value, in: transaction)
      } else {
        _ = try key.withUnsafeBytes { try database.delete($0, in: transaction) }
      }
    }
    // As another process would find it.
    writer.outbox.reset()
  }
}
