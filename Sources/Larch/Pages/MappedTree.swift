/// The tree of a database in LMDB's map, to estimate how many entries are between two keys: LMDB
/// has no call for that, and passing all of them costs as much as reading them.
///
/// A search goes down from the root, as LMDB's own does, and adds up what is between the pages of
/// both keys, from some of these pages. The pages of a snapshot do not change. What a damaged file has
/// in its pages leads to a wrong estimate at worst: each place is checked before it is read, and the
/// search goes no deeper than a tree can be.
package struct MappedTree {
  /// The address of the first page.
  private let map: UnsafeRawPointer
  let pageSize: Int
  let lastPage: UInt64
  private(set) var tree: DatabaseRecord

  /// The pages of a range below one page that are looked at.
  private static let sampledPages = 12

  /// Nil if pages cannot be found by the address of this value.
  ///
  /// - Parameter value: what LMDB keeps under the name of the database. It must be in the map, which
  ///   a value in a write need not be.
  package init?(_ value: UnsafeRawBufferPointer, pageSize: Int, lastPage: Int) {
    // Pages begin at multiples of their size only if they are those of the operating system.
    guard let bytes = value.baseAddress, value.count == PageLayout.databaseRecordSize,
      pageSize == Int(getpagesize()), lastPage > 1
    else { return nil }
    let start = UInt(bitPattern: bytes) & ~UInt(bitPattern: pageSize &- 1)
    guard let page = UnsafeRawPointer(bitPattern: start) else { return nil }
    let header = PageHeader(base: page)
    guard header.flags == PageLayout.leaf, header.number > 1, header.number <= UInt64(lastPage)
    else { return nil }
    map = page - Int(header.number) * pageSize
    self.pageSize = pageSize
    self.lastPage = UInt64(lastPage)
    tree = DatabaseRecord(bytes)
  }

  /// The address of the first page. Every key and value has a higher address.
  package var start: UnsafeRawPointer { map }

  /// Another tree of the same file, or the same tree in another snapshot.
  func with(_ tree: DatabaseRecord) -> MappedTree {
    var other = self
    other.tree = tree
    return other
  }

  /// The approximate number of entries from one key on, up to another; nil if a page is not what it
  /// should be. With few pages between them it is exact.
  ///
  /// - Parameter end: nil for all further keys.
  package func entries(
    from start: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?
  ) -> Double? {
    guard var page = page(tree.root) else { return nil }
    for _ in 0..<PageLayout.maximumDepth {
      guard let end else { return entries(in: page, from: start, PageLayout.maximumDepth) }
      guard let places = places(from: start, to: end, in: page) else { return nil }
      if page.flags == PageLayout.leaf { return entries(at: places, of: page) }
      guard let child = child(places.lowerBound, of: page) else { return nil }
      if places.count > 1 {
        guard let other = self.child(places.upperBound - 1, of: page),
          let left = entries(in: child, from: start, PageLayout.maximumDepth),
          let right = entries(in: other, to: end, PageLayout.maximumDepth),
          let middle = entries(ofChildren: places.dropFirst().dropLast(), of: page)
        else { return nil }
        return left + middle + right
      }
      page = child
    }
    return nil
  }

  private func entries(
    in page: PageHeader, from key: UnsafeRawBufferPointer, _ levels: Int
  ) -> Double? {
    guard let place = place(of: key, in: page) else { return nil }
    if page.flags == PageLayout.leaf { return entries(at: place..<page.count, of: page) }
    guard levels > 0, let child = child(place, of: page),
      let part = entries(in: child, from: key, levels - 1),
      let rest = entries(ofChildren: place + 1..<page.count, of: page)
    else { return nil }
    return part + rest
  }

  private func entries(
    in page: PageHeader, to key: UnsafeRawBufferPointer, _ levels: Int
  ) -> Double? {
    guard let place = place(of: key, in: page) else { return nil }
    if page.flags == PageLayout.leaf { return entries(at: 0..<place, of: page) }
    guard levels > 0, let child = child(place, of: page),
      let part = entries(in: child, to: key, levels - 1),
      let rest = entries(ofChildren: 0..<place, of: page)
    else { return nil }
    return part + rest
  }

  /// Of many children some are looked at, evenly spread.
  private func entries(ofChildren places: Range<Int>, of page: PageHeader) -> Double? {
    if places.isEmpty { return 0 }
    let looked = min(places.count, MappedTree.sampledPages)
    var sum = 0.0
    for number in 0..<looked {
      guard let child = child(places.lowerBound + number * places.count / looked, of: page),
        let entries = entries(in: child, PageLayout.maximumDepth)
      else { return nil }
      sum += entries
    }
    return sum * Double(places.count) / Double(looked)
  }

  private func entries(in page: PageHeader, _ levels: Int) -> Double? {
    if page.flags == PageLayout.leaf { return entries(at: 0..<page.count, of: page) }
    guard levels > 0, let child = child(page.count / 2, of: page),
      let entries = entries(in: child, levels - 1)
    else { return nil }
    return entries * Double(page.count)
  }

  /// The entries of some keys of a leaf. One key may have more than all others together.
  private func entries(at places: Range<Int>, of leaf: PageHeader) -> Double? {
    guard tree.hasDuplicates else { return Double(places.count) }
    var sum = 0.0
    for place in places {
      guard let node = node(place, in: leaf), let entries = entries(of: node, in: leaf) else {
        return nil
      }
      sum += Double(entries)
    }
    return sum
  }

  /// The number of ids of a key: one is a value, some are a page in the node, and many have their own tree.
  /// Nil if the node is not what it should be.
  @inline(__always)
  func entries(of node: PageNode, in leaf: PageHeader) -> Int? {
    guard tree.hasDuplicates, node.flags != 0 else { return 1 }
    guard node.flags & PageLayout.duplicateData != 0,
      node.value + node.valueSize <= leaf.base + pageSize
    else { return nil }
    if node.flags & PageLayout.subData != 0 {
      guard node.valueSize == PageLayout.databaseRecordSize else { return nil }
      let count = DatabaseRecord(node.value).entries
      // No more than the file has bytes, so that sums of such numbers end nothing.
      return count > 0 && count <= (lastPage &+ 1) &* UInt64(pageSize) ? Int(count) : nil
    }
    guard node.valueSize >= PageLayout.headerSize else { return nil }
    let inner = PageHeader(base: node.value)
    return inner.count > 0 && inner.lower <= node.valueSize ? inner.count : nil
  }

  @inline(__always)
  func child(_ place: Int, of page: PageHeader) -> PageHeader? {
    node(place, in: page).flatMap { self.page($0.child) }
  }

  /// The places of a page that have keys from one on, up to another: keys of a leaf, or children of a branch,
  /// of which there is at least one. Nil if the page is not what it should be.
  ///
  /// - Parameters:
  ///   - start: nil from the first key on.
  ///   - end: nil to the last key.
  @inline(__always)
  func places(
    from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?, in page: PageHeader
  ) -> Range<Int>? {
    guard let first = start.map({ place(of: $0, in: page) }) ?? 0 else { return nil }
    if page.flags == PageLayout.leaf {
      guard let last = end.map({ place(of: $0, in: page) }) ?? page.count else { return nil }
      return first..<max(first, last)
    }
    // The child in which the range ends is mostly the one in which it begins.
    if let end, first + 1 < page.count, let next = node(first + 1, in: page),
      PageLayout.order(next.key, end) > 0
    {
      return first..<first + 1
    }
    guard let last = end.map({ place(of: $0, in: page) }) ?? page.count - 1, first <= last else {
      return nil
    }
    return first..<last + 1
  }

  /// In a leaf, the number of keys before the key; in a branch, the child in which it would be. Nil if the page
  /// is damaged.
  func place(of key: UnsafeRawBufferPointer, in page: PageHeader) -> Int? {
    let isBranch = page.flags == PageLayout.branch
    let found =
      switch key.count {
      case WordKey.size: place(of: WordKey(key), in: page, isBranch: isBranch)
      case TwoWordKey.size: place(of: TwoWordKey(key), in: page, isBranch: isBranch)
      default: place(of: BytesKey(key), in: page, isBranch: isBranch)
      }
    // In a tree of texts, only some keys have the size of a number.
    return (found ?? place(of: BytesKey(key), in: page, isBranch: isBranch))?.place
  }

  /// The page of this number, if it can be one of a tree: none of these is empty.
  @inline(__always)
  func page(_ number: UInt64) -> PageHeader? {
    guard number > 1, number <= lastPage else { return nil }
    let page = self.page(at: number)
    guard page.number == number, page.count > 0, page.lower <= pageSize,
      page.flags == PageLayout.branch || page.flags == PageLayout.leaf
    else { return nil }
    return page
  }

  /// The page of this number, whatever it is; the number must be one of the map.
  @inline(__always)
  func page(at number: UInt64) -> PageHeader {
    PageHeader(base: map + Int(number) &* pageSize)
  }

  /// The first page of a value of several pages; nil if not all of them are there.
  func overflowRun(_ first: UInt64, pages: UInt64) -> PageHeader? {
    guard first > 1, first <= lastPage, pages > 0, pages &- 1 <= lastPage &- first else {
      return nil
    }
    let run = PageHeader(base: map + Int(first) * pageSize)
    guard run.number == first, run.flags == PageLayout.overflow, run.overflowPages >= pages else {
      return nil
    }
    return run
  }

  @inline(__always)
  func node(_ place: Int, in page: PageHeader) -> PageNode? {
    let offset = page.offset(place)
    guard offset >= page.lower, offset + PageLayout.nodeHeaderSize <= pageSize else { return nil }
    let node = PageNode(base: page.base + offset)
    guard offset + PageLayout.nodeHeaderSize + node.keySize <= pageSize else { return nil }
    return node
  }
}

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif
