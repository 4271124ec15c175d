/// What identifies an entry of a log, and all entries before it.
///
/// It is made of a random number of the entry's maker, and a checksum of that number, the position, the
/// token before it and the changes. So two logs with the same token at a place have the same past, and
/// an entry that was altered or moved does not fit its token.
package struct LogToken: Hashable, Sendable, CustomStringConvertible {
  package let random: UInt64
  package let checksum: UInt64

  package init(random: UInt64, checksum: UInt64) {
    self.random = random
    self.checksum = checksum
  }

  /// The token before the first entry.
  package static let start = LogToken(random: 0, checksum: 0)

  /// The token of an entry with these contents.
  package init(
    random: UInt64, position: UInt64, before: LogToken, changes: UnsafeRawBufferPointer
  ) {
    var sum = LogChecksum(seed: random)
    sum.add(position)
    sum.add(before.random)
    sum.add(before.checksum)
    sum.add(changes)
    self.init(random: random, checksum: sum.value)
  }

  /// The number of bytes of a stored token.
  package static let size = 16

  /// Random number and checksum, each with the highest byte first.
  package var bytes: [UInt8] {
    withUnsafeBytes(of: random.bigEndian) { [UInt8]($0) }
      + withUnsafeBytes(of: checksum.bigEndian) { [UInt8]($0) }
  }

  /// Nil if there are not 16 bytes.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == LogToken.size else { return nil }
    random = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    checksum = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  package var description: String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

/// An entry of a log: its position, and the token that tells it from any other entry there.
package struct LogPlace: Hashable, Sendable {
  package var position: UInt64
  package var token: LogToken

  package init(position: UInt64, token: LogToken) {
    self.position = position
    self.token = token
  }

  /// The place before the first entry.
  package static let start = LogPlace(position: 0, token: .start)
}

/// The changes of one commit, at their place in a log.
package struct LogEntry: Sendable {
  package let place: LogPlace
  /// The token of the entry before it.
  package let before: LogToken
  /// A change record: see `ChangeRecord`.
  package let changes: [UInt8]
  /// When the server got it, in seconds since 1970 by the clock of the server; nil if it has not yet.
  package var time: Double?

  package init(place: LogPlace, before: LogToken, changes: [UInt8], time: Double? = nil) {
    self.place = place
    self.before = before
    self.changes = changes
    self.time = time
  }

  /// An entry with a new token.
  package init(after place: LogPlace, random: UInt64, changes: [UInt8]) {
    let position = place.position + 1
    let token = changes.withUnsafeBytes {
      LogToken(random: random, position: position, before: place.token, changes: $0)
    }
    self.init(
      place: LogPlace(position: position, token: token), before: place.token, changes: changes)
  }

  /// Whether the changes, the position and the token before are those for which the token was made.
  package var isWhole: Bool {
    let made = changes.withUnsafeBytes {
      LogToken(
        random: place.token.random, position: place.position, before: before, changes: $0)
    }
    return made == place.token
  }
}
