/// The records of one tree that a transaction has written to, with their values before.
///
/// A bulk write comes here for each record, so all bytes lie one after the other in one array, and an
/// open table of hashes finds an id.
struct TouchedRecords {
  private struct Entry {
    let hash: Int
    let start: Int
    let idCount: Int
    /// Negative for an id without a record.
    let valueCount: Int
  }

  private var data: [UInt8] = []
  private var entries: [Entry] = []
  /// Places in `entries`, and -1 where nothing is. At least half of them are free.
  private var slots: [Int32] = []

  var count: Int { entries.count }
  var bytes: Int { data.count }

  /// The slot of an id: where it is, or where it belongs.
  private func slot(of id: UnsafeRawBufferPointer, _ hash: Int) -> Int {
    var slot = hash & (slots.count - 1)
    while slots[slot] >= 0 {
      let entry = entries[Int(slots[slot])]
      if entry.hash == hash, entry.idCount == id.count, isEqual(id, at: entry.start) { break }
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  private func isEqual(_ id: UnsafeRawBufferPointer, at start: Int) -> Bool {
    data.withUnsafeBytes {
      id.equals(UnsafeRawBufferPointer(rebasing: $0[start..<start + id.count]))
    }
  }

  /// Keeps the value of an id, unless one is kept already.
  ///
  /// - Parameter value: nil for an id without a record.
  mutating func add<E: Error>(
    _ id: UnsafeRawBufferPointer, value: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) {
    var hasher = Hasher()
    hasher.combine(bytes: id)
    let hash = hasher.finalize()
    if 2 * entries.count >= slots.count { grow() }
    let slot = slot(of: id, hash)
    guard slots[slot] < 0 else { return }
    let value = try value()
    slots[slot] = Int32(entries.count)
    entries.append(
      Entry(hash: hash, start: data.count, idCount: id.count, valueCount: value?.count ?? -1))
    data.append(contentsOf: id)
    if let value { data.append(contentsOf: value) }
  }

  private mutating func grow() {
    slots = [Int32](repeating: -1, count: max(8, 2 * slots.count))
    for (place, entry) in entries.enumerated() {
      var slot = entry.hash & (slots.count - 1)
      while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = Int32(place)
    }
  }

  /// Calls with each id and its value before, in the order of ids.
  func forEach(
    _ body: (_ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?) throws -> Void
  ) rethrows {
    try data.withUnsafeBytes { data in
      func id(_ entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: data[entry.start..<entry.start + entry.idCount])
      }
      // A bulk write often comes in this order.
      let isSorted = zip(entries, entries.dropFirst()).allSatisfy { id($0).precedes(id($1)) }
      for entry in isSorted ? entries : entries.sorted(by: { id($0).precedes(id($1)) }) {
        let start = entry.start + entry.idCount
        let before =
          entry.valueCount < 0
          ? nil : UnsafeRawBufferPointer(rebasing: data[start..<start + entry.valueCount])
        try body(id(entry), before)
      }
    }
  }
}
