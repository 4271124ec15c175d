/// Finds one key. A search by LMDB costs about five times as much: it makes a cursor, keeps the page of
/// each level, and calls a function for each comparison.
extension MappedTree {
  /// Finds the value of a key.
  ///
  /// - Parameter value: set to the value; to nil if the tree does not have the key.
  /// - Returns: false if that is not known: the key has several values, or a page is not what it should
  ///   be.
  @inline(__always)
  package func find(
    _ key: UnsafeRawBufferPointer, _ value: inout UnsafeRawBufferPointer?
  ) -> Bool {
    switch search(key) {
    case .absent:
      value = nil
      return true
    case .unclear: return false
    case .node(let start):
      value = singleValue(of: PageNode(base: start))
      return value != nil
    }
  }

  /// Finds the number of values of a key; nil if a page is not what it should be.
  @inline(__always)
  package func count(of key: UnsafeRawBufferPointer) -> Int? {
    switch search(key) {
    case .absent: return 0
    case .unclear: return nil
    case .node(let start):
      return entries(of: PageNode(base: start), in: page(around: start))
    }
  }

  /// The values of one key.
  package enum ValuesOfKey {
    case absent
    case found(Values)
    /// A page is not what it should be.
    case unclear
  }

  /// Finds the values of a key in the tree of an index.
  @inline(__always)
  package func values(of key: UnsafeRawBufferPointer) -> ValuesOfKey {
    switch search(key) {
    case .absent: .absent
    case .unclear: .unclear
    case .node(let start):
      .found(values(of: PageNode(base: start), in: page(around: start)))
    }
  }

  /// Where a key is.
  private enum Place {
    case absent, unclear
    /// The address of its node, which is inside its page, with all of the key.
    case node(UnsafeRawPointer)
  }

  @inline(__always)
  private func search(_ key: UnsafeRawBufferPointer) -> Place {
    switch key.count {
    case WordKey.size: sure(search(WordKey(key)), key)
    case TwoWordKey.size: sure(search(TwoWordKey(key)), key)
    default: search(BytesKey(key))
    }
  }

  /// In a tree of texts, only some keys have the size of a number.
  @inline(__always)
  private func sure(_ place: Place, _ key: UnsafeRawBufferPointer) -> Place {
    if case .unclear = place { return search(BytesKey(key)) }
    return place
  }

  /// Goes down from the root, by a binary search in each page. Whatever bytes a damaged file has there,
  /// nothing is read outside of its pages, and the search ends.
  private func search<Key: SearchedKey>(_ key: Key) -> Place {
    guard var page = page(tree.root) else { return .unclear }
    for _ in 0..<PageLayout.maximumDepth {
      let isBranch = page.flags == PageLayout.branch
      guard let (place, equal) = place(of: key, in: page, isBranch: isBranch) else {
        return .unclear
      }
      if !isBranch { return equal.map { .node($0) } ?? .absent }
      guard let child = child(place, of: page) else { return .unclear }
      page = child
    }
    return .unclear
  }

  /// In a leaf, the number of keys before the key, and its node if it is there; in a branch, the child in
  /// which it would be. Nil if a node that the search comes to is not inside the page, or if its key has
  /// another size than all should have.
  @inline(__always)
  func place<Key: SearchedKey>(
    of key: Key, in page: PageHeader, isBranch: Bool
  ) -> (place: Int, equal: UnsafeRawPointer?)? {
    let lower = page.lower
    // The first key of a branch is empty.
    var low = isBranch ? 1 : 0
    var high = page.count
    let last = pageSize &- PageLayout.nodeHeaderSize
    while low < high {
      let middle = (low &+ high) &>> 1
      let offset = page.offset(middle)
      guard offset >= lower, offset <= last else { return nil }
      let node = PageNode(base: page.base + offset)
      let size = node.keySize
      guard key.canBeCompared(size), size <= last &- offset else { return nil }
      let order = key.order(of: node.key)
      if order == 0 {
        return (middle, isBranch ? nil : node.base)
      } else if order < 0 {
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return (isBranch ? low &- 1 : low, nil)
  }

  /// The only value of a key; nil if there are several, or if it is not inside its page or its own pages.
  @inline(__always)
  func singleValue(of node: PageNode) -> UnsafeRawBufferPointer? {
    let (start, size) = (node.value, node.valueSize)
    if node.flags == 0 {
      let offset = start - page(around: node.base).base
      guard size <= pageSize &- offset else { return nil }
      return UnsafeRawBufferPointer(start: start, count: size)
    }
    guard node.flags == PageLayout.bigData else { return nil }
    return longValue(of: node)
  }

  private func longValue(of node: PageNode) -> UnsafeRawBufferPointer? {
    let offset = node.value - page(around: node.base).base
    let pages = PageLayout.overflowPages(valueSize: node.valueSize, pageSize: pageSize)
    guard offset <= pageSize &- 8, let run = overflowRun(node.value.uint64(0), pages: pages) else {
      return nil
    }
    return UnsafeRawBufferPointer(
      start: run.base + PageLayout.headerSize, count: node.valueSize)
  }

  /// Asks for the header of a page.
  func prefetchPage(_ number: UInt64) {
    if number <= lastPage { page(at: number).base.prefetch() }
  }

  /// Asks for the first bytes of a value with its own pages, in the first two of these.
  func prefetchLongValue(of node: PageNode) {
    let offset = node.value - page(around: node.base).base
    guard offset <= pageSize &- 8 else { return }
    let first = node.value.uint64(0)
    guard first > 1, first < lastPage else { return }
    let start = page(at: first).base
    for line in 0..<4 { (start + line &* 64).prefetch() }
    if node.valueSize > pageSize { (start + pageSize).prefetch() }
  }

  /// Pages begin at multiples of their size.
  @inline(__always)
  private func page(around address: UnsafeRawPointer) -> PageHeader {
    PageHeader(base: address - Int(UInt(bitPattern: address) & UInt(pageSize &- 1)))
  }
}

/// A key that is searched, compared in the order of LMDB: bytes first, then length.
protocol SearchedKey {
  /// Whether a key of this size can be compared with it.
  func canBeCompared(_ size: Int) -> Bool
  /// Less than zero if the other key is before it.
  func order(of other: UnsafeRawBufferPointer) -> Int
}

/// A key of eight bytes in a tree where all keys have eight: a number as an id.
struct WordKey: SearchedKey {
  static var size: Int { 8 }
  let word: UInt64

  @inline(__always)
  init(_ key: UnsafeRawBufferPointer) {
    word = UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  func canBeCompared(_ size: Int) -> Bool { size == WordKey.size }

  @inline(__always)
  func order(of other: UnsafeRawBufferPointer) -> Int {
    let found = UInt64(bigEndian: other.loadUnaligned(as: UInt64.self))
    return found < word ? -1 : found > word ? 1 : 0
  }
}

/// A key of sixteen bytes in a tree where all keys have sixteen: a UUID as an id.
struct TwoWordKey: SearchedKey {
  static var size: Int { 16 }
  let first: UInt64
  let second: UInt64

  @inline(__always)
  init(_ key: UnsafeRawBufferPointer) {
    first = UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
    second = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  @inline(__always)
  func canBeCompared(_ size: Int) -> Bool { size == TwoWordKey.size }

  @inline(__always)
  func order(of other: UnsafeRawBufferPointer) -> Int {
    let found = UInt64(bigEndian: other.loadUnaligned(as: UInt64.self))
    if found != first { return found < first ? -1 : 1 }
    let next = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    return next < second ? -1 : next > second ? 1 : 0
  }
}

struct BytesKey: SearchedKey {
  private let bytes: UnsafeRawBufferPointer
  /// The first bytes, which decide most comparisons; not used for a shorter key.
  private let head: UInt64

  @inline(__always)
  init(_ key: UnsafeRawBufferPointer) {
    bytes = key
    head = key.count >= 8 ? UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) : 0
  }

  @inline(__always)
  func canBeCompared(_ size: Int) -> Bool { true }

  @inline(__always)
  func order(of other: UnsafeRawBufferPointer) -> Int {
    if bytes.count >= 8, other.count >= 8 {
      let found = UInt64(bigEndian: other.loadUnaligned(as: UInt64.self))
      if found != head { return found < head ? -1 : 1 }
      // Most keys of one number with a mark, or of two numbers.
      if bytes.count == other.count, bytes.count <= 16 {
        let tail = UInt64(
          bigEndian: bytes.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
        let found = UInt64(
          bigEndian: other.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
        return found < tail ? -1 : found > tail ? 1 : 0
      }
    }
    return PageLayout.order(other, bytes)
  }
}
