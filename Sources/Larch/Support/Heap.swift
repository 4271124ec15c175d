/// The moves of a binary heap in an array: a parent is above both of its children.
extension Array {
  /// Moves the last element up to its place.
  @inline(__always)
  mutating func siftUp(_ isAbove: (_ element: Element, _ other: Element) -> Bool) {
    var place = count - 1
    while place > 0, isAbove(self[place], self[(place - 1) / 2]) {
      swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Makes a heap of elements in any order.
  mutating func makeHeap(_ isAbove: (_ element: Element, _ other: Element) -> Bool) {
    for place in (0..<count / 2).reversed() { siftDown(from: place, isAbove) }
  }

  /// Moves an element, mostly the first one, down to its place.
  @inline(__always)
  mutating func siftDown(
    from start: Int = 0, _ isAbove: (_ element: Element, _ other: Element) -> Bool
  ) {
    var place = start
    while 2 * place + 1 < count {
      var child = 2 * place + 1
      if child + 1 < count, isAbove(self[child + 1], self[child]) { child += 1 }
      guard isAbove(self[child], self[place]) else { return }
      swapAt(place, child)
      place = child
    }
  }
}
