/// The pending changes of one index, or of the lists of an association, in one write transaction.
final class PendingIndex {
  private let database: LMDBDatabase
  private let isUnique: Bool
  @exclusivity(unchecked) private var entries = PendingEntries()
  /// Hashes of the keys that were added since the last flush, for unique indexes: another key
  /// cannot conflict with the pending entries.
  @exclusivity(unchecked) private var addedKeys = HashSet()
  /// The same for keys with removals, unless there are too many: the lists of all other keys can be
  /// read directly.
  @exclusivity(unchecked) private var removedKeys = HashSet()
  private static let removedKeyLimit = 1 << 16

  init(_ database: LMDBDatabase, isUnique: Bool) {
    self.database = database
    self.isUnique = isUnique
  }

  var isEmpty: Bool { entries.isEmpty }
  var byteCount: Int { entries.byteCount }
  var hasRemovals: Bool { entries.removals > 0 }

  func mayHaveAdded(_ key: UnsafeRawBufferPointer) -> Bool {
    !entries.isEmpty && addedKeys.contains(ByteHash.of(key))
  }

  /// Whether the pending entries may change the entries of a key.
  func mayChange(_ key: UnsafeRawBufferPointer) -> Bool {
    if entries.isEmpty { return false }
    if entries.count > entries.removals || removedKeys.count >= PendingIndex.removedKeyLimit {
      return true
    }
    return removedKeys.contains(ByteHash.of(key))
  }

  var mark: PendingEntries.Mark { entries.mark }

  func rewind(to mark: PendingEntries.Mark?) {
    // The sets of keys may have more than the pending entries.
    if let mark { entries.rewind(to: mark) } else { discard() }
  }

  func add(_ key: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
    if isUnique { addedKeys.insert(ByteHash.of(key)) }
    entries.append(key: key, id: id, isRemoval: false)
  }

  func remove(_ key: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
    if removedKeys.count < PendingIndex.removedKeyLimit { removedKeys.insert(ByteHash.of(key)) }
    entries.append(key: key, id: id, isRemoval: true)
  }

  func discard() {
    entries.removeAll()
    addedKeys.removeAll()
    removedKeys.removeAll()
  }

  /// Writes all pending entries, in key order.
  ///
  /// Removals come first, and pair by pair: deleting through a cursor destroys entries of a
  /// duplicate-sorted database.
  func flush(in transaction: LMDBTransaction) throws {
    if entries.isEmpty { return }
    entries.sort()
    if entries.removals > 0 {
      try entries.forEachLast(removals: true) { key, id in
        _ = try database.delete(key, value: id, in: transaction)
      }
    }
    if entries.count > entries.removals {
      try SortedFill(database: database, isOfRecords: false).add(entries, in: transaction)
    }
    discard()
  }
}

/// A set of 64-bit hashes with open addressing: one look-up costs one cache line.
struct HashSet: ~Copyable {
  private var slots: UnsafeMutablePointer<UInt64>
  private var mask: Int
  private(set) var count = 0
  var capacity: Int { mask + 1 }

  init() {
    mask = 63
    slots = .allocate(capacity: 64)
    slots.initialize(repeating: 0, count: 64)
  }

  deinit { slots.deallocate() }

  func contains(_ hash: UInt64) -> Bool {
    var slot = Int(truncatingIfNeeded: hash >> 8) & mask
    while slots[slot] != 0 {
      if slots[slot] == hash { return true }
      slot = (slot + 1) & mask
    }
    return false
  }

  mutating func insert(_ hash: UInt64) {
    if count * 2 > mask { grow() }
    var slot = Int(truncatingIfNeeded: hash >> 8) & mask
    while slots[slot] != 0 {
      if slots[slot] == hash { return }
      slot = (slot + 1) & mask
    }
    slots[slot] = hash
    count += 1
  }

  mutating func removeAll() {
    if count == 0 { return }
    // To clear what a bulk write needed would cost small writes more than all else that they do.
    if mask > 0xFFFF || mask > 63 && count < mask / 16 {
      slots.deallocate()
      mask = 63
      slots = .allocate(capacity: 64)
    }
    slots.initialize(repeating: 0, count: mask + 1)
    count = 0
  }

  private mutating func grow() {
    let old = slots
    let oldCount = mask + 1
    mask = oldCount * 2 - 1
    slots = .allocate(capacity: oldCount * 2)
    slots.initialize(repeating: 0, count: oldCount * 2)
    count = 0
    for position in 0..<oldCount where old[position] != 0 { insert(old[position]) }
    old.deallocate()
  }
}
