/// Listeners by ranges of bytes. It finds those whose range has a value in O(log n) steps for n
/// ranges, and as many for each one that is found.
///
/// It is a binary search tree of the ranges in the order of their lower bounds, which knows of each
/// subtree the range that ends last. So a subtree whose ranges all end before the value is left out,
/// and one wide range makes nobody search all. Random priorities keep it flat, whatever the order in
/// which ranges come and go.
struct RangeTree {
  private struct Node {
    var range: ByteRange
    var listeners: ListenerBag
    var priority: UInt64
    var left = -1
    var right = -1
    /// The node of the subtree whose range ends last.
    var last: Int

    /// One of the two subtrees.
    subscript(isLeft isLeft: Bool) -> Int {
      get { isLeft ? left : right }
      set { if isLeft { left = newValue } else { right = newValue } }
    }
  }

  /// The beginning of the bounds of a node, which decides most comparisons, and its children.
  private struct Sign {
    var lower: ByteHead
    var upper: ByteHead
    /// Of the range of the subtree that ends last.
    var last: ByteHead
    var left: Int32 = -1
    var right: Int32 = -1
  }

  private var nodes: [Node] = []
  /// One for each node: a search reads these, and a node only where the first bytes are the same.
  private var signs: [Sign] = []
  /// The nodes that are not in use.
  private var free: [Int] = []
  private var root = -1
  private var random: UInt64 = 0

  var isEmpty: Bool { root < 0 }

  // MARK: Changing

  mutating func add(_ listener: ChangeListener, _ range: ByteRange) {
    root = insert(listener, range, under: root)
  }

  /// Removing a listener that is not there is not an error.
  mutating func remove(_ listener: ChangeListener, _ range: ByteRange) {
    root = remove(listener, range, under: root)
  }

  private mutating func insert(
    _ listener: ChangeListener, _ range: ByteRange, under place: Int
  ) -> Int {
    if place < 0 { return make(listener, range) }
    let order = Self.compare(range, nodes[place].range)
    if order == 0 {
      nodes[place].listeners.add(listener)
      return place
    }
    let isLeft = order < 0
    let child = insert(listener, range, under: nodes[place][isLeft: isLeft])
    nodes[place][isLeft: isLeft] = child
    guard nodes[child].priority > nodes[place].priority else {
      update(place)
      return place
    }
    // The child takes the place of its parent, which gets the subtree between the two.
    nodes[place][isLeft: isLeft] = nodes[child][isLeft: !isLeft]
    nodes[child][isLeft: !isLeft] = place
    update(place)
    update(child)
    return child
  }

  private mutating func make(_ listener: ChangeListener, _ range: ByteRange) -> Int {
    random &+= 0x9E37_79B9_7F4A_7C15
    var priority = random
    priority = (priority ^ priority >> 30) &* 0xBF58_476D_1CE4_E5B9
    priority = (priority ^ priority >> 27) &* 0x94D0_49BB_1331_11EB
    let place = free.popLast() ?? nodes.count
    let node = Node(
      range: range, listeners: ListenerBag(listener), priority: priority, last: place)
    let (lower, upper) = (ByteHead(range.lower), range.upper.map { ByteHead($0) } ?? .greatest)
    let sign = Sign(lower: lower, upper: upper, last: upper)
    if place == nodes.count {
      nodes.append(node)
      signs.append(sign)
    } else {
      (nodes[place], signs[place]) = (node, sign)
    }
    return place
  }

  private mutating func remove(
    _ listener: ChangeListener, _ range: ByteRange, under place: Int
  ) -> Int {
    if place < 0 { return place }
    let order = Self.compare(range, nodes[place].range)
    if order == 0 {
      nodes[place].listeners.remove(listener)
      guard nodes[place].listeners.isEmpty else { return place }
      let rest = joined(nodes[place].left, nodes[place].right)
      nodes[place].range = ByteRange(lower: [], upper: [])
      free.append(place)
      return rest
    }
    let child = remove(listener, range, under: nodes[place][isLeft: order < 0])
    nodes[place][isLeft: order < 0] = child
    update(place)
    return place
  }

  /// One tree of two, of which the second one has the later ranges.
  private mutating func joined(_ first: Int, _ second: Int) -> Int {
    if first < 0 { return second }
    if second < 0 { return first }
    if nodes[first].priority > nodes[second].priority {
      nodes[first].right = joined(nodes[first].right, second)
      update(first)
      return first
    }
    nodes[second].left = joined(first, nodes[second].left)
    update(second)
    return second
  }

  private mutating func update(_ place: Int) {
    let (left, right) = (nodes[place].left, nodes[place].right)
    let last = later(later(place, left), right)
    nodes[place].last = last
    signs[place].last = signs[last].upper
    (signs[place].left, signs[place].right) = (Int32(left), Int32(right))
  }

  /// The one whose range ends last: a node, or one under a child.
  private func later(_ place: Int, _ child: Int) -> Int {
    guard child >= 0 else { return place }
    let other = nodes[child].last
    return Self.endsBefore(nodes[place].range.upper, nodes[other].range.upper) ? other : place
  }

  // MARK: Searching

  /// Finds the listeners one of whose ranges has one of some values, some of them several times.
  ///
  /// - Parameter values: calls its closure with each value.
  func find(
    _ values: ((UnsafeRawBufferPointer) -> Void) -> Void, into found: inout [ChangeListener]
  ) {
    if root < 0 { return }
    var listeners: [ChangeListener] = []
    nodes.withUnsafeBufferPointer { nodes in
      signs.withUnsafeBufferPointer { signs in
        guard let nodes = nodes.baseAddress, let signs = signs.baseAddress else { return }
        var places: [Int] = []
        var gap = Gap()
        values { value in
          let head = ByteHead(value)
          if gap.contains(value, head) { return }
          var next = ByteHead.greatest
          Self.find(value, head, under: root, signs, nodes, &places, &next)
          if places.isEmpty { return gap.begin(at: value, head, to: next) }
          for place in places { nodes[place].listeners.forEach { listeners.append($0) } }
          places.removeAll(keepingCapacity: true)
        }
      }
    }
    found += listeners
  }

  /// From a value that is in no range to the next beginning of one. The keys that a commit has written
  /// come in order, so many are in the gap of the one before.
  private struct Gap {
    private var value: [UInt8] = []
    private var start = ByteHead.greatest
    private var end = ByteHead.greatest

    mutating func begin(at value: UnsafeRawBufferPointer, _ head: ByteHead, to end: ByteHead) {
      self.value.removeAll(keepingCapacity: true)
      self.value.append(contentsOf: value)
      (start, self.end) = (head, end)
    }

    func contains(_ other: UnsafeRawBufferPointer, _ head: ByteHead) -> Bool {
      guard head < end, !(head < start) else { return false }
      return start < head || value.withUnsafeBytes { !other.precedes($0) }
    }
  }

  /// Whether a range has a value.
  func has(_ value: UnsafeRawBufferPointer) -> Bool {
    if root < 0 { return false }
    return nodes.withUnsafeBufferPointer { nodes in
      signs.withUnsafeBufferPointer { signs in
        guard let nodes = nodes.baseAddress, let signs = signs.baseAddress else { return false }
        var places: [Int] = []
        var next = ByteHead.greatest
        Self.find(value, ByteHead(value), under: root, signs, nodes, &places, &next)
        return !places.isEmpty
      }
    }
  }

  /// Adds the nodes whose range has a value. Listeners are no part of this: to pass a closure down the
  /// tree costs more than all comparisons.
  ///
  /// - Parameter next: where the first range begins that begins after the value, or before that.
  private static func find(
    _ value: UnsafeRawBufferPointer, _ head: ByteHead, under start: Int,
    _ signs: UnsafePointer<Sign>, _ nodes: UnsafePointer<Node>, _ places: inout [Int],
    _ next: inout ByteHead
  ) {
    var place = start
    while place >= 0 {
      let sign = signs + place
      if sign.pointee.last < head { return }
      if sign.pointee.last == head,
        !isBelow(value, nodes[nodes[place].last].range.upper)
      {
        return
      }
      let left = Int(sign.pointee.left)
      let lower = sign.pointee.lower
      // All ranges to the right begin later still.
      if head < lower
        || head == lower && nodes[place].range.lower.withUnsafeBytes({ value.precedes($0) })
      {
        (place, next) = (left, lower)
        continue
      }
      let isInside =
        head == sign.pointee.upper
        ? isBelow(value, nodes[place].range.upper) : head < sign.pointee.upper
      if isInside { places.append(place) }
      // Where ranges do not overlap, those to the left end before the value.
      if left >= 0, !(signs[left].last < head) {
        find(value, head, under: left, signs, nodes, &places, &next)
      }
      place = Int(sign.pointee.right)
    }
  }

  /// Calls with each listener, with one of several ranges several times.
  func forEach(_ body: (ChangeListener) -> Void) {
    for node in nodes { node.listeners.forEach(body) }
  }

  // MARK: Comparing

  private static func compare(_ a: ByteRange, _ b: ByteRange) -> Int {
    if precedes(a.lower, b.lower) { return -1 }
    if precedes(b.lower, a.lower) { return 1 }
    if endsBefore(a.upper, b.upper) { return -1 }
    return endsBefore(b.upper, a.upper) ? 1 : 0
  }

  private static func endsBefore(_ a: [UInt8]?, _ b: [UInt8]?) -> Bool {
    guard let a else { return false }
    guard let b else { return true }
    return precedes(a, b)
  }

  private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in a.precedes(b) } }
  }

  private static func isBelow(_ value: UnsafeRawBufferPointer, _ upper: [UInt8]?) -> Bool {
    upper?.withUnsafeBytes { value.precedes($0) } ?? true
  }
}
