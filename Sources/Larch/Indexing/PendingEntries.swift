internal import Foundation

/// The pending index entries of a transaction: collected, sorted, and written in key order.
///
/// Inserting entries into a B-tree in order is about twice as fast as in any other order, and an
/// empty index is filled by appending. The last change of an entry wins, so collecting changes
/// needs no look-up.
struct PendingEntries: ~Copyable {
  /// One change. 16 bytes, so that sorting moves little.
  struct Change {
    /// The 8 bytes of the key that are being compared, big-endian, padded with zeros.
    var word: UInt64
    /// Where key and id stand in the bytes; ascending, so it also tells the order of changes.
    var offset: UInt32
    var keyLength: UInt16
    /// The length of the id, and whether the entry is removed.
    var idLengthAndRemoval: UInt16

    static let removal: UInt16 = 0x8000

    var idLength: Int { Int(idLengthAndRemoval & ~Change.removal) }
    var isRemoval: Bool { idLengthAndRemoval & Change.removal != 0 }
  }

  private var bytes = ByteBuffer(capacity: 1024)
  private var changes: UnsafeMutablePointer<Change>
  private var spare: UnsafeMutablePointer<Change>
  private var capacity: Int
  private(set) var count = 0
  private(set) var removals = 0

  init() {
    capacity = 32
    changes = .allocate(capacity: capacity)
    spare = .allocate(capacity: capacity)
  }

  deinit {
    changes.deallocate()
    spare.deallocate()
  }

  var byteCount: Int { bytes.count }
  private var arena: UnsafeMutableRawPointer { bytes.base }

  var isEmpty: Bool { count == 0 }

  mutating func append(
    key: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, isRemoval: Bool
  ) {
    let offset = bytes.count
    bytes.append(key)
    bytes.append(id)
    addChange(
      at: offset, keyLength: key.count, UInt16(id.count) | (isRemoval ? Change.removal : 0))
    if isRemoval { removals += 1 }
  }

  /// The longest value that a pair may have.
  static let valueLimit = Int(Change.removal) - 1

  /// Adds a pair whose value has two parts.
  mutating func append(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, _ end: UnsafeRawBufferPointer
  ) {
    let offset = bytes.count
    bytes.append(key)
    bytes.append(value)
    bytes.append(end)
    addChange(at: offset, keyLength: key.count, UInt16(value.count + end.count))
  }

  private mutating func addChange(at offset: Int, keyLength: Int, _ idLengthAndRemoval: UInt16) {
    if count == capacity { growChanges() }
    changes[count] = Change(
      word: PendingEntries.word(of: arena + offset, length: keyLength, at: 0),
      offset: UInt32(offset), keyLength: UInt16(keyLength),
      idLengthAndRemoval: idLengthAndRemoval)
    count += 1
  }

  /// Its size, for returning to it while nothing was sorted or written.
  struct Mark {
    fileprivate let byteCount: Int
    fileprivate let count: Int
    fileprivate let removals: Int
  }

  var mark: Mark { Mark(byteCount: byteCount, count: count, removals: removals) }

  mutating func rewind(to mark: Mark) {
    bytes.removeLast(to: mark.byteCount)
    count = mark.count
    removals = mark.removals
  }

  mutating func removeAll() {
    // A bulk write may have grown these far beyond what the next transaction needs.
    if bytes.capacity > 1 << 20 { bytes = ByteBuffer(capacity: 1 << 16) }
    if capacity > 1 << 16 {
      changes.deallocate()
      spare.deallocate()
      capacity = 1 << 12
      changes = .allocate(capacity: capacity)
      spare = .allocate(capacity: capacity)
    }
    bytes.removeAll()
    count = 0
    removals = 0
  }

  /// Visits the last change of each entry, in the order of keys and ids. Call `sort` before.
  func forEachLast(
    removals: Bool,
    _ body: (_ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    var position = 0
    while position < count {
      var change = changes[position]
      position += 1
      while position < count, isSameEntry(change, changes[position]) {
        change = changes[position]
        position += 1
      }
      if change.isRemoval == removals { try body(key(of: change), id(of: change)) }
    }
  }

  /// Visits each key, in order, with the value that was added last and not removed since; nil if there is none. Call
  /// `sort` before.
  func forEachKey(
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) throws -> Void
  ) rethrows {
    try forEachKey { key, _, value in try body(key, value) }
  }

  /// The same with the value from before all changes: the one that was removed first, if nothing was added before.
  func forEachKey(
    _ body: (
      _ key: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
      _ value: UnsafeRawBufferPointer?
    ) throws -> Void
  ) rethrows {
    var position = 0
    while position < count {
      var first = changes[position]
      var last: Change?
      while position < count, hasSameKey(first, changes[position]) {
        var change = changes[position]
        position += 1
        if change.offset < first.offset { first = change }
        while position < count, isSameEntry(change, changes[position]) {
          change = changes[position]
          position += 1
        }
        if !change.isRemoval, last.map({ $0.offset < change.offset }) ?? true { last = change }
      }
      try body(
        key(of: first), first.isRemoval ? id(of: first) : nil, last.map { id(of: $0) })
    }
  }

  private func hasSameKey(_ a: Change, _ b: Change) -> Bool {
    a.keyLength == b.keyLength
      && memcmp(arena + Int(a.offset), arena + Int(b.offset), Int(a.keyLength)) == 0
  }

  /// The key at a place in the current order.
  func key(_ place: Int) -> UnsafeRawBufferPointer { key(of: changes[place]) }

  /// The id, or the value, at a place in the current order.
  func id(_ place: Int) -> UnsafeRawBufferPointer { id(of: changes[place]) }

  private func key(of change: Change) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: arena + Int(change.offset), count: Int(change.keyLength))
  }

  private func id(of change: Change) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: arena + Int(change.offset) + Int(change.keyLength), count: change.idLength)
  }

  private func isSameEntry(_ a: Change, _ b: Change) -> Bool {
    a.keyLength == b.keyLength && a.idLength == b.idLength
      && memcmp(
        arena + Int(a.offset), arena + Int(b.offset), Int(a.keyLength) + a.idLength) == 0
  }

  private mutating func growChanges() {
    capacity *= 2
    let larger = UnsafeMutablePointer<Change>.allocate(capacity: capacity)
    larger.update(from: changes, count: count)
    changes.deallocate()
    changes = larger
    spare.deallocate()
    spare = .allocate(capacity: capacity)
  }
}

// MARK: - Sorting

extension PendingEntries {
  /// Below this a comparison sort is faster than counting bytes.
  private static let radixThreshold = 48

  /// Sorts by key, then id, then order of change.
  mutating func sort() { sortRun(from: 0, to: count, depth: 0) }

  fileprivate static func word(
    of key: UnsafeRawPointer, length: Int, at start: Int
  ) -> UInt64 {
    let left = length - start
    if left >= 8 {
      return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
    var word: UInt64 = 0
    var position = start
    while position < length {
      word = word << 8 | UInt64(key.load(fromByteOffset: position, as: UInt8.self))
      position += 1
    }
    return left <= 0 ? 0 : word << UInt64((8 - left) * 8)
  }

  /// Sorts a run whose keys agree in their first `depth` words; `word` is loaded for `depth`.
  private mutating func sortRun(from start: Int, to end: Int, depth: Int) {
    let length = end - start
    if length < 2 { return }
    if isSorted(from: start, to: end, depth) { return }
    if length < PendingEntries.radixThreshold {
      compareSort(from: start, to: end, depth)
      return
    }
    radixSort(from: start, to: end)
    var runStart = start
    while runStart < end {
      let word = changes[runStart].word
      var runEnd = runStart + 1
      var longest = changes[runStart].keyLength
      while runEnd < end, changes[runEnd].word == word {
        longest = max(longest, changes[runEnd].keyLength)
        runEnd += 1
      }
      if runEnd - runStart > 1 {
        let next = (depth + 1) * 8
        if Int(longest) > next {
          for position in runStart..<runEnd {
            let change = changes[position]
            changes[position].word = PendingEntries.word(
              of: arena + Int(change.offset), length: Int(change.keyLength), at: next)
          }
          sortRun(from: runStart, to: runEnd, depth: depth + 1)
        } else if !isSorted(from: runStart, to: runEnd, depth) {
          sortIDs(from: runStart, to: runEnd, depth)
        }
      }
      runStart = runEnd
    }
  }

  /// Sorts a run whose keys differ only in their lengths, if at all.
  private mutating func sortIDs(from start: Int, to end: Int, _ depth: Int) {
    if end - start < PendingEntries.radixThreshold {
      return compareSort(from: start, to: end, depth)
    }
    let keyLength = changes[start].keyLength
    for position in start..<end
    where changes[position].keyLength != keyLength || changes[position].idLength != 8 {
      return compareSort(from: start, to: end, depth)
    }
    for position in start..<end {
      let id = arena + Int(changes[position].offset) + Int(keyLength)
      changes[position].word = PendingEntries.word(of: id, length: 8, at: 0)
    }
    radixSort(from: start, to: end)
  }

  private func compareSort(from start: Int, to end: Int, _ depth: Int) {
    var run = UnsafeMutableBufferPointer(start: changes + start, count: end - start)
    run.sort { precedes($0, $1, depth) }
  }

  private func isSorted(from start: Int, to end: Int, _ depth: Int) -> Bool {
    var position = start + 1
    while position < end {
      if precedes(changes[position], changes[position - 1], depth) { return false }
      position += 1
    }
    return true
  }

  /// The order of two changes whose keys agree before the words of this depth.
  private func precedes(_ a: Change, _ b: Change, _ depth: Int) -> Bool {
    if a.word != b.word { return a.word < b.word }
    let keyA = arena + Int(a.offset)
    let keyB = arena + Int(b.offset)
    let common = Int(min(a.keyLength, b.keyLength))
    // If the words contain the rest of the keys, only their lengths may still differ.
    let compared = (depth + 1) * 8
    if common > compared {
      let byKey = memcmp(keyA + compared, keyB + compared, common - compared)
      if byKey != 0 { return byKey < 0 }
    }
    if a.keyLength != b.keyLength { return a.keyLength < b.keyLength }
    let idA = keyA + Int(a.keyLength)
    let idB = keyB + Int(b.keyLength)
    if a.idLength == 8, b.idLength == 8 {
      let left = UInt64(bigEndian: idA.loadUnaligned(as: UInt64.self))
      let right = UInt64(bigEndian: idB.loadUnaligned(as: UInt64.self))
      return left != right ? left < right : a.offset < b.offset
    }
    let byID = memcmp(idA, idB, min(a.idLength, b.idLength))
    if byID != 0 { return byID < 0 }
    if a.idLength != b.idLength { return a.idLength < b.idLength }
    return a.offset < b.offset
  }

  /// A stable counting sort by `word`, least byte first, skipping bytes that are all equal.
  private mutating func radixSort(from start: Int, to end: Int) {
    let length = end - start
    var differing: UInt64 = 0
    let first = changes[start].word
    for position in start..<end { differing |= changes[position].word ^ first }
    var source = changes + start
    var target = spare + start
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { counts in
      var shift: UInt64 = 0
      while shift < 64 {
        defer { shift += 8 }
        if (differing >> shift) & 0xFF == 0 { continue }
        counts.initialize(repeating: 0)
        for position in 0..<length {
          counts[Int(truncatingIfNeeded: (source[position].word >> shift) & 0xFF)] += 1
        }
        var sum = 0
        for byte in 0..<256 {
          let here = counts[byte]
          counts[byte] = sum
          sum += here
        }
        for position in 0..<length {
          let byte = Int(truncatingIfNeeded: (source[position].word >> shift) & 0xFF)
          target[counts[byte]] = source[position]
          counts[byte] += 1
        }
        swap(&source, &target)
      }
    }
    if source != changes + start { (changes + start).update(from: source, count: length) }
  }
}
