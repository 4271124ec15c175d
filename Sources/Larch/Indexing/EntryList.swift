/// The index entries of one record: keys in the order of indexes, and of bytes within an index.
///
/// The difference of two lists, old and new, is what a save has to change. The transaction keeps
/// and reuses them, so that a save allocates nothing.
package struct EntryList: ~Copyable {
  struct Item {
    var index: Int
    var offset: Int
    var length: Int
    /// Whether the key has only the beginning of a long value.
    var isCut: Bool
    /// Whether a component is nil or NaN: such a key never conflicts with another.
    var hasNil: Bool
  }

  private var keys = ByteBuffer(capacity: 1024)
  private var entries: [Item] = []
  /// Whether the entries have their order, and none is there twice.
  private var isSorted = true

  init() { entries.reserveCapacity(16) }

  var items: [Item] {
    assert(isSorted)
    return entries
  }

  mutating func removeAll() {
    keys.removeAll()
    entries.removeAll(keepingCapacity: true)
    isSorted = true
  }

  func key(_ item: Item) -> UnsafeRawBufferPointer {
    keys.bytes(at: item.offset, count: item.length)
  }

  /// Adds a key; `sort` must follow the last one.
  mutating func insert(
    index: Int, key: UnsafeRawBufferPointer, isCut: Bool, hasNil: Bool
  ) {
    if let last = entries.last {
      let order = self.order(of: last, index, key)
      if order == 0 { return }
      if order > 0 { isSorted = false }
    }
    entries.append(
      Item(index: index, offset: keys.count, length: key.count, isCut: isCut, hasNil: hasNil))
    keys.append(key)
  }

  /// Puts keys that were added out of order in their places.
  mutating func sort() {
    if isSorted { return }
    isSorted = true
    var sorted: [Item] = []
    swap(&sorted, &entries)
    sorted.sort { order(of: $0, $1.index, key($1)) < 0 }
    for item in sorted {
      if let last = entries.last, order(of: last, item.index, key(item)) == 0 { continue }
      entries.append(item)
    }
  }

  func contains(index: Int, key: UnsafeRawBufferPointer) -> Bool {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let order = self.order(of: entries[middle], index, key)
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }

  /// Below 0 if the entry comes before that of the key.
  @inline(__always)
  private func order(of item: Item, _ index: Int, _ key: UnsafeRawBufferPointer) -> Int {
    item.index == index ? compareBytes(self.key(item), key) : item.index - index
  }

  /// Visits the entries of `old` missing in `new`, and those of `new` missing in `old`.
  static func difference(
    old: borrowing EntryList, new: borrowing EntryList,
    removed: (Item) throws -> Void, added: (Item) throws -> Void
  ) rethrows {
    var left = 0
    var right = 0
    while left < old.entries.count || right < new.entries.count {
      if left == old.entries.count {
        try added(new.entries[right])
        right += 1
        continue
      }
      if right == new.entries.count {
        try removed(old.entries[left])
        left += 1
        continue
      }
      let a = old.entries[left]
      let b = new.entries[right]
      if a.index == b.index {
        let keyA = old.key(a)
        let keyB = new.key(b)
        if keyA.equals(keyB) {
          left += 1
          right += 1
        } else if keyA.precedes(keyB) {
          try removed(a)
          left += 1
        } else {
          try added(b)
          right += 1
        }
      } else if a.index < b.index {
        try removed(a)
        left += 1
      } else {
        try added(b)
        right += 1
      }
    }
  }
}
