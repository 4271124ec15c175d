import Foundation
package import Larch

/// A server of logs in memory, which fails as real ones do: by seed, so that a run can be repeated.
///
/// Each store has clients of its own: ``MemoryLog``. What they share is here.
package final class MemoryServer: @unchecked Sendable {
  /// How often a call goes wrong, from 0 to 1.
  package struct Faults: Sendable {
    /// The call is refused before anything happens.
    package var refused = 0.0
    /// The call happens, but its reply is lost.
    package var lostReplies = 0.0
    /// The same, of appends alone, and of beginnings alone.
    package var lostAppends = 0.0
    package var lostBegins = 0.0
    /// The connection ends while a state is sent.
    package var brokenBegins = 0.0
    /// An append happens twice, as when a reply was lost and something sent it again.
    package var doubled = 0.0
    /// The call waits for up to two milliseconds.
    package var delayed = 0.0
    /// Appends happen wherever the log ends: tests must notice that.
    package var ignoresPlace = false

    package init() {}

    /// One call in `n` goes wrong in each way.
    package static func each(_ n: Int) -> Faults {
      var faults = Faults()
      (faults.refused, faults.lostReplies) = (1 / Double(n), 1 / Double(n))
      (faults.doubled, faults.delayed) = (1 / Double(n), 1 / Double(n))
      return faults
    }
  }

  /// Signalled when the log has changed, or a client closes; guards all below.
  fileprivate let changed = NSCondition()
  fileprivate var log: MemoryLogContents?
  private var faults: Faults
  private var random: SeededGenerator
  /// The calls that were made, without `wait`.
  private var counted = 0
  private var isDown = false
  /// Called when a client has its turn, before it gets what came between.
  package var atTurn: (@Sendable () -> Void)? {
    get { changed.withLock { turnHook } }
    set { changed.withLock { turnHook = newValue } }
  }
  private var turnHook: (@Sendable () -> Void)?
  /// Called when a whole state has been sent, before the log takes it.
  package var atState: (@Sendable () -> Void)? {
    get { changed.withLock { stateHook } }
    set { changed.withLock { stateHook = newValue } }
  }
  private var stateHook: (@Sendable () -> Void)?
  /// The client whose turn it is.
  fileprivate var turn: ObjectIdentifier?

  /// The name of logs that only one of all copies writes to.
  package static let oneWriter = "memory with one writer"

  fileprivate let name: String

  package init(seed: UInt64 = 0, faults: Faults = Faults(), name: String = "memory") {
    self.name = name
    random = SeededGenerator(seed: seed)
    self.faults = faults
  }

  /// The calls so far, without those that wait.
  package var calls: Int { changed.withLock { counted } }

  /// Whether the server cannot be reached.
  package var isUnreachable: Bool {
    get { changed.withLock { isDown } }
    set { changed.withLock { isDown = newValue } }
  }

  /// Changes how often calls go wrong.
  package func set(_ faults: Faults) { changed.withLock { self.faults = faults } }

  /// Forgets the newest entries, as a server does whose standby took over without them.
  package func forget(_ count: Int) {
    changed.withLock {
      log?.forget(count)
      changed.broadcast()
    }
  }

  /// The log for a store; each has a client of its own.
  package var serverLog: ServerLog {
    ServerLog(name: name) { MemoryLog(self) }
  }

  fileprivate func unavailable(_ what: StaticString) -> LarchError {
    LarchError(.unavailable, what) { $0.detail = "memory" }
  }

  private func notSent(_ what: StaticString) -> LarchError {
    LarchError(.unavailable, what, underlying: CallHadNoEffect()) { $0.detail = "memory" }
  }

  /// Makes a call, with faults.
  fileprivate func call<T>(
    isAppend: Bool = false, _ body: (inout MemoryLogContents?) throws -> T
  ) throws -> T {
    changed.lock()
    defer { changed.unlock() }
    counted += 1
    if isDown { throw notSent("The server cannot be reached.") }
    if happens(faults.delayed) {
      changed.unlock()
      usleep(UInt32.random(in: 0..<2000))
      changed.lock()
    }
    if happens(faults.refused) { throw notSent("The server refused the call.") }
    var result = try body(&log)
    if isAppend, happens(faults.doubled) { result = try body(&log) }
    changed.broadcast()
    if happens(faults.lostReplies) || (isAppend && happens(faults.lostAppends)) {
      throw unavailable("The reply of the server was lost.")
    }
    return result
  }

  fileprivate func breakBegin() throws {
    if changed.withLock({ happens(faults.brokenBegins) }) {
      throw unavailable("The connection ended.")
    }
  }

  fileprivate func loseReplyOfBegin() throws {
    if changed.withLock({ happens(faults.lostBegins) }) {
      throw unavailable("The reply of the server was lost.")
    }
  }

  private func happens(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &random) < probability
  }

  fileprivate var appendsAnywhere: Bool { faults.ignoresPlace }
}

/// A client of a `MemoryServer`.
package final class MemoryLog: SharedLog, @unchecked Sendable {
  private let server: MemoryServer
  // Guarded by the server's condition.
  private var isClosed = false
  private var counted = 0

  package init(_ server: MemoryServer) { self.server = server }

  package var name: String { server.name }

  /// The calls of this client so far, without those that wait.
  package var calls: Int { server.changed.withLock { counted } }

  private func call<T>(
    isAppend: Bool = false, _ body: (inout MemoryLogContents?) throws -> T
  ) throws -> T {
    try server.call(isAppend: isAppend) { log in
      try checkOpen()
      counted += 1
      return try body(&log)
    }
  }

  private func checkOpen() throws {
    if isClosed { throw LarchError(.closed, "The log was closed.") }
  }

  private func begun(_ log: MemoryLogContents?) throws -> MemoryLogContents {
    guard let log else { throw LarchError(.logNotFound, "The log was never begun.") }
    return log
  }

  package func head() throws -> LogHead? { try call { $0?.head } }

  package func begin(
    at place: LogPlace, expecting expected: LogPlace?, for use: LogUse,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool {
    guard try call({ $0?.newest }) == expected else { return false }
    let state = MemoryState()
    try fill(state)
    server.atState?()
    try server.breakBegin()
    let isDone = try call { log in
      if let log, log.newest == place, log.folded == place { return true }
      guard log?.newest == expected else { return false }
      log = MemoryLogContents(at: place, for: use, trees: state.trees)
      return true
    }
    try server.loseReplyOfBegin()
    return isDone
  }

  package func share(with entry: LogEntry) throws -> Bool {
    try call { log in
      var contents = try begun(log)
      guard contents.newest.token == entry.before,
        contents.append([entry], anywhere: false)
      else { return false }
      contents.use = .shared
      log = contents
      return true
    }
  }

  package func append(_ entries: [LogEntry], mayBeThere: Bool) throws -> Bool {
    let appendsAnywhere = server.appendsAnywhere
    defer { endTurn() }
    return try call(isAppend: true) { log in
      var contents = try begun(log)
      // With two owners, each append would copy all entries.
      log = nil
      defer { log = contents }
      return contents.append(entries, anywhere: appendsAnywhere)
    }
  }

  package func tail(after place: LogPlace, limit: Int) throws -> LogTail {
    try call { try begun($0).tail(after: place, limit: limit) }
  }

  package func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail {
    let end = Date(timeIntervalSinceNow: 5)
    try server.changed.withLock {
      while let holder = server.turn, holder != ObjectIdentifier(self) {
        try checkOpen()
        // Somebody hangs: it goes on without a turn.
        if !server.changed.wait(until: end) { break }
      }
      server.turn = ObjectIdentifier(self)
    }
    server.atTurn?()
    do { return try tail(after: place, limit: limit) } catch {
      // The connection is lost, and the turn with it.
      endTurn()
      throw error
    }
  }

  package func endTurn() {
    server.changed.withLock {
      guard server.turn == ObjectIdentifier(self) else { return }
      server.turn = nil
      server.changed.broadcast()
    }
  }

  package func wait(after position: UInt64, seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    try server.changed.withLock {
      while (server.log?.newest.position ?? 0) <= position {
        try checkOpen()
        if !server.changed.wait(until: end) { return }
      }
    }
  }

  package func state(into writer: any LogStateWriter) throws -> LogPlace {
    let contents = try call { try begun($0) }
    for (name, tree) in contents.trees.sorted(by: { $0.key < $1.key }) {
      try writer.begin(LogTree(name: name, flags: tree.flags))
      for (key, values) in tree.pairs.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        for value in values.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
          try key.withUnsafeBytes { key in try value.withUnsafeBytes { try writer.add(key, $0) } }
        }
      }
    }
    return contents.folded
  }

  package func fold(through position: UInt64, olderThan seconds: Double) throws -> LogPlace {
    try call { log in
      var contents = try begun(log)
      log = nil
      defer { log = contents }
      try contents.fold(through: position, before: Date().timeIntervalSince1970 - seconds)
      return contents.folded
    }
  }

  package func close() {
    server.changed.withLock {
      isClosed = true
      if server.turn == ObjectIdentifier(self) { server.turn = nil }
      server.changed.broadcast()
    }
  }
}

/// What a `MemoryServer` keeps.
private struct MemoryLogContents {
  var use: LogUse
  private(set) var newest: LogPlace
  private(set) var folded: LogPlace
  /// When the entry of the state came.
  private var foldedTime = Date().timeIntervalSince1970
  /// Those after `folded`.
  private(set) var entries: [LogEntry] = []
  private(set) var trees: [String: MemoryTree]

  init(at place: LogPlace, for use: LogUse, trees: [String: MemoryTree]) {
    self.use = use
    (newest, folded) = (place, place)
    self.trees = trees
  }

  var head: LogHead {
    LogHead(
      use: use, newest: newest, folded: folded, entries: entries.count,
      bytes: entries.reduce(0) { $0 + $1.changes.count },
      time: entries.last?.time ?? foldedTime, foldedTime: foldedTime)
  }

  mutating func append(_ added: [LogEntry], anywhere: Bool) -> Bool {
    guard let first = added.first, let last = added.last else { return true }
    guard first.place.position == newest.position + 1, first.before == newest.token else {
      if anywhere {
        entries += added
        newest = last.place
        return true
      }
      // It may have happened before.
      return newest == last.place
        && entries.suffix(added.count).map(\.place) == added.map(\.place)
    }
    let now = Date().timeIntervalSince1970
    entries += added.map { entry in
      var entry = entry
      entry.time = now
      return entry
    }
    newest = last.place
    return true
  }

  func tail(after place: LogPlace, limit: Int) -> LogTail {
    if place == newest { return .entries([]) }
    if place.position < folded.position { return .cut }
    if place.position >= newest.position { return .diverged }
    let skipped = Int(place.position - folded.position)
    let here = skipped == 0 ? folded.token : entries[skipped - 1].place.token
    guard here == place.token else { return .diverged }
    var found: [LogEntry] = []
    var bytes = 0
    for entry in entries[skipped...] where found.isEmpty || bytes < limit {
      found.append(entry)
      bytes += entry.changes.count
    }
    return .entries(found)
  }

  mutating func fold(through position: UInt64, before limit: Double) throws {
    while let entry = entries.first, entry.place.position <= position,
      entry.time ?? 0 <= limit
    {
      try entry.changes.withUnsafeBytes { bytes in
        let record = try ChangeRecord(bytes)
        try record.forEach { change in
          let tree = record.trees[change.tree]
          trees[tree.name, default: MemoryTree(flags: tree.flags)].make(change)
          if change.operation == .drop { trees[tree.name] = nil }
        }
      }
      folded = entry.place
      foldedTime = entry.time ?? foldedTime
      entries.removeFirst()
    }
  }

  mutating func forget(_ count: Int) {
    entries.removeLast(min(count, entries.count))
    newest = entries.last?.place ?? folded
  }
}

/// A tree in memory.
private struct MemoryTree {
  let flags: UInt32
  var pairs: [[UInt8]: Set<[UInt8]>] = [:]

  private var hasDuplicates: Bool { LogTree(name: "", flags: flags).hasDuplicates }

  init(flags: UInt32) { self.flags = flags }

  mutating func put(_ key: [UInt8], _ value: [UInt8]) {
    if hasDuplicates { pairs[key, default: []].insert(value) } else { pairs[key] = [value] }
  }

  mutating func make(_ change: TreeChange) {
    let (key, value) = ([UInt8](change.key), [UInt8](change.value))
    switch change.operation {
    case .put: put(key, value)
    case .deleteKey: pairs[key] = nil
    case .deletePair:
      pairs[key]?.remove(value)
      if pairs[key]?.isEmpty == true { pairs[key] = nil }
    case .empty, .drop: pairs = [:]
    case .create: break
    }
  }
}

/// Collects the pairs of a first copy.
private final class MemoryState: LogStateWriter {
  private(set) var trees: [String: MemoryTree] = [:]
  private var current = ""

  func begin(_ tree: LogTree) {
    current = tree.name
    trees[current] = MemoryTree(flags: tree.flags)
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    trees[current]?.put([UInt8](key), [UInt8](value))
  }
}
