/// The records of a collection in the order of their ids.
final class RecordRows: RowSource {
  private let scanner: RecordScanner
  private let reader: RowReader
  let isFiltering: Bool
  /// The rows so far that their ids refused. They count for the limit, but no record was read.
  @exclusivity(unchecked) private var refusedByID = 0

  init(_ ranges: [KeyRange], descends: Bool, _ reader: RowReader) throws {
    self.reader = reader
    isFiltering = reader.isFiltering
    scanner = try RecordScanner(
      ranges, of: reader.collection, descends: descends, in: reader.context)
  }

  override func next() throws -> Bool {
    if isFiltering { return try nextFiltered() }
    guard let entry = try scanner.next() else { return false }
    record = nil
    stored = entry.value
    id = entry.key
    return true
  }

  /// A scan refuses most records, and verifying one costs more than testing it: so only records are
  /// verified whose bytes pass.
  private func nextFiltered() throws -> Bool {
    if reader.hasIDFilter { return try nextByID() }
    guard let residue = reader.residue else { return false }
    var refused = 0
    let most = reader.mostRecords &- reader.recordsExamined
    defer { reader.add(recordsExamined: refused) }
    while let entry = try scanner.next() {
      if residue.refuses(RecordEnvelope.unverified(entry.value), id: entry.key) {
        refused &+= 1
        if refused > most { throw CostLimitReached() }
        continue
      }
      if try opens(entry.value, entry.key) { return true }
      if reader.recordsExamined > reader.mostRecords { throw CostLimitReached() }
    }
    return false
  }

  /// Verifies the record of a row that was not refused, and tests it. Not a part of the loop, which
  /// needs the registers.
  @inline(never)
  private func opens(
    _ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
  ) throws -> Bool {
    let opened = try reader.open(value, key)
    guard try reader.matches(opened, key) else { return false }
    (record, id) = (opened, key)
    return true
  }

  /// The next row, where ids are tested first: a row that its id decides costs only the step to it.
  private func nextByID() throws -> Bool {
    while let entry = try scanner.next() {
      var record: UnsafeRawBufferPointer?
      var outcome = try reader.test(entry.key)
      if outcome == .unknown {
        let opened = try reader.open(entry.value, entry.key)
        outcome = ValueTest.Outcome(try reader.matches(opened, entry.key))
        record = opened
      }
      if outcome == .no {
        if record == nil { refusedByID &+= 1 }
        if refusedByID &+ reader.recordsExamined > reader.mostRecords { throw CostLimitReached() }
        continue
      }
      self.record = record
      stored = entry.value
      id = entry.key
      return true
    }
    return false
  }

  /// The next row whose unverified bytes pass: a refused one costs only the step to it. Used only
  /// if there is no condition on the rows.
  ///
  /// - Returns: false after the last row.
  @inline(__always)
  func next(unless isRefused: (UnsafeRawBufferPointer) -> Bool) throws -> Bool {
    var refused = 0
    while let entry = try scanner.next() {
      if isRefused(RecordEnvelope.unverified(entry.value)) {
        refused &+= 1
        continue
      }
      record = nil
      stored = entry.value
      id = entry.key
      reader.add(recordsExamined: refused)
      return true
    }
    reader.add(recordsExamined: refused)
    return false
  }

  override func close() { scanner.close() }
}

/// Records with known ids, in the order of the ids.
final class IDRows: RowSource {
  private let reader: RowReader
  private let descends: Bool
  @exclusivity(unchecked) private var list: IDList
  @exclusivity(unchecked) private var place: Int
  private let examined: Int

  /// - Parameter after: the id after which rows begin.
  init(
    _ list: consuming IDList, descends: Bool, after: [UInt8]?, entriesExamined: Int,
    _ reader: RowReader
  ) {
    self.reader = reader
    self.descends = descends
    examined = entriesExamined
    var start = descends ? list.count : 0
    if let after {
      after.withUnsafeBytes { after in
        start = list.place(atOrAfter: after, from: 0)
        if !descends, start < list.count, compareBytes(after, list[start]) == 0 { start += 1 }
      }
    }
    place = start
    self.list = list
  }

  override func next() throws -> Bool {
    while descends ? place > 0 : place < list.count {
      if descends { place -= 1 }
      id = list[place]
      if !descends { place += 1 }
      if try passesResidue(reader) { return true }
    }
    return false
  }

  /// Copies the ids of the next rows one after the other, if ids have eight or sixteen bytes. Used only if
  /// there is no condition on the rows.
  ///
  /// - Returns: their number, at most `most`.
  func take(_ most: Int, into target: UnsafeMutableRawPointer) -> Int {
    let count = min(most, descends ? place : list.count - place)
    if count <= 0 { return 0 }
    list.copy(count, from: descends ? place - 1 : place, descends: descends, to: target)
    place += descends ? -count : count
    return count
  }

  override func close() { place = descends ? 0 : list.count }

  override var entriesExamined: Int { examined }
}
