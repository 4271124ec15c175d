/// The pending changes of a search in one write transaction.
///
/// A change has the word and the id as its key, and the posting as its value: the posting that was added last is
/// that of the record.
final class PendingWords {
  private var index: IndexHandle
  private let idKind: RecordIDKind
  @exclusivity(unchecked) private var entries = PendingEntries()
  @exclusivity(unchecked) private var key = ByteBuffer(capacity: 256)

  init(_ index: IndexHandle, _ idKind: RecordIDKind) {
    self.index = index
    self.idKind = idKind
  }

  /// Whether the changes are those of this search: a tree may have the handle of an older one.
  func isOf(_ index: IndexHandle) -> Bool {
    if self.index === index { return true }
    guard self.index.stored.id == index.stored.id else { return false }
    // Its state may be another one than before.
    self.index = index
    return true
  }

  var isEmpty: Bool { entries.isEmpty }
  var byteCount: Int { entries.byteCount }
  var mark: PendingEntries.Mark { entries.mark }

  func rewind(to mark: PendingEntries.Mark?) {
    if let mark { entries.rewind(to: mark) } else { discard() }
  }

  func discard() { entries.removeAll() }

  /// Adds a change.
  ///
  /// - Returns: its size.
  func append(
    _ word: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, _ posting: UnsafeRawBufferPointer,
    isRemoval: Bool
  ) -> Int {
    key.removeAll()
    key.append(word)
    key.append(0)
    if idKind.width == 8 {
      SearchKey.append(SearchKey.number(ofID: id), base: idKind.searchBase, to: &key)
    } else {
      key.append(id)
    }
    entries.append(key: key.bytes, id: posting, isRemoval: isRemoval)
    return key.count + posting.count
  }

  /// Writes all changes, in the order of words and records.
  ///
  /// - Parameter limits: how many may wait in the tree; nil to merge all of them.
  func flush(in transaction: LMDBTransaction, _ limits: SearchLimits?) throws {
    if entries.isEmpty { return }
    entries.sort()
    // What is being built does not know yet which words its blocks have.
    let writer = SearchWriter(
      tree: try SearchTree(index, idKind, in: transaction),
      idKind: idKind, limits: index.isReady ? limits : nil)
    if idKind.width == 8 {
      try writer.write(entries)
    } else {
      try writeNumbered(writer, in: transaction)
    }
    discard()
  }

  /// The same for ids that are no integers: the records get numbers, and the changes are sorted by these.
  private func writeNumbered(_ writer: SearchWriter, in transaction: LMDBTransaction) throws {
    var numbers = try SearchNumbers(index.database, in: transaction)
    var numbered = PendingEntries()
    try entries.forEachKey { key, before, posting in
      // A word contains no zero.
      guard let end = key.firstZero else { throw SearchBytes.damaged }
      let id = UnsafeRawBufferPointer(rebasing: key[(end + 1)...])
      // The lengths come first, so what is removed with them is the record.
      let number =
        end == 0 && posting == nil ? try numbers.remove(id) : try numbers.number(of: id)
      self.key.removeAll()
      self.key.append(UnsafeRawBufferPointer(rebasing: key[..<end]))
      self.key.append(0)
      SearchKey.append(number, base: 0, to: &self.key)
      if let before { numbered.append(key: self.key.bytes, id: before, isRemoval: true) }
      if let posting { numbered.append(key: self.key.bytes, id: posting, isRemoval: false) }
    }
    numbered.sort()
    try writer.write(numbered)
    try numbers.write()
  }
}

extension RecordIDKind {
  /// The number of the id 0 in a search, where ids are integers: numbers near it are short.
  var searchBase: UInt64 { self == .assigned || self == .integer ? 1 << 63 : 0 }
}

/// The numbers of records whose ids are no integers. A number is never given twice.
struct SearchNumbers: ~Copyable {
  private let database: LMDBDatabase
  private let transaction: LMDBTransaction
  private var last: UInt64
  private var known: [[UInt8]: UInt64] = [:]
  private var added: [[UInt8]] = []
  private var removed: [[UInt8]] = []

  init(_ database: LMDBDatabase, in transaction: LMDBTransaction) throws {
    self.database = database
    self.transaction = transaction
    last = try SearchNumbers.last(database, in: transaction)
  }

  private static func last(
    _ database: LMDBDatabase, in transaction: LMDBTransaction
  ) throws -> UInt64 {
    try withUnsafeBytes(of: SearchKey.lastNumber) {
      guard let value = try database.get($0, in: transaction) else { return 0 }
      guard value.count == 8 else { throw SearchBytes.damaged }
      return SearchKey.number(ofID: value)
    }
  }

  /// The number of an id in the tree; nil if it has none.
  static func number(
    of id: UnsafeRawBufferPointer, in database: LMDBDatabase, _ transaction: LMDBTransaction
  ) throws -> UInt64? {
    var key = ByteBuffer(capacity: id.count + 1)
    key.append(SearchKey.ids)
    key.append(id)
    guard let value = try database.get(key.bytes, in: transaction) else { return nil }
    guard value.count == 8 else { throw SearchBytes.damaged }
    return SearchKey.number(ofID: value)
  }

  /// The number of a record, which is a new one if it has none.
  mutating func number(of id: UnsafeRawBufferPointer) throws -> UInt64 {
    let bytes = [UInt8](id)
    if let found = known[bytes] { return found }
    if let stored = try SearchNumbers.number(of: id, in: database, transaction) {
      known[bytes] = stored
      return stored
    }
    let (next, isTooGreat) = last.addingReportingOverflow(1)
    if isTooGreat { throw SearchBytes.damaged }
    last = next
    known[bytes] = last
    added.append(bytes)
    return last
  }

  /// The number of a record that is deleted.
  mutating func remove(_ id: UnsafeRawBufferPointer) throws -> UInt64 {
    let number = try number(of: id)
    removed.append([UInt8](id))
    return number
  }

  /// Writes what has changed.
  mutating func write() throws {
    var key = ByteBuffer(capacity: 512)
    var value = ByteBuffer(capacity: 8)
    let gone = Set(removed)
    for id in added where !gone.contains(id) {
      try change(id, &key, &value, isRemoval: false)
    }
    for id in removed { try change(id, &key, &value, isRemoval: true) }
    if added.isEmpty { return }
    value.removeAll()
    value.append(bigEndian: last)
    _ = try withUnsafeBytes(of: SearchKey.lastNumber) {
      try database.put($0, value.bytes, in: transaction)
    }
  }

  private func change(
    _ id: [UInt8], _ key: inout ByteBuffer, _ value: inout ByteBuffer, isRemoval: Bool
  ) throws {
    guard let number = known[id] else { return }
    try id.withUnsafeBytes { id in
      key.removeAll()
      key.append(SearchKey.ids)
      key.append(id)
      value.removeAll()
      value.append(bigEndian: number)
      if isRemoval {
        try database.delete(key.bytes, in: transaction)
      } else {
        try database.put(key.bytes, value.bytes, in: transaction)
      }
      key.removeAll()
      key.append(SearchKey.numbers)
      key.append(bigEndian: number)
      if isRemoval {
        try database.delete(key.bytes, in: transaction)
      } else {
        try database.put(key.bytes, id, in: transaction)
      }
    }
  }
}
