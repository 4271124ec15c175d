internal import CLMDB

/// Data of an upper layer, kept with a reader, which wants to hear of the reader's end.
package protocol ReaderAttachment: AnyObject {
  /// Drops what has references to it, since nobody will use it any more.
  func detach()
}

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
  /// The newest entry of a log that a held read has; nil for other reads, and without a log.
  var logPlace: LogPlace?
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

  deinit { detach() }

  /// Drops the attachment.
  func detach() {
    (attachment as? any ReaderAttachment)?.detach()
    attachment = nil
  }

  /// Notes that a thread begins a read with it.
  func begin(_ thread: UInt, _ place: CodePlace) {
    self.thread = thread
    self.place = place
    logPlace = nil
    use &+= 1
  }

  /// Whether it pins pages.
  var isPinning: Bool { thread != 0 || isHeld }
}

extension LMDBReader {
  /// Begins a read of the newest state with a reader that is parked.
  ///
  /// - Returns: the error code of LMDB.
  @inline(__always)
  func renew() -> Int32 {
    let code = mdb_txn_renew(transaction.pointer)
    return code != MDB_SUCCESS || hasItsNumber ? code : renewUntilItHasItsNumber()
  }

  /// Whether a read that has just begun has the state of its number.
  var hasItsNumber: Bool { transaction.hasItsNumber }

  /// Begins again while others commit at the same moment, which seldom takes two attempts.
  ///
  /// Others who commit change the number. If it stays the same, no commit can explain what the file says: another
  /// program has written over the file or removed its lock file.
  @inline(never)
  func renewUntilItHasItsNumber() -> Int32 {
    var (number, attempts) = (transaction.id, 0)
    while true {
      mdb_txn_reset(transaction.pointer)
      let code = mdb_txn_renew(transaction.pointer)
      if code != MDB_SUCCESS || hasItsNumber { return code }
      attempts = transaction.id == number ? attempts + 1 : 0
      number = transaction.id
      guard attempts < Self.attemptsWithOneNumber else {
        mdb_txn_reset(transaction.pointer)
        return MDB_CORRUPTED
      }
    }
  }

  private static let attemptsWithOneNumber = 100
}

extension LMDBTransaction {
  /// Whether a read has the state of its number. After its beginning this is known only while no more than
  /// one commit has followed.
  ///
  /// LMDB notes the number of the newest commit, and then copies the roots from the header of that
  /// commit. There are two headers, which take turns. If this thread is stopped in between and two
  /// others commit, the roots are those of a later state. It happens once in 100,000 reads while two
  /// processes commit without a pause.
  ///
  /// As long as no commit has written its header but the next one, the header is still that of the number. The
  /// next one is there, and not published yet, while its commit flushes it, and after a process has died in that
  /// moment: then no attempt would find its own number the newest one.
  @inline(__always)
  var hasItsNumber: Bool {
    var info = MDB_envinfo()
    mdb_env_info(mdb_txn_env(pointer), &info)
    return UInt64(info.me_last_txnid) &- id <= 1
  }
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
