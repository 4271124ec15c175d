/// Things that cost something to make, each for one user at a time.
final class Pool<Element>: Sendable {
  /// Only one user has what is in it: it is here, or it was taken.
  private struct Box: @unchecked Sendable { let element: Element }

  private let idle = Locked<[Box]>([])
  private let limit: Int

  /// - Parameter limit: how many are kept while nobody uses them.
  init(limit: Int = .max) { self.limit = limit }

  /// One that was given back, or a new one.
  func take(_ make: () -> Element) -> Element {
    idle.withLock { $0.popLast() }?.element ?? make()
  }

  func give(back element: Element) {
    let box = Box(element: element)
    idle.withLock { if $0.count < limit { $0.append(box) } }
  }
}
