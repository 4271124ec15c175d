internal import Foundation

/// The pending index entries of a transaction: collected, sorted, and written in key order.
///
/// Inserting entries into a B-tree in order is about twice as fast as in any other order, and an
/// empty index is filled by appending. The last change of an entry wins, so collecting changes
/// needs no look-up.
struct PendingEntries: ~Copyable {
  /// One change, in 16 bytes, so that sorting moves little. As a number of 128 bits, its order is that of the word, then
  /// that of the changes, since places ascend.
  struct Change: BitwiseCopyable {
    /// The place of its bytes, the length of its key, whether it is a removal, and the length of its id.
    private let rest: UInt64
    /// The 8 bytes of its key or id that are compared next, padded with zeros.
    var word: UInt64

    static let removal: UInt16 = 0x8000

    init(word: UInt64, offset: Int, keyLength: Int, idLengthAndRemoval: UInt16) {
      self.word = word
      rest =
        UInt64(UInt32(offset)) &<< 32 | UInt64(UInt16(keyLength)) &<< 16
        | UInt64(idLengthAndRemoval)
    }

    var offset: Int { Int(truncatingIfNeeded: rest &>> 32) }
    var keyLength: Int { Int(UInt16(truncatingIfNeeded: rest &>> 16)) }
    var idLength: Int { Int(UInt16(truncatingIfNeeded: rest) & ~Change.removal) }
    var isRemoval: Bool { UInt16(truncatingIfNeeded: rest) & Change.removal != 0 }
  }

  private var bytes = ByteBuffer(capacity: 1024)
  private var changes: UnsafeMutablePointer<Change>
  private var capacity: Int
  private(set) var count = 0
  private(set) var removals = 0

  init() {
    capacity = 32
    changes = .allocate(capacity: capacity)
  }

  deinit { changes.deallocate() }

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
      word: PendingEntries.word(of: arena + offset, length: keyLength, at: 0), offset: offset,
      keyLength: keyLength, idLengthAndRemoval: idLengthAndRemoval)
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
      capacity = 1 << 12
      changes = .allocate(capacity: capacity)
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
      && memcmp(arena + a.offset, arena + b.offset, a.keyLength) == 0
  }

  /// The key at a place in the current order.
  func key(_ place: Int) -> UnsafeRawBufferPointer { key(of: changes[place]) }

  /// The id, or the value, at a place in the current order.
  func id(_ place: Int) -> UnsafeRawBufferPointer { id(of: changes[place]) }

  private func key(of change: Change) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: arena + change.offset, count: change.keyLength)
  }

  private func id(of change: Change) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: arena + change.offset + change.keyLength, count: change.idLength)
  }

  private func isSameEntry(_ a: Change, _ b: Change) -> Bool {
    a.keyLength == b.keyLength && a.idLength == b.idLength
      && memcmp(arena + a.offset, arena + b.offset, a.keyLength + a.idLength) == 0
  }

  private mutating func growChanges() {
    capacity *= 2
    let larger = UnsafeMutablePointer<Change>.allocate(capacity: capacity)
    larger.update(from: changes, count: count)
    changes.deallocate()
    changes = larger
  }
}

// MARK: - Sorting

extension PendingEntries {
  /// What of the entries is compared: their keys, and below equal keys their ids.
  private enum Part { case key, id }

  /// Sorts by key, then id, then order of change.
  mutating func sort() { sortRun(from: 0, to: count, .key, at: 0) }

  fileprivate static func word(
    of part: UnsafeRawPointer, length: Int, at start: Int
  ) -> UInt64 {
    let left = length - start
    if left >= 8 {
      return UInt64(bigEndian: part.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
    var word: UInt64 = 0
    var position = start
    while position < length {
      word = word << 8 | UInt64(part.load(fromByteOffset: position, as: UInt8.self))
      position += 1
    }
    return left <= 0 ? 0 : word << UInt64((8 - left) * 8)
  }

  /// Sorts a run. Its entries agree in all before `place` of this part, and `word` has the bytes from there on.
  private func sortRun(from start: Int, to end: Int, _ part: Part, at place: Int) {
    if isSorted(from: start, to: end, part, place) { return }
    if end - start <= RadixSort.fewNumbers { return insert(from: start, to: end, part, place) }
    (changes + start).withMemoryRebound(to: UInt128.self, capacity: end - start) {
      RadixSort.sort(UnsafeMutableBufferPointer(start: $0, count: end - start), from: 64)
    }
    var runStart = start
    while runStart < end {
      let word = changes[runStart].word
      var runEnd = runStart + 1
      while runEnd < end, changes[runEnd].word == word { runEnd += 1 }
      if runEnd - runStart > 1 { sortNext(from: runStart, to: runEnd, part, after: place) }
      runStart = runEnd
    }
  }

  /// Sorts a run whose entries agree in their words, too, by what follows.
  private func sortNext(from start: Int, to end: Int, _ part: Part, after place: Int) {
    let next = place + 8
    var (shortest, longest) = (Int.max, 0)
    for position in start..<end {
      let length = length(of: part, changes[position])
      shortest = min(shortest, length)
      longest = max(longest, length)
    }
    if longest > next {
      load(from: start, to: end, part, at: next)
      sortRun(from: start, to: end, part, at: next)
    } else if shortest != longest {
      // They differ in zeros at the end.
      var run = UnsafeMutableBufferPointer(start: changes + start, count: end - start)
      run.sort { precedes($0, $1, part, place) }
    } else if part == .key {
      load(from: start, to: end, .id, at: 0)
      sortRun(from: start, to: end, .id, at: 0)
    }
  }

  private func length(of part: Part, _ change: Change) -> Int {
    part == .key ? change.keyLength : change.idLength
  }

  private func load(from start: Int, to end: Int, _ part: Part, at place: Int) {
    for position in start..<end {
      let change = changes[position]
      let bytes = arena + change.offset + (part == .key ? 0 : change.keyLength)
      changes[position].word = PendingEntries.word(
        of: bytes, length: length(of: part, change), at: place)
    }
  }

  /// Sorts a short run.
  private func insert(from start: Int, to end: Int, _ part: Part, _ place: Int) {
    for position in start + 1..<end {
      let change = changes[position]
      var free = position
      while free > start, precedes(change, changes[free - 1], part, place) {
        changes[free] = changes[free - 1]
        free -= 1
      }
      changes[free] = change
    }
  }

  private func isSorted(from start: Int, to end: Int, _ part: Part, _ place: Int) -> Bool {
    var position = start + 1
    while position < end {
      if precedes(changes[position], changes[position - 1], part, place) { return false }
      position += 1
    }
    return true
  }

  /// The order of two changes that agree in all before `place` of this part.
  private func precedes(_ a: Change, _ b: Change, _ part: Part, _ place: Int) -> Bool {
    if a.word != b.word { return a.word < b.word }
    var compared = place + 8
    if part == .key {
      // If the words have the rest of the keys, only their lengths may still differ.
      let common = min(a.keyLength, b.keyLength)
      if common > compared {
        let byKey = memcmp(
          arena + a.offset + compared, arena + b.offset + compared, common - compared)
        if byKey != 0 { return byKey < 0 }
      }
      if a.keyLength != b.keyLength { return a.keyLength < b.keyLength }
      compared = 0
    }
    let idA = arena + a.offset + a.keyLength
    let idB = arena + b.offset + b.keyLength
    let common = min(a.idLength, b.idLength)
    if common > compared {
      let byID = memcmp(idA + compared, idB + compared, common - compared)
      if byID != 0 { return byID < 0 }
    }
    if a.idLength != b.idLength { return a.idLength < b.idLength }
    return a.offset < b.offset
  }
}
