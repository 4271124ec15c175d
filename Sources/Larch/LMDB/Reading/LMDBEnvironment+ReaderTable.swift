internal import CLMDB

internal import Foundation

/// A read of another process, as LMDB's lock table shows it.
struct ForeignRead: Hashable, Sendable {
  let process: Int32
  let thread: UInt64
  let snapshot: UInt64
}

/// The facts about an open read.
struct OpenReadInfo: Sendable {
  var isHeld = false
  var isObserving = false
  /// Nil for reads of other processes.
  var place: CodePlace?
  var process: Int32
  var thread: UInt64
  var age: Duration
  var snapshot: UInt64
  /// The newest entry of the log that it sees; nil without a log, and where it is not known.
  var logPlace: LogPlace?
  /// The space that it keeps from being reused; nil if there was no free slot to find out.
  var pinnedBytes: Int?

  /// As `StoreVersion` writes it.
  var versionText: String {
    logPlace.map { "\($0.position).\($0.token)" } ?? "\(snapshot)"
  }
}

extension LMDBEnvironment {
  /// The open reads of this process and of others, the oldest snapshot first.
  func openReads() throws -> [OpenReadInfo] {
    // Reads of dead processes do not count.
    try checkReaders()
    let look = beginReadWithoutWaiting()
    defer { if let look { endRead(look) } }
    let now = MonotonicTime.now.nanoseconds
    var found = readers.openReads(at: now).filter { $0.reader !== look }.map(\.read)
    found += try foreignReads(at: now)
    found.sort { $0.snapshot < $1.snapshot }
    for index in found.indices where found[index].logPlace == nil {
      found[index].logPlace = recentPlaces.place(after: found[index].snapshot)
    }
    if let look {
      for place in found.indices {
        found[place].pinnedBytes =
          try? pinnedBytes(after: found[place].snapshot, in: look.transaction)
      }
    }
    return found
  }

  /// The reads of other processes, with the time when they were first seen.
  func foreignReads(at now: Int64) throws -> [OpenReadInfo] {
    let listed = try listedReads().filter { $0.process != getpid() }
    let seen = foreignReads.withLock { known in
      var seen: [ForeignRead: ReadSighting] = [:]
      for read in listed { seen[read] = known[read] ?? ReadSighting(since: now) }
      known = seen
      return seen
    }
    return listed.map { read in
      OpenReadInfo(
        process: read.process, thread: read.thread,
        age: .nanoseconds(now &- (seen[read]?.since ?? now)), snapshot: read.snapshot)
    }
  }

  /// The number of slots of each process, including those of parked readers.
  private func slots() throws -> [Int32: Int] {
    var counts: [Int32: Int] = [:]
    for line in try tableLines() {
      if let process = line.first.flatMap({ Int32($0) }) { counts[process, default: 0] += 1 }
    }
    return counts
  }

  private func listedReads() throws -> [ForeignRead] {
    try tableLines().compactMap { line in
      guard line.count == 3, let process = Int32(line[0]), let thread = UInt64(line[1], radix: 16),
        // A dash means that the slot is in use, but reads nothing.
        let snapshot = UInt64(line[2])
      else { return nil }
      return ForeignRead(process: process, thread: thread, snapshot: snapshot)
    }
  }

  /// LMDB returns its table only as lines of text: process, thread in hexadecimal, snapshot.
  func tableLines() throws -> [[Substring]] {
    var text = ""
    try withHandle { handle in
      let code = withUnsafeMutablePointer(to: &text) { text in
        mdb_reader_list(
          handle,
          { line, context in
            // The pointer to `text` that is passed below; it is valid during the call.
            if let line {
              context?.assumingMemoryBound(to: String.self).pointee += String(cString: line)
            }
            return 0
          }, text)
      }
      if code < 0 { throw translated(LMDBError(code, "mdb_reader_list")) }
    }
    return text.split(separator: "\n").map { $0.split(separator: " ") }
  }

  /// The holders of the slots, for the error of a full table; the longest open reads first.
  func describedSlots() -> String {
    let now = MonotonicTime.now.nanoseconds
    var own = readers.openReads(at: now).map(\.read)
    own.sort { $0.snapshot < $1.snapshot }
    var parts = own.prefix(3).map { read in
      "\(read.isObserving ? "observation" : read.isHeld ? "snapshot" : "read") at \(read.place?.description ?? "")"
        + ", open for \(read.age.logText)"
    }
    if own.count > 3 { parts.append("\(own.count - 3) more here") }
    for (process, count) in (try? slots()) ?? [:] where process != getpid() {
      parts.append("process \(process) has \(count) slots")
    }
    return parts.joined(separator: "; ")
  }

  // MARK: What a read costs

  /// The number of bytes that commits after a snapshot have freed: while the snapshot is read, none
  /// of them can be reused.
  ///
  /// LMDB keeps a list of the pages that each transaction freed, under its number.
  func pinnedBytes(after snapshot: UInt64, in transaction: LMDBTransaction) throws -> Int {
    // LMDB's own database of free pages; only a read may use it. Keys and counts are machine words.
    var cursor = try LMDBCursor(LMDBDatabase(handle: 0), in: transaction)
    var first = UInt(truncatingIfNeeded: snapshot &+ 1)
    var entry = try withUnsafeBytes(of: &first) { key throws(LMDBError) in
      try cursor.seek(atOrAfter: key)
    }
    var pages = 0
    while let freed = entry {
      if freed.value.count >= MemoryLayout<UInt>.size {
        pages &+= Int(truncatingIfNeeded: freed.value.loadUnaligned(as: UInt.self))
      }
      entry = try cursor.next()
    }
    return pages &* pageSize(of: transaction)
  }

  func pageSize(of transaction: LMDBTransaction) -> Int {
    var statistics = MDB_stat()
    mdb_env_stat(mdb_txn_env(transaction.pointer), &statistics)
    return Int(statistics.ms_psize)
  }
}
