/// The checks inside one page.
extension PageWalk {
  /// Checks the bounds of the free space and returns the number of entries.
  private func checkBounds(
    _ page: PageHeader, size: Int, _ number: UInt64
  ) throws(PageFault) -> Int {
    let lower = page.lower
    let upper = page.upper
    guard lower >= PageLayout.headerSize, lower & 1 == 0, upper & 1 == 0, lower <= upper,
      upper <= size
    else { throw PageFault(number, "the bounds of a page are impossible") }
    let count = page.count
    guard count >= 1 else { throw PageFault(number, "a page is empty") }
    return count
  }

  /// Checks a branch page without the pages below it, and returns the number of its children.
  func checkBranch(
    _ page: PageHeader, _ number: UInt64, _ kind: Kind
  ) throws(PageFault) -> Int {
    let count = try checkBounds(page, size: pageSize, number)
    // LMDB aborts the process on a branch page with one child, except in the free list.
    guard count >= 2 || kind == .freeList else {
      throw PageFault(number, "a branch page has only one child")
    }
    let upper = page.upper
    var previous = UnsafeRawBufferPointer(start: nil, count: 0)
    pageTiles.begin(size: pageSize)
    for index in 0..<count {
      let offset = page.offset(index)
      guard offset >= upper, offset & 1 == 0, offset <= pageSize &- PageLayout.nodeHeaderSize
      else { throw PageFault(number, "a node is outside its page") }
      let node = PageNode(base: page.base + offset)
      let keySize = node.keySize
      let end = offset &+ ((PageLayout.nodeHeaderSize &+ keySize &+ 1) & ~1)
      guard keySize <= PageLayout.maximumKeySize, end <= pageSize else {
        throw PageFault(number, "a node is too large for its page")
      }
      guard pageTiles.add(offset, end) else { throw PageFault(number, "nodes overlap") }
      // The first child has no lower bound of its own; LMDB never reads its key.
      if index == 0 { continue }
      try checkKeySize(keySize, kind, number)
      if index > 1, !isOrdered(previous, node.key, kind) {
        throw PageFault(number, "the keys of a page are not in order")
      }
      previous = node.key
    }
    guard pageTiles.isFilled(from: upper, to: pageSize) else {
      throw PageFault(number, "nodes overlap or leave gaps")
    }
    return count
  }

  /// Checks the nodes of a leaf page; true if some of them lead to further pages.
  func checkLeaf(
    _ page: PageHeader, _ number: UInt64, above: UnsafeRawBufferPointer?,
    below: UnsafeRawBufferPointer?, _ kind: Kind, _ totals: inout Totals
  ) throws(PageFault) -> Bool {
    let count = try checkBounds(page, size: pageSize, number)
    let upper = page.upper
    var previous = UnsafeRawBufferPointer(start: nil, count: 0)
    var needsWalk = kind == .freeList
    var entries: UInt64 = 0
    pageTiles.begin(size: pageSize)
    for index in 0..<count {
      let offset = page.offset(index)
      guard offset >= upper, offset & 1 == 0, offset <= pageSize &- PageLayout.nodeHeaderSize
      else { throw PageFault(number, "a node is outside its page") }
      let node = PageNode(base: page.base + offset)
      let keySize = node.keySize
      let flags = node.flags
      let valueSize = flags == PageLayout.bigData ? 8 : node.valueSize
      let nodeSize = PageLayout.nodeHeaderSize &+ keySize &+ valueSize
      let end = offset &+ ((nodeSize &+ 1) & ~1)
      guard nodeSize <= maximumNodeSize, end <= pageSize else {
        throw PageFault(number, "a node is too large for its page")
      }
      guard pageTiles.add(offset, end) else { throw PageFault(number, "nodes overlap") }
      try checkKeySize(keySize, kind, number)
      let key = node.key
      if index > 0 {
        guard isOrdered(previous, key, kind) else {
          throw PageFault(number, "the keys of a page are not in order")
        }
      } else if let above, isOrdered(key, above, kind) {
        throw PageFault(number, "a key is less than the lower bound of its page")
      }
      previous = key
      if flags == 0, kind == .plain {
        entries &+= 1
      } else {
        entries &+= try checkNode(node, kind, number)
        if flags & (PageLayout.bigData | PageLayout.subData) != 0 { needsWalk = true }
      }
    }
    if let below, !isOrdered(previous, below, kind) {
      throw PageFault(number, "a key is greater than the upper bound of its page")
    }
    guard pageTiles.isFilled(from: upper, to: pageSize) else {
      throw PageFault(number, "nodes overlap or leave gaps")
    }
    totals.entries &+= entries
    return needsWalk
  }

  private func checkKeySize(_ size: Int, _ kind: Kind, _ number: UInt64) throws(PageFault) {
    if kind == .freeList {
      guard size == 8 else { throw PageFault(number, "a key of the free list has a wrong size") }
    } else {
      guard size >= 1, size <= PageLayout.maximumKeySize else {
        throw PageFault(number, "a key has an impossible size")
      }
    }
  }

  @inline(__always)
  private func isOrdered(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ kind: Kind
  ) -> Bool {
    guard kind == .freeList else { return PageLayout.order(left, right) < 0 }
    guard let a = left.baseAddress, let b = right.baseAddress else { return false }
    return a.uint64(0) < b.uint64(0)
  }

  /// Checks the flags and the value of a node; returns its number of entries, without those of a
  /// tree below it.
  private func checkNode(
    _ node: PageNode, _ kind: Kind, _ number: UInt64
  ) throws(PageFault) -> UInt64 {
    let flags = node.flags
    switch kind {
    case .freeList:
      guard flags & ~PageLayout.bigData == 0 else { break }
      // LMDB reuses the pages of record 0 without deleting it, but not those of later records.
      let transaction = node.key.baseAddress?.uint64(0) ?? 0
      guard transaction >= 1, transaction <= meta.transaction else {
        throw PageFault(number, "the free list names an impossible transaction")
      }
      return 1
    case .main:
      if flags & ~PageLayout.bigData == 0 { return 1 }
      guard flags == PageLayout.subData else { break }
      guard node.valueSize == PageLayout.databaseRecordSize else {
        throw PageFault(number, "the header of a database has a wrong size")
      }
      return 1
    case .plain:
      if flags & ~PageLayout.bigData == 0 { return 1 }
    case .duplicates(let isFixed):
      switch flags {
      case 0:
        guard node.valueSize <= PageLayout.maximumKeySize else {
          throw PageFault(number, "a value among duplicates is too long")
        }
        if isFixed { try checkFixedSize(node.valueSize, number) }
        return 1
      case PageLayout.duplicateData:
        return try checkInner(node, isFixed: isFixed, number)
      case PageLayout.duplicateData | PageLayout.subData:
        guard node.valueSize == PageLayout.databaseRecordSize else {
          throw PageFault(number, "the header of a tree of duplicates has a wrong size")
        }
        return 0
      default: break
      }
    case .values:
      guard flags == 0, node.valueSize == 0 else { break }
      return 1
    }
    throw PageFault(number, "a node has wrong flags")
  }

  /// Checks the small page inside a node that holds the values of one key.
  private func checkInner(
    _ node: PageNode, isFixed: Bool, _ number: UInt64
  ) throws(PageFault) -> UInt64 {
    let size = node.valueSize
    guard size >= PageLayout.headerSize, size & 1 == 0 else {
      throw PageFault(number, "the page of a key's values has an impossible size")
    }
    let page = PageHeader(base: node.value)
    guard page.flags == (isFixed ? PageLayout.innerFixedLeaf : PageLayout.innerLeaf) else {
      throw PageFault(number, "the page of a key's values has wrong flags")
    }
    // LMDB uses the number as the root of a tree, and aborts if it is that of a meta page.
    guard page.number > 1 else {
      throw PageFault(number, "the page of a key's values has a wrong number")
    }
    if isFixed {
      guard page.pad >= 1, page.pad <= PageLayout.maximumKeySize else {
        throw PageFault(number, "the page of a key's values has an impossible value size")
      }
      try checkFixedSize(page.pad, number)
      try checkFixed(page, size: size, valueSize: page.pad, above: nil, below: nil, number)
      return UInt64(page.count)
    }
    let count = try checkBounds(page, size: size, number)
    let upper = page.upper
    var previous = UnsafeRawBufferPointer(start: nil, count: 0)
    innerTiles.begin(size: size)
    for index in 0..<count {
      let offset = page.offset(index)
      guard offset >= upper, offset & 1 == 0, offset <= size &- PageLayout.nodeHeaderSize else {
        throw PageFault(number, "a value is outside its page")
      }
      let value = PageNode(base: page.base + offset)
      let end = offset &+ ((PageLayout.nodeHeaderSize &+ value.keySize &+ 1) & ~1)
      guard value.flags == 0, value.valueSize == 0, end <= size else {
        throw PageFault(number, "a value among duplicates is damaged")
      }
      guard innerTiles.add(offset, end) else { throw PageFault(number, "values overlap") }
      guard value.keySize >= 1, value.keySize <= PageLayout.maximumKeySize else {
        throw PageFault(number, "a value among duplicates has an impossible size")
      }
      if index > 0, PageLayout.order(previous, value.key) >= 0 {
        throw PageFault(number, "the values of a key are not in order")
      }
      previous = value.key
    }
    guard innerTiles.isFilled(from: upper, to: size) else {
      throw PageFault(number, "values overlap or leave gaps")
    }
    return UInt64(count)
  }

  /// Checks a page of values of equal length, which has no nodes.
  ///
  /// LMDB counts two bytes per value in the lower bound, although it stores none there.
  func checkFixed(
    _ page: PageHeader, size: Int, valueSize: Int, above: UnsafeRawBufferPointer?,
    below: UnsafeRawBufferPointer?, _ number: UInt64
  ) throws(PageFault) {
    let lower = page.lower
    let count = page.count
    let room = size &- PageLayout.headerSize &- count &* valueSize
    guard lower > PageLayout.headerSize, lower & 1 == 0, room >= 0,
      page.upper &- lower == room
    else { throw PageFault(number, "the bounds of a page of values are impossible") }
    let values = page.base + PageLayout.headerSize
    func value(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: values + index &* valueSize, count: valueSize)
    }
    for index in 1..<max(1, count) {
      guard PageLayout.order(value(index &- 1), value(index)) < 0 else {
        throw PageFault(number, "the values of a key are not in order")
      }
    }
    if let above, PageLayout.order(value(0), above) < 0 {
      throw PageFault(number, "a value is less than the lower bound of its page")
    }
    if let below, PageLayout.order(value(count &- 1), below) >= 0 {
      throw PageFault(number, "a value is greater than the upper bound of its page")
    }
  }
}

/// Whether the nodes of a page fill it from the upper bound to the end without overlap.
///
/// Every node starts at an even offset. The nodes are contiguous if all starts differ, and if the
/// ends are exactly the starts except the first, plus the end of the page.
struct NodeTiles {
  private let starts: UnsafeMutablePointer<UInt64>
  private let ends: UnsafeMutablePointer<UInt64>
  private var words: Int

  init(size: Int) {
    words = size / 128 + 1
    starts = .allocate(capacity: words)
    ends = .allocate(capacity: words)
  }

  func deallocate() {
    starts.deallocate()
    ends.deallocate()
  }

  @inline(__always)
  mutating func begin(size: Int) {
    words = size / 128 + 1
    starts.update(repeating: 0, count: words)
    ends.update(repeating: 0, count: words)
  }

  /// Both are even and within the page; false if another node starts there.
  @inline(__always)
  func add(_ start: Int, _ end: Int) -> Bool {
    let bit: UInt64 = 1 << UInt64((start >> 1) & 63)
    guard starts[start >> 7] & bit == 0 else { return false }
    starts[start >> 7] |= bit
    ends[end >> 7] |= 1 << UInt64((end >> 1) & 63)
    return true
  }

  @inline(__always)
  func isFilled(from first: Int, to last: Int) -> Bool {
    let bit: UInt64 = 1 << UInt64((first >> 1) & 63)
    guard starts[first >> 7] & bit != 0 else { return false }
    starts[first >> 7] &= ~bit
    starts[last >> 7] |= 1 << UInt64((last >> 1) & 63)
    for word in 0..<words where starts[word] != ends[word] { return false }
    return true
  }
}
