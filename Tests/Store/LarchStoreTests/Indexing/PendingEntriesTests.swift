import LarchTestSupport
import Testing

@testable import Larch

/// The sorted pending entries against an array that is sorted by the standard library.
@Suite("Pending entries")
struct PendingEntriesTests {
  struct Pair: Hashable, Comparable {
    var key: [UInt8]
    var id: [UInt8]

    static func < (a: Self, b: Self) -> Bool {
      if a.key != b.key { return a.key.lexicographicallyPrecedes(b.key) }
      return a.id.lexicographicallyPrecedes(b.id)
    }
  }

  /// Keys that are hard to sort by machine words: common prefixes, zeros at the end, all lengths.
  private func key(_ random: inout SeededGenerator) -> [UInt8] {
    let beginnings: [[UInt8]] = [
      [], [0], [1, 2, 3, 4, 5, 6, 7, 8], Array(repeating: 9, count: 16),
      Array(repeating: 0, count: 23), Array(repeating: 255, count: 40),
    ]
    let end = (0...random.below(10)).map { _ in UInt8(truncatingIfNeeded: random.below(3) * 127) }
    return beginnings[random.below(beginnings.count)] + end
  }

  /// Ids as hard: few, many of one length, and of all lengths with zeros at the end.
  private func id(_ kind: Int, _ random: inout SeededGenerator) -> [UInt8] {
    switch kind {
    case 0: (0..<8).map { _ in UInt8(random.below(2)) }
    case 1: (0..<16).map { _ in UInt8(truncatingIfNeeded: random.below(256)) }
    case 2: Array(repeating: 3, count: 8) + (0..<8).map { _ in UInt8(random.below(2)) }
    default: (0..<random.below(20)).map { _ in UInt8(random.below(2) * 200) }
    }
  }

  @Test(
    "Entries are written in order, each once, by its last change",
    arguments: [1, 5, 16, 17, 48, 192, 1000, 20_000], 0..<4)
  func sorted(count: Int, kind: Int) {
    for seed in 1...UInt64(count > 1000 ? 1 : 5) {
      var random = SeededGenerator(seed: seed)
      var entries = PendingEntries()
      var model: [Pair: Bool] = [:]
      // Of few keys, each has many ids.
      let keys = (0..<3).map { _ in key(&random) }
      for _ in 0..<count {
        let key = seed % 2 == 0 ? keys[random.below(3)] : key(&random)
        let pair = Pair(key: key, id: id(kind, &random))
        let isRemoval = random.below(3) == 0
        model[pair] = isRemoval
        pair.key.withUnsafeBytes { key in
          pair.id.withUnsafeBytes { entries.append(key: key, id: $0, isRemoval: isRemoval) }
        }
      }
      let gathered = entries.count
      #expect(gathered == count)
      entries.sort()
      for removals in [true, false] {
        var seen: [Pair] = []
        entries.forEachLast(removals: removals) { key, id in
          seen.append(Pair(key: Array(key), id: Array(id)))
        }
        let expected = model.filter { $0.value == removals }.keys.sorted()
        #expect(seen == expected, "seed \(seed)")
      }
      entries.removeAll()
      let isEmpty = entries.isEmpty
      #expect(isEmpty)
    }
  }

  @Test("Ids of different lengths under one key keep their order")
  func lengths() {
    var random = SeededGenerator(seed: 4)
    var entries = PendingEntries()
    var model: Set<Pair> = []
    for _ in 0..<3000 {
      let pair = Pair(
        key: [UInt8(random.below(2))],
        id: (0...random.below(12)).map { _ in UInt8(random.below(3)) })
      model.insert(pair)
      pair.key.withUnsafeBytes { key in
        pair.id.withUnsafeBytes { entries.append(key: key, id: $0, isRemoval: false) }
      }
    }
    entries.sort()
    var seen: [Pair] = []
    entries.forEachLast(removals: false) { seen.append(Pair(key: Array($0), id: Array($1))) }
    #expect(seen == model.sorted())
  }

  @Test("A set of hashes has its members, through growth and emptying")
  func hashes() {
    var random = SeededGenerator(seed: 9)
    var set = HashSet()
    for _ in 0..<3 {
      var model: Set<UInt64> = []
      for _ in 0..<5000 {
        let hash = random.next() | 1
        set.insert(hash)
        model.insert(hash)
        // Neighbours in one chain.
        set.insert(hash ^ 2)
        model.insert(hash ^ 2)
      }
      let others = (0..<5000).map { _ in random.next() | 1 }.filter { !model.contains($0) }
      var wrong = 0
      for hash in model where !set.contains(hash) { wrong += 1 }
      for hash in others where set.contains(hash) { wrong += 1 }
      set.removeAll()
      for hash in model where set.contains(hash) { wrong += 1 }
      #expect(wrong == 0)
    }
  }

  /// After a large write each small one cleared the large table again: 256 KiB for one record.
  @Test("A set of hashes that grew in a large write shrinks after a small one")
  func hashesAfterLargeWrite() {
    var set = HashSet()
    for hash in 1...10_000 as ClosedRange<UInt64> { set.insert(hash &* 0x9E37_79B9_7F4A_7C15 | 1) }
    set.removeAll()
    // The next write may be as large.
    let large = set.capacity
    #expect(large >= 10_000)
    set.insert(5)
    set.removeAll()
    let small = set.capacity
    let isEmpty = !set.contains(5) && set.count == 0
    #expect(small == 64 && isEmpty)
    set.insert(5)
    let isThere = set.contains(5)
    #expect(isThere)
  }

  @Test("The difference of two lists of entries is that of two sets")
  func difference() {
    var random = SeededGenerator(seed: 12)
    for round in 0..<300 {
      var lists = [[Pair]](repeating: [], count: 2)
      var old = EntryList()
      var new = EntryList()
      for _ in 0..<random.below(40) {
        let index = random.below(3)
        let key = key(&random)
        let isOld = random.below(2) == 0
        key.withUnsafeBytes {
          if isOld || random.below(3) == 0 {
            old.insert(index: index, key: $0, isCut: false, hasNil: false)
            lists[0].append(Pair(key: [UInt8(index)] + key, id: []))
          }
          if !isOld || random.below(2) == 0 {
            new.insert(index: index, key: $0, isCut: false, hasNil: false)
            lists[1].append(Pair(key: [UInt8(index)] + key, id: []))
          }
        }
      }
      old.sort()
      new.sort()
      var removed: [Pair] = []
      var added: [Pair] = []
      func pair(_ item: EntryList.Item, _ key: UnsafeRawBufferPointer) -> Pair {
        Pair(key: [UInt8(item.index)] + Array(key), id: [])
      }
      var removedItems: [EntryList.Item] = []
      var addedItems: [EntryList.Item] = []
      EntryList.difference(
        old: old, new: new, removed: { removedItems.append($0) }, added: { addedItems.append($0) })
      for item in removedItems { removed.append(pair(item, old.key(item))) }
      for item in addedItems { added.append(pair(item, new.key(item))) }
      #expect(removed == Set(lists[0]).subtracting(lists[1]).sorted(), "round \(round)")
      #expect(added == Set(lists[1]).subtracting(lists[0]).sorted(), "round \(round)")
    }
  }
}
