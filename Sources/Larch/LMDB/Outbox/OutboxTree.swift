internal import CLMDB

/// The tree of the outbox in the file: the header, and the entries in parts.
///
/// The changes of an entry are cut into parts, since a long value needs as many pages in a row.
struct OutboxTree {
  static let name = "larch.outbox"

  /// Position and part, with the highest byte first. The header is where no entry can be.
  static let keySize = 12
  /// As much as sixteen pages of 4 KiB hold behind their header.
  static let partSize = 65_520
  /// Before the changes in the first part: the token of the entry, the token before it, and how many
  /// bytes of changes all parts have.
  static let headSize = 2 * LogToken.size + 8
  /// An entry with more changes is not made, and not read.
  static let entryLimit = 256 << 20

  let database: LMDBDatabase
  let path: String

  /// The tree of a snapshot, of which the handle is opened; nil if there is none.
  static func open(
    in transaction: LMDBTransaction, path: String, creates: Bool = false
  ) throws -> OutboxTree? {
    guard try creates || LMDBDatabase.exists(name, in: transaction),
      let database = try LMDBDatabase.open(name, creates ? .create : [], in: transaction)
    else { return nil }
    return OutboxTree(database: database, path: path)
  }

  // MARK: Header

  /// Nil if the tree is empty, as it stays when a mirror is ended.
  func header(in transaction: LMDBTransaction) throws -> OutboxHeader? {
    let transaction = LMDBTransaction(pointer: transaction.pointer)
    let stored = try Self.withKey(0, 0) { key throws(LMDBError) in
      try database.get(key, in: transaction)
    }
    return try header(
      stored, isEmpty: try stored == nil && database.statistics(in: transaction).entries == 0)
  }

  /// The header in the map: a read needs no handle for that, which it knows only if it began later.
  static func mappedHeader(
    in transaction: LMDBTransaction, path: String
  ) throws -> OutboxHeader? {
    guard
      let record = try Self.with(
        Array(name.utf8),
        { key throws(LMDBError) in
          try LMDBDatabase.unnamed.get(key, in: transaction)
        })
    else { return nil }
    var stored: UnsafeRawBufferPointer?
    guard let mapped = MappedTree(record, in: transaction) else { throw OutboxHandleMissing() }
    // A tree without entries has no page in which to search.
    if mapped.tree.entries == 0 { return nil }
    guard withKey(0, 0, { mapped.find($0, &stored) }) else { throw OutboxHandleMissing() }
    return try OutboxTree(database: .unnamed, path: path).header(stored, isEmpty: false)
  }

  private func header(
    _ stored: UnsafeRawBufferPointer?, isEmpty: Bool
  ) throws -> OutboxHeader? {
    guard let stored else {
      if isEmpty { return nil }
      throw damage("no header")
    }
    if let header = OutboxHeader(stored) { return header }
    if let version = OutboxHeader.version(of: stored), version > OutboxHeader.version {
      throw LarchError(
        .newerFormat,
        "The store is mirrored by a newer version of Larch; update Larch to open it."
      ) {
        $0.path = path
        $0.detail = "outbox \(version)"
      }
    }
    throw damage("header")
  }

  func set(_ header: OutboxHeader, by write: OutboxWrite) throws(LMDBError) {
    try Self.withKey(0, 0) { key throws(LMDBError) in
      try Self.with(header.encoded) { value throws(LMDBError) in
        try write.put(key, value, into: database, mode: .upsert)
      }
    }
  }

  // MARK: Entries

  /// Puts an entry behind all others.
  func add(_ entry: LogEntry, by write: OutboxWrite) throws(LMDBError) {
    var head = entry.place.token.bytes + entry.before.bytes
    withUnsafeBytes(of: UInt64(entry.changes.count).littleEndian) { head += $0 }
    var (part, place) = (UInt32(0), 0)
    repeat {
      let count = min(Self.partSize - head.count, entry.changes.count - place)
      var value = head
      value += entry.changes[place..<place + count]
      try Self.withKey(entry.place.position, part) { key throws(LMDBError) in
        try Self.with(value) { value throws(LMDBError) in
          try write.put(key, value, into: database, mode: .append)
        }
      }
      head = []
      place += count
      part += 1
    } while place < entry.changes.count
  }

  /// Calls with the entries after a position, until the closure returns false. Each was checked: it is
  /// whole, and follows the one before.
  func forEach(
    after position: UInt64, in transaction: LMDBTransaction,
    _ body: (LogEntry) throws -> Bool
  ) throws {
    var cursor = try LMDBCursor(database, in: transaction)
    let (next, overflow) = position.addingReportingOverflow(1)
    if overflow { return }
    var pair = try Self.withKey(next, 0) { key throws(LMDBError) in
      try cursor.seek(atOrAfter: key)
    }
    var before: LogPlace?
    while let first = pair {
      let entry = try entry(first, &cursor)
      if let before,
        entry.before != before.token || entry.place.position != before.position &+ 1
      {
        throw damage("entry \(entry.place.position) does not follow")
      }
      before = entry.place
      guard try body(entry) else { return }
      pair = try cursor.next()
    }
  }

  /// Reads an entry of which the cursor is at the first part.
  private func entry(_ first: LMDBEntry, _ cursor: inout LMDBCursor) throws -> LogEntry {
    guard let (position, part) = Self.key(first.key), part == 0, first.value.count >= Self.headSize
    else { throw damage("an entry without its first part") }
    let head = first.value
    func storedToken(at place: Int) -> LogToken? {
      LogToken(UnsafeRawBufferPointer(rebasing: head[place..<place + LogToken.size]))
    }
    let count = UInt64(
      littleEndian: head.loadUnaligned(fromByteOffset: 2 * LogToken.size, as: UInt64.self))
    guard let token = storedToken(at: 0), let before = storedToken(at: LogToken.size),
      count <= Self.entryLimit
    else { throw damage("entry \(position)") }
    var changes: [UInt8] = []
    // Damage may say any number.
    changes.reserveCapacity(min(Int(count), 1 << 20))
    changes += head.dropFirst(Self.headSize)
    var next: UInt32 = 1
    while changes.count < count {
      guard let pair = try cursor.next(), let here = Self.key(pair.key),
        here.position == position, here.part == next, !pair.value.isEmpty
      else { throw damage("entry \(position) ends early") }
      changes += pair.value
      next += 1
    }
    let entry = LogEntry(
      place: LogPlace(position: position, token: token), before: before, changes: changes)
    guard changes.count == count, entry.isWhole else { throw damage("entry \(position)") }
    return entry
  }

  /// The token of the commit at a position; nil if there is no entry for it.
  func token(
    at position: UInt64, _ header: OutboxHeader, in transaction: LMDBTransaction
  ) throws(LMDBError) -> LogToken? {
    if position == header.place.position { return header.place.token }
    let transaction = LMDBTransaction(pointer: transaction.pointer)
    return try Self.withKey(position, 0) { key throws(LMDBError) in
      guard let value = try database.get(key, in: transaction), value.count >= LogToken.size
      else { return nil }
      return LogToken(UnsafeRawBufferPointer(rebasing: value[..<LogToken.size]))
    }
  }

  /// Removes the entries up to a position.
  ///
  /// - Returns: how many bytes of changes they had.
  func remove(
    through position: UInt64, in transaction: LMDBTransaction, by write: OutboxWrite
  ) throws -> UInt64 {
    var removed: UInt64 = 0
    while true {
      // LMDB's cursors cannot delete safely, so keys are collected, and not too many at once.
      var keys: [[UInt8]] = []
      do {
        var cursor = try LMDBCursor(database, in: transaction)
        var pair = try Self.withKey(1, 0) { key throws(LMDBError) in
          try cursor.seek(atOrAfter: key)
        }
        while let here = pair, keys.count < 4096 {
          guard let (at, part) = Self.key(here.key), at <= position else { break }
          removed += UInt64(max(0, here.value.count - (part == 0 ? Self.headSize : 0)))
          keys.append([UInt8](here.key))
          pair = try cursor.next()
        }
      }
      if keys.isEmpty { return removed }
      for key in keys {
        try Self.with(key) { key throws(LMDBError) in try write.delete(key, from: database) }
      }
    }
  }

  /// The position and part of a key; nil if it is none.
  static func key(_ bytes: UnsafeRawBufferPointer) -> (position: UInt64, part: UInt32)? {
    guard bytes.count == keySize else { return nil }
    return (
      UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    )
  }

  /// Whether a pair can be one of the tree, without the pairs beside it: the header, or a part of an entry.
  static func isPossible(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    guard let (position, part) = Self.key(key) else { return false }
    if position == 0 { return part == 0 && OutboxHeader(value) != nil }
    return part > 0 || value.count >= headSize
  }

  private static func withKey<T, E: Error>(
    _ position: UInt64, _ part: UInt32, _ body: (UnsafeRawBufferPointer) throws(E) -> T
  ) throws(E) -> T {
    var key: [UInt8] = []
    withUnsafeBytes(of: position.bigEndian) { key += $0 }
    withUnsafeBytes(of: part.bigEndian) { key += $0 }
    return try with(key, body)
  }

  /// `withUnsafeBytes`, with a typed error.
  private static func with<T, E: Error>(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(E) -> T
  ) throws(E) -> T {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(E) -> T in try body(bytes) }
    }
    return try result.get()
  }

  /// Removes everything, the header too.
  func empty(by write: OutboxWrite) throws(LMDBError) { try write.empty(database) }

  func damage(_ detail: String) -> LarchError {
    LarchError(
      .corrupted,
      "What the store keeps for its mirror is damaged; mirror it again from the start."
    ) {
      $0.path = path
      $0.detail = detail
    }
  }
}

/// The outbox must be opened first, in a transaction of its own: a handle ends with a write that is
/// undone, and reads that began before do not know it.
struct OutboxHandleMissing: Error {}

/// Writes to the tree of the outbox. Those who observe the store do not hear of it, but the commit log
/// does.
final class OutboxWrite {
  private let transaction: LMDBTransaction
  private let recorder: WriteRecorder?
  private(set) var hasWritten = false

  /// - Parameter recorder: that of the commit log, if there is one.
  init(_ transaction: LMDBTransaction, recorder: WriteRecorder?) {
    self.transaction = LMDBTransaction(pointer: transaction.pointer)
    self.recorder = recorder
  }

  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, into database: LMDBDatabase,
    mode: LMDBDatabase.PutMode
  ) throws(LMDBError) {
    hasWritten = true
    recorder?.willPut(database.handle, key, value)
    guard try database.put(key, value, in: transaction, mode: mode) else {
      // There is a key after the newest entry, where none can be.
      throw LMDBError(MDB_CORRUPTED, "mdb_put")
    }
  }

  func delete(_ key: UnsafeRawBufferPointer, from database: LMDBDatabase) throws(LMDBError) {
    hasWritten = true
    recorder?.willDelete(database.handle, key, value: nil)
    if try !database.delete(key, in: transaction) { recorder?.didNotChange() }
  }

  func empty(_ database: LMDBDatabase) throws(LMDBError) {
    hasWritten = true
    recorder?.willEmpty(database.handle, drops: false)
    try database.empty(in: transaction)
  }
}
