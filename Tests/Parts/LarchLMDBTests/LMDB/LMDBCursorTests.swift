import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct LMDBCursorTests {
  private static let pairs = [
    ("a", "1"), ("a", "2"), ("b", "1"), ("d", "1"), ("d", "2"), ("d", "3"),
  ]

  /// Runs a body with a cursor over the pairs, whose values may be several a key.
  private func withCursor(_ body: (inout LMDBCursor) throws -> [String?]) throws -> [String?] {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a", [.duplicates, .fixedDuplicates])
    try environment.write { transaction in
      for (key, value) in Self.pairs { try database.put(key, value, in: transaction) }
    }
    return try environment.read { transaction in
      var cursor = try LMDBCursor(database, in: transaction)
      return try body(&cursor)
    }
  }

  private func text(_ entry: LMDBEntry?) -> String? {
    entry.map {
      String(decoding: $0.key, as: UTF8.self) + String(decoding: $0.value, as: UTF8.self)
    }
  }

  private func bytes<T>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T
  {
    var text = text
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }

  @Test("Stepping visits every pair in order, either way")
  func stepping() throws {
    let forward = try withCursor { cursor in
      var found: [String?] = []
      while let entry = try cursor.next() { found.append(text(entry)) }
      return found
    }
    #expect(forward == Self.pairs.map { $0 + $1 })
    let backward = try withCursor { cursor in
      var found: [String?] = []
      while let entry = try cursor.previous() { found.append(text(entry)) }
      return found
    }
    #expect(backward == Self.pairs.reversed().map { $0 + $1 })
  }

  @Test("Steps by key reach its first value forwards and its last one backwards")
  func keys() throws {
    let found = try withCursor { cursor in
      [
        text(try cursor.first()), text(try cursor.nextKey()), text(try cursor.nextKey()),
        text(try cursor.nextKey()), text(try cursor.last()), text(try cursor.previousKey()),
        text(try cursor.previousKey()), text(try cursor.previousKey()),
      ]
    }
    #expect(found == ["a1", "b1", "d1", nil, "d3", "b1", "a2", nil])
  }

  @Test("Steps between the values of a key stay in the key and return it")
  func duplicates() throws {
    let found = try withCursor { cursor in
      var found = [text(try bytes("d") { try cursor.seek(exactly: $0) })]
      found.append(text(try cursor.nextDuplicate()))
      found.append(text(try cursor.lastDuplicate()))
      found.append(text(try cursor.nextDuplicate()))
      found.append(text(try cursor.firstDuplicate()))
      found.append(text(try cursor.current()))
      found.append(text(try cursor.previousDuplicate()))
      found.append("\(try cursor.duplicateCount())")
      return found
    }
    #expect(found == ["d1", "d2", "d3", nil, "d1", "d1", nil, "3"])
  }

  @Test(
    "A seek finds the first pair at or after the key",
    arguments: [("a", "a1"), ("aa", "b1"), ("c", "d1"), ("d", "d1"), ("e", nil)])
  func seeking(key: String, expected: String?) throws {
    let found = try withCursor { cursor in [text(try bytes(key) { try cursor.seek(atOrAfter: $0) })]
    }
    #expect(found == [expected])
    let exact = try withCursor { cursor in [text(try bytes(key) { try cursor.seek(exactly: $0) })] }
    #expect(exact == [expected?.first == key.first && key.count == 1 ? expected : nil])
  }

  @Test(
    "A seek to a pair gives the stored key, not the caller's bytes",
    arguments: [
      ("a", "1", "a1", "a1"), ("a", "3", nil, nil), ("b", "0", "b1", nil), ("b", "1", "b1", "b1"),
      ("d", "2", "d2", "d2"), ("d", "0", "d1", nil), ("c", "1", nil, nil),
    ] as [(String, String, String?, String?)])
  func pairs(key: String, value: String, atOrAfter: String?, exactly: String?) throws {
    let found = try withCursor { cursor in
      try bytes(key) { keyBytes in
        try bytes(value) { valueBytes in
          let first = try cursor.seek(keyBytes, valueAtOrAfter: valueBytes)
          let second = try cursor.seek(keyBytes, value: valueBytes)
          for entry in [first, second] {
            if let entry { #expect(entry.key.baseAddress != keyBytes.baseAddress) }
          }
          return [text(first), text(second)]
        }
      }
    }
    #expect(found == [atOrAfter, exactly])
  }

  @Test("Runs have all values of a key, even a single one, for which LMDB leaves stale bytes")
  func runs() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a", [.duplicates, .fixedDuplicates])
    let counts = [1, 2, 1, 5_000, 1, 300]
    try environment.write { transaction in
      for (key, count) in counts.enumerated() {
        for value in 0..<count { try database.put(UInt64(key), UInt64(value), in: transaction) }
      }
    }
    let found = try environment.read { transaction in
      var cursor = try LMDBCursor(database, in: transaction)
      var found: [[UInt64]] = []
      var entry = try cursor.first()
      while let reached = entry {
        let first = try cursor.firstRun(at: reached)
        var values = [UInt64](run: first.values)
        var isOnly = true
        while let run = try cursor.nextRun() {
          values += [UInt64](run: run)
          isOnly = false
        }
        #expect(first.isOnly == isOnly)
        found.append(values)
        entry = try cursor.nextKey()
      }
      return found
    }
    #expect(found == counts.map { count in (0..<UInt64(count)).map { $0 } })
  }

  @Test("A cursor stores pairs and keeps to its mode")
  func storing() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    let answers = try environment.write { transaction in
      var cursor = try LMDBCursor(database, in: transaction)
      return try bytes("b") { b in
        try bytes("a") { a in
          [
            try cursor.put(b, a, in: transaction),
            try cursor.put(b, b, in: transaction, mode: .ifAbsent),
            try cursor.put(a, a, in: transaction, mode: .append),
            try cursor.put(b, b, in: transaction),
          ]
        }
      }
    }
    #expect(answers == [true, false, false, true])
    #expect(try environment.read { try database.string("b", in: $0) } == "b")
    #expect(try environment.read { try database.string("a", in: $0) } == nil)
  }
}
