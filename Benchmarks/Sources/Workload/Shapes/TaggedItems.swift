/// Items with twenty tags each, every one of which is looked for.
package struct TaggedItems: Shape {
  package static let number: UInt64 = 6
  package static let tags = (0..<1_000).map {
    Vocabulary.lastNames[$0 % 128].lowercased() + "\($0)"
  }
  package static let tagsEach = 20

  package let count: Int

  package init(size: Int) {
    count = max(1, size / 5)
  }

  package func record(_ index: Int) -> WorkloadItem {
    var stream = RandomStream(shape: Self.number, record: index)
    let title = stream.sentence(20)
    return WorkloadItem(id: Int64(index), title: title, tags: Self.tags(&stream))
  }

  private static func tags(_ stream: inout RandomStream) -> [String] {
    var chosen: Set<Int> = []
    var list: [String] = []
    while list.count < tagsEach {
      let tag = stream.triangular(tags.count)
      if chosen.insert(tag).inserted { list.append(tags[tag]) }
    }
    return list
  }

  package func ids(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  package func tags(_ number: Int, _ operation: UInt64) -> [String] {
    var stream = stream(operation)
    return (0..<number).map { _ in stream.pick(Self.tags) }
  }

  /// Two tags, common ones.
  package func pairs(_ number: Int, _ operation: UInt64) -> [[String]] {
    var stream = stream(operation)
    return (0..<number).map { _ in
      let first = stream.below(100)
      return [Self.tags[first], Self.tags[(first + 1 + stream.below(99)) % 100]]
    }
  }

  /// Items whose last tag becomes one that they do not have.
  package func changes(_ number: Int, _ operation: UInt64) -> [TagChange] {
    distinctIndexes(number, operation).map { index in
      let tags = record(index).tags
      let new = Self.tags.first { !tags.contains($0) } ?? ""
      return TagChange(id: Int64(index), position: tags.count - 1, old: tags.last ?? "", new: new)
    }
  }
}

package struct WorkloadItem: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var title: String
  package var tags: [String]

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(title, depth)
    result.add(row)
    for (position, tag) in tags.enumerated() {
      var row = RowHash()
      row.add(id)
      row.add(position)
      row.add(tag, depth)
      result.add(row)
    }
  }
}

package struct TagChange: Sendable {
  package var id: Int64
  package var position: Int
  package var old: String
  package var new: String
}

package enum TagStep {
  case insert([WorkloadItem])
  case insertEach([WorkloadItem])
  case find([Int64])
  /// The first items with each tag.
  case page([String], limit: Int)
  case count([String])
  /// How many items have any of two tags.
  case countOfAny([[String]])
  /// The items with both of two tags.
  case withBoth([[String]])
  case update([TagChange])
  case delete([Int64])
}
