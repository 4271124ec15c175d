/// A set of trees of a file, by their handles.
///
/// LMDB gives out small numbers as handles, so most sets are one word of bits, and take no memory of
/// their own.
package struct TreeSet: Sendable, Hashable {
  /// The trees below 64.
  private var low: UInt64 = 0
  /// The others, 64 in each word. The last word is never zero, so equal sets have equal words.
  private var others: [UInt64] = []

  package init() {}

  package init(_ trees: some Sequence<UInt32>) {
    for tree in trees { insert(tree) }
  }

  package var isEmpty: Bool { low == 0 && others.isEmpty }

  package func contains(_ tree: UInt32) -> Bool {
    if tree < 64 { return low & 1 << UInt64(tree) != 0 }
    let word = Int(tree >> 6) - 1
    return word < others.count && others[word] & 1 << UInt64(tree & 63) != 0
  }

  package mutating func insert(_ tree: UInt32) {
    if tree < 64 {
      low |= 1 << UInt64(tree)
      return
    }
    let word = Int(tree >> 6) - 1
    while others.count <= word { others.append(0) }
    others[word] |= 1 << UInt64(tree & 63)
  }

  package mutating func formUnion(_ other: TreeSet) {
    low |= other.low
    if other.others.isEmpty { return }
    while others.count < other.others.count { others.append(0) }
    for (place, word) in other.others.enumerated() { others[place] |= word }
  }

  package func intersects(_ other: TreeSet) -> Bool {
    if low & other.low != 0 { return true }
    if others.isEmpty || other.others.isEmpty { return false }
    return zip(others, other.others).contains { $0 & $1 != 0 }
  }

  package func intersection(_ other: TreeSet) -> TreeSet {
    var result = TreeSet()
    result.low = low & other.low
    if others.isEmpty || other.others.isEmpty { return result }
    result.others = zip(others, other.others).map { $0 & $1 }
    while result.others.last == 0 { result.others.removeLast() }
    return result
  }

  package func subtracting(_ other: TreeSet) -> TreeSet {
    var result = self
    result.low &= ~other.low
    for (place, word) in zip(others.indices, other.others) { result.others[place] &= ~word }
    while result.others.last == 0 { result.others.removeLast() }
    return result
  }

  /// The trees, in ascending order.
  package var trees: [UInt32] { Array(self) }
}

extension TreeSet: Sequence {
  /// The trees, in ascending order.
  package struct Iterator: IteratorProtocol {
    fileprivate var rest: UInt64
    fileprivate let others: [UInt64]
    /// The number of words of `others` that are done or in `rest`.
    private var place = 0

    fileprivate init(_ set: TreeSet) { (rest, others) = (set.low, set.others) }

    package mutating func next() -> UInt32? {
      while rest == 0 {
        if place == others.count { return nil }
        rest = others[place]
        place += 1
      }
      defer { rest &= rest - 1 }
      return UInt32(place) * 64 + UInt32(rest.trailingZeroBitCount)
    }
  }

  package func makeIterator() -> Iterator { Iterator(self) }
}
