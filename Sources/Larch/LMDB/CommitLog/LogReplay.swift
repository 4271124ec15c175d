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
        var reader = RecordReader(
          bytes: UnsafeRawBufferPointer(rebasing: bytes[record.range]), path: path)
        names.formUnion(try reader.trees().map(\.name))
      }
    }
    return names.count
  }

  /// Applies all records in one transaction.
  func apply(in transaction: LMDBTransaction, path: String) throws {
    var opened: [String: LMDBDatabase] = [:]
    for record in records {
      try halves[record.isSecond ? 1 : 0].withUnsafeBytes { bytes in
        var reader = RecordReader(
          bytes: UnsafeRawBufferPointer(rebasing: bytes[record.range]), path: path)
        try reader.apply(in: transaction, &opened)
      }
    }
  }
}

/// Reads one record. Its checksum is right, but the file may have been made on purpose.
private struct RecordReader {
  let bytes: UnsafeRawBufferPointer
  let path: String
  private var place = 0

  init(bytes: UnsafeRawBufferPointer, path: String) {
    self.bytes = bytes
    self.path = path
  }

  private var damaged: LarchError {
    LarchError(
      .corrupted, "The log of the store is damaged; restore a backup, or salvage the store."
    ) { $0.path = path }
  }

  private mutating func take(_ count: Int) throws -> UnsafeRawBufferPointer {
    guard count <= bytes.count - place else { throw damaged }
    defer { place += count }
    return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
  }

  private mutating func number<T: FixedWidthInteger>(_: T.Type) throws -> Int {
    let word = try take(MemoryLayout<T>.size)
    return Int(T(littleEndian: word.loadUnaligned(as: T.self)))
  }

  /// The trees that the record names. Its operations follow.
  mutating func trees() throws -> [(name: String, flags: LMDBDatabase.Flags)] {
    place = 12
    let treeCount = try number(UInt16.self)
    place = CommitLogFormat.recordHeaderSize
    var trees: [(name: String, flags: LMDBDatabase.Flags)] = []
    for _ in 0..<treeCount {
      let flags = LMDBDatabase.Flags(rawValue: UInt32(try number(UInt32.self)))
      let name = try take(try number(UInt16.self))
      guard let name = String(validating: name, as: UTF8.self),
        flags.isSubset(of: [.duplicates, .fixedDuplicates])
      else { throw damaged }
      trees.append((name, flags))
    }
    return trees
  }

  mutating func apply(
    in transaction: LMDBTransaction, _ opened: inout [String: LMDBDatabase]
  ) throws {
    place = 24
    let operations = try number(UInt32.self)
    let trees = try trees()
    for _ in 0..<operations {
      guard let operation = LoggedOperation(rawValue: UInt8(try number(UInt8.self))) else {
        throw damaged
      }
      let tree = try number(UInt16.self)
      let keySize = try number(UInt16.self)
      let valueSize = try number(UInt32.self)
      let key = try take(keySize)
      let value = try take(valueSize)
      guard tree < trees.count else { throw damaged }
      let (name, flags) = trees[tree]
      let database: LMDBDatabase
      if let known = opened[name] {
        database = known
      } else {
        guard
          let found = try LMDBDatabase.open(name, flags.union(.create), in: transaction)
        else { throw damaged }
        database = found
        opened[name] = found
      }
      switch operation {
      case .put: try database.put(key, value, in: transaction)
      case .deleteKey: try database.delete(key, in: transaction)
      case .deletePair: try database.delete(key, value: value, in: transaction)
      case .empty: try database.empty(in: transaction)
      case .drop:
        try database.drop(in: transaction)
        opened[name] = nil
      case .create: break
      }
    }
    guard place == bytes.count else { throw damaged }
  }
}
