import LarchTestSupport
import Testing

@testable import Larch

@Suite("Listeners by ranges of bytes")
struct RangeTreeTests {
  private final class Owner {}

  /// Short ones, and some that begin with the same bytes, as many as are compared at once.
  private static func bytes(_ random: inout SeededGenerator) -> [UInt8] {
    let start = [0, 0, 0, 6, 7, 8, 9].randomElement(using: &random)!
    return [UInt8](repeating: 0x40, count: start)
      + (0..<Int.random(in: 0...3, using: &random)).map { _ in
        [0, 1, 2, 0x7F, 0xFF].randomElement(using: &random)!
      }
  }

  private static func range(_ random: inout SeededGenerator) -> ByteRange {
    let (a, b) = (bytes(&random), bytes(&random))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return ByteRange(lower: a, upper: a + [0])
    case 1: return ByteRange(lower: a, upper: nil)
    // Some are empty.
    case 2: return ByteRange(lower: a, upper: b)
    default:
      return a.lexicographicallyPrecedes(b)
        ? ByteRange(lower: a, upper: b) : ByteRange(lower: b, upper: a)
    }
  }

  private static func contains(_ range: ByteRange, _ value: [UInt8]) -> Bool {
    !value.lexicographicallyPrecedes(range.lower)
      && range.upper.map { value.lexicographicallyPrecedes($0) } != false
  }

  @Test("a value finds exactly those with a range that has it", arguments: UInt64(1)...4)
  func differential(seed: UInt64) {
    var random = SeededGenerator(seed: 8_100 + seed)
    let owner = Owner()
    let listeners = (0..<60).map { _ in ChangeListener(owner: owner) }
    var filed: [(listener: Int, range: ByteRange)] = []
    var tree = RangeTree()
    var index = RangeIndex()
    var hits = 0
    for _ in 0..<700 {
      if filed.count < 20 || filed.count < 400 && Int.random(in: 0..<5, using: &random) < 3 {
        let new = (Int.random(in: 0..<60, using: &random), Self.range(&random))
        // One listener has a range once.
        if filed.contains(where: { $0 == new }) { continue }
        filed.append(new)
        tree.add(listeners[new.0], new.1)
        index.add(listeners[new.0], new.1)
      } else {
        let place = Int.random(in: 0..<filed.count, using: &random)
        let old = filed.remove(at: place)
        tree.remove(listeners[old.listener], old.range)
        index.remove(listeners[old.listener], old.range)
        // One that is not there.
        tree.remove(listeners[old.listener], old.range)
      }
      let value = Self.bytes(&random)
      let wanted = Set(filed.filter { Self.contains($0.range, value) }.map(\.listener))
      #expect(
        Self.found(listeners) { body in
          var found: [ChangeListener] = []
          value.withUnsafeBytes { value in tree.find({ $0(value) }, into: &found) }
          found.forEach(body)
        } == wanted)
      #expect(
        Self.found(listeners) { body in
          var found: [ChangeListener] = []
          value.withUnsafeBytes { value in index.find({ $0(value) }, into: &found) }
          found.forEach(body)
        } == wanted)
      hits += wanted.count
      // Many at once, as a commit asks for them: in order, or nearly so.
      var values = (0..<12).map { _ in Self.bytes(&random) }
      values.sort { $0.lexicographicallyPrecedes($1) }
      if Int.random(in: 0..<3, using: &random) == 0 { values.swapAt(3, 7) }
      let all = Set(
        filed.filter { filed in values.contains { Self.contains(filed.range, $0) } }.map(\.listener)
      )
      let batch = { (search: (UnsafeRawBufferPointer) -> Void) in
        for value in values { value.withUnsafeBytes(search) }
      }
      var (inTree, inIndex): ([ChangeListener], [ChangeListener]) = ([], [])
      tree.find(batch, into: &inTree)
      index.find(batch, into: &inIndex)
      #expect(Self.found(listeners) { inTree.forEach($0) } == all)
      #expect(Self.found(listeners) { inIndex.forEach($0) } == all)
    }
    #expect(hits > 2_000)
    #expect(Self.found(listeners) { tree.forEach($0) } == Set(filed.map(\.listener)))
    #expect(Self.found(listeners) { index.forEach($0) } == Set(filed.map(\.listener)))
    for old in filed {
      tree.remove(listeners[old.listener], old.range)
      index.remove(listeners[old.listener], old.range)
    }
    #expect(tree.isEmpty && index.isEmpty)
  }

  private static func found(
    _ listeners: [ChangeListener], _ search: ((ChangeListener) -> Void) -> Void
  ) -> Set<Int> {
    var found: Set<Int> = []
    search { listener in
      if let place = listeners.firstIndex(where: { $0 === listener }) { found.insert(place) }
    }
    return found
  }
}
