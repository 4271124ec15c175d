internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchPostgres
internal import LarchTestSupport

/// `village-writer <directory> <number> <seed> <server> <name> <attempts> <milliseconds> <heed>`: works on a
/// shared store with a copy of its own, until it has made its attempts or the beacon says stop, and notes which
/// answer each one got. A second thread reads all the time.
///
/// The arguments are the number of the process, the log's server and name, the number of attempts (0 for no
/// end), the commit timeout, and `heeds`, or `ignores` for a log that ignores places.
func villageWriter(_ arguments: [String]) throws {
  guard arguments.count == 8, let number = Int(arguments[1]), let seed = UInt64(arguments[2]),
    let attempts = Int(arguments[5]), let timeout = Int(arguments[6])
  else { throw UsageError() }
  limitLifetime()
  let files = VillageFiles(directory: arguments[0])
  let beacon = try Beacon(path: files.beacon)
  let ledger = try LedgerFile(files.ledger(number))
  var log = ServerLog.postgres(arguments[3], store: arguments[4])
  if arguments[7] == "ignores" { log = HeedlessLog.on(log) }
  var options = Store.Options()
  options.durability = .none
  options.commitTimeout = .milliseconds(timeout)
  options.log = { message in
    if message.event == .copiedAnew { beacon[VillageSlot.copiedAnew(number)] += 1 }
    if message.level >= .warning { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
  }
  let store = try Village.open(log, copy: files.copy(number), options: options)
  defer { store.close() }
  let reader = ReadingThread(store, beacon, number)
  defer { reader.end() }
  beacon[.started(number)] = Int(getpid())
  while beacon[VillageSlot.mayBegin] == 0 { usleep(500) }

  var random = SeededGenerator(seed: seed)
  var attempt = 0
  while attempts == 0 || attempt < attempts, beacon[VillageSlot.mustStop] == 0 {
    attempt += 1
    let token = "\(number)-\(attempt)"
    let intention = try Intention.choose(in: store, using: &random)
    if let word = try tried(intention, token, in: store, ledger) {
      try ledger.note(word, token)
      if word == .did { beacon[.acknowledged(number)] += 1 }
    }
  }
}

/// Makes one attempt.
///
/// - Returns: what became of it; nil if there was nothing to do.
private func tried(
  _ intention: Intention, _ token: String, in store: Store, _ ledger: LedgerFile
) throws -> VillageLedger.Word? {
  // What the last run has done: a run that does nothing may commit too, if it has claimed ids.
  var isDeed = false
  do {
    try store.write { tx throws in
      isDeed = false
      isDeed = try intention.act(in: tx, token: token)
    }
    return isDeed ? .did : nil
  } catch let error as LarchError {
    switch error.code {
    case .uniqueConflict, .danglingReference, .deleteDenied: return .not
    case .unavailable: return .not
    case .diverged:
      // A new copy is being made.
      usleep(5000)
      return .not
    case .commitUnknown:
      try ledger.note(.unknown, token)
      let word = try decided(error, in: store)
      return word == .did && !isDeed ? .not : word
    default: throw error
    }
  }
}

/// Asks until the answer is final; a server is back long before the last attempt.
private func decided(_ error: LarchError, in store: Store) throws -> VillageLedger.Word {
  let deadline = Date() + 600
  while true {
    do {
      return try store.outcome(of: error) == .committed ? .did : .not
    } catch let failure as LarchError
      where (failure.code == .unavailable || failure.code == .commitUnknown) && Date() < deadline
    {
      usleep(2000)
    } catch let failure as LarchError where failure.code == .diverged {
      return .gone
    }
  }
}

/// Reads all the time, and counts reads and errors in the beacon.
private final class ReadingThread {
  private let mustEnd = Guarded(false)
  private let hasEnded = DispatchSemaphore(value: 0)

  init(_ store: Store, _ beacon: Beacon, _ number: Int) {
    let (mustEnd, hasEnded) = (mustEnd, hasEnded)
    Thread {
      while !mustEnd.withLock({ $0 }) {
        do {
          try store.read { try Village.check($0) }
          beacon[VillageSlot.reads(number)] += 1
        } catch {
          if beacon[VillageSlot.readErrors(number)] < 5 {
            FileHandle.standardError.write(Data("read: \(error)\n".utf8))
          }
          beacon[VillageSlot.readErrors(number)] += 1
        }
        usleep(1000)
      }
      hasEnded.signal()
    }.start()
  }

  func end() {
    mustEnd.withLock { $0 = true }
    hasEnded.wait()
  }
}

/// A file of lines, each written in one call, which a kill does not cut in two.
private struct LedgerFile {
  private let file: FileHandle

  init(_ path: String) throws {
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    guard let file = FileHandle(forWritingAtPath: path) else { throw Mismatch("no file \(path)") }
    self.file = file
  }

  func note(_ word: VillageLedger.Word, _ token: String) throws {
    try file.write(contentsOf: Data("\(word.rawValue) \(token)\n".utf8))
  }
}

/// A log that appends wherever it ends and says that all is well: with it, the checks must find something.
private final class HeedlessLog: SharedLog {
  private let log: any SharedLog

  private init(_ log: any SharedLog) { self.log = log }

  static func on(_ log: ServerLog) -> ServerLog {
    ServerLog(name: log.name) { HeedlessLog(try log.open()) }
  }

  func append(_ entries: [LogEntry], mayBeThere: Bool) throws -> Bool {
    if try log.append(entries, mayBeThere: mayBeThere) { return true }
    while let newest = try log.head()?.newest {
      var place = newest
      let moved = entries.map { entry in
        let moved = LogEntry(
          after: place, random: entry.place.token.random, changes: entry.changes)
        place = moved.place
        return moved
      }
      if try log.append(moved, mayBeThere: false) { break }
    }
    return true
  }

  var name: String { log.name }
  func head() throws -> LogHead? { try log.head() }
  func begin(
    at place: LogPlace, expecting expected: LogPlace?, for use: LogUse,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool { try log.begin(at: place, expecting: expected, for: use, fill) }
  func share(with entry: LogEntry) throws -> Bool { try log.share(with: entry) }
  func tail(after place: LogPlace, limit: Int) throws -> LogTail {
    try log.tail(after: place, limit: limit)
  }
  func wait(after position: UInt64, seconds: Double) throws {
    try log.wait(after: position, seconds: seconds)
  }
  func state(into writer: any LogStateWriter) throws -> LogPlace { try log.state(into: writer) }
  func fold(through position: UInt64, olderThan seconds: Double) throws -> LogPlace {
    try log.fold(through: position, olderThan: seconds)
  }
  func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail {
    try log.takeTurn(after: place, limit: limit)
  }
  func endTurn() { log.endTurn() }
  func close() { log.close() }
}
