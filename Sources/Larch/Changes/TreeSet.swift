/// A set of trees of a file, by their handles.
///
/// LMDB gives out small numbers as handles, so a few words of bits are enough.
package struct TreeSet: Sendable, Hashable {
  private var words: [UInt64] = []

  package init() {}

  package init(_ trees: some Sequence<UInt32>) {
    for tree in trees { insert(tree) }
  }

  package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  package func contains(_ tree: UInt32) -> Bool {
    let word = Int(tree >> 6)
    return word < words.count && words[word] & 1 << UInt64(tree & 63) != 0
  }

  package mutating func insert(_ tree: UInt32) {
    let word = Int(tree >> 6)
    while words.count <= word { words.append(0) }
    words[word] |= 1 << UInt64(tree & 63)
  }

  package mutating func formUnion(_ other: TreeSet) {
    while words.count < other.words.count { words.append(0) }
    for (place, word) in other.words.enumerated() { words[place] |= word }
  }

  package func intersects(_ other: TreeSet) -> Bool {
    zip(words, other.words).contains { $0 & $1 != 0 }
  }

  package func intersection(_ other: TreeSet) -> TreeSet {
    var result = TreeSet()
    result.words = zip(words, other.words).map { $0 & $1 }
    return result
  }

  /// The trees, in ascending order.
  package var trees: [UInt32] {
    var trees: [UInt32] = []
    for (place, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        trees.append(UInt32(place) * 64 + UInt32(rest.trailingZeroBitCount))
        rest &= rest - 1
      }
    }
    return trees
  }
}
