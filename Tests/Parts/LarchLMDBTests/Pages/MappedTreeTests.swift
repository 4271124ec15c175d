import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The pages of a file in memory, as LMDB maps them.
final class MappedFile {
  let memory: UnsafeMutableRawBufferPointer
  let pageSize = Int(getpagesize())

  init(path: String) throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    memory = .allocate(byteCount: bytes.count, alignment: pageSize)
    memory.copyBytes(from: bytes)
  }

  deinit { memory.deallocate() }

  /// Where the headers of the trees with a name are in any page, the old ones too.
  func headers(named name: String) -> [Int] {
    let name = Data(name.utf8)
    let bytes = Data(memory)
    var headers: [Int] = []
    var rest = bytes.startIndex..<bytes.endIndex - PageLayout.databaseRecordSize
    while let found = bytes.range(of: name, in: rest) {
      headers.append(found.upperBound)
      rest = found.upperBound..<rest.upperBound
    }
    return headers
  }

  func tree(at header: Int) -> MappedTree? {
    guard let start = memory.baseAddress else { return nil }
    let value = UnsafeRawBufferPointer(
      start: start + header, count: PageLayout.databaseRecordSize)
    return MappedTree(value, pageSize: pageSize, lastPage: memory.count / pageSize - 1)
  }

  func trees(named name: String) -> [MappedTree] { headers(named: name).compactMap(tree(at:)) }
}

extension MappedFile {
  /// Searches keys, and reads whatever is found.
  func search(_ tree: MappedTree, _ random: inout SeededGenerator) -> Int {
    var unclear = 0
    for _ in 0..<8 {
      let number = Int.random(in: 0..<700, using: &random)
      let key = SampleFile.key(number)
      let keys = [key, [UInt8(number % 2)], key + key]
      for key in keys {
        key.withUnsafeBytes { key in
          var value: UnsafeRawBufferPointer?
          if !tree.find(key, &value) { unclear += 1 }
          if let count = tree.count(of: key) { #expect(count >= 0) }
          guard let start = value?.baseAddress, let count = value?.count, count > 0 else { return }
          let offset = start - UnsafeRawPointer(memory.baseAddress!)
          #expect(offset >= 0 && offset + count <= memory.count)
        }
      }
    }
    return unclear
  }

  /// Goes over keys in both directions from random ones, and searches several at once.
  func walk(_ tree: MappedTree, _ random: inout SeededGenerator) -> Int {
    var unclear = 0
    var areInside = true
    var cursor = MappedCursor(tree)
    for isNext in [true, false] {
      var move = SampleFile.key(Int.random(in: 0..<700, using: &random)).withUnsafeBytes {
        cursor.seek(atOrAfter: $0)
      }
      while move == .found {
        areInside = areInside && isInside(cursor.key)
        switch cursor.values {
        case .one(let bytes), .run(let bytes, _): areInside = areInside && isInside(bytes)
        case .other: break
        }
        if let value = cursor.value { areInside = areInside && isInside(value) }
        move = isNext ? cursor.next() : cursor.previous()
      }
      if move == .unclear { unclear += 1 }
    }
    let count = MappedTree.keysAtOnce
    let keys = (0..<count).flatMap { _ in SampleFile.key(Int.random(in: 0..<600, using: &random)) }
    var values = [UnsafeRawBufferPointer](
      repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: count)
    keys.withUnsafeBytes { tree.find($0.baseAddress!, width: 8, count: count, &values) }
    for value in values {
      areInside = areInside && isInside(value)
      if value.baseAddress == nil { unclear += 1 }
    }
    #expect(areInside)
    return unclear
  }

  private func isInside(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, let base = memory.baseAddress else { return bytes.isEmpty }
    let offset = start - UnsafeRawPointer(base)
    return offset >= 0 && offset + bytes.count <= memory.count
  }
}

extension MappedTree {
  fileprivate func entries(_ range: Range<Int>) -> Double? {
    SampleFile.key(range.lowerBound).withUnsafeBytes { start in
      SampleFile.key(range.upperBound).withUnsafeBytes { entries(from: start, to: $0) }
    }
  }

  fileprivate func count(_ range: Range<Int>) -> Int? {
    SampleFile.key(range.lowerBound).withUnsafeBytes { start in
      SampleFile.key(range.upperBound).withUnsafeBytes { count(from: start, to: $0)?.entries }
    }
  }
}

@Suite("The number of entries between two keys, from the pages in memory")
struct MappedTreeTests {
  private func withFile(_ body: (MappedFile) throws -> Void) throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      try body(MappedFile(path: path))
    }
  }

  @Test("It is near the number, and that of few entries")
  func near() throws {
    try withFile { file in
      let all = SampleFile.count + 5
      let tree = try #require(
        file.trees(named: "records").first { abs(($0.entries(0..<all) ?? 0) - 605) < 100 })
      for range in [0..<all, 5..<6, 7..<7, 100..<110, 50..<500, 590..<700] {
        let known = Double(range.clamped(to: 0..<all).count)
        let found = try #require(tree.entries(range))
        #expect(abs(found - known) <= max(6, known / 4), "\(range): \(found)")
      }
      // Two keys, each with the ids of every second record.
      let halves = file.trees(named: "index").compactMap { tree in
        [UInt8(0)].withUnsafeBytes { start in
          [UInt8(1)].withUnsafeBytes { tree.entries(from: start, to: $0) }
        }
      }
      #expect(halves.contains { abs($0 - Double(all) / 2) <= 1 })
    }
  }

  @Test("A count is exact for each range")
  func exact() throws {
    try withFile { file in
      let all = SampleFile.count + 5
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<all) == all })
      for start in stride(from: 0, to: all + 3, by: 7) {
        for end in stride(from: start, to: all + 3, by: 11) {
          #expect(tree.count(start..<end) == (start..<end).clamped(to: 0..<all).count)
        }
        #expect(
          SampleFile.key(start).withUnsafeBytes { tree.count(from: $0, to: nil)?.entries }
            == max(0, all - start))
      }
      let halves = file.trees(named: "index").compactMap { tree in
        [UInt8(0)].withUnsafeBytes { start in
          [UInt8(1)].withUnsafeBytes { tree.count(from: start, to: $0) }
        }
      }
      #expect(halves.contains { $0.entries == (all + 1) / 2 && $0.keys == 1 })
    }
  }

  @Test("A key is found with its value, which may have pages of its own")
  func found() throws {
    try withFile { file in
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<700) == SampleFile.count + 5 })
      for number in 0..<SampleFile.count + 5 {
        var value: UnsafeRawBufferPointer?
        #expect(SampleFile.key(number).withUnsafeBytes { tree.find($0, &value) })
        #expect(value.map { [UInt8]($0) } == SampleFile.value(number))
      }
      var value: UnsafeRawBufferPointer?
      #expect(SampleFile.key(5_000).withUnsafeBytes { tree.find($0, &value) } && value == nil)
    }
  }

  @Test("Damaged pages lead to any number, or to none", arguments: 0..<8)
  func damaged(seed: UInt64) throws {
    try withFile { file in
      var random = SeededGenerator(seed: seed)
      let whole = [UInt8](file.memory)
      let headers = file.headers(named: "records") + file.headers(named: "index")
      var refused = 0
      var unclear = 0
      for _ in 0..<400 {
        file.memory.copyBytes(from: whole)
        for _ in 0...Int.random(in: 0..<20, using: &random) {
          let page =
            Int.random(in: 0..<(whole.count / file.pageSize), using: &random) * file.pageSize
          // Headers and the places of nodes decide where the search goes.
          let place =
            page
            + Int.random(in: 0..<(Bool.random(using: &random) ? 64 : file.pageSize), using: &random)
          file.memory[place] = UInt8(truncatingIfNeeded: random.next())
        }
        for tree in headers.compactMap(file.tree(at:)) {
          if let count = tree.count(0..<1_200) { #expect(count >= 0) }
          unclear += file.search(tree, &random)
          unclear += file.walk(tree, &random)
          guard
            let found = tree.entries(
              Int.random(
                in: 0..<300, using: &random)..<(300 + Int.random(in: 0..<900, using: &random)))
          else {
            refused += 1
            continue
          }
          #expect(found >= 0)
        }
      }
      #expect(refused > 0 && unclear > 0)
    }
  }

  @Test("In a page that has lost its keys, nothing is known to be absent")
  func emptied() throws {
    try withFile { file in
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<700) == SampleFile.count + 5 })
      for start in stride(from: 0, to: file.memory.count, by: file.pageSize) {
        let page = PageHeader(base: UnsafeRawPointer(file.memory.baseAddress! + start))
        guard page.flags == PageLayout.leaf else { continue }
        file.memory.storeBytes(of: 16, toByteOffset: start + 12, as: UInt16.self)
      }
      for number in 0..<SampleFile.count {
        var value: UnsafeRawBufferPointer?
        #expect(!SampleFile.key(number).withUnsafeBytes { tree.find($0, &value) })
        var cursor = MappedCursor(tree)
        #expect(SampleFile.key(number).withUnsafeBytes { cursor.seek(atOrAfter: $0) } == .unclear)
        var values = [UnsafeRawBufferPointer(start: nil, count: 0)]
        SampleFile.key(number).withUnsafeBytes {
          tree.find($0.baseAddress!, width: 8, count: 1, &values)
        }
        #expect(values[0].baseAddress == nil)
      }
    }
  }

  @Test("Leaves that follow each other in a circle end a walk")
  func circle() throws {
    try withFile { file in
      let all = SampleFile.count + 5
      let tree = try #require(
        file.trees(named: "records").first { abs(($0.entries(0..<all) ?? 0) - 605) < 100 })
      // Every child is the first one.
      for start in stride(from: 0, to: file.memory.count, by: file.pageSize) {
        let page = PageHeader(base: UnsafeRawPointer(file.memory.baseAddress! + start))
        guard page.flags == PageLayout.branch else { continue }
        let first = PageNode(base: page.base + page.offset(0)).child
        for place in 0..<page.count {
          file.memory.storeBytes(
            of: UInt32(truncatingIfNeeded: first), toByteOffset: start + page.offset(place),
            as: UInt32.self)
        }
      }
      var cursor = MappedCursor(tree)
      var move = cursor.first()
      var steps = 0
      while move == .found, steps < 10_000 {
        steps += 1
        move = cursor.next()
      }
      #expect(move == .unclear && steps < all)
    }
  }

  /// Moves the bytes of a key to another number, where the search of LMDB would never put it.
  private func setKey(_ place: Int, of leaf: PageHeader, to number: Int, in file: MappedFile) {
    let node = PageNode(base: leaf.base + leaf.offset(place))
    let offset = node.base + PageLayout.nodeHeaderSize - UnsafeRawPointer(file.memory.baseAddress!)
    for (byte, value) in SampleFile.key(number).enumerated() {
      file.memory[offset + byte] = value
    }
  }

  @Test("So do two leaves whose keys are in the wrong order, in both directions")
  func circleOfTwo() throws {
    try withFile { file in
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<700) == SampleFile.count + 5 })
      let root = try #require(tree.page(tree.tree.root))
      try #require(root.flags == PageLayout.branch && root.count > 3)
      let leaves = (0..<4).compactMap { tree.child($0, of: root) }
      func number(_ place: Int, _ leaf: PageHeader) -> Int {
        Int(UInt64(bigEndian: tree.node(place, in: leaf)!.key.loadUnaligned(as: UInt64.self)))
      }
      let whole = [UInt8](file.memory)
      func link(_ place: Int, to leaf: PageHeader) {
        let node = root.base + root.offset(place) - UnsafeRawPointer(file.memory.baseAddress!)
        file.memory.storeBytes(
          of: UInt32(truncatingIfNeeded: leaf.number), toByteOffset: node, as: UInt32.self)
      }
      // The third child is the first one, which begins with a key behind all of the second one.
      let behind = number(0, leaves[3])
      link(2, to: leaves[0])
      setKey(0, of: leaves[0], to: behind, in: file)
      var cursor = MappedCursor(tree)
      var (move, steps) = (cursor.first(), 0)
      while move == .found, steps < 10_000 {
        steps += 1
        move = cursor.next()
      }
      #expect(move == .unclear && steps < 700)

      // Backwards: the first child is the third one, which ends with a key before all of the second one.
      file.memory.copyBytes(from: whole)
      link(0, to: leaves[2])
      setKey(leaves[2].count - 1, of: leaves[2], to: 0, in: file)
      let start = SampleFile.key(number(leaves[2].count - 2, leaves[2]))
      move = start.withUnsafeBytes { cursor.seek(atOrAfter: $0) }
      steps = 0
      while move == .found, steps < 10_000 {
        steps += 1
        move = cursor.previous()
      }
      #expect(move == .unclear && steps < 700)
    }
  }

  @Test("A seek never gives a key on the wrong side of the one that is sought")
  func wrongSide() throws {
    try withFile { file in
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<700) == SampleFile.count + 5 })
      let root = try #require(tree.page(tree.tree.root))
      let second = try #require(tree.child(1, of: root))
      let key = try #require(tree.node(0, in: second)).key
      let first = Int(UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
      // The branch says that the second leaf begins three keys later than it does.
      setKey(1, of: root, to: first + 3, in: file)
      var cursor = MappedCursor(tree)
      #expect(SampleFile.key(first + 2).withUnsafeBytes { cursor.seek(atOrAfter: $0) } == .unclear)
      #expect(SampleFile.key(first + 2).withUnsafeBytes { cursor.seek(before: $0) } == .unclear)
      #expect(SampleFile.key(first + 9).withUnsafeBytes { cursor.seek(atOrAfter: $0) } == .found)
    }
  }

  @Test("A damaged number of ids is none, so that no sum overflows")
  func damagedCount() throws {
    try withFile { file in
      let half = (SampleFile.count + 5) / 2
      let trees = file.trees(named: "index")
      let key: [UInt8] = [1]
      func count(_ tree: MappedTree) -> Int? { key.withUnsafeBytes { tree.count(of: $0) } }
      let tree = try #require(trees.first { count($0) == half })
      let leaf = try #require(tree.page(tree.tree.root))
      let node = try #require(tree.node(1, in: leaf))
      #expect(node.flags == PageLayout.subData | PageLayout.duplicateData)
      let start = UnsafeRawPointer(file.memory.baseAddress!)
      for number in [UInt64.max, UInt64(Int.max), 1 << 40, 0] {
        file.memory.storeBytes(of: number, toByteOffset: node.value + 32 - start, as: UInt64.self)
        #expect(count(tree) == nil)
        let all = [UInt8(0)].withUnsafeBytes { tree.count(from: $0, to: nil) }
        #expect(all == nil)
      }
      // Its flags say that it is a value with pages of its own, which no id has.
      file.memory.storeBytes(
        of: PageLayout.bigData, toByteOffset: node.base + 4 - start, as: UInt16.self)
      #expect(count(tree) == nil)
    }
  }

  @Test("A search that comes to a damaged node gives no number, not a wrong one")
  func damagedNode() throws {
    try withFile { file in
      let all = SampleFile.count + 5
      let trees = file.trees(named: "records")
      let tree = try #require(trees.first { $0.count(0..<700) == all })
      let root = try #require(tree.page(tree.tree.root))
      let middle = (1 + root.count) / 2
      let place =
        root.base + PageLayout.headerSize + 2 * middle - UnsafeRawPointer(file.memory.baseAddress!)
      file.memory.storeBytes(of: 0, toByteOffset: place, as: UInt16.self)
      for range in [0..<all, 5..<6, 100..<110, 300..<300, 590..<700] {
        #expect(tree.count(range) == nil, "\(range)")
        #expect(tree.entries(range) == nil, "\(range)")
      }
      let key = SampleFile.key(300)
      var cursor = MappedCursor(tree)
      #expect(key.withUnsafeBytes { cursor.seek(atOrAfter: $0) } == .unclear)
      let sample = key.withUnsafeBytes { tree.someKeys(from: $0, to: nil, atMost: 9) }
      #expect(sample == nil)
      let isWhole = key.withUnsafeBytes { tree.forEachLeaf(from: $0, to: nil) { _, _ in true } }
      #expect(!isWhole)
    }
  }

  @Test("A branch that is its own child ends the search")
  func cycle() throws {
    try withFile { file in
      let all = SampleFile.count + 5
      let tree = try #require(
        file.trees(named: "records").first { abs(($0.entries(0..<all) ?? 0) - 605) < 100 })
      for start in stride(from: 0, to: file.memory.count, by: file.pageSize) {
        let page = PageHeader(base: UnsafeRawPointer(file.memory.baseAddress! + start))
        guard page.flags == PageLayout.branch else { continue }
        for place in 0..<page.count {
          let child = start + page.offset(place)
          file.memory.storeBytes(
            of: UInt32(truncatingIfNeeded: page.number), toByteOffset: child, as: UInt32.self)
        }
      }
      #expect(tree.entries(0..<all) == nil && tree.entries(10..<20) == nil)
      #expect(tree.count(0..<all) == nil && tree.count(10..<20) == nil)
      var value: UnsafeRawBufferPointer?
      #expect(!SampleFile.key(10).withUnsafeBytes { tree.find($0, &value) })
      #expect(
        [UInt8](repeating: 0, count: 8).withUnsafeBytes { tree.entries(from: $0, to: nil) } == nil)
    }
  }
}
