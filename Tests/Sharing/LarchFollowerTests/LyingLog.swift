import LarchTestSupport

@testable import Larch

/// A log whose server does not tell what it has: what the tail says is changed on the way.
final class LyingLog: SharedLog, Sendable {
  typealias Lie = @Sendable (_ tail: [LogEntry]) -> [LogEntry]

  private let log: any SharedLog
  private let lie: Locked<Lie?>

  init(_ log: any SharedLog, _ lie: Locked<Lie?>) {
    self.log = log
    self.lie = lie
  }

  /// A server in memory that lies as long as there is a lie.
  static func server(_ server: MemoryServer, _ lie: Locked<Lie?>) -> ServerLog {
    ServerLog(name: "memory") { LyingLog(try server.serverLog.open(), lie) }
  }

  private func changed(_ tail: LogTail) -> LogTail {
    guard case .entries(let entries) = tail, !entries.isEmpty, let lie = lie.withLock({ $0 })
    else { return tail }
    return .entries(lie(entries))
  }

  var name: String { log.name }
  func head() throws -> LogHead? { try log.head() }
  func begin(
    at place: LogPlace, expecting expected: LogPlace?, for use: LogUse,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool { try log.begin(at: place, expecting: expected, for: use, fill) }
  func share(with entry: LogEntry) throws -> Bool { try log.share(with: entry) }
  func append(_ entries: [LogEntry], mayBeThere: Bool) throws -> Bool {
    try log.append(entries, mayBeThere: mayBeThere)
  }
  func tail(after place: LogPlace, limit: Int) throws -> LogTail {
    changed(try log.tail(after: place, limit: limit))
  }
  func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail {
    changed(try log.takeTurn(after: place, limit: limit))
  }
  func endTurn() { log.endTurn() }
  func wait(after position: UInt64, seconds: Double) throws {
    try log.wait(after: position, seconds: seconds)
  }
  func state(into writer: any LogStateWriter) throws -> LogPlace { try log.state(into: writer) }
  func fold(through position: UInt64, olderThan seconds: Double) throws -> LogPlace {
    try log.fold(through: position, olderThan: seconds)
  }
  func close() { log.close() }
}

/// A way to spoil the entries that a server has.
enum HostileChange: CaseIterable {
  /// Bytes of an entry differ from those for which its token was made.
  case alteredBytes, cutShort, otherToken, otherPosition
  /// The order differs.
  case doubled, exchanged, skipped, backwards, othersEntry, oldEntry
  /// The entry has a token that fits, and bytes that no store has made.
  case sealedBytes, sealedRun, sealedCut, sealedNothing, sealedRandom, sealedExtra, newerForm

  /// Whether a copy must notice. A token that fits is no signature: whoever may write to the log can make an
  /// entry with any pairs.
  var mustBeNoticed: Bool {
    switch self {
    case .sealedBytes, .sealedRun, .sealedCut, .sealedExtra: false
    default: true
    }
  }

  func callAsFunction(
    _ entries: [LogEntry], others: [LogEntry], _ random: inout SeededGenerator
  ) -> [LogEntry] {
    var entries = entries
    let index = Int.random(in: entries.indices, using: &random)
    let entry = entries[index]
    var bytes = entry.changes
    func put(_ place: LogPlace, _ changes: [UInt8]) {
      entries[index] = LogEntry(place: place, before: entry.before, changes: changes)
    }
    /// An entry that follows the one before it, in the place of all from here on.
    func seal(_ changes: [UInt8]) {
      let before = LogPlace(position: entry.place.position - 1, token: entry.before)
      entries[index...] = [
        LogEntry(after: before, random: .random(in: 1 ... .max, using: &random), changes: changes)
      ]
    }
    let place = Int.random(in: bytes.indices, using: &random)
    switch self {
    case .alteredBytes:
      bytes[place] ^= .random(in: 1...255, using: &random)
      put(entry.place, bytes)
    case .cutShort: put(entry.place, Array(bytes.prefix(place)))
    case .otherToken:
      let token = entry.place.token
      put(
        LogPlace(
          position: entry.place.position,
          token: LogToken(
            random: token.random,
            checksum: token.checksum ^ (1 << UInt64.random(in: 0..<64, using: &random)))), bytes)
    case .otherPosition:
      put(
        LogPlace(
          position: entry.place.position &+ .random(in: 1...9, using: &random),
          token: entry.place.token), bytes)
    case .doubled: entries.insert(entry, at: index)
    case .exchanged: entries.swapAt(index, (index + 1) % entries.count)
    case .skipped: entries.remove(at: entries.count == 1 ? 0 : index % (entries.count - 1))
    case .backwards: entries.reverse()
    case .othersEntry:
      entries[index] = others[Int.random(in: others.indices, using: &random)]
    case .oldEntry: entries = [others[0]]
    case .sealedBytes:
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      seal(bytes)
    case .sealedRun:
      for here in place..<min(bytes.count, place + 16) {
        bytes[here] = .random(in: 0...255, using: &random)
      }
      seal(bytes)
    case .sealedCut: seal(Array(bytes.prefix(place)))
    case .sealedNothing: seal([])
    case .sealedRandom:
      seal(
        [1, 0]
          + (0..<Int.random(in: 7...300, using: &random)).map { _ in
            .random(in: 0...255, using: &random)
          })
    case .sealedExtra:
      seal(
        bytes
          + (0..<Int.random(in: 1...40, using: &random)).map { _ in
            .random(in: 0...255, using: &random)
          })
    case .newerForm:
      bytes[0] = .random(in: 2...255, using: &random)
      seal(bytes)
    }
    return entries
  }
}
