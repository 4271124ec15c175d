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
  private(set) var items: [Item] = []

  init() { items.reserveCapacity(16) }

  mutating func removeAll() {
    keys.removeAll()
    items.removeAll(keepingCapacity: true)
  }

  func key(_ item: Item) -> UnsafeRawBufferPointer {
    keys.bytes(at: item.offset, count: item.length)
  }

  /// Adds a key, and keeps the keys of the index sorted and without duplicates.
  mutating func insert(
    index: Int, key: UnsafeRawBufferPointer, isCut: Bool, hasNil: Bool
  ) {
    var position = items.count
    while position > 0 {
      let before = items[position - 1]
      if before.index < index { break }
      if before.index == index {
        let other = self.key(before)
        if other.equals(key) { return }
        if other.precedes(key) { break }
      }
      position -= 1
    }
    let item = Item(
      index: index, offset: keys.count, length: key.count, isCut: isCut, hasNil: hasNil)
    keys.append(key)
    if position == items.count { items.append(item) } else { items.insert(item, at: position) }
  }

  func contains(index: Int, key: UnsafeRawBufferPointer) -> Bool {
    items.contains { $0.index == index && self.key($0).equals(key) }
  }

  /// Visits the entries of `old` missing in `new`, and those of `new` missing in `old`.
  static func difference(
    old: borrowing EntryList, new: borrowing EntryList,
    removed: (Item) throws -> Void, added: (Item) throws -> Void
  ) rethrows {
    var left = 0
    var right = 0
    while left < old.items.count || right < new.items.count {
      if left == old.items.count {
        try added(new.items[right])
        right += 1
        continue
      }
      if right == new.items.count {
        try removed(old.items[left])
        left += 1
        continue
      }
      let a = old.items[left]
      let b = new.items[right]
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
