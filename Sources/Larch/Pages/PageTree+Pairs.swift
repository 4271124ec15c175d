/// Databases whose keys have several values: lists of ids.
extension PageTree {
  /// Calls with every readable pair of a database of duplicates. The bytes are valid during the
  /// call.
  func forEachPair(of database: Named, onDamage: Damage, _ body: Entry) throws {
    guard !database.isPlain, database.record.root != PageLayout.noPage else { return }
    forgetVisits()
    try descendPairs(database.record.root, level: 0, key: nil, onDamage, body)
  }

  /// - Parameter key: the key whose values are the keys of this tree; nil in the outer tree.
  private func descendPairs(
    _ number: UInt64, level: Int, key: [UInt8]?, _ onDamage: Damage, _ body: Entry
  ) throws {
    guard let page = page(number, level: level, orFixed: key != nil, onDamage) else { return }
    if page.flags == PageLayout.fixedLeaf {
      try key?.withUnsafeBytes {
        try giveFixed(page, size: pageSize, $0, number, onDamage, body)
      }
      return
    }
    let isBranch = page.flags == PageLayout.branch
    for index in 0..<page.count {
      guard let node = node(index, in: page) else {
        onDamage(number, "a node is outside its page")
        continue
      }
      if isBranch {
        try descendPairs(node.child, level: level + 1, key: key, onDamage, body)
        continue
      }
      guard Self.isPossible(node.keySize) else {
        onDamage(number, "a key has an impossible size")
        continue
      }
      if let key {
        try key.withUnsafeBytes { try body($0, node.key) }
      } else {
        try giveValues(of: node, level, number, onDamage, body)
      }
    }
  }

  /// The values of one key: a single one, a small page of them, or a tree.
  private func giveValues(
    of node: PageNode, _ level: Int, _ number: UInt64, _ onDamage: Damage, _ body: Entry
  ) throws {
    let size = node.valueSize
    switch node.flags {
    case 0:
      guard Self.isPossible(size) else {
        return onDamage(number, "a duplicate has an impossible size")
      }
      try body(node.key, UnsafeRawBufferPointer(start: node.value, count: size))
    case PageLayout.duplicateData:
      try giveInner(node, number, onDamage, body)
    case PageLayout.duplicateData | PageLayout.subData:
      guard size == PageLayout.databaseRecordSize else {
        return onDamage(number, "the header of a tree of duplicates has a wrong size")
      }
      let record = DatabaseRecord(node.value)
      try descendPairs(
        record.root, level: level + 1, key: [UInt8](node.key), onDamage, body)
    default: onDamage(number, "a node has a wrong kind")
    }
  }

  /// The values in a page that is inside a node.
  private func giveInner(
    _ node: PageNode, _ number: UInt64, _ onDamage: Damage, _ body: Entry
  ) throws {
    let size = node.valueSize
    guard size >= PageLayout.headerSize else {
      return onDamage(number, "a page of duplicates is too short")
    }
    let page = PageHeader(base: node.value)
    guard page.lower > PageLayout.headerSize, page.lower & 1 == 0, page.lower <= size else {
      return onDamage(number, "the bounds of a page of duplicates are impossible")
    }
    if page.flags == PageLayout.innerFixedLeaf {
      return try giveFixed(page, size: size, node.key, number, onDamage, body)
    }
    guard page.flags == PageLayout.innerLeaf else {
      return onDamage(number, "a page of duplicates has a wrong kind")
    }
    for index in 0..<page.count {
      let offset = page.offset(index)
      guard offset >= page.lower, offset <= size &- PageLayout.nodeHeaderSize else {
        onDamage(number, "a duplicate is outside its page")
        continue
      }
      let inner = PageNode(base: page.base + offset)
      guard Self.isPossible(inner.keySize),
        inner.keySize <= size &- offset &- PageLayout.nodeHeaderSize
      else {
        onDamage(number, "a duplicate is outside its page")
        continue
      }
      try body(node.key, inner.key)
    }
  }

  /// Values of one length, one after the other after the header of a page.
  private func giveFixed(
    _ page: PageHeader, size: Int, _ key: UnsafeRawBufferPointer, _ number: UInt64,
    _ onDamage: Damage, _ body: Entry
  ) throws {
    let width = page.pad
    guard Self.isPossible(width), page.count <= (size &- PageLayout.headerSize) / width else {
      return onDamage(number, "the bounds of a page of duplicates are impossible")
    }
    for index in 0..<page.count {
      let start = page.base + PageLayout.headerSize + index * width
      try body(key, UnsafeRawBufferPointer(start: start, count: width))
    }
  }

  private static func isPossible(_ size: Int) -> Bool {
    (1...PageLayout.maximumKeySize).contains(size)
  }
}
