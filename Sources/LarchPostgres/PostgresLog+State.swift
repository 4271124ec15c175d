package import Larch

extension PostgresLog {
  package func state(into writer: any LogStateWriter) throws -> LogPlace {
    let place = try transaction(.reading) { connection -> LogPlace? in
      let first = try connection.runOnTables("SELECT FROM \(tables("tree")) LIMIT 1", [])
      guard first != nil, let era = try era(connection) else { throw neverBegun }
      let trees = try trees(of: era.era, connection)
      for table in ["cell", "pair"] {
        let order = table == "cell" ? "tree, key" : "tree, key, value"
        try connection.beginCopy(
          """
          COPY (SELECT tree, key, value FROM \(tables(table)) WHERE era = \(era.era) ORDER BY \(order))
          TO STDOUT (FORMAT binary)
          """, LibPQ.ResultStatus.copyOut)
        var reader = StateReader(trees: trees, hasDuplicates: table == "pair", writer: writer)
        var isOpen = true
        while isOpen {
          isOpen = try connection.receiveCopy { bytes in
            guard try reader.read(bytes) else {
              throw damage("The state of the log has rows that no tree can have.")
            }
          }
        }
        guard reader.isAtEnd else { throw damage("The state of the log was cut off.") }
        for (number, tree) in trees.sorted(by: { $0.key < $1.key })
        where tree.hasDuplicates == (table == "pair") && !reader.begun.contains(number) {
          try writer.begin(tree)
        }
      }
      return era.folded
    }
    guard let place else { throw neverBegun }
    return place
  }

  /// The trees of the state by their numbers.
  func trees(of era: Int64, _ connection: PostgresConnection) throws -> [Int32: LogTree] {
    let rows = try connection.run(
      "SELECT tree, name, flags FROM \(tables("tree")) WHERE era = $1", [.int(era)])
    var trees: [Int32: LogTree] = [:]
    for row in 0..<rows.count {
      let name = try rows.text(row, 1)
      guard let flags = UInt32(exactly: try rows.int(row, 2)), [0, 0x04, 0x14].contains(flags),
        !name.isEmpty
      else { throw damage("A tree of the log has no name, or other flags.") }
      trees[Int32(truncatingIfNeeded: try rows.int(row, 0))] = LogTree(name: name, flags: flags)
    }
    return trees
  }
}

/// Takes rows from the messages of a `COPY`, each of which has whole rows.
private struct StateReader {
  private let trees: [Int32: LogTree]
  private let hasDuplicates: Bool
  private let writer: any LogStateWriter
  private(set) var isAtEnd = false
  /// The trees that have pairs.
  private(set) var begun: Set<Int32> = []
  private var isBegun = false
  /// Of the row before: rows in another order are not what the server was asked for, and would make a damaged
  /// copy where they are written without a search.
  private var last: (number: Int32, key: [UInt8], value: [UInt8])?

  init(trees: [Int32: LogTree], hasDuplicates: Bool, writer: any LogStateWriter) {
    self.trees = trees
    self.hasDuplicates = hasDuplicates
    self.writer = writer
  }

  /// - Returns: false if the bytes are no rows of these trees.
  mutating func read(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    var rest = bytes
    if !isBegun {
      guard rest.starts(with: CopyFormat.signature), rest.count >= 19 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[19...])
      isBegun = true
    }
    while !rest.isEmpty {
      guard !isAtEnd, rest.count >= 2 else { return false }
      let columns = Int16(bigEndian: rest.loadUnaligned(as: Int16.self))
      rest = UnsafeRawBufferPointer(rebasing: rest[2...])
      if columns == -1 {
        isAtEnd = true
        continue
      }
      guard columns == 3, let number = Self.field(&rest), number.count == 4,
        let key = Self.field(&rest), let value = Self.field(&rest),
        try pass(Int32(bigEndian: number.loadUnaligned(as: Int32.self)), key, value)
      else { return false }
    }
    return true
  }

  private mutating func pass(
    _ number: Int32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> Bool {
    let keys = 1...511
    guard let tree = trees[number], tree.hasDuplicates == hasDuplicates, keys.contains(key.count),
      !hasDuplicates || keys.contains(value.count)
    else { return false }
    if let last {
      guard number >= last.number else { return false }
      if number == last.number {
        let order = Self.order(last.key, key)
        let isNext = order < 0 || order == 0 && hasDuplicates && Self.order(last.value, value) < 0
        guard isNext else { return false }
      }
    }
    last = (number, [UInt8](key), hasDuplicates ? [UInt8](value) : [])
    if begun.insert(number).inserted { try writer.begin(tree) }
    try writer.add(key, value)
    return true
  }

  /// Negative if the first is before the second: by bytes, and the shorter one first.
  private static func order(_ first: [UInt8], _ second: UnsafeRawBufferPointer) -> Int {
    first.withUnsafeBytes { first in
      first.elementsEqual(second) ? 0 : first.precedes(second) ? -1 : 1
    }
  }

  /// The bytes of a column, and the rest behind them; nil if there are fewer, or none.
  private static func field(_ rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard rest.count >= 4 else { return nil }
    let count = Int(Int32(bigEndian: rest.loadUnaligned(as: Int32.self)))
    guard count >= 0, count <= rest.count - 4 else { return nil }
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[(4 + count)...]) }
    return UnsafeRawBufferPointer(rebasing: rest[4..<4 + count])
  }
}
