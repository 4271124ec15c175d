/// The settings for sorting rows.
struct SortSettings {
  /// The bytes of rows in memory; more than this go through a temporary file.
  var budget = 64 << 20
  var makeSpillFile: () throws -> SpillFile = SpillFile.temporary
}

extension RowSorter {
  convenience init(_ settings: SortSettings) {
    self.init(budget: settings.budget, makeSpillFile: settings.makeSpillFile)
  }
}

/// The rows of another source, sorted; all, or only the first ones.
final class SortedRows: RowSource {
  private let source: RowSource
  private let sortKey: SortKey
  private let reader: RowReader
  private let settings: SortSettings
  /// The maximum number of rows.
  private let limit: Int?
  private let after: PageToken?
  /// The components of keys that determine the order; nil if records are needed.
  private let components: KeyComponents?
  /// The same, without counting references for each row.
  private let uncountedComponents: Unmanaged<KeyComponents>?
  /// Whether rows include the keys of the index.
  private let keepsKeys: Bool

  private enum Mode { case start, numbers, list, keys, top, sorter, end }
  @exclusivity(unchecked) private var mode = Mode.start
  @exclusivity(unchecked) private var top: TopNumbers
  @exclusivity(unchecked) private var numbers: [UInt128] = []
  @exclusivity(unchecked) private var place = 0
  /// The keys of rows that are sorted by their ids, unless these stay in the map.
  @exclusivity(unchecked) private var keys = ByteBuffer(capacity: 0)
  /// The beginning of the map, if the keys are in it.
  @exclusivity(unchecked) private var map: UnsafeRawPointer?
  /// The number of the token's row.
  @exclusivity(unchecked) private var least: UInt128 = 0
  @exclusivity(unchecked) private var hasLeast = false
  @exclusivity(unchecked) private var topRows: TopRows?
  @exclusivity(unchecked) private var sorter: RowSorter?
  @exclusivity(unchecked) private var idBuffer = ByteBuffer()
  private var mayRepeat = true

  init(
    _ source: RowSource, _ sortKey: SortKey, limit: Int?, after: PageToken?,
    components: KeyComponents?, keepsKeys: Bool, settings: SortSettings, _ reader: RowReader
  ) {
    self.source = source
    self.sortKey = sortKey
    self.limit = limit
    self.after = after
    self.components = components
    uncountedComponents = components.map(Unmanaged.passUnretained)
    self.keepsKeys = keepsKeys
    self.settings = settings
    self.reader = reader
    top = TopNumbers(limit: limit ?? .max)
  }

  override func next() throws -> Bool {
    if mode == .start { try sort() }
    record = nil
    switch mode {
    case .numbers:
      return take(number: top.next())
    case .list:
      guard place < numbers.count else { return false }
      place += 1
      return take(number: numbers[place - 1])
    case .keys: return takeKey()
    case .top: return take(topRows?.next())
    case .sorter: return take(try sorter?.next())
    case .start, .end: return false
    }
  }

  private func take(number row: UInt128?) -> Bool {
    guard let row else { return false }
    take(idNumber: UInt64(truncatingIfNeeded: row))
    return true
  }

  private func take(idNumber number: UInt64) {
    idBuffer.removeAll()
    idBuffer.append(bigEndian: number)
    if sortKey.idsDescend { idBuffer.complement(from: 0) }
    id = idBuffer.bytes
  }

  private func takeKey() -> Bool {
    guard place < numbers.count else { return false }
    let row = numbers[place]
    take(idNumber: UInt64(truncatingIfNeeded: row >> 64))
    key = key(of: row)
    place += 1
    return true
  }

  @inline(__always)
  private func key(of row: UInt128) -> UnsafeRawBufferPointer {
    RowWithKey.key(of: row, from: map ?? UnsafeRawPointer(keys.base))
  }

  private func take(_ row: RowSorter.Row?) -> Bool {
    guard let row else { return false }
    sortKey.readID(UnsafeRawBufferPointer(rebasing: row.key[row.idStart...]), into: &idBuffer)
    id = idBuffer.bytes
    key = keepsKeys ? row.payload : nil
    return true
  }

  private func sort() throws {
    mode = .end
    if limit == 0 { return }
    // An error of the index is not one of the first record.
    if sortKey.hasScores { _ = try reader.typed.scores?.all() }
    if sortKey.isNumber, !keepsKeys {
      if let limit, limit <= settings.budget / 16 {
        try sortTopNumbers()
      } else {
        try sortNumbers()
      }
    } else if let limit, limit <= settings.budget / 256 {
      let rows = TopRows(limit: limit)
      try forEachKey { rows.add(key: $0, idStart: $1, payload: $2) }
      rows.finish()
      topRows = rows
      mode = .top
    } else if keepsKeys, sortKey.isID {
      try sortKeys()
    } else {
      let rows = RowSorter(settings)
      sorter = rows
      try forEachKey { try rows.add(key: $0, idStart: $1, payload: $2) }
      try rows.finish()
      mode = .sorter
    }
    mayRepeat = source.mayRepeatValues
    source.close()
  }

  private func sortTopNumbers() throws {
    try forEachNumber(isWanted: { $0 <= top.bound }) { number in
      let row = UInt128(number) << 64 | UInt128(sortKey.number(ofID: source.id))
      if !hasLeast || row > least { top.add(row) }
    }
    top.finish()
    mode = .numbers
  }

  private func sortNumbers() throws {
    try forEachNumber(isWanted: { _ in true }) { number in
      let row = UInt128(number) << 64 | UInt128(sortKey.number(ofID: source.id))
      guard !hasLeast || row > least else { return }
      if numbers.count >= settings.budget / 16, !numbers.isEmpty { try moveNumbers() }
      numbers.append(row)
    }
    if sorter == nil {
      RadixSort.sort(&numbers)
      mode = .list
    } else {
      try moveNumbers()
      try sorter?.finish()
      mode = .sorter
    }
  }

  /// Moves the numbers to the general sort, if they do not fit into memory.
  private func moveNumbers() throws {
    let rows = sorter ?? RowSorter(settings)
    sorter = rows
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    for row in numbers {
      try withUnsafeBytes(of: row.bigEndian) { try rows.add(key: $0, idStart: 8, payload: nothing) }
    }
    numbers.removeAll()
  }

  /// Sorts rows with their keys by the ids alone, which are numbers.
  private func sortKeys() throws {
    if let after {
      guard sortKey.write(after) else { throw SortedRows.foreignToken }
      least = UInt128(after.id.withUnsafeBytes { sortKey.number(ofID: $0) })
      hasLeast = true
    } else if try takeAllEntries() {
      RadixSort.sort(&numbers)
      mode = .keys
      return
    }
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    while try source.next() {
      let number = sortKey.number(ofID: source.id)
      if hasLeast, UInt128(number) <= least { continue }
      let key = source.key ?? nothing
      if let sorter {
        try add(number, key, to: sorter)
        continue
      }
      append(number, key)
      if isFull { try moveKeys() }
    }
    if let sorter {
      try sorter.finish()
      mode = .sorter
    } else {
      RadixSort.sort(&numbers)
      mode = .keys
    }
  }

  @inline(__always)
  private func append(_ number: UInt64, _ key: UnsafeRawBufferPointer) {
    numbers.append(RowWithKey.row(number, keyAt: keys.count, count: key.count))
    keys.append(key)
  }

  private var isFull: Bool { keys.count + numbers.count * 16 > settings.budget }

  /// Takes the rows from all entries of a scan; false, without a row, if they must come one by one, or if
  /// they do not fit into memory.
  private func takeAllEntries() throws -> Bool {
    guard let rows = source as? IndexRows, rows.areAllEntries, let map = rows.scanner.map else {
      return false
    }
    numbers.reserveCapacity(128)
    let areTaken = try rows.scanner.forEachRun { key, ids in
      guard let keyStart = key.baseAddress else { return false }
      let place = keyStart - map
      // Rows with keys are sorted by ids of eight bytes.
      for number in 0..<ids.count / 8 {
        let id = UnsafeRawBufferPointer(rebasing: ids[number * 8..<number * 8 + 8])
        numbers.append(
          RowWithKey.row(sortKey.number(ofID: id), keyAt: place, count: key.count))
      }
      return !isFull
    }
    if areTaken {
      self.map = map
      return true
    }
    numbers.removeAll()
    return false
  }

  /// Moves rows with their keys to the general sort, as they do not fit into memory.
  private func moveKeys() throws {
    let rows = RowSorter(settings)
    sorter = rows
    for row in numbers {
      try add(UInt64(truncatingIfNeeded: row >> 64), key(of: row), to: rows)
    }
    numbers = []
    keys = ByteBuffer(capacity: 0)
  }

  private func add(
    _ number: UInt64, _ key: UnsafeRawBufferPointer, to rows: RowSorter
  ) throws {
    try withUnsafeBytes(of: number.bigEndian) { try rows.add(key: $0, idStart: 0, payload: key) }
  }

  /// Calls with the number of each wanted row. If the bytes of a record already show that it is not
  /// wanted, as for most records when few are, it is not verified: that costs more than testing it.
  @inline(__always)
  private func forEachNumber(
    isWanted: (UInt64) -> Bool, _ body: (UInt64) throws -> Void
  ) throws {
    if let after {
      guard let (number, id) = sortKey.numbers(after) else { throw SortedRows.foreignToken }
      least = UInt128(number) << 64 | UInt128(id)
      hasLeast = true
    }
    if let rows = source as? RecordRows, !rows.isFiltering {
      while try rows.next(unless: { sortKey.refuses($0, isWanted) }) {
        try addNumber(isWanted, body)
      }
      return
    }
    while try source.next() {
      if let components, let number = try self.number(of: components) {
        if isWanted(number) { try body(number) }
      } else {
        try addNumber(isWanted, body)
      }
    }
  }

  /// Calls with the number of the verified record of a row.
  @inline(__always)
  private func addNumber(
    _ isWanted: (UInt64) -> Bool, _ body: (UInt64) throws -> Void
  ) throws {
    let record = try self.record()
    let number: UInt64
    do {
      number = try sortKey.number(of: record, id: source.id)
    } catch {
      throw reader.naming(error, source.id)
    }
    if isWanted(number) { try body(number) }
  }

  private func number(of components: KeyComponents) throws -> UInt64? {
    guard let key = source.key else { return nil }
    components.open(key)
    return try sortKey.number(of: components, id: source.id)
  }

  private func forEachKey(
    _ body: (UnsafeRawBufferPointer, Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var least: [UInt8]?
    if let after {
      guard sortKey.write(after) else { throw SortedRows.foreignToken }
      least = [UInt8](sortKey.bytes)
    }
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    while try source.next() {
      try writeKey()
      if let least, least.withUnsafeBytes({ compareBytes(sortKey.bytes, $0) }) <= 0 { continue }
      try body(
        sortKey.bytes, sortKey.countBeforeID, keepsKeys ? source.key ?? nothing : nothing)
    }
  }

  private func writeKey() throws {
    if let components = uncountedComponents, let key = source.key {
      let isWritten = try components._withUnsafeGuaranteedRef { components in
        components.open(key)
        return try sortKey.write(components: components, id: source.id)
      }
      if isWritten { return }
    }
    let record = try self.record()
    do {
      try sortKey.write(record: record, id: source.id)
    } catch {
      throw reader.naming(error, source.id)
    }
  }

  /// The record of the row; nothing if its place does not depend on it.
  @inline(__always)
  private func record() throws -> UnsafeRawBufferPointer {
    sortKey.needsNoRecord
      ? UnsafeRawBufferPointer(start: nil, count: 0) : try source.record(reader)
  }

  static var foreignToken: LarchError {
    LarchError(
      .invalidQuery,
      "The page token belongs to another order; use it with the query that it came from.")
  }

  override func close() {
    source.close()
    mode = .end
    numbers = []
    topRows = nil
    sorter = nil
  }

  override var mayRepeatValues: Bool { mayRepeat }
  override var entriesExamined: Int { source.entriesExamined }
  override var spilledBytes: Int { sorter?.spilledBytes ?? 0 }
}
