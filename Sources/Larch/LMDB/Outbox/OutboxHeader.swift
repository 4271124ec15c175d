/// What a store with an outbox does with its commits.
package enum OutboxRole: UInt8, Sendable {
  /// Its commits are recorded, to be shipped to a log elsewhere.
  case writer = 1
  /// Its commits are those of another store, from its log. Nothing else may be written.
  case follower = 2
  /// Another store continues its log. Nothing may be written.
  case superseded = 3
  /// A copy of a store that several programs write: each commit takes its place in the log first.
  case shared = 4
}

/// The first entry of the outbox: which store it is, and how far it is.
package struct OutboxHeader: Equatable, Sendable {
  /// The newest version, which has a place that the server has while it needs all pairs. Without that the header has
  /// the version 2, and without the name of a log the first one.
  package static let version: UInt16 = 3

  package var role: OutboxRole
  /// The same number in all copies of a store.
  package var identity: [UInt8]
  /// The newest commit.
  package var place: LogPlace
  /// Part of the tokens that this writer makes, so that another one makes other tokens.
  package var random: UInt64
  /// The commit before the oldest entry that is kept: the server has it, and all before.
  package var shipped: LogPlace
  /// The bytes of changes in the entries that are kept.
  package var bytes: UInt64 = 0
  /// Entries are missing that the server does not have: it needs all pairs of the store.
  package var needsFirstCopy: Bool {
    didSet { if !needsFirstCopy { left = nil } }
  }
  /// The newest place that the server was known to have when it began to need all pairs, after which `shipped` says
  /// nothing of the server; nil if it never had any. The mirror knows its log by it, whoever made the entry there.
  package private(set) var left: LogPlace?
  /// Commits only move the place, since a copy of all pairs follows anyhow. `restartOutbox()` before that
  /// copy lets them be recorded again.
  package var isPaused = false
  /// The file was replaced by a restored one. What the server has is another state, which may be the only
  /// one of its kind: the mirror replaces it only when the program says so.
  package var isRestored = false
  /// The name of the log on the server that has the commits of this store; nil as long as no log is known to have
  /// them, and in a file of an older Larch.
  package var log: String? {
    didSet { log = log.map(Self.shortened) }
  }

  /// The number of bytes of an identity.
  package static let identitySize = 16

  package init(role: OutboxRole, identity: [UInt8], place: LogPlace) {
    self.role = role
    self.identity = identity
    self.place = place
    random = .random(in: 1 ... .max)
    shipped = place
    needsFirstCopy = role == .writer
  }

  /// A new identity.
  package static func newIdentity() -> [UInt8] {
    (0..<identitySize).map { _ in .random(in: 0...255) }
  }
}

extension OutboxHeader {
  /// Whether the store has commits that only its file has, as far as the file knows.
  package var hasUnshipped: Bool {
    guard role == .writer || role == .superseded else { return false }
    return place != shipped || needsFirstCopy && !isRestored || isPaused
  }

  /// The bytes of a header without the name of a log.
  static let size = 2 + 1 + 1 + identitySize + 8 + 2 * placeSize + 8 + 4
  private static let placeSize = 8 + LogToken.size
  /// As much of the name of a log is kept: an address may name many hosts, and each commit writes the header.
  private static let nameLimit = 1000

  /// Whether the file says that the log of this name has the commits.
  package func isKnown(in name: String) -> Bool { log == Self.shortened(name) }

  /// A name as it is kept.
  private static func shortened(_ name: String) -> String {
    name.utf8.count <= nameLimit
      ? name : String(decoding: name.utf8.prefix(nameLimit), as: UTF8.self)
  }

  /// The bytes, which end with a checksum of all before it.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    let name = log.map { Array($0.utf8) } ?? []
    bytes.reserveCapacity(Self.size + name.count)
    func add<T: FixedWidthInteger>(_ number: T) {
      withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }
    func add(_ place: LogPlace) {
      add(place.position)
      bytes += place.token.bytes
    }
    add(left == nil ? log == nil ? 1 : 2 : Self.version)
    add(role.rawValue)
    add(UInt8((needsFirstCopy ? 1 : 0) | (isPaused ? 2 : 0) | (isRestored ? 4 : 0)))
    bytes += identity
    add(random)
    add(place)
    add(shipped)
    add(self.bytes)
    if let left { add(left) }
    bytes += name
    var sum = Checksum()
    bytes.withUnsafeBytes { sum.add($0) }
    add(sum.value)
    return bytes
  }

  /// Nil if the bytes are no header of these versions.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.size else { return nil }
    var place = 0
    func take(_ count: Int) -> UnsafeRawBufferPointer {
      defer { place += count }
      return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
    }
    func number<T: FixedWidthInteger>(_: T.Type) -> T {
      T(littleEndian: take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
    }
    func logPlace() -> LogPlace? {
      let position = number(UInt64.self)
      return LogToken(take(LogToken.size)).map { LogPlace(position: position, token: $0) }
    }
    guard Self.isWhole(bytes) else { return nil }
    let version = number(UInt16.self)
    guard (1...Self.version).contains(version), version > 1 || bytes.count == Self.size,
      let role = OutboxRole(rawValue: number(UInt8.self))
    else { return nil }
    let flags = number(UInt8.self)
    let identity = [UInt8](take(Self.identitySize))
    let random = number(UInt64.self)
    guard let newest = logPlace(), let shipped = logPlace() else { return nil }
    self.init(role: role, identity: identity, place: newest)
    self.random = random
    self.shipped = shipped
    self.bytes = number(UInt64.self)
    needsFirstCopy = flags & 1 != 0
    isPaused = flags & 2 != 0
    isRestored = flags & 4 != 0
    guard flags < 8, shipped.position <= newest.position else { return nil }
    guard version > 1 else { return }
    if version > 2 {
      guard needsFirstCopy, bytes.count >= Self.size + Self.placeSize, let left = logPlace() else {
        return nil
      }
      self.left = left
    }
    // Four bytes are the checksum.
    guard let name = String(validating: take(bytes.count - 4 - place), as: UTF8.self) else {
      return nil
    }
    log = version > 2 && name.isEmpty ? nil : name
  }

  /// Notes that what the server has is no longer what `shipped` says.
  mutating func leaveShipped() {
    if !needsFirstCopy { left = shipped }
    needsFirstCopy = true
  }

  /// Forgets what another log had.
  mutating func forgetLeft() { left = nil }

  /// The version of a whole header, of whatever version; nil if the bytes are none. All versions begin with
  /// the version and end with the checksum.
  static func version(of bytes: UnsafeRawBufferPointer) -> UInt16? {
    isWhole(bytes) ? UInt16(littleEndian: bytes.loadUnaligned(as: UInt16.self)) : nil
  }

  private static func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 6 else { return false }
    var sum = Checksum()
    sum.add(UnsafeRawBufferPointer(rebasing: bytes.dropLast(4)))
    return bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
      == sum.value.littleEndian
  }
}
