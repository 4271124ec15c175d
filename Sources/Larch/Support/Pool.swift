/// A pool of objects that are expensive to create, each for one user at a time.
final class Pool<Element>: Sendable {
  /// Only one user has the element: it is either in the pool or taken.
  private struct Box: @unchecked Sendable { let element: Element }

  private let idle = Locked<[Box]>([])
  private let limit: Int

  /// - Parameter limit: the maximum number of unused elements that are kept.
  init(limit: Int = .max) { self.limit = limit }

  /// An element from the pool, or a new one.
  func take(_ make: () -> Element) -> Element {
    idle.withLock { $0.popLast() }?.element ?? make()
  }

  func give(back element: Element) {
    let box = Box(element: element)
    idle.withLock { if $0.count < limit { $0.append(box) } }
  }
}
