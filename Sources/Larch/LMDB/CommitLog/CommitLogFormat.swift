/// The layout of the file beside a store in which small commits are logged; see docs/file-format.md.
///
/// The file begins with two headers, of which the one with the greater number counts. Two halves
/// follow. Commits are logged in one of them until a checkpoint makes the other one the next: so there
/// is always room for the commits during a checkpoint. The records of a half belong to an epoch: each
/// checkpoint begins another.
enum CommitLogFormat {
  static let magic: UInt64 = 0x474F_4C48_4352_414C
  static let version: UInt32 = 1
  /// A header may be alone in its page, so that a write that fails harms only one of them.
  static let headerDistance = 4096
  /// One sector: a disk writes it as a whole.
  static let headerSize = 512
  static let firstHalf = 2 * headerDistance
  static let recordHeaderSize = 32
  /// Where a record has the number of the header that counted when it was written.
  static let headerNumberPlace = 28
  /// The part of a meta page that LMDB writes.
  static let metaSize = PageLayout.metaEnd
}

/// One of the two headers: which state of the store is on the disk as a whole, and where the commits
/// after it are logged.
struct CommitLogHeader: Equatable {
  enum State: UInt32 {
    /// The store has all commits itself.
    case clean = 1
    /// The commits after the checkpoint are in the log.
    case inUse = 2
    /// The same, and the disk has failed: what the store has after the checkpoint must not be used.
    case failed = 3
  }

  /// The greater number counts.
  var number: UInt64 = 0
  var state = State.clean
  /// The same number is in the store, so that the log of another one is not taken for its own.
  var identity: UInt64
  /// The last commit that the store has on the disk as a whole.
  var checkpoint: UInt64 = 0
  /// The epoch of the first commit after it.
  var epoch: UInt64 = 0
  var salt: UInt64
  var halfSize: Int
  var pageSize: Int
  /// The meta page of the checkpoint, which later commits overwrite in the store.
  var meta = [UInt8](repeating: 0, count: CommitLogFormat.metaSize)

  /// Whether a store may be marked, so that it is refused without this log. It also stays marked while the log is
  /// clean: from a commit that was too large for the log until the next one that is logged, or the end. Only a log
  /// that was not used yet, or whose store has lost its mark, has no epoch; for the time of one flush, between the
  /// mark of the first use and its header, a marked store has such a log.
  var mayBeNeeded: Bool { state != .clean || epoch > 0 }

  private static let metaPlace = 128
  private static let checksumPlace = CommitLogFormat.headerSize - 8
  /// A forged header must not ask for more memory than there is.
  private static let maximumHalfSize = 64 << 20

  init(identity: UInt64, salt: UInt64, halfSize: Int, pageSize: Int) {
    self.identity = identity
    self.salt = salt
    self.halfSize = halfSize
    self.pageSize = pageSize
  }

  /// Nil if the bytes are no header, or not a whole one.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == CommitLogFormat.headerSize else { return nil }
    func number(_ place: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
    func small(_ place: Int) -> UInt32 {
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }
    guard number(0) == CommitLogFormat.magic, small(8) == CommitLogFormat.version,
      number(Self.checksumPlace) == Self.checksum(bytes), let state = State(rawValue: small(12)),
      let halfSize = Int(exactly: number(56)), halfSize > 0, halfSize <= Self.maximumHalfSize
    else { return nil }
    let pageSize = Int(small(64))
    guard PageLayout.pageSizes.contains(pageSize), pageSize & (pageSize - 1) == 0 else {
      return nil
    }
    self.state = state
    self.number = number(16)
    identity = number(24)
    checkpoint = number(32)
    epoch = number(40)
    salt = number(48)
    self.halfSize = halfSize
    self.pageSize = pageSize
    meta = [UInt8](bytes[Self.metaPlace..<Self.metaPlace + CommitLogFormat.metaSize])
  }

  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.headerSize)
    bytes.withUnsafeMutableBytes { target in
      func set(_ number: UInt64, _ place: Int) {
        target.storeBytes(of: number.littleEndian, toByteOffset: place, as: UInt64.self)
      }
      func set(_ number: UInt32, _ place: Int) {
        target.storeBytes(of: number.littleEndian, toByteOffset: place, as: UInt32.self)
      }
      set(CommitLogFormat.magic, 0)
      set(CommitLogFormat.version, 8)
      set(state.rawValue, 12)
      set(number, 16)
      set(identity, 24)
      set(checkpoint, 32)
      set(epoch, 40)
      set(salt, 48)
      set(UInt64(halfSize), 56)
      set(UInt32(pageSize), 64)
      UnsafeMutableRawBufferPointer(rebasing: target[Self.metaPlace...]).copyBytes(from: meta)
      set(Self.checksum(UnsafeRawBufferPointer(target)), Self.checksumPlace)
    }
    return bytes
  }

  private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var checksum = LogChecksum(seed: CommitLogFormat.magic)
    checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<checksumPlace]))
    return checksum.value
  }

  /// The place in the file where the records of an epoch begin.
  func half(of epoch: UInt64) -> Int {
    CommitLogFormat.firstHalf + Int(epoch & 1) * halfSize
  }
}
