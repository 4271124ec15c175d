/// A read transaction with a slot of the lock table. It is parked between reads; then it pins no
/// pages, and the next read begins eight times faster.
final class LMDBReader: @unchecked Sendable {
  let transaction: LMDBTransaction
  /// The generation of the environment that it belongs to.
  let generation: Int
  /// Data that an upper layer keeps with the slot, such as caches. Used only by the thread that
  /// reads.
  var attachment: AnyObject?

  // Everything below is guarded by the mutex of `ReaderPool`.

  /// The thread that reads, or 0 while it is parked or held without being used.
  var thread: UInt = 0
  /// Where the program began the read.
  var place: CodePlace
  /// Rises with each read, so that two sightings of one read can be recognized. Reading a clock at
  /// each beginning would cost as much as the read.
  var use: UInt = 0
  /// Whether it is a snapshot that outlives the call which took it.
  var isHeld = false
  /// Whether it is held to compare later states with its own.
  var isObserving = false
  /// What the check for old reads knows about it.
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

  /// Whether it pins pages.
  var isPinning: Bool { thread != 0 || isHeld }
}

/// When a read was first seen open, and when to check it again.
struct ReadSighting {
  /// The `use` of the reader that this describes.
  var use: UInt = 0
  /// When it was first seen. It pins pages from then on: a read that no commit has passed pins
  /// none.
  var since: Int64 = 0
  var nextLook: Int64 = 0
}
