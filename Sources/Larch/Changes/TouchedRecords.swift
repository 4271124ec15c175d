/// The records of one tree that a transaction has written to, with their values before.
///
/// A bulk write comes here for each record, so all bytes lie one after the other in one array. Often the
/// ids come in order: then the last one tells that an id is new. Otherwise an open table of hashes
/// finds it.
struct TouchedRecords {
  private struct Entry {
    /// The first bytes of the id, which decide nearly every comparison.
    let head: UInt64
    let start: Int
    let idCount: Int32
    /// Negative for an id without a record.
    let valueCount: Int32
  }

  private var data: [UInt8] = []
  private var entries: [Entry] = []
  /// Whether the ids have come in ascending order.
  private var isSorted = true
  /// Places in `entries`, and -1 where nothing is. At least half of them are free. Not in use while the
  /// ids come in order.
  private var slots: [Int32] = []

  var count: Int { entries.count }
  var bytes: Int { data.count }

  // MARK: Finding

  /// Whether an id comes after the last one.
  @inline(__always)
  private func isLast(_ id: UnsafeRawBufferPointer, _ head: UInt64) -> Bool {
    guard let last = entries.last else { return true }
    return last.head != head ? last.head < head : withID(of: last) { $0.precedes(id) }
  }

  @inline(__always)
  private func withID<T>(of entry: Entry, _ body: (UnsafeRawBufferPointer) -> T) -> T {
    data.withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[entry.start..<entry.start + Int(entry.idCount)]))
    }
  }

  /// Whether an id is there, while they are in order.
  private func isThere(_ id: UnsafeRawBufferPointer) -> Bool {
    let place = entries.placeAfter { entry in withID(of: entry) { $0.precedes(id) } }
    return place < entries.count && withID(of: entries[place]) { $0.equals(id) }
  }

  /// The slot of an id: where it is, or where it belongs.
  private func slot(of id: UnsafeRawBufferPointer, _ head: UInt64) -> Int {
    var slot = firstSlot(of: id)
    while slots[slot] >= 0 {
      let entry = entries[Int(slots[slot])]
      if entry.head == head, withID(of: entry, { $0.equals(id) }) { break }
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  private func firstSlot(of id: UnsafeRawBufferPointer) -> Int {
    Int(truncatingIfNeeded: ByteHash.of(id) >> 8) & (slots.count - 1)
  }

  private mutating func grow() {
    slots = [Int32](repeating: -1, count: max(8, slots.count))
    while 2 * entries.count >= slots.count { slots += slots }
    for (place, entry) in entries.enumerated() {
      var slot = withID(of: entry) { firstSlot(of: $0) }
      while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = Int32(place)
    }
  }

  // MARK: Keeping

  /// Keeps the value of an id, unless one is kept already.
  ///
  /// - Parameter value: nil for an id without a record.
  mutating func add<E: Error>(
    _ id: UnsafeRawBufferPointer, value: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) {
    let head = ByteHead.first(of: id)
    if isSorted {
      if isLast(id, head) { return append(id, head, try value()) }
      if isThere(id) { return }
      isSorted = false
    }
    if 2 * entries.count >= slots.count { grow() }
    let slot = slot(of: id, head)
    guard slots[slot] < 0 else { return }
    let value = try value()
    slots[slot] = Int32(entries.count)
    append(id, head, value)
  }

  private mutating func append(
    _ id: UnsafeRawBufferPointer, _ head: UInt64, _ value: UnsafeRawBufferPointer?
  ) {
    entries.append(
      Entry(
        head: head, start: data.count, idCount: Int32(id.count),
        valueCount: Int32(value?.count ?? -1)))
    data.append(contentsOf: id)
    if let value { data.append(contentsOf: value) }
  }

  // MARK: Using

  /// The changes from the values before to those after, in the order of ids, without values that are the
  /// same.
  ///
  /// - Parameter after: the value that an id has now.
  func changes(
    after: (_ id: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer?
  ) rethrows -> RecordChanges {
    var changed: [RecordChanges.Entry] = []
    changed.reserveCapacity(entries.count)
    var values: [UInt8] = []
    try forEachEntry { entry, id, before in
      let now = try after(id)
      if let before, let now {
        if before.equals(now) { return }
      } else if before == nil, now == nil {
        return
      }
      changed.append(
        RecordChanges.Entry(
          start: entry.start, idCount: entry.idCount, beforeCount: entry.valueCount,
          afterStart: values.count, afterCount: Int32(now?.count ?? -1)))
      if let now { values.append(contentsOf: now) }
    }
    return RecordChanges(before: data, after: values, entries: changed)
  }

  /// Calls with each id and its value before, in the order of ids.
  func forEach(
    _ body: (_ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?) throws -> Void
  ) rethrows {
    try forEachEntry { try body($1, $2) }
  }

  private func forEachEntry(
    _ body: (Entry, _ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?) throws -> Void
  ) rethrows {
    try data.withUnsafeBytes { data in
      func id(_ entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: data[entry.start..<entry.start + Int(entry.idCount)])
      }
      let ordered =
        isSorted
        ? entries
        : entries.sorted { $0.head != $1.head ? $0.head < $1.head : id($0).precedes(id($1)) }
      for entry in ordered {
        let start = entry.start + Int(entry.idCount)
        let before =
          entry.valueCount < 0
          ? nil : UnsafeRawBufferPointer(rebasing: data[start..<start + Int(entry.valueCount)])
        try body(entry, id(entry), before)
      }
    }
  }
}
