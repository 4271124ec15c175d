// Scans that read all entries straight from the pages, without a step for each key.

extension IndexScanner {
  /// The beginning of the map in which the keys of `forEachRun` are, as long as the read is open; nil if all is
  /// left to LMDB.
  var map: UnsafeRawPointer? { cursor.tree?.start }

  /// Calls with each key and a run of its ids, straight from the pages, until the closure returns false. The
  /// ids have one size and no gaps. Only for a scan that has not begun, in the order of the keys and ids.
  ///
  /// - Returns: false if the scan must go from key to key. The closure may have been called.
  func forEachRun(
    _ body: (_ key: UnsafeRawBufferPointer, _ ids: UnsafeRawBufferPointer) -> Bool
  ) throws -> Bool {
    guard range < 0, filter == nil, prefixCount == 0, !isPoints, !descends, !idsDescend, let width,
      let tree = cursor.tree
    else { return false }
    var count = 0
    for place in 0..<rangeCount {
      let (lower, upper) = (ranges[place].lower, ranges[place].upper)
      let isWhole = try tree.forEachLeaf(from: lower, to: upper) { leaf, places in
        for place in places {
          guard let node = tree.node(place, in: leaf) else { return false }
          switch tree.values(of: node, in: leaf) {
          case .one(let id) where id.count == width:
            count &+= 1
            guard body(node.key, id) else { return false }
          case .run(let ids, width):
            count &+= ids.count / width
            guard body(node.key, ids) else { return false }
          case .one, .run: return false
          case .other: guard try forEachRun(of: node.key, &count, body) else { return false }
          }
        }
        return true
      }
      guard isWhole else { return false }
    }
    entriesExamined &+= count
    close()
    return true
  }

  /// The same for one key, by LMDB.
  private func forEachRun(
    of key: UnsafeRawBufferPointer, _ count: inout Int,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
  ) throws -> Bool {
    guard let width, let entry = try cursor.seek(exactly: key),
      var (ids, isLast) = try cursor.firstRun(at: entry)
    else { return false }
    while true {
      count &+= ids.count / width
      guard ids.count % width == 0, body(key, ids) else { return false }
      guard !isLast, let next = try cursor.nextRun() else { return true }
      (ids, isLast) = (next, false)
    }
  }

  /// Finds the least id of the keys from the current one on that begin with some bytes, and moves to the first
  /// key after them.
  ///
  /// - Returns: the id with the first key that has it, and whether there is a key after them; nil if
  ///   the scan must go from key to key.
  func takeLeastID(
    ofKeysWith prefix: UnsafeRawBufferPointer
  ) throws -> (id: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, isAtNext: Bool)? {
    guard isInRange, rangeCount == 1, filter == nil, prefixCount == 0, !descends, !idsDescend,
      let width, let tree = cursor.tree
    else { return nil }
    return try withUnsafeTemporaryAllocation(byteCount: KeyWriter.keyLimit, alignment: 1) {
      memory in
      var end = KeyRange.successor(ofPrefix: prefix, in: memory)
      let behind = end
      if let upper = bounds.pointee.upper, end.map({ compareBytes(upper, $0) < 0 }) ?? true {
        end = upper
      }
      var least: UnsafeRawBufferPointer?
      var keyOfLeast = key
      var count = 0
      let isWhole = tree.forEachLeaf(from: key, to: end) { leaf, places in
        for place in places {
          guard let node = tree.node(place, in: leaf) else { return false }
          let ids: UnsafeRawBufferPointer
          switch tree.values(of: node, in: leaf) {
          case .one(let id): ids = id
          case .run(let all, width): ids = all
          case .run, .other: return false
          }
          guard ids.count >= width else { return false }
          let id = UnsafeRawBufferPointer(start: ids.baseAddress, count: width)
          if let least, !id.precedes(least) { continue }
          least = id
          keyOfLeast = node.key
        }
        count &+= places.count
        return true
      }
      guard isWhole, let least else { return nil }
      // The current key was counted when the scan came to it.
      entriesExamined &+= count &- 1
      guard let behind else {
        isInRange = false
        return (least, keyOfLeast, false)
      }
      let isAtNext = try accept(cursor.seek(atOrAfter: behind)) && isAccepted()
      if isAtNext { entriesExamined &+= 1 }
      return (least, keyOfLeast, isAtNext)
    }
  }
}
