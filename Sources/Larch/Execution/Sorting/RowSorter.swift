internal import Foundation

/// Sorts rows: the first few in a heap, or all of them, in memory or through a file.
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
  private var arena: UnsafeMutableRawPointer
  private var arenaCapacity: Int
  private var arenaCount = 0
  private var entries: [Entry] = []
  private var place = 0
  private var spill: SpillFile?
  private var merge: RunMerge?
  private(set) var spilledBytes = 0

  init(budget: Int, makeSpillFile: @escaping () throws -> SpillFile) {
    self.budget = budget
    self.makeSpillFile = makeSpillFile
    arenaCapacity = 4096
    arena = .allocate(byteCount: arenaCapacity, alignment: 16)
  }

  deinit { arena.deallocate() }

  // MARK: Filling

  func add(
    key: UnsafeRawBufferPointer, idStart: Int, payload: UnsafeRawBufferPointer
  ) throws {
    let size = key.count + payload.count
    if arenaCount + size + entries.count * MemoryLayout<Entry>.stride > budget, !entries.isEmpty {
      try spillRun()
    }
    if arenaCount + size > arenaCapacity { grow(by: size) }
    let start = arenaCount
    copy(key)
    copy(payload)
    entries.append(
      Entry(
        head: RowSorter.head(key), start: start, keyCount: key.count, idStart: idStart,
        payloadCount: payload.count))
  }

  private func copy(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    memcpy(arena + arenaCount, start, bytes.count)
    arenaCount += bytes.count
  }

  private func grow(by size: Int) {
    arenaCapacity = max(arenaCapacity * 2, arenaCount + size)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: arenaCapacity, alignment: 16)
    memcpy(larger, arena, arenaCount)
    arena.deallocate()
    arena = larger
  }

  private static func head(_ key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    var head: UInt64 = 0
    for place in 0..<8 { head = head << 8 | (place < key.count ? UInt64(key[place]) : 0) }
    return head
  }

  private func key(_ entry: Entry) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: arena + entry.start, count: entry.keyCount)
  }

  private func row(_ entry: Entry) -> Row {
    Row(
      key: key(entry), idStart: entry.idStart,
      payload: UnsafeRawBufferPointer(
        start: arena + entry.start + entry.keyCount, count: entry.payloadCount))
  }

  private func sortEntries() {
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
    arenaCount = 0
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

  /// The next row, valid until the one after it; nil after the last one.
  func next() throws -> Row? {
    if let merge { return try merge.next() }
    guard place < entries.count else { return nil }
    place += 1
    return row(entries[place - 1])
  }
}
