internal import CLMDB

/// The records of a log that are to be applied to the state of its checkpoint.
struct LogReplay {
  /// A record, with its place in `bytes`.
  struct Record {
    let transaction: UInt64
    /// The lower half of the number of the header that counted then.
    let header: UInt32
    let range: Range<Int>
    let isSecond: Bool
  }

  private let halves: [[UInt8]]
  let records: [Record]

  /// Reads the records after the checkpoint of a header, up to the first that is not whole: its commit
  /// was never acknowledged.
  init(_ file: CommitLogFile, _ header: CommitLogHeader) throws(LMDBError) {
    var halves: [[UInt8]] = []
    var found: [[Record]] = []
    for number in 0..<2 {
      let epoch = header.epoch &+ UInt64(number)
      let bytes = try file.read(header.halfSize, at: header.half(of: epoch))
      found.append(
        Self.records(
          bytes, LogChecksum(salt: header.salt, epoch: epoch).value, isSecond: number == 1))
      halves.append(bytes)
    }
    self.halves = halves
    // The last record of the first epoch may be that of a commit that never came: then the next epoch
    // begins with the same number.
    var first = found[0]
    if let next = found[1].first { first.removeAll { $0.transaction >= next.transaction } }
    var records: [Record] = []
    for record in first + found[1] {
      guard record.transaction == (records.last?.transaction ?? header.checkpoint) &+ 1 else {
        break
      }
      records.append(record)
    }
    self.records = records
  }

  private static func records(_ bytes: [UInt8], _ seed: UInt64, isSecond: Bool) -> [Record] {
    var records: [Record] = []
    bytes.withUnsafeBytes { bytes in
      var (place, seed) = (0, seed)
      while place + CommitLogFormat.recordHeaderSize <= bytes.count {
        let length = Int(
          UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt32.self)))
        guard length >= CommitLogFormat.recordHeaderSize, length <= bytes.count - place else {
          return
        }
        var sum = LogChecksum(seed: seed)
        sum.add(UnsafeRawBufferPointer(rebasing: bytes[place + 8..<place + length]))
        let stored = UInt64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        guard stored == sum.value else { return }
        let number = UInt64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: place + 16, as: UInt64.self))
        if let last = records.last, number != last.transaction &+ 1 { return }
        let header = UInt32(
          littleEndian: bytes.loadUnaligned(
            fromByteOffset: place + CommitLogFormat.headerNumberPlace, as: UInt32.self))
        records.append(
          Record(
            transaction: number, header: header, range: place..<place + length, isSecond: isSecond))
        seed = sum.value
        place += length
      }
    }
    return records
  }

  /// Whether a record was written with a newer header than this one.
  func isBeyond(_ header: CommitLogHeader) -> Bool {
    records.contains {
      Int32(bitPattern: $0.header &- UInt32(truncatingIfNeeded: header.number)) > 0
    }
  }

  /// The number of trees that the records name, of which each needs a handle.
  func treeCount(path: String) throws -> Int {
    var names: Set<String> = []
    for record in records {
      try halves[record.isSecond ? 1 : 0].withUnsafeBytes { bytes in
        let reader = try RecordReader(
          bytes: UnsafeRawBufferPointer(rebasing: bytes[record.range]), path: path)
        names.formUnion(reader.trees.map(\.name))
      }
    }
    return names.count
  }

  /// Applies all records in one transaction.
  func apply(in transaction: LMDBTransaction, path: String) throws {
    var opened: [String: LMDBDatabase] = [:]
    for record in records {
      try halves[record.isSecond ? 1 : 0].withUnsafeBytes { bytes in
        let reader = try RecordReader(
          bytes: UnsafeRawBufferPointer(rebasing: bytes[record.range]), path: path)
        try reader.apply(in: transaction, &opened)
      }
    }
  }
}

/// Reads one record. Its checksum is right, but the file may have been made on purpose.
private struct RecordReader {
  private let record: ChangeRecord
  private let path: String

  init(bytes: UnsafeRawBufferPointer, path: String) throws {
    func number<T: FixedWidthInteger>(_ place: Int, _: T.Type) -> Int {
      Int(T(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: T.self)))
    }
    self.path = path
    do {
      record = try ChangeRecord(
        bytes, at: CommitLogFormat.recordHeaderSize, trees: number(12, UInt16.self),
        operations: number(24, UInt32.self))
    } catch { throw Self.damaged(path) }
  }

  private static func damaged(_ path: String) -> LarchError {
    LarchError(
      .corrupted, "The log of the store is damaged; restore a backup, or salvage the store."
    ) { $0.path = path }
  }

  /// The trees that the record names.
  var trees: [LogTree] { record.trees }

  func apply(in transaction: LMDBTransaction, _ opened: inout [String: LMDBDatabase]) throws {
    do {
      try record.apply(in: transaction, &opened)
    } catch is ChangeRecord.Malformed {
      throw Self.damaged(path)
    }
  }
}
