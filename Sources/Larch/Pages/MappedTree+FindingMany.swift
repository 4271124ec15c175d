/// Finds several keys at once. The search for a random key mostly waits for memory: for a node of a leaf at
/// each step. So the searches take turns, and each asks for its next node before the others go on.
extension MappedTree {
  /// The keys that are searched at once. With fewer, memory is not there yet when it is their turn again.
  package static let keysAtOnce = 32

  /// Whether `find` does so for keys of this size.
  package static func findsAtOnce(_ width: Int?) -> Bool {
    width == WordKey.size || width == TwoWordKey.size
  }

  /// Finds the values of keys, at most `keysAtOnce`.
  ///
  /// - Parameters:
  ///   - keys: the keys, each of `width` bytes, one after the other.
  ///   - values: set to the value of each key; to an empty one if that is not known, as by a page that is
  ///     not what it should be, or if the tree does not have the key.
  package func find(
    _ keys: UnsafeRawPointer, width: Int, count: Int,
    _ values: UnsafeMutablePointer<UnsafeRawBufferPointer>
  ) {
    if width == WordKey.size {
      find(count, values) {
        WordKey(UnsafeRawBufferPointer(start: keys + $0 &* WordKey.size, count: WordKey.size))
      }
    } else {
      find(count, values) {
        TwoWordKey(
          UnsafeRawBufferPointer(start: keys + $0 &* TwoWordKey.size, count: TwoWordKey.size))
      }
    }
  }

  @inline(__always)
  private func find<Key: SizedKey>(
    _ count: Int, _ values: UnsafeMutablePointer<UnsafeRawBufferPointer>, _ key: (Int) -> Key
  ) {
    withUnsafeTemporaryAllocation(of: LeafSearch<Key>.self, capacity: MappedTree.keysAtOnce) {
      room in
      guard let searches = room.baseAddress else { return }
      let count = min(count, MappedTree.keysAtOnce)
      var branch = LowestBranch<Key>()
      for place in 0..<count {
        let key = key(place)
        let leaf = branch.leaf(of: key, in: self)
        (searches + place).initialize(to: LeafSearch(key, leaf))
      }
      for place in 0..<count { searches[place].begin(in: self) }
      var isSearching = true
      while isSearching {
        isSearching = false
        for place in 0..<count where searches[place].low < searches[place].high {
          searches[place].step(in: self)
          isSearching = true
        }
      }
      for place in 0..<count { values[place] = searches[place].value(in: self) }
    }
  }
}

/// A key of one size, compared as a number.
protocol SizedKey: SearchedKey {
  static var size: Int { get }
  /// Whether it is behind another key of this size.
  func isBehind(_ other: UnsafeRawBufferPointer) -> Bool
}

extension WordKey: SizedKey {
  @inline(__always)
  func isBehind(_ other: UnsafeRawBufferPointer) -> Bool {
    UInt64(bigEndian: other.loadUnaligned(as: UInt64.self)) < word
  }
}

extension TwoWordKey: SizedKey {
  @inline(__always)
  func isBehind(_ other: UnsafeRawBufferPointer) -> Bool {
    let found = UInt64(bigEndian: other.loadUnaligned(as: UInt64.self))
    if found == first { return order(of: other) < 0 }
    return found < first
  }
}

/// A branch above leaves, and the keys below it: the next key is often below the same one.
private struct LowestBranch<Key: SizedKey> {
  private var page: PageHeader?
  /// The first key below it, and the first one behind those; nil if it is the first or the last branch.
  private var lower: UnsafeRawBufferPointer?
  private var upper: UnsafeRawBufferPointer?

  /// The leaf in which a key would be, without a look at it; nil if a page is not what it should be.
  @inline(__always)
  mutating func leaf(of key: Key, in tree: MappedTree) -> PageHeader? {
    if page == nil || lower.map({ key.order(of: $0) > 0 }) ?? false
      || upper.map({ key.order(of: $0) <= 0 }) ?? false
    {
      guard search(key, in: tree) else { return nil }
    }
    guard let page else { return nil }
    if page.flags == PageLayout.leaf { return page }
    guard let (place, _) = tree.place(of: key, in: page, isBranch: true),
      let node = tree.node(place, in: page)
    else { return nil }
    let number = node.child
    guard number > 1, number <= tree.lastPage else { return nil }
    let leaf = tree.page(at: number)
    // The header and the places of the nodes.
    leaf.base.prefetch()
    (leaf.base + 64).prefetch()
    return leaf
  }

  /// Goes down from the root; false if a page is not what it should be.
  private mutating func search(_ key: Key, in tree: MappedTree) -> Bool {
    (page, lower, upper) = (nil, nil, nil)
    guard var page = tree.page(tree.tree.root) else { return false }
    var levels = tree.tree.depth
    while levels > 2, page.flags == PageLayout.branch {
      guard let (place, _) = tree.place(of: key, in: page, isBranch: true),
        let child = tree.child(place, of: page)
      else { return false }
      if place > 0 {
        guard let node = tree.node(place, in: page), key.canBeCompared(node.keySize) else {
          return false
        }
        lower = node.key
      }
      if place + 1 < page.count {
        guard let node = tree.node(place + 1, in: page), key.canBeCompared(node.keySize) else {
          return false
        }
        upper = node.key
      }
      page = child
      levels -= 1
    }
    self.page = page
    return true
  }
}

/// The binary search in a leaf.
private struct LeafSearch<Key: SizedKey> {
  private let key: Key
  private let page: PageHeader?
  private(set) var low: Int32 = 0
  /// -1 if the place of the key is not known.
  private(set) var high: Int32 = -1

  @inline(__always)
  init(_ key: Key, _ leaf: PageHeader?) {
    self.key = key
    page = leaf
  }

  @inline(__always)
  mutating func begin(in tree: MappedTree) {
    guard let page, tree.page(page.number)?.base == page.base, page.flags == PageLayout.leaf else {
      return
    }
    high = Int32(truncatingIfNeeded: page.count)
    prefetchMiddle(of: page)
  }

  /// Asks for the node that the next step compares; its key may go on in other memory.
  @inline(__always)
  private func prefetchMiddle(of page: PageHeader) {
    let node = page.base + page.offset(Int((low &+ high) &>> 1))
    node.prefetch()
    (node + (PageLayout.nodeHeaderSize &+ Key.size &- 1)).prefetch()
  }

  /// The node at a place, with a key of the right size; nil if that is not inside the page.
  @inline(__always)
  private func node(_ place: Int32, in page: PageHeader, of tree: MappedTree) -> PageNode? {
    let offset = page.offset(Int(place))
    let last = tree.pageSize &- PageLayout.nodeHeaderSize &- Key.size
    guard offset >= page.lower, offset <= last else { return nil }
    let node = PageNode(base: page.base + offset)
    return node.keySize == Key.size ? node : nil
  }

  @inline(__always)
  mutating func step(in tree: MappedTree) {
    let middle = (low &+ high) &>> 1
    guard let page, let node = node(middle, in: page, of: tree) else {
      (low, high) = (0, -1)
      return
    }
    // Both are chosen without a jump, which would be guessed wrongly every second time.
    let isBehind = key.isBehind(node.key)
    low = isBehind ? middle &+ 1 : low
    high = isBehind ? high : middle
    if low < high { prefetchMiddle(of: page) }
  }

  /// The value of the key, whose first bytes are asked for.
  @inline(__always)
  func value(in tree: MappedTree) -> UnsafeRawBufferPointer {
    guard let page, high >= 0, Int(high) < page.count, let node = node(high, in: page, of: tree),
      key.order(of: node.key) == 0, let value = tree.singleValue(of: node),
      let start = value.baseAddress
    else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    (start + 64).prefetch()
    (start + 128).prefetch()
    return value
  }
}
