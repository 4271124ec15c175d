internal import Foundation

/// Steps from group to group of an index scan: a group is the keys that begin with the same bytes.
///
/// The end of a group is found like the end of a skip scan: a few keys are read, since most groups
/// may be small, and then the cursor seeks the first key after the group. After a seek the next
/// group is expected to be large too. So a group costs at most about twice what the better of both
/// ways would.
final class GroupScanner {
  let scanner: IndexScanner
  /// Whether groups have all components: then each key is one. A text at the end of a key may begin
  /// with another text.
  let isWhole: Bool
  /// The bytes that the keys of the group begin with.
  @exclusivity(unchecked) private var group = ByteBuffer()
  /// The least bytes after all of them; empty if there are none.
  @exclusivity(unchecked) private var end = ByteBuffer()
  /// The number of keys that are read before a seek.
  private var patience = GroupScanner.mostPatience
  /// Counts the searches.
  private let reader: RowReader
  /// Whether the scanner is already at the first key after the group.
  private var isAhead = false

  /// A seek costs about as much as ten steps.
  private static let mostPatience = 8

  /// - Parameter components: the number of first components that are equal in a group.
  init(_ scanner: IndexScanner, components: Int, _ reader: RowReader) {
    self.scanner = scanner
    self.reader = reader
    isWhole = components == scanner.schema.fields.count
  }

  /// Whether a key after the first one of a group is of the group too.
  @inline(__always)
  func holds(_ key: UnsafeRawBufferPointer, _ group: UnsafeRawBufferPointer) -> Bool {
    !isWhole && key.begins(with: group)
  }

  /// Moves to the first key after the group whose filters are not false.
  ///
  /// - Parameter count: the current key begins with the group's bytes, which are so many.
  func nextKey(outside count: Int) throws -> Bool {
    if isWhole { return try scanner.nextKey() }
    let hasKey = isAhead ? true : try leave(count)
    isAhead = false
    guard hasKey else { return false }
    return try scanner.isAccepted() || scanner.nextKey()
  }

  /// The number of ids of the group from the current key on. It is for scans without filters.
  ///
  /// The scanner then is at the first key after the group, which `nextKey(outside:)` returns.
  func countIDs(within count: Int) throws -> Int {
    var total = try scanner.idCount()
    if isWhole { return total }
    begin(count)
    while try scanner.step() {
      scanner.entriesExamined &+= 1
      if !isInGroup(scanner.key) {
        isAhead = true
        break
      }
      total += try scanner.idCount()
    }
    return total
  }

  private func begin(_ count: Int) {
    group.removeAll()
    group.append(UnsafeRawBufferPointer(rebasing: scanner.key[0..<count]))
    end.removeAll()
    var last = count - 1
    while last >= 0, group.bytes[last] == 0xFF { last -= 1 }
    guard last >= 0 else { return }
    end.append(group.bytes(at: 0, count: last))
    end.append(group.bytes[last] + 1)
  }

  @inline(__always)
  private func isInGroup(_ key: UnsafeRawBufferPointer) -> Bool { key.begins(with: group.bytes) }

  /// Moves to the first key after the group; false if there is none.
  private func leave(_ count: Int) throws -> Bool {
    begin(count)
    var steps = 0
    while scanner.isInRange {
      if steps == patience {
        patience = 1
        if try leaveBySeek() { return true }
        break
      }
      steps += 1
      let entry =
        scanner.descends ? try scanner.cursor.previousKey() : try scanner.cursor.nextKey()
      guard scanner.accept(entry) else { break }
      scanner.entriesExamined &+= 1
      if !isInGroup(scanner.key) {
        patience = Self.mostPatience
        return true
      }
    }
    while scanner.range + 1 < scanner.rangeCount {
      scanner.range += 1
      if try leaveBySeek() { return true }
    }
    return false
  }

  /// Seeks the first key of the current range that is after the group.
  private func leaveBySeek() throws -> Bool {
    reader.add(groupsSkipped: 1)
    let entry = scanner.descends ? try seekBefore() : try seekBehind()
    guard scanner.accept(entry) else { return false }
    scanner.entriesExamined &+= 1
    return true
  }

  private func seekBehind() throws -> LMDBEntry? {
    if end.count == 0 { return nil }
    let bounds = scanner.bounds.pointee
    if let upper = bounds.upper, compareBytes(upper, end.bytes) <= 0 { return nil }
    if compareBytes(bounds.lower, end.bytes) >= 0 { return try scanner.seekRange() }
    return try scanner.cursor.seek(atOrAfter: end.bytes)
  }

  private func seekBefore() throws -> LMDBEntry? {
    let bounds = scanner.bounds.pointee
    if compareBytes(bounds.lower, group.bytes) >= 0 { return nil }
    if let upper = bounds.upper, compareBytes(upper, group.bytes) <= 0 {
      return try scanner.seekRange()
    }
    return try scanner.cursor.seek(before: group.bytes)
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the first bytes are these.
  @inline(__always)
  func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
    guard count >= prefix.count else { return false }
    guard let start = baseAddress, let other = prefix.baseAddress else { return true }
    return memcmp(start, other, prefix.count) == 0
  }
}
