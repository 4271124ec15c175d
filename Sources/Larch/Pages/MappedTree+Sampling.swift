/// Some keys and entries of a tree, evenly spread, for statistics.
extension MappedTree {
  /// A key, where it is stored.
  struct SampledKey {
    fileprivate let node: PageNode
    fileprivate let leaf: PageHeader
    /// The number of its entries.
    let entries: Int

    var bytes: UnsafeRawBufferPointer { node.key }
  }

  /// Some keys of a range.
  struct KeySample {
    fileprivate(set) var keys: [SampledKey] = []
    /// The approximate number of all keys in the range.
    fileprivate(set) var keyCount = 0.0
    var areAll: Bool { keyCount <= Double(keys.count) }
  }

  /// Some keys from one on, up to another, in order; nil if a page is not what it should be.
  ///
  /// - Parameters:
  ///   - end: nil for all further keys.
  ///   - count: about how many; all keys if there are no more.
  func someKeys(
    from start: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?, atMost count: Int
  ) -> KeySample? {
    guard tree.entries > 0 else { return KeySample() }
    guard let root = page(tree.root) else { return nil }
    var search = SampleSearch(self)
    guard search.add(root, from: start, to: end, count, 1, PageLayout.maximumDepth) else {
      return nil
    }
    return search.found
  }

  /// One entry of a key in the tree of an index; nil if a page is not what it should be.
  ///
  /// - Parameter part: its place among all entries of the key, from 0 to less than 1.
  func entry(of key: SampledKey, at part: Double) -> UnsafeRawBufferPointer? {
    let node = key.node
    guard node.value + node.valueSize <= key.leaf.base + pageSize else { return nil }
    if node.flags == 0 {
      return UnsafeRawBufferPointer(start: node.value, count: node.valueSize)
    }
    guard node.flags & PageLayout.duplicateData != 0 else { return nil }
    if node.flags & PageLayout.subData == 0 {
      guard node.valueSize >= PageLayout.headerSize else { return nil }
      return value(at: part, in: PageHeader(base: node.value), size: node.valueSize)
    }
    guard node.valueSize == PageLayout.databaseRecordSize else { return nil }
    var number = DatabaseRecord(node.value).root
    var part = part
    for _ in 0..<PageLayout.maximumDepth {
      guard number > 1, number <= lastPage else { return nil }
      let page = self.page(at: number)
      guard page.number == number, page.count > 0, page.lower <= pageSize else { return nil }
      if page.flags != PageLayout.branch { return value(at: part, in: page, size: pageSize) }
      let place = Double(page.count) * part
      guard let child = self.node(Int(place), in: page)?.child else { return nil }
      (number, part) = (child, place - place.rounded(.down))
    }
    return nil
  }

  /// A value of a leaf, or of a page in a node.
  private func value(
    at part: Double, in page: PageHeader, size: Int
  ) -> UnsafeRawBufferPointer? {
    guard page.lower <= size, page.count > 0 else { return nil }
    let place = Int(Double(page.count) * part)
    switch page.flags {
    case PageLayout.fixedLeaf, PageLayout.innerFixedLeaf:
      let start = PageLayout.headerSize + place * page.pad
      guard start + page.pad <= size else { return nil }
      return UnsafeRawBufferPointer(start: page.base + start, count: page.pad)
    case PageLayout.leaf, PageLayout.innerLeaf:
      let offset = page.offset(place)
      guard offset + PageLayout.nodeHeaderSize <= size else { return nil }
      let node = PageNode(base: page.base + offset)
      guard offset + PageLayout.nodeHeaderSize + node.keySize <= size else { return nil }
      return node.key
    default: return nil
    }
  }
}

private struct SampleSearch {
  /// In a damaged file it may be any number, and numbers of entries are added.
  private static let mostEntries = 1 << 40

  private let tree: MappedTree
  private(set) var found = MappedTree.KeySample()

  init(_ tree: MappedTree) { self.tree = tree }

  /// Adds some keys of a page or below it; false if it is damaged.
  ///
  /// - Parameters:
  ///   - start: nil from the first key on.
  ///   - end: nil to the last key.
  ///   - pages: the number of pages that this one stands for.
  mutating func add(
    _ page: PageHeader, from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?,
    _ count: Int, _ pages: Double, _ levels: Int
  ) -> Bool {
    guard let places = tree.places(from: start, to: end, in: page) else { return false }
    if page.flags == PageLayout.leaf { return add(places, of: page, count, pages) }
    guard levels > 0 else { return false }
    let (first, last, children) = (places.lowerBound, places.upperBound - 1, places.count)
    let looked = min(children, count)
    // Where all children are looked at, one with few keys in the range has few of the sample.
    var weights: [Double] = []
    if children <= count, children > 1 {
      for place in first...last {
        guard let child = tree.child(place, of: page),
          let weight = weight(
            child, from: place == first ? start : nil, to: place == last ? end : nil)
        else { return false }
        weights.append(weight)
      }
    }
    let whole = weights.reduce(0, +)
    for number in 0..<looked {
      let place = first + (2 * number + 1) * children / (2 * looked)
      guard let child = tree.child(place, of: page) else { return false }
      let part =
        whole > 0
        ? Int((Double(count) * weights[number] / whole).rounded(.up)) : count / looked
      if part == 0 { continue }
      guard
        add(
          child, from: place == first ? start : nil, to: place == last ? end : nil, part,
          pages * Double(children) / Double(looked), levels - 1)
      else { return false }
    }
    return true
  }

  /// The number of keys of a leaf, or a guess of the part of a branch, in a range; nil if the page is damaged.
  private func weight(
    _ page: PageHeader, from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?
  ) -> Double? {
    guard page.flags == PageLayout.leaf else { return start == nil && end == nil ? 2 : 1 }
    return tree.places(from: start, to: end, in: page).map { Double($0.count) }
  }

  private mutating func add(
    _ places: Range<Int>, of leaf: PageHeader, _ count: Int, _ pages: Double
  ) -> Bool {
    let looked = min(places.count, count)
    found.keyCount += Double(places.count) * pages
    for number in 0..<looked {
      let place = places.lowerBound + (2 * number + 1) * places.count / (2 * looked)
      guard let node = tree.node(place, in: leaf), let entries = tree.entries(of: node, in: leaf)
      else { return false }
      found.keys.append(
        MappedTree.SampledKey(
          node: node, leaf: leaf, entries: max(1, min(entries, SampleSearch.mostEntries))))
    }
    return true
  }
}
