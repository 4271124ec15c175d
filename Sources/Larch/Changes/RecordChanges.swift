/// The records of one tree that a commit has changed, each id once, in the order of ids.
///
/// The log of a write has their bytes one after the other. The thread that commits finds the listeners
/// by these, and mostly nobody wants more. So the list, which takes three objects for each record, is
/// made by the first who asks for it, on a thread of his own.
package final class RecordChanges: Sendable {
  /// Two or three pieces of bytes of one record, by their places.
  struct Entry {
    /// The id, followed by the value before.
    let start: Int
    let idCount: Int32
    /// Negative for no value.
    let beforeCount: Int32
    let afterStart: Int
    let afterCount: Int32
  }

  private struct Bytes {
    let before: [UInt8]
    let after: [UInt8]
    let entries: [Entry]
  }

  /// Nil for what was made as a list.
  private let bytes: Bytes?
  private let made: Locked<[StoredChange]?>
  let count: Int
  /// About how much memory they take.
  let size: Int

  /// Whether they are of several writes as one, between which the records may have been others.
  let isFolded: Bool

  static let nothing = RecordChanges([])

  init(_ list: [StoredChange], isFolded: Bool = false) {
    self.isFolded = isFolded
    bytes = nil
    made = Locked(list)
    count = list.count
    size = list.reduce(0) { $0 + $1.size }
  }

  /// - Parameters:
  ///   - before: the ids and the values before.
  ///   - after: the values after.
  init(before: [UInt8], after: [UInt8], entries: [Entry]) {
    isFolded = false
    bytes = Bytes(before: before, after: after, entries: entries)
    made = Locked(nil)
    count = entries.count
    size = entries.reduce(0) {
      $0 + Int($1.idCount) + Int(max(0, $1.beforeCount)) + Int(max(0, $1.afterCount))
    }
  }

  var list: [StoredChange] {
    made.withLock { made in
      if let made { return made }
      var list: [StoredChange] = []
      list.reserveCapacity(count)
      forEachBytes { id, before, after in
        list.append(
          StoredChange(
            id: [UInt8](id), before: before.map { [UInt8]($0) }, after: after.map { [UInt8]($0) }))
      }
      made = list
      return list
    }
  }

  /// Calls with the bytes of each id, and of its value before and after.
  func forEach(
    _ body: (
      _ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
      _ after: UnsafeRawBufferPointer?
    ) throws -> Void
  ) rethrows {
    if bytes != nil { return try forEachBytes(body) }
    for change in list {
      try change.id.withUnsafeBytes { id in
        try Self.withBytes(change.before) { before in
          try Self.withBytes(change.after) { after in try body(id, before, after) }
        }
      }
    }
  }

  private func forEachBytes(
    _ body: (
      _ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
      _ after: UnsafeRawBufferPointer?
    ) throws -> Void
  ) rethrows {
    guard let bytes else { return }
    try bytes.before.withUnsafeBytes { before in
      try bytes.after.withUnsafeBytes { after in
        for entry in bytes.entries {
          let end = entry.start + Int(entry.idCount)
          try body(
            UnsafeRawBufferPointer(rebasing: before[entry.start..<end]),
            Self.piece(before, end, entry.beforeCount),
            Self.piece(after, entry.afterStart, entry.afterCount))
        }
      }
    }
  }

  private static func piece(
    _ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int32
  ) -> UnsafeRawBufferPointer? {
    count < 0 ? nil : UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(count)])
  }

  private static func withBytes(
    _ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> Void
  ) rethrows {
    if let bytes { try bytes.withUnsafeBytes { try body($0) } } else { try body(nil) }
  }
}

/// The changed records of a commit by their trees.
package struct ChangedRecords: Sendable {
  private var byTree: [UInt32: RecordChanges]

  init(_ byTree: [UInt32: RecordChanges] = [:]) { self.byTree = byTree }

  package init(_ lists: [UInt32: [StoredChange]]) { byTree = lists.mapValues { RecordChanges($0) } }

  /// The number of trees.
  package var count: Int { byTree.count }

  var size: Int { byTree.values.reduce(0) { $0 + $1.size } }

  /// Those of a tree as a list; nil if they are not known.
  package subscript(tree: UInt32) -> [StoredChange]? { byTree[tree]?.list }

  /// Those of a tree; nil if they are not known.
  func changes(of tree: UInt32) -> RecordChanges? { byTree[tree] }

  package mutating func remove(_ tree: UInt32) { byTree[tree] = nil }

  func without(_ trees: TreeSet) -> ChangedRecords {
    ChangedRecords(byTree.filter { !trees.contains($0.key) })
  }
}
