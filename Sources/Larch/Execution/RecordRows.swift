/// The records of a collection in the order of their ids.
final class RecordRows: RowSource {
  private let scanner: RecordScanner
  private let reader: RowReader
  private let isFiltering: Bool

  init(_ ranges: [KeyRange], descends: Bool, _ reader: RowReader) throws {
    self.reader = reader
    isFiltering = reader.isFiltering
    scanner = try RecordScanner(
      ranges, of: reader.collection, descends: descends, in: reader.context.transaction())
  }

  override func next() throws -> Bool {
    while let entry = try scanner.next() {
      if isFiltering {
        guard let record = try reader.admit(entry.value, entry.key) else { continue }
        self.record = record
      } else {
        record = nil
        stored = entry.value
      }
      id = entry.key
      return true
    }
    return false
  }

  override func close() { scanner.close() }
}

/// Records whose ids are known, in the order of the ids.
final class IDRows: RowSource {
  private let reader: RowReader
  private let descends: Bool
  @exclusivity(unchecked) private var list: IDList
  @exclusivity(unchecked) private var place: Int
  private let examined: Int

  /// - Parameter after: the id behind which rows begin.
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
      record = nil
      if reader.isFiltering {
        let record = try reader.read(id)
        guard try reader.matches(record, id) else { continue }
        self.record = record
      }
      return true
    }
    return false
  }

  override func close() { place = descends ? 0 : list.count }

  override var entriesExamined: Int { examined }
}
