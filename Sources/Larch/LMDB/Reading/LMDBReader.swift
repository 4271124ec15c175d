/// A read transaction with a slot of the lock table. It is parked between reads, which pins no
/// pages and makes beginning one eight times cheaper.
final class LMDBReader: @unchecked Sendable {
  let transaction: LMDBTransaction
  /// The generation of the environment that it belongs to.
  let generation: Int
  /// What an upper layer wants to find again with the slot, such as its caches. Only touched by
  /// the thread that reads.
  var attachment: AnyObject?

  // All below is guarded by the mutex of `ReaderPool`.

  /// The thread that reads, or 0 while it is parked or held without being used.
  var thread: UInt = 0
  /// Where the program began the read.
  var place: CodePlace
  /// Rises with each read, so that one that is seen twice is known as the same. A clock that is
  /// read at each beginning would cost as much as the read.
  var use: UInt = 0
  /// Whether it is a snapshot that outlives the call which took it.
  var isHeld = false
  /// What those who look for old reads saw of it.
  var sighting = ReadSighting()

  init(_ transaction: LMDBTransaction, generation: Int, place: CodePlace) {
    self.transaction = transaction
    self.generation = generation
    self.place = place
  }

  /// Notes that a thread begins a read with it.
  func begin(_ thread: UInt, _ place: CodePlace) {
    self.thread = thread
    self.place = place
    use &+= 1
  }

  /// Whether pages are kept for it.
  var isPinning: Bool { thread != 0 || isHeld }
}

/// When a read was first seen open, and when it is to be looked at again.
struct ReadSighting {
  /// The `use` of the reader that it is about.
  var use: UInt = 0
  /// When it was seen for the first time, which is when it began to keep pages, or before: a read
  /// that no commit has passed keeps none.
  var since: Int64 = 0
  var nextLook: Int64 = 0
}
