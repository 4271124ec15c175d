import Foundation

@testable import Larch

/// A write on a separate thread that keeps the write lock until it is released.
final class HeldWriter: Sendable {
  private let began = DispatchSemaphore(value: 0)
  private let letGo = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  init(_ store: Store, _ body: @escaping @Sendable (WriteTransaction) throws -> Void = { _ in }) {
    Thread.detachNewThread { [self] in
      try? store.write { tx throws in
        began.signal()
        letGo.wait()
        letGo.signal()  // Stays open: the closure may run again.
        try body(tx)
      }
      ended.signal()
    }
    began.wait()
  }

  func end() {
    letGo.signal()
    ended.wait()
  }
}

extension StoreObservation.AsyncIterator {
  /// The observer of an iterator of a store, for tests that ask it for values and do not wait.
  var polled: Observer<Value> {
    switch observer {
    case .success(let observer): observer
    case .failure(let error): fatalError("\(error)")
    }
  }
}
