/// Puts rows in order: the best few in a heap, or all of them, in memory or through a file.
///
/// A row consists of its sort key, which ends with the id, and its payload.
final class RowSorter {
  struct Row {
    var key: UnsafeRawBufferPointer
    var idStart: Int
    var payload: UnsafeRawBufferPointer
  }

  private struct Entry {
    /// The first bytes of the key, which decide most comparisons.
    var head: UInt64
    var start: Int
    var keyCount: Int
    var idStart: Int
    var payloadCount: Int
  }

  private let budget: Int
  private let makeSpillFile: () throws -> SpillFile
  @exclusivity(unchecked) private var arena = ByteBuffer(capacity: 4096)
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var place = 0
  private var spill: SpillFile?
  private var merge: RunMerge?
  private(set) var spilledBytes = 0

  init(budget: Int, makeSpillFile: @escaping () throws -> SpillFile) {
    self.budget = budget
    self.makeSpillFile = makeSpillFile
  }

  // MARK: Filling

  func add(
    key: UnsafeRawBufferPointer, idStart: Int, payload: UnsafeRawBufferPointer
  ) throws {
    let size = key.count + payload.count
    if arena.count + size + entries.count * MemoryLayout<Entry>.stride > budget, !entries.isEmpty {
      try spillRun()
    }
    let start = arena.count
    arena.append(key)
    arena.append(payload)
    entries.append(
      Entry(
        head: RowSorter.head(key), start: start, keyCount: key.count, idStart: idStart,
        payloadCount: payload.count))
  }

  private static func head(_ key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    var head: UInt64 = 0
    for place in 0..<8 { head = head << 8 | (place < key.count ? UInt64(key[place]) : 0) }
    return head
  }

  private func row(_ entry: Entry) -> Row {
    Row(
      key: arena.bytes(at: entry.start, count: entry.keyCount), idStart: entry.idStart,
      payload: arena.bytes(at: entry.start + entry.keyCount, count: entry.payloadCount))
  }

  private func sortEntries() {
    let rows = arena.base
    func key(_ entry: Entry) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: rows + entry.start, count: entry.keyCount)
    }
    entries.sort { a, b in
      a.head != b.head ? a.head < b.head : compareBytes(key(a), key(b)) < 0
    }
  }

  private func spillRun() throws {
    sortEntries()
    let file = try spill ?? makeSpillFile()
    spill = file
    try file.beginRun()
    for entry in entries { try file.append(row(entry)) }
    try file.endRun()
    spilledBytes = file.byteCount
    entries.removeAll(keepingCapacity: true)
    arena.removeAll()
  }

  // MARK: Reading

  /// Ends the input.
  func finish() throws {
    if let spill {
      if !entries.isEmpty { try spillRun() }
      merge = try RunMerge(spill, budget: budget)
    } else {
      sortEntries()
    }
  }

  /// The next row, valid until the one after; nil after the last one.
  func next() throws -> Row? {
    if let merge { return try merge.next() }
    guard place < entries.count else { return nil }
    place += 1
    return row(entries[place - 1])
  }
}
