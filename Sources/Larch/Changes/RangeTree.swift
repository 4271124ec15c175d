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
    var lower: UInt64
    var upper: UInt64
    /// Of the range of the subtree that ends last.
    var last: UInt64
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
    let (lower, upper) = (Self.head(range.lower), range.upper.map(Self.head) ?? .max)
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

  /// Calls with each listener one of whose ranges has a value. A listener of several such ranges
  /// comes several times.
  func forEach(at value: UnsafeRawBufferPointer, _ body: (ChangeListener) -> Void) {
    if root < 0 { return }
    signs.withUnsafeBufferPointer { visit($0, root, value, Self.head(value), body) }
  }

  private func visit(
    _ signs: UnsafeBufferPointer<Sign>, _ start: Int, _ value: UnsafeRawBufferPointer,
    _ head: UInt64, _ body: (ChangeListener) -> Void
  ) {
    var place = start
    while place >= 0 {
      let sign = signs[place]
      if head > sign.last { return }
      if head == sign.last, !Self.isBelow(value, nodes[nodes[place].last].range.upper) { return }
      if sign.left >= 0 { visit(signs, Int(sign.left), value, head, body) }
      // All ranges to the right begin later.
      if head < sign.lower { return }
      if head == sign.lower,
        nodes[place].range.lower.withUnsafeBytes({ value.precedes($0) })
      {
        return
      }
      let isBelow =
        head == sign.upper ? Self.isBelow(value, nodes[place].range.upper) : head < sign.upper
      if isBelow { nodes[place].listeners.forEach(body) }
      place = Int(sign.right)
    }
  }

  /// Calls with each listener, with one of several ranges several times.
  func forEach(_ body: (ChangeListener) -> Void) {
    for node in nodes { node.listeners.forEach(body) }
  }

  // MARK: Comparing

  /// The first eight bytes as a number, filled up with zeros. If it is less for one of two keys, that
  /// one comes first.
  private static func head(_ key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    var head: UInt64 = 0
    for byte in key { head = head << 8 | UInt64(byte) }
    return head << UInt64(8 * (8 - key.count))
  }

  private static func head(_ key: [UInt8]) -> UInt64 { key.withUnsafeBytes { head($0) } }

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

/// A few listeners, each once. Most ranges have one.
struct ListenerBag {
  private var first: ChangeListener?
  private var others: [ObjectIdentifier: ChangeListener] = [:]

  init() {}

  init(_ listener: ChangeListener) { first = listener }

  var isEmpty: Bool { first == nil }

  mutating func add(_ listener: ChangeListener) {
    if first == nil {
      first = listener
    } else if first !== listener {
      others[ObjectIdentifier(listener)] = listener
    }
  }

  mutating func remove(_ listener: ChangeListener) {
    if first === listener {
      first = others.popFirst()?.value
    } else {
      others[ObjectIdentifier(listener)] = nil
    }
  }

  func forEach(_ body: (ChangeListener) -> Void) {
    guard let first else { return }
    body(first)
    for other in others.values { body(other) }
  }
}
