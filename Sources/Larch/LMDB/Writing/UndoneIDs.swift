/// The assigned ids of this process that belong to no record, because their write was undone.
///
/// Only the writing thread changes it; any thread may call `contains`.
///
/// Assigned ids are noted by level, the innermost last: the LMDB transaction, the write in it, and
/// the savepoints of that write. The ids of a collection rise, so only the first id of each level
/// is needed.
final class UndoneIDs: @unchecked Sendable {
  /// The level of a write; below it are earlier writes that share its LMDB transaction.
  static let write: Int32 = 2
  /// The limit of remembered ranges of a collection: the lowest are dropped first.
  static let rangeLimit = 1 << 14

  private struct First {
    var level: Int32
    let collection: UInt32
    let id: Int64
  }

  /// A record with an undone id that was saved later.
  private struct Revived {
    var level: Int32
    let collection: UInt32
    let id: Int64
  }

  /// By collection, in order, without overlaps.
  private let undone = Locked<[UInt32: [ClosedRange<Int64>]]>([:])
  @exclusivity(unchecked) private var firsts: [First] = []
  /// Ids between the assigned ones that other processes have.
  @exclusivity(unchecked) private var skipped: [(collection: UInt32, ids: ClosedRange<Int64>)] = []
  @exclusivity(unchecked) private var revived: [Revived] = []
  @exclusivity(unchecked) private var isAny = false

  /// The level of the running transaction; 0 if none runs.
  @exclusivity(unchecked) private(set) var level: Int32 = 0 {
    didSet { epoch &+= 1 }
  }
  /// Changes whenever the level changes.
  @exclusivity(unchecked) private(set) var epoch = 1

  // MARK: Levels

  /// Called before an LMDB transaction.
  func begin() {
    firsts.removeAll(keepingCapacity: true)
    skipped.removeAll(keepingCapacity: true)
    revived.removeAll(keepingCapacity: true)
    level = 1
  }

  /// Called before the closure of a write.
  func beginWrite() {
    while level >= Self.write { keep() }
    level = Self.write
  }

  /// Called before a savepoint.
  func beginSavepoint() { level += 1 }

  /// Moves the ids of the innermost level to the level around it.
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

  /// Notes that the ids of a level, and of the levels inside it, were undone.
  func undo(from outer: Int32, highest: (UInt32) -> Int64) {
    for first in firsts where first.level >= outer {
      let last = highest(first.collection)
      if first.id <= last { insert(first.id...last, of: first.collection) }
    }
    firsts.removeAll { $0.level >= outer }
    revived.removeAll { $0.level >= outer }
  }

  /// Notes that the ids of the innermost level, a savepoint, were undone.
  func undoSavepoint(highest: (UInt32) -> Int64) {
    undo(from: level, highest: highest)
    level -= 1
  }

  /// Called after a commit.
  func commit() {
    if isAny { for item in revived { remove(item.id...item.id, of: item.collection) } }
    begin()
    level = 0
  }

  // MARK: Ids

  /// Notes an id that is assigned to a collection; at least the first of each level.
  func noteAssigned(_ id: Int64, _ collection: UInt32) {
    if firsts.contains(where: { $0.collection == collection && $0.level == level }) { return }
    firsts.append(First(level: level, collection: collection, id: id))
    // Another file may have had the identity of this one before.
    if isAny { remove(id...Int64.max, of: collection) }
  }

  /// Notes ids that other processes assigned.
  func noteSkipped(_ ids: Range<Int64>, _ collection: UInt32) {
    if !ids.isEmpty { skipped.append((collection, ids.lowerBound...ids.upperBound - 1)) }
  }

  /// Notes an id that a record is saved with.
  @inline(__always)
  func noteSaved(_ id: Int64, _ collection: UInt32) {
    if isAny { revive(id, collection) }
  }

  private func revive(_ id: Int64, _ collection: UInt32) {
    guard isUndone(id, collection) else { return }
    revived.append(Revived(level: level, collection: collection, id: id))
  }

  /// Whether this process assigned the id, and no record ever had it.
  ///
  /// - Parameter isWriting: whether the caller is in the running write, whose saves count.
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
    ranges.placeAfter { $0.upperBound < id }
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
  /// The maximum number of remembered files.
  private static let fileLimit = 1024

  /// Keeps the state of a file that is being closed: the program may open it again.
  func keep(for file: FileIdentity) {
    if isEmpty { return }
    Self.kept.withLock { kept in
      if kept.count >= Self.fileLimit, kept[file] == nil, let any = kept.keys.first {
        kept[any] = nil
      }
      kept[file] = self
    }
  }

  /// The state of a file that is being opened.
  static func of(_ file: FileIdentity) -> UndoneIDs {
    kept.withLock { $0.removeValue(forKey: file) } ?? UndoneIDs()
  }
}
