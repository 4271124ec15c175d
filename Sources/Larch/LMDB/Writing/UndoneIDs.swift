/// Which of the ids that this process gave belong to no record that ever was: their write was undone.
///
/// Only the thread whose turn it is to write changes it; `contains` may be asked by all.
///
/// What was given is noted by level, the innermost last: the LMDB transaction, the write that runs in
/// it, and the savepoints of that. Ids of a collection rise, so of each level only the first is
/// needed.
final class UndoneIDs: @unchecked Sendable {
  /// The level of a write; below it are those that share its LMDB transaction and went before.
  static let write: Int32 = 2
  /// More ranges of a collection than this are not remembered: the lowest go first.
  static let rangeLimit = 1 << 14

  private struct First {
    var level: Int32
    let collection: UInt32
    let id: Int64
  }

  /// A record with an undone id that was saved after all.
  private struct Revived {
    var level: Int32
    let collection: UInt32
    let id: Int64
  }

  /// By collection, in order and apart from each other.
  private let undone = Locked<[UInt32: [ClosedRange<Int64>]]>([:])
  private var firsts: [First] = []
  /// Ids between those that were given, which others have.
  private var skipped: [(collection: UInt32, ids: ClosedRange<Int64>)] = []
  private var revived: [Revived] = []
  private var isAny = false

  /// How deep the running transaction is; 0 where none runs.
  private(set) var level: Int32 = 0 {
    didSet { epoch &+= 1 }
  }
  /// Another number whenever the level changes.
  private(set) var epoch = 1

  // MARK: Levels

  /// Before an LMDB transaction.
  func begin() {
    firsts.removeAll(keepingCapacity: true)
    skipped.removeAll(keepingCapacity: true)
    revived.removeAll(keepingCapacity: true)
    level = 1
  }

  /// Before the closure of a write.
  func beginWrite() {
    while level >= Self.write { keep() }
    level = Self.write
  }

  /// Before a savepoint.
  func beginSavepoint() { level += 1 }

  /// What was given at the innermost level belongs to the one around it.
  func keep() {
    for place in firsts.indices.reversed() where firsts[place].level == level {
      let first = firsts[place]
      let isKnown = firsts.contains { $0.collection == first.collection && $0.level == level - 1 }
      if isKnown { firsts.remove(at: place) } else { firsts[place].level = level - 1 }
    }
    for place in revived.indices where revived[place].level == level {
      revived[place].level = level - 1
    }
    level -= 1
  }

  /// What was given at a level and inside of it was undone.
  func undo(from outer: Int32, given: (UInt32) -> Int64) {
    for first in firsts where first.level >= outer {
      let last = given(first.collection)
      if first.id <= last { insert(first.id...last, of: first.collection) }
    }
    firsts.removeAll { $0.level >= outer }
    revived.removeAll { $0.level >= outer }
  }

  /// What was given at the innermost level, a savepoint, was undone.
  func undoSavepoint(given: (UInt32) -> Int64) {
    undo(from: level, given: given)
    level -= 1
  }

  /// After a commit.
  func commit() {
    if isAny { for item in revived { remove(item.id...item.id, of: item.collection) } }
    begin()
    level = 0
  }

  // MARK: Ids

  /// Takes note of an id that is given to a collection, of the first at a level at least.
  func noteGiven(_ id: Int64, _ collection: UInt32) {
    if firsts.contains(where: { $0.collection == collection && $0.level == level }) { return }
    firsts.append(First(level: level, collection: collection, id: id))
    // Another file may have had the identity of this one.
    if isAny { remove(id...Int64.max, of: collection) }
  }

  /// Takes note of ids that others gave.
  func noteSkipped(_ ids: Range<Int64>, _ collection: UInt32) {
    if !ids.isEmpty { skipped.append((collection, ids.lowerBound...ids.upperBound - 1)) }
  }

  /// Takes note of an id that a record is saved with.
  @inline(__always)
  func noteSaved(_ id: Int64, _ collection: UInt32) {
    if isAny { revive(id, collection) }
  }

  private func revive(_ id: Int64, _ collection: UInt32) {
    guard isUndone(id, collection) else { return }
    revived.append(Revived(level: level, collection: collection, id: id))
  }

  /// Whether no record with an id that this process gave ever was.
  ///
  /// - Parameter isWriting: asked in the write that is running, whose saves count.
  func contains(_ id: Int64, of collection: UInt32, isWriting: Bool) -> Bool {
    guard isUndone(id, collection) else { return false }
    return !isWriting || !revived.contains { $0.collection == collection && $0.id == id }
  }

  private func isUndone(_ id: Int64, _ collection: UInt32) -> Bool {
    undone.withLock { undone in
      guard let ranges = undone[collection] else { return false }
      let place = Self.place(of: id, in: ranges)
      return place < ranges.count && ranges[place].contains(id)
    }
  }

  /// Whether nothing is remembered.
  var isEmpty: Bool { undone.withLock { $0.isEmpty } }

  private func insert(_ ids: ClosedRange<Int64>, of collection: UInt32) {
    isAny = true
    undone.withLock { undone in
      Self.insert(ids, into: &undone[collection, default: []])
      for other in skipped where other.collection == collection && ids.overlaps(other.ids) {
        Self.remove(other.ids.clamped(to: ids), from: &undone[collection, default: []])
      }
      let count = undone[collection]?.count ?? 0
      if count > Self.rangeLimit { undone[collection]?.removeFirst(count - Self.rangeLimit) }
    }
  }

  private func remove(_ ids: ClosedRange<Int64>, of collection: UInt32) {
    undone.withLock { undone in
      Self.remove(ids, from: &undone[collection, default: []])
      if undone[collection]?.isEmpty == true { undone[collection] = nil }
    }
  }

  // MARK: Ranges

  /// The first range that does not end before an id.
  private static func place(of id: Int64, in ranges: [ClosedRange<Int64>]) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < id { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func insert(_ ids: ClosedRange<Int64>, into ranges: inout [ClosedRange<Int64>]) {
    let first = place(of: ids.lowerBound - 1, in: ranges)
    var (last, low, high) = (first, ids.lowerBound, ids.upperBound)
    while last < ranges.count, ranges[last].lowerBound <= ids.upperBound + 1 {
      low = min(low, ranges[last].lowerBound)
      high = max(high, ranges[last].upperBound)
      last += 1
    }
    ranges.replaceSubrange(first..<last, with: CollectionOfOne(low...high))
  }

  private static func remove(_ ids: ClosedRange<Int64>, from ranges: inout [ClosedRange<Int64>]) {
    let first = place(of: ids.lowerBound, in: ranges)
    var last = first
    var rest: [ClosedRange<Int64>] = []
    while last < ranges.count, ranges[last].lowerBound <= ids.upperBound {
      let range = ranges[last]
      if range.lowerBound < ids.lowerBound { rest.append(range.lowerBound...ids.lowerBound - 1) }
      if range.upperBound > ids.upperBound { rest.append(ids.upperBound + 1...range.upperBound) }
      last += 1
    }
    ranges.replaceSubrange(first..<last, with: rest)
  }

  // MARK: Closed stores

  private static let kept = Locked<[FileIdentity: UndoneIDs]>([:])
  /// Of more files nothing is kept.
  private static let fileLimit = 1024

  /// Keeps what is known of a file that is closed: the program may open it again.
  func keep(for file: FileIdentity) {
    if isEmpty { return }
    Self.kept.withLock { kept in
      if kept.count >= Self.fileLimit, kept[file] == nil, let any = kept.keys.first {
        kept[any] = nil
      }
      kept[file] = self
    }
  }

  /// What is known of a file that is opened.
  static func of(_ file: FileIdentity) -> UndoneIDs {
    kept.withLock { $0.removeValue(forKey: file) } ?? UndoneIDs()
  }
}
